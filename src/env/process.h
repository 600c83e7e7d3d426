// The identity of a process on this machine, for files that another process reads.
//
// A process id is used again after some time, so the time of the start belongs to the identity. Both are valid only for
// one boot of the machine and in one namespace of process ids (a container has its own).
#pragma once

#include <cstdint>
#include <string>

namespace mergedb::env {

struct ProcessIdentity {
  uint64_t pid = 0;
  uint64_t pid_namespace = 0;  // 0: not known
  uint64_t start_ticks = 0;    // since boot; 0: not known
  std::string boot_id;         // "": not known
};

uint64_t ProcessId();
// Unknown parts stay empty.
ProcessIdentity ThisProcess();

enum class Liveness { kRuns, kEnded, kUnknown };
// kUnknown if the process is in another namespace, or if the system does not tell.
Liveness LivenessOf(const ProcessIdentity& process);

// Nanoseconds since boot, including the time in which the machine slept.
uint64_t BootNanos();

}  // namespace mergedb::env
