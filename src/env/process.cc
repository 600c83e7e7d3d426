#include "env/process.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "env/proc_file.h"

namespace mergedb::env {
namespace {

std::string BootId() {
  std::string id = ReadProcFile("/proc/sys/kernel/random/boot_id");
  id.erase(std::find(id.begin(), id.end(), '\n'), id.end());
  return id;
}

// Field 22 of /proc/PID/stat. The name of the program in field 2 may have spaces and parentheses. 0: not known.
uint64_t StartTicks(uint64_t pid) {
  const std::string text = ReadProcFile("/proc/" + std::to_string(pid) + "/stat");
  std::string_view rest = text;
  rest.remove_prefix(std::min(rest.size(), rest.rfind(')') + 1));  // the space before field 3 is next
  if (rest.starts_with(" Z") || rest.starts_with(" X")) return 0;  // it has ended, and its parent has not noticed
  for (int field = 2; field < 22; ++field) {
    const size_t space = rest.find(' ');
    if (space == std::string_view::npos) return 0;
    rest.remove_prefix(space + 1);
  }
  uint64_t ticks = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), ticks);
  return ticks;
}

uint64_t PidNamespace() {
  struct stat found {};
  return stat("/proc/self/ns/pid", &found) == 0 ? static_cast<uint64_t>(found.st_ino) : 0;
}

}  // namespace

uint64_t ProcessId() { return static_cast<uint64_t>(getpid()); }

ProcessIdentity ThisProcess() {
  ProcessIdentity process{.pid = ProcessId(), .pid_namespace = PidNamespace(), .boot_id = BootId()};
  process.start_ticks = StartTicks(process.pid);
  return process;
}

Liveness LivenessOf(const ProcessIdentity& process) {
  const std::string boot_id = BootId();
  if (process.boot_id.empty() || boot_id.empty()) return Liveness::kUnknown;
  if (process.boot_id != boot_id) return Liveness::kEnded;
  if (process.pid_namespace != PidNamespace() || process.start_ticks == 0) return Liveness::kUnknown;
  return StartTicks(process.pid) == process.start_ticks ? Liveness::kRuns : Liveness::kEnded;
}

uint64_t BootNanos() {
  timespec now{};
  if (clock_gettime(CLOCK_BOOTTIME, &now) != 0) return 0;
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace mergedb::env
