#include "env/free_memory.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>
#include <string_view>

#include "env/proc_file.h"

namespace mergedb::env {
namespace {

// The number at the start of the text, after blanks. "max", version 2's word for no limit, is none.
std::optional<uint64_t> NumberIn(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

// A line of /proc/meminfo: "MemFree:        15591424 kB".
std::optional<uint64_t> FreeOfSystem(const std::string& root) {
  constexpr std::string_view kName = "\nMemFree:";
  const std::string text = ReadProcFile(root + "/proc/meminfo");
  const size_t at = text.find(kName);
  if (at == std::string::npos) return std::nullopt;
  const auto kibibytes = NumberIn(std::string_view(text).substr(at + kName.size()));
  return kibibytes ? std::optional(*kibibytes << 10) : std::nullopt;
}

// The path of the group in a line of /proc/self/cgroup: "4:memory:/path" (version 1) or "0::/path" (version 2).
std::optional<std::string> GroupIn(const std::string& lines, std::string_view controllers) {
  std::istringstream input(lines);
  for (std::string line; std::getline(input, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (std::string_view(line).substr(first + 1, second - first - 1) == controllers) return line.substr(second + 1);
  }
  return std::nullopt;
}

// What the limit leaves. UINT64_MAX without a limit. WHY also the top of the hierarchy: within a container the group's
// path may be the one outside of it.
uint64_t LeftIn(const std::string& hierarchy, const std::string& group, const char* limit, const char* usage) {
  for (const std::string& folder : {hierarchy + group + "/", hierarchy + "/"}) {
    const auto most = NumberIn(ReadProcFile(folder + limit)), used = NumberIn(ReadProcFile(folder + usage));
    if (most && used) return *most - std::min(*most, *used);
  }
  return UINT64_MAX;
}

}  // namespace

uint64_t FreeMemoryBytes(const std::string& root) {
  uint64_t free = FreeOfSystem(root).value_or(0);
  const std::string groups = ReadProcFile(root + "/proc/self/cgroup");
  if (const auto group = GroupIn(groups, "memory")) {
    free = std::min(free,
                    LeftIn(root + "/sys/fs/cgroup/memory", *group, "memory.limit_in_bytes", "memory.usage_in_bytes"));
  }
  if (const auto group = GroupIn(groups, ""))
    free = std::min(free, LeftIn(root + "/sys/fs/cgroup", *group, "memory.max", "memory.current"));
  return free;
}

}  // namespace mergedb::env
