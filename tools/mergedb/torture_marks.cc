#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

#include "format/file_name.h"
#include "line_reader.h"
#include "torture.h"

namespace mergedb::tool::torture {
namespace {

constexpr std::string_view kHead = "mergedb-torture 1 ";
constexpr size_t kLineBytesMax = 200;

// Takes a number from the front of the text, and the space or the end behind it.
std::optional<uint64_t> TakeNumber(std::string_view* text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  const auto size = static_cast<size_t>(end - text->data());
  if (error != std::errc() || (size < text->size() && (*text)[size] != ' ')) return std::nullopt;
  text->remove_prefix(std::min(size + 1, text->size()));
  return number;
}

bool AddMark(std::string_view line, Marks* marks) {
  const size_t space = line.find(' ');
  const auto name = std::ranges::find(kNames, line.substr(0, space));
  if (name == kNames.end() || space == std::string_view::npos) return false;
  line.remove_prefix(space + 1);
  const auto number = TakeNumber(&line);
  const auto milliseconds = TakeNumber(&line);
  auto& of_kind = marks->of[static_cast<size_t>(name - kNames.begin())];
  if (!number || !milliseconds || !line.empty() || *number != of_kind.size() + 1) return false;
  of_kind.push_back({.number = *number, .milliseconds = *milliseconds});
  marks->last_milliseconds = std::max(marks->last_milliseconds, *milliseconds);
  return true;
}

}  // namespace

std::string HeadOf(uint64_t id) { return std::string(kHead) + std::to_string(id); }

Result<Marks> ReadMarks(const std::string& path) {
  ASSIGN_OR_RETURN(const auto reader, LineReader::Open(path));
  Marks marks;
  std::string line;
  for (bool is_first = true;; is_first = false) {
    const auto next = reader->Next(&line, {.bytes_max = kLineBytesMax});
    // The last line may be cut.
    if (!next && !is_first && next.error().IsInvalidArgument()) break;
    if (!next) return next.error();
    if (!*next && is_first) return reader->Fail("expected the marks of a run, found nothing");
    if (!*next) break;
    std::string_view rest = line;
    if (is_first) {
      if (rest.starts_with(kHead)) rest.remove_prefix(kHead.size());
      const auto id = TakeNumber(&rest);
      if (!line.starts_with(kHead) || !id || !rest.empty()) return reader->Fail("expected the marks of a run");
      marks.id = *id;
    } else if (!AddMark(line, &marks)) {
      return reader->Fail("expected a mark, with the next number of its kind, found '" + line + "'");
    }
  }
  return marks;
}

std::string HomeOf(const std::string& device) { return format::JoinPath(device, "mergedb-torture"); }
std::string DatabaseOf(const std::string& device) { return HomeOf(device) + "/db"; }
std::string PlainOf(const std::string& device) { return HomeOf(device) + "/plain"; }

std::string ContentOf(uint64_t id, std::string_view what, uint64_t number, size_t bytes) {
  std::string content = std::string(what) + " " + std::to_string(number) + " " + std::to_string(id) + " ";
  const std::string piece = content;
  while (content.size() < bytes) content += piece;
  content.resize(bytes);
  return content;
}

std::string KeyOf(Kind kind, uint64_t number, size_t i) {
  std::string digits = std::to_string(number);
  digits.insert(0, 12 - std::min<size_t>(digits.size(), 12), '0');
  // The keys of a write lie apart, so that a part of it could be lost.
  return std::string(1, static_cast<char>('a' + i)) + ":" + kNames[static_cast<size_t>(kind)] + ":" + digits;
}

Options DatabaseOptions() {
  // Small buffers: flushes, compactions and changes of files all the time.
  return {.memory_bytes = size_t{16} << 20,
          .write_buffer_bytes = size_t{1} << 20,
          .wal_sync_interval_ms = kSyncMilliseconds};
}

}  // namespace mergedb::tool::torture
