// A child process that does one part of the demo and reports through a pipe.
//
// WHY processes: each engine gets its own /proc/self/io, a kill is a real SIGKILL, and no thread of a store
// exists at a fork, because the parent opens no store.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "mergedb/status.h"

namespace mergedb::demo {

// Fixed size, below PIPE_BUF, so that a write to the pipe is atomic.
struct Message {
  enum class Kind : uint32_t { kProgress, kDone, kFailed };
  Kind kind = Kind::kProgress;
  uint64_t records = 0;  // acknowledged: the put returned OK
  uint64_t text_bytes = 0;
  uint64_t user_bytes = 0;    // keys and values of the records
  uint64_t device_bytes = 0;  // as in /proc/self/io; 0 if unknown
  double load_seconds = 0;
  double total_seconds = 0;  // including background work
  uint64_t sum = 0;
  char text[256] = {};
};

class Reporter {
 public:
  explicit Reporter(int pipe) : pipe_(pipe) {}
  void Send(const Message& message) const;

 private:
  int pipe_;
};

class Worker {
 public:
  // Forks; the child runs `work` and ends. A failed Status is sent as kFailed.
  explicit Worker(const std::function<Status(const Reporter&)>& work);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool Receive(Message* message);  // false: the child has ended
  void Kill();                     // SIGKILL
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

// Bytes that this process caused to be written to storage; 0 if unknown.
uint64_t DeviceBytesWritten();

inline double SecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace mergedb::demo
