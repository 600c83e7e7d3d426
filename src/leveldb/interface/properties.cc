#include "leveldb/interface/properties.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "base/bytes.h"
#include "leveldb/interface/escape.h"
#include "version/version.h"

namespace leveldb {
namespace {

constexpr size_t kLevels = 7;
using mergedb::db::DbImpl;
using Levels = std::array<std::vector<mergedb::version::VirtualTable>, kLevels>;

Levels LevelsOf(const DbImpl& database) {
  Levels levels;
  const auto version = database.CurrentSuperVersion()->version;
  for (const auto& run : version->runs()) {
    auto& level = levels[run == version->runs().back() ? kLevels - 1 : std::min<size_t>(run->level(), kLevels - 2)];
    level.insert(level.end(), run->virtual_tables().begin(), run->virtual_tables().end());
  }
  return levels;
}

uint64_t Counter(DbImpl& database, std::string_view name) {
  std::string text;
  uint64_t value = 0;
  if (database.GetProperty(name, &text)) (void)std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

double MiB(uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// Level 0 shows the counters of flushes, and the last level those of all compactions: mergedb does not count by
// level.
std::string Stats(DbImpl& database) {
  std::string text =
      "                               Compactions\n"
      "Level  Files Size(MB) Time(sec) Read(MB) Write(MB)\n"
      "--------------------------------------------------\n";
  const Levels levels = LevelsOf(database);
  for (size_t level = 0; level < kLevels; ++level) {
    uint64_t bytes = 0;
    for (const auto& slice : levels[level]) bytes += slice.file->bytes;
    uint64_t nanos = 0;
    uint64_t read = 0;
    uint64_t written = 0;
    if (level == 0) {
      nanos = Counter(database, "mergedb.flush_nanos");
      written = Counter(database, "mergedb.flush_bytes");
    } else if (level == kLevels - 1) {
      nanos = Counter(database, "mergedb.compaction_nanos");
      read = Counter(database, "mergedb.compaction_bytes_read");
      written = Counter(database, "mergedb.compaction_bytes_written");
    }
    if (levels[level].empty() && nanos == 0) continue;
    mergedb::base::Print(&text, "%3zu %8zu %8.0f %9.0f %8.0f %9.0f\n", level, levels[level].size(), MiB(bytes),
                         static_cast<double>(nanos) / 1e9, MiB(read), MiB(written));
  }
  return text;
}

std::string Tables(DbImpl& database) {
  std::string text;
  const Levels levels = LevelsOf(database);
  for (size_t level = 0; level < kLevels; ++level) {
    mergedb::base::Print(&text, "--- level %zu ---\n", level);
    for (const auto& slice : levels[level]) {
      const auto& file = *slice.file;
      text += " " + std::to_string(mergedb::kv::ToInt(file.number)) + ":" + std::to_string(file.bytes) + "['" +
              Escaped(slice.smallest()) + "' @ " + std::to_string(file.largest_sequence) + " : 1 .. '" +
              Escaped(slice.largest()) + "' @ " + std::to_string(file.smallest_sequence) + " : 1]\n";
    }
  }
  return text;
}

bool PrintFilesAtLevel(DbImpl& database, std::string_view digits, std::string* value) {
  uint64_t level = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() || level >= kLevels) return false;
  *value = std::to_string(LevelsOf(database)[level].size());
  return true;
}

}  // namespace

bool PrintProperty(DbImpl& database, std::string_view name, std::string* value) {
  constexpr std::string_view kLevelDb = "leveldb.";
  constexpr std::string_view kFilesAtLevel = "num-files-at-level";
  if (!name.starts_with(kLevelDb)) return database.GetProperty(name, value);
  name.remove_prefix(kLevelDb.size());
  if (name.starts_with(kFilesAtLevel)) return PrintFilesAtLevel(database, name.substr(kFilesAtLevel.size()), value);
  if (name == "stats") {
    *value = Stats(database);
  } else if (name == "sstables") {
    *value = Tables(database);
  } else if (name == "approximate-memory-usage") {
    *value =
        std::to_string(Counter(database, "mergedb.block_cache_bytes") + Counter(database, "mergedb.memtable_bytes") +
                       Counter(database, "mergedb.table_memory_bytes"));
  } else {
    return false;
  }
  return true;
}

}  // namespace leveldb
