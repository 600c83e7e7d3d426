#include "testing/counted_writer.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "mergedb/merge.h"

namespace mergedb::testing {
namespace {

constexpr uint64_t kNotesMax = 25;
// More records than the memtable of the smallest write buffer can hold, in less than one block of the WAL.
constexpr uint64_t kDeletes = 320;
constexpr uint64_t kDeletesOneIn = 13;

std::string Short(const std::string& value) { return value.substr(0, 24) + (value.size() > 24 ? "..." : ""); }

}  // namespace

std::string CountedWriter::Value(uint64_t n, uint64_t index) const {
  const uint64_t bytes =
      base::Random(n * 131 + index).Uniform(n % 3 == 0 ? shape_.value_bytes_max : shape_.value_bytes_max / 8 + 1);
  return std::to_string(n) + ":" + std::string(bytes, static_cast<char>('a' + n % 26));
}

WriteBatch CountedWriter::Batch(uint64_t n) const {
  WriteBatch batch;
  batch.Put(CountKey(), std::to_string(n));
  if (PutsAllKeys(n)) {
    for (uint64_t index = 0; index < shape_.keys; ++index) batch.Put(Key(index), Value(n, index));
  } else {
    batch.Put(Key(n % shape_.keys), Value(n, n % shape_.keys));
  }
  if (n % kDeletesOneIn == 0) {
    for (uint64_t i = 0; i < kDeletes; ++i) batch.Delete(Prefix());
  }
  if (n % kNotesMax == 0) batch.DeleteRange(NotePrefix(), NotePrefix() + "~");
  batch.Put(NoteKey(n), "");
  batch.Merge(SumKey(), merge::AddU64(n));
  return batch;
}

Status CountedWriter::Write(DB& db, CountedProgress* progress, uint64_t seed,
                            const std::function<bool()>& goes_on) const {
  base::Random random(seed * 8 + shape_.id);
  for (uint64_t n = progress->begun[shape_.id] + 1; goes_on(); ++n) {
    const WriteBatch batch = Batch(n);
    const Durability durability = random.OneIn(shape_.synced_one_in) ? Durability::kSynced : Durability::kProcessCrash;
    progress->begun[shape_.id] = n;
    if (Status status = db.Write({.durability = durability}, batch); !status.ok()) return status;
    progress->returned[shape_.id] = n;
  }
  return {};
}

// The number of the batch that put the newest value of the key; 0 if no batch did.
uint64_t CountedWriter::NewestOf(uint64_t count, uint64_t index) const {
  const uint64_t behind = (count % shape_.keys + shape_.keys - index) % shape_.keys;
  const uint64_t alone = count > behind ? count - behind : 0;
  return std::max(alone, count / shape_.all_keys_one_in * shape_.all_keys_one_in);
}

// `value` is null if the key is absent.
std::string CountedWriter::Compare(uint64_t count, uint64_t index, const std::string* value) const {
  const uint64_t newest = NewestOf(count, index);
  if (newest == 0)
    return value == nullptr ? "" : Key(index) + " is " + Short(*value) + " after " + std::to_string(count) + " batches";
  if (value != nullptr && *value == Value(newest, index)) return "";
  return "after " + std::to_string(count) + " batches " + Key(index) + " is " +
         (value == nullptr ? "absent" : Short(*value)) + ", expected " + Short(Value(newest, index)) + " of batch " +
         std::to_string(newest);
}

CountedWriter::Seen CountedWriter::ReadByIterator(DB& db, bool is_forward, const Snapshot* snapshot) const {
  std::map<std::string, std::string> found;
  auto it = db.NewIterator({.prefix = Prefix(), .read = {.snapshot = snapshot}});
  for (is_forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid(); is_forward ? it->Next() : it->Prev()) {
    found.emplace(it->key(), it->value());
  }
  if (!it->status().ok()) return {.problem = "scan: " + it->status().ToString(), .status = it->status()};
  const auto find = [&](const std::string& key) {
    const auto at = found.find(key);
    return at == found.end() ? nullptr : &at->second;
  };
  const std::string* const text = find(CountKey());
  Seen seen{.count = text == nullptr ? 0 : std::stoull(*text)};
  for (uint64_t index = 0; index < shape_.keys && seen.problem.empty(); ++index)
    seen.problem = Compare(seen.count, index, find(Key(index)));
  const std::string* const sum = find(SumKey());
  const uint64_t expected = seen.count * (seen.count + 1) / 2;
  if (seen.problem.empty() && (sum == nullptr ? 0 : merge::ToU64(*sum)) != expected) {
    seen.problem = "the sum of " + std::to_string(seen.count) + " batches is wrong";
  }
  uint64_t notes = 0;
  for (auto at = found.lower_bound(NotePrefix()); at != found.end() && at->first.starts_with(NotePrefix()); ++at)
    ++notes;
  const uint64_t notes_expected = seen.count < kNotesMax ? seen.count : seen.count % kNotesMax + 1;
  if (seen.problem.empty() && notes != notes_expected) {
    seen.problem = std::to_string(notes) + " notes after " + std::to_string(seen.count) + " batches, expected " +
                   std::to_string(notes_expected);
  }
  return seen;
}

CountedWriter::Seen CountedWriter::ReadByMultiGet(DB& db) const {
  // WHY the number last: it is the first record of a batch. If a batch becomes visible in parts, a reader that has
  // read the keys without the batch then reads the number with it, and finds the error.
  std::vector<std::string> keys, values;
  for (uint64_t index = 0; index < shape_.keys; ++index) keys.push_back(Key(index));
  keys.push_back(CountKey());
  const auto statuses = db.MultiGet({}, {keys.begin(), keys.end()}, &values);
  for (const Status& status : statuses) {
    if (!status.ok() && !status.IsNotFound()) return {.problem = "MultiGet: " + status.ToString(), .status = status};
  }
  Seen seen{.count = statuses.back().ok() ? std::stoull(values.back()) : 0};
  for (uint64_t index = 0; index < shape_.keys && seen.problem.empty(); ++index) {
    seen.problem = Compare(seen.count, index, statuses[index].ok() ? &values[index] : nullptr);
  }
  return seen;
}

CountedWriter::Seen CountedWriter::ReadPair(DB& db, uint64_t index, bool at_snapshot) const {
  const std::string count_key = CountKey(), key = Key(index);
  const auto snapshot = at_snapshot ? db.GetSnapshot() : nullptr;
  std::vector<std::string> values;
  Seen seen;
  for (int time = 0; time < (at_snapshot ? 2 : 1) && seen.problem.empty(); ++time) {
    const auto statuses = db.MultiGet({.snapshot = snapshot.get()}, {count_key, key}, &values);
    for (const Status& status : statuses) {
      if (!status.ok() && !status.IsNotFound())
        return {.problem = "MultiGet of a pair: " + status.ToString(), .status = status};
    }
    const uint64_t count = statuses[0].ok() ? std::stoull(values[0]) : 0;
    const uint64_t newest = NewestOf(count, index), found = statuses[1].ok() ? std::stoull(values[1]) : 0;
    if (found != newest) seen.problem = Compare(count, index, statuses[1].ok() ? &values[1] : nullptr);
    if (time == 1 && count != seen.count)
      seen.problem = "a snapshot of " + std::to_string(seen.count) + " batches became one of " + std::to_string(count);
    seen.count = count;
  }
  return seen;
}

CountedWriter::Seen CountedWriter::Read(DB& db, Way way) const {
  Seen seen;
  switch (way) {
    case Way::kMultiGet: seen = ReadByMultiGet(db); break;
    case Way::kSnapshot: {
      const auto snapshot = db.GetSnapshot();
      seen = ReadByIterator(db, true, snapshot.get());
      break;
    }
    default: seen = ReadByIterator(db, way == Way::kIterator, nullptr);
  }
  static constexpr const char* kNames[kWays] = {"iterator", "iterator backwards", "MultiGet", "snapshot"};
  if (!seen.problem.empty())
    seen.problem =
        "writer " + std::to_string(shape_.id) + ", " + kNames[static_cast<size_t>(way)] + ": " + seen.problem;
  return seen;
}

CountedWriter::Seen CountedWriter::ReadBetween(DB& db, Way way, uint64_t returned, uint64_t begun) const {
  Seen seen = Read(db, way);
  if (seen.problem.empty() && (seen.count < returned || seen.count > begun)) {
    seen.problem = "writer " + std::to_string(shape_.id) + ": " + std::to_string(seen.count) + " batches are there, " +
                   std::to_string(returned) + " had returned and " + std::to_string(begun) + " had begun";
  }
  return seen;
}

}  // namespace mergedb::testing
