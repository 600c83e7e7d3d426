#include "format/file_name.h"

#include <charconv>

#include "base/assert.h"

namespace mergedb::format {
namespace {

// The text before and after the number, or the whole name.
struct Pattern {
  FileKind kind;
  std::string_view before;
  std::string_view after;
  bool has_number;
};
constexpr Pattern kPatterns[] = {
    {FileKind::kCurrent, "CURRENT", "", false}, {FileKind::kCurrentTemporary, "CURRENT.tmp", "", false},
    {FileKind::kLock, "LOCK", "", false},       {FileKind::kManifest, "MANIFEST-", "", true},
    {FileKind::kStaging, "STAGING", "", false}, {FileKind::kSegment, "", ".seg", true},
    {FileKind::kTable, "", ".tbl", true},       {FileKind::kRecycled, "", ".spare", true},
    {FileKind::kBlobFile, "", ".val", true},    {FileKind::kRepair, "REPAIR", "", false},
    {FileKind::kImport, "IMPORT", "", false},   {FileKind::kKeep, "KEEP", "", false},
    {FileKind::kLive, "LIVE", "", false},
};
constexpr size_t kDigitsMin = 6;

const Pattern& PatternOf(FileKind kind) {
  const auto index = static_cast<size_t>(kind);
  ASSERT(index < std::size(kPatterns) && kPatterns[index].kind == kind, "the patterns stand in the order of the kinds");
  return kPatterns[index];
}

std::optional<FileName> Match(const Pattern& pattern, std::string_view name) {
  if (!pattern.has_number) {
    if (name != pattern.before) return std::nullopt;
    return FileName{.kind = pattern.kind};
  }
  if (!name.starts_with(pattern.before) || !name.ends_with(pattern.after)) return std::nullopt;
  const size_t affixes = pattern.before.size() + pattern.after.size();
  if (name.size() < affixes + kDigitsMin) return std::nullopt;
  const std::string_view digits = name.substr(pattern.before.size(), name.size() - affixes);
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number > kFileNumberMax) return std::nullopt;
  if (digits.size() > kDigitsMin && digits[0] == '0') return std::nullopt;  // each number has one name
  return FileName{.kind = pattern.kind, .number = kv::FileNumber{number}};
}

}  // namespace

std::string PrintFileNumber(kv::FileNumber number) {
  const std::string digits = std::to_string(ToInt(number));
  return digits.size() < kDigitsMin ? std::string(kDigitsMin - digits.size(), '0') + digits : digits;
}

std::string PrintFileName(FileKind kind, kv::FileNumber number) {
  const Pattern& pattern = PatternOf(kind);
  std::string name(pattern.before);
  if (pattern.has_number) name += PrintFileNumber(number);
  return name.append(pattern.after);
}

std::optional<FileName> ParseFileName(std::string_view name) {
  for (const Pattern& pattern : kPatterns) {
    if (auto match = Match(pattern, name)) return match;
  }
  return std::nullopt;
}

std::string JoinPath(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty() && path.back() != '/') path += '/';
  return path.append(name);
}

std::string_view LastName(std::string_view path) { return path.substr(path.find_last_of('/') + 1); }

std::string ParentOf(std::string_view path) {
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const size_t slash = path.find_last_of('/');
  return slash == std::string_view::npos ? "." : slash == 0 ? "/" : std::string(path.substr(0, slash));
}

std::string FilePath(std::string_view directory, FileKind kind, kv::FileNumber number) {
  return JoinPath(directory, PrintFileName(kind, number));
}

}  // namespace mergedb::format
