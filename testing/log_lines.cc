#include "testing/log_lines.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "env/file_reads.h"

namespace mergedb::testing {
namespace {

std::string BytesOf(FileSystem& files, const std::string& path) {
  const auto bytes = env::ReadBeginning(&files, path, 4 * kSmallLogBytes);
  return bytes ? *bytes : "";
}

// The lines that have an end.
std::vector<std::string_view> WholeLines(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return lines;
}

bool IsEvent(std::string_view line) {
  const auto json = nlohmann::json::parse(line, nullptr, false);
  return json.is_object() && json.contains("event");
}

std::string ProblemOfLines(std::string_view text, TornLines torn) {
  const auto lines = WholeLines(text);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (IsEvent(lines[i])) continue;
    const bool is_begun = lines[i].starts_with('{') && i + 1 < lines.size() && IsEvent(lines[i + 1]);
    if (torn == TornLines::kAnything || (torn == TornLines::kBegun && is_begun)) continue;
    return "line " + std::to_string(i + 1) + " of LOG is no event: " + std::string(lines[i]);
  }
  return {};
}

}  // namespace

LogFiles ReadLog(FileSystem& files, const std::string& directory) {
  return {.old = BytesOf(files, directory + "/LOG.old"), .current = BytesOf(files, directory + "/LOG")};
}

std::string LogProblem(const LogFiles& log, uint64_t bytes_max, TornLines torn) {
  if (log.old.size() + log.current.size() > bytes_max) {
    return "LOG has " + std::to_string(log.current.size()) + " bytes and LOG.old " + std::to_string(log.old.size()) +
           ", more than " + std::to_string(bytes_max);
  }
  const std::string problem = ProblemOfLines(log.old, torn);
  return problem.empty() ? ProblemOfLines(log.current, torn) : problem;
}

std::string LogProblemOfOpen(const LogFiles& before, const LogFiles& after) {
  std::string_view added = after.current;
  if (added.starts_with(before.current) && after.old == before.old) {
    added.remove_prefix(before.current.size());
    if (!before.current.empty() && !before.current.ends_with('\n')) {
      if (!added.starts_with('\n')) return "a torn line of LOG goes on: " + std::string(added);
      added.remove_prefix(1);
    }
  } else if (before.current.empty() || (after.old != before.current && after.old != before.current + '\n')) {
    return "LOG.old is not the LOG before";
  }
  const std::string problem = ProblemOfLines(added, TornLines::kNone);
  if (!problem.empty()) return problem;
  for (const std::string_view line : WholeLines(added)) {
    if (nlohmann::json::parse(line).at("event") == "open") return {};
  }
  return "the open is not in LOG, which got: " + std::string(added);
}

Status WriteNearlyFullLog(FileSystem& files, const std::string& directory) {
  RETURN_IF_ERROR(files.CreateDirectory(directory));
  ASSIGN_OR_RETURN(const auto file, files.Open(directory + "/LOG", {.access = Access::kCreate}));
  std::string lines;
  while (lines.size() + 700 < kSmallLogBytes / 2) lines += "{\"event\":\"" + std::string(100, 'f') + "\"}\n";
  return file->WriteAt(0, lines);
}

}  // namespace mergedb::testing
