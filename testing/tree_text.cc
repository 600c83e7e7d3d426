#include "testing/tree_text.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <sstream>
#include <string>

#include "version/version_builder.h"

namespace mergedb::testing {

namespace {

struct Mention {
  kv::Position position{};
  format::Level level = 0;
  uint64_t number = 0;
  std::string lower;
  std::string upper;
  bool is_open = false;
};

struct Table {
  std::optional<std::string> smallest;
  std::optional<std::string> largest;
  uint64_t bytes = 1 << 20;
  uint64_t tombstone_percent = 0;
  std::optional<uint64_t> masked_bytes;
  uint64_t position = 0;
  std::vector<format::BlobShare> values = {};
};

// "60MB", "5KB"
uint64_t ParseBytes(const std::string& text) { return std::stoull(text) << (text.ends_with("KB") ? 10 : 20); }

bool TakeBytes(std::istringstream* text, uint64_t* bytes) {
  uint64_t size = 0;
  std::string unit;
  if (!(*text >> size) || !std::getline(*text, unit, ',') || (unit != "MB" && unit != "KB")) return false;
  *bytes = size << (unit == "MB" ? 20 : 10);
  return true;
}

// "90:60MB,91:5MB"
std::vector<format::BlobShare> ParseShares(const std::string& text) {
  std::vector<format::BlobShare> shares;
  std::istringstream words(text);
  for (std::string share; std::getline(words, share, ',');) {
    const size_t colon = share.find(':');
    shares.push_back({.file = kv::FileNumber{std::stoull(share)}, .bytes = ParseBytes(share.substr(colon + 1))});
  }
  return shares;
}

// "values 90 100MB"
bool ParseBlobFile(const std::string& line, std::vector<format::VersionEdit::AddBlobFile>* files) {
  std::istringstream words(line);
  std::string word, bytes;
  uint64_t number = 0;
  if (!(words >> word >> number >> bytes) || word != "values") return false;
  files->push_back({std::make_shared<format::BlobFileMeta>(format::BlobFileMeta{
      .number = kv::FileNumber{number}, .bytes = ParseBytes(bytes), .records = 1, .record_bytes = ParseBytes(bytes)})});
  return true;
}

// "000012[a..f)8MB,25%,3MB{90:60MB}"
bool ParseVirtualTable(const kv::Order& order, const std::string& word, Mention* mention,
                       std::map<uint64_t, Table>* tables) {
  const size_t open = word.find('[');
  const size_t dots = word.find("..");
  const size_t close = word.find_first_of(")]");
  if (open == 0 || open == std::string::npos || dots == std::string::npos || close == std::string::npos) return false;
  mention->number = std::stoull(word.substr(0, open));
  mention->lower = word.substr(open + 1, dots - open - 1);
  mention->upper = word.substr(dots + 2, close - dots - 2);
  mention->is_open = word[close] == ')';
  Table& table = (*tables)[mention->number];
  table.position = kv::ToInt(mention->position);
  if (!table.smallest || order.CompareKeys(mention->lower, *table.smallest) < 0) table.smallest = mention->lower;
  if (!table.largest || order.CompareKeys(mention->upper, *table.largest) > 0) table.largest = mention->upper;
  const size_t brace = word.find('{', close);
  if (brace != std::string::npos) table.values = ParseShares(word.substr(brace + 1, word.size() - brace - 2));
  std::istringstream rest(word.substr(close + 1, brace == std::string::npos ? brace : brace - close - 1));
  if (rest.peek() == std::istringstream::traits_type::eof()) return true;
  if (!TakeBytes(&rest, &table.bytes)) return false;
  if (uint64_t percent = 0; rest >> percent) table.tombstone_percent = percent;
  std::string sign;
  if (std::getline(rest, sign, ',') && !rest.eof()) return TakeBytes(&rest, &table.masked_bytes.emplace());
  return true;
}

// "positions 2-16 level 0: 000002[a..z]4MB" as one line for each position.
std::vector<std::string> OneLineEach(const std::string& line) {
  unsigned first = 0, last = 0, number = 0;
  int head = 0, tail = 0;
  if (std::sscanf(line.c_str(), "positions %u-%u%n level %*[^:]: %n%u", &first, &last, &head, &tail, &number) < 3)
    return {line};
  std::vector<std::string> lines;
  const size_t table = line.find('[', static_cast<size_t>(tail));
  for (unsigned position = first; position <= last; ++position) {
    lines.push_back("position " + std::to_string(position) + line.substr(head, tail - head) +
                    std::to_string(number + position - first) + line.substr(table));
  }
  return lines;
}

// "position 9 level 0: table table ..."
bool ParseLine(const kv::Order& order, const std::string& line, std::vector<Mention>* mentions,
               std::map<uint64_t, Table>* tables) {
  std::istringstream words(line);
  std::string position_word, level_word, level, word;
  uint64_t position = 0;
  if (!(words >> position_word >> position >> level_word >> level)) return false;
  if (position_word != "position" || level_word != "level" || level.back() != ':') return false;
  level.pop_back();
  while (words >> word) {
    Mention mention{.position = kv::Position{position}, .lower = {}, .upper = {}};
    mention.level = level == "bottom" ? format::kBottommostLevel : static_cast<format::Level>(std::stoul(level));
    if (!ParseVirtualTable(order, word, &mention, tables)) return false;
    mentions->push_back(std::move(mention));
  }
  return true;
}

format::FileMetaPtr MakeFile(uint64_t number, const Table& table) {
  auto file = std::make_shared<format::FileMeta>();
  file->number = kv::FileNumber{number};
  file->bytes = table.bytes;
  file->entries = std::max<uint64_t>(table.bytes >> 10, 1);
  file->tombstones = file->entries * table.tombstone_percent / 100;
  file->smallest_sequence = table.position * 10;
  file->largest_sequence = table.position * 10;
  file->values = table.values;
  file->smallest = *table.smallest;
  file->largest = *table.largest;
  if (table.masked_bytes) {
    file->range_tombstones = 10;
    file->masked_bytes = *table.masked_bytes;
  }
  return file;
}

}  // namespace

Result<version::VersionPtr> ParseTree(const kv::Order& order, std::string_view text) {
  std::vector<Mention> mentions;
  std::map<uint64_t, Table> tables;
  format::VersionEdit edit;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (line.empty() || line[0] == '#') continue;
    if (ParseBlobFile(line, &edit.blob_files)) continue;
    for (const std::string& one : OneLineEach(line)) {
      if (!ParseLine(order, one, &mentions, &tables)) return Status::InvalidArgument("not a line of a tree: " + line);
    }
  }
  std::map<uint64_t, format::FileMetaPtr> files;
  for (const auto& [number, table] : tables) files[number] = MakeFile(number, table);
  for (const Mention& mention : mentions) {
    format::Bounds bounds{.lower = mention.lower, .upper = {}};
    if (mention.is_open) bounds.upper = mention.upper;
    // Bounds have an exclusive upper end, so they cannot express an inclusive end that is not the table's last key.
    if (!mention.is_open && files[mention.number]->largest != mention.upper) {
      return Status::InvalidArgument("a slice that ends with ] ends its table: " + mention.upper);
    }
    auto& add = edit.adds.emplace_back();
    add.position = mention.position;
    add.level = mention.level;
    add.file = files[mention.number];
    add.bounds = std::move(bounds);
  }
  return version::ApplyEdit(order, version::Version(), edit);
}

}  // namespace mergedb::testing
