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
uint64_t OfSystem(const std::string& root, const std::string& name) {
  const std::string text = "\n" + ReadProcFile(root + "/proc/meminfo"), line = "\n" + name + ":";
  const size_t at = text.find(line);
  if (at == std::string::npos) return 0;
  return NumberIn(std::string_view(text).substr(at + line.size())).value_or(0) << 10;
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

// The bytes of a limit that `usage` leaves; all of them if `usage` is null. UINT64_MAX without a limit. WHY also the
// top of the hierarchy: within a container the group's path may be the one outside of it.
uint64_t LeftIn(const std::string& hierarchy, const std::string& group, const char* limit, const char* usage) {
  for (const std::string& folder : {hierarchy + group + "/", hierarchy + "/"}) {
    const auto most = NumberIn(ReadProcFile(folder + limit));
    const auto used = usage == nullptr ? std::optional<uint64_t>(0) : NumberIn(ReadProcFile(folder + usage));
    if (most && used) return *most - std::min(*most, *used);
  }
  return UINT64_MAX;
}

uint64_t LeftByGroups(const std::string& root, bool is_all) {
  uint64_t left = UINT64_MAX;
  const std::string groups = ReadProcFile(root + "/proc/self/cgroup");
  if (const auto group = GroupIn(groups, "memory")) {
    left = LeftIn(root + "/sys/fs/cgroup/memory", *group, "memory.limit_in_bytes",
                  is_all ? nullptr : "memory.usage_in_bytes");
  }
  if (const auto group = GroupIn(groups, "")) {
    left = std::min(left, LeftIn(root + "/sys/fs/cgroup", *group, "memory.max", is_all ? nullptr : "memory.current"));
  }
  return left;
}

}  // namespace

uint64_t FreeMemoryBytes(const std::string& root) {
  return std::min(OfSystem(root, "MemFree"), LeftByGroups(root, false));
}

uint64_t MemoryBytesMax(const std::string& root) {
  return std::min(OfSystem(root, "MemTotal"), LeftByGroups(root, true));
}

}  // namespace mergedb::env
