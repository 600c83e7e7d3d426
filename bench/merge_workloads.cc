#include "bench/merge_workloads.h"

#include <algorithm>
#include <atomic>

#include "bench/keys.h"
#include "bench/workloads.h"

namespace mergedb::bench {
namespace {

std::string Number(int64_t number) { return std::to_string(number); }

// Flags that limit the keys to the first --merge_keys.
Flags MergedKeys(const Flags& flags) {
  Flags keys = flags;
  if (flags.merge_keys > 0) keys.num = flags.merge_keys;
  return keys;
}

// Values with new random bytes each time. If slices were reused, all sums of values would be equal.
class NumberValues {
 public:
  NumberValues(uint32_t seed, int64_t bytes) : random_(seed ^ 0x5bd1e995), value_(static_cast<size_t>(bytes), '\0') {}
  std::string_view Next() {
    for (size_t i = 0; i < value_.size(); i += sizeof(uint64_t)) {  // WHY by words: as in KeyMaker
      const uint64_t half = random_.Next();
      const uint64_t word = half | uint64_t{random_.Next()} << 32;
      std::memcpy(value_.data() + i, &word, std::min(sizeof word, value_.size() - i));
    }
    return value_;
  }

 private:
  LehmerRandom random_;
  std::string value_;
};

template <typename Change>
void UpdateWith(Task& task, Change change) {
  const Workload& work = task.workload;
  const auto reader = task.engine->NewReader();
  const auto writer = task.engine->NewWriter(work.durability, false);
  KeyMaker key(task.flags);
  NumberSource numbers(MergedKeys(task.flags), false, task.seed);
  NumberValues values(task.seed, work.value_bytes);
  std::string value;
  int64_t found = 0, put_bytes = 0;
  for (int64_t i = 0; i < work.num; ++i) {
    key.Set(numbers.Next(i));
    const bool is_found = reader->Get(key.view(), &value);
    if (!is_found) value.clear();
    found += is_found;
    change(values.Next(), is_found, &value);
    writer->Put(key.view(), value);
    writer->Commit();
    put_bytes += static_cast<int64_t>(key.view().size() + value.size());
    task.stats.FinishedOps(1);
  }
  task.stats.AddFound(found);
  task.stats.AddUserBytes(put_bytes);
  task.stats.AddBytes(work.num * static_cast<int64_t>(key.view().size() + static_cast<size_t>(work.value_bytes)));
  task.stats.AddMessage("( updates:" + Number(work.num) + " found:" + Number(found) + ")");
}

}  // namespace

void UpdateRandom(Task& task) {
  UpdateWith(task, [](std::string_view given, bool, std::string* value) { value->assign(given); });
}

void AppendRandom(Task& task) {
  UpdateWith(task, [](std::string_view given, bool is_found, std::string* value) {
    if (is_found) value->push_back(',');
    value->append(given);
  });
}

void XorUpdateRandom(Task& task) {
  UpdateWith(task, [](std::string_view given, bool, std::string* value) {
    value->resize(std::max(value->size(), given.size()));
    for (size_t i = 0; i < given.size(); ++i) (*value)[i] = static_cast<char>((*value)[i] ^ given[i]);
  });
}

void MergeRandom(Task& task) {
  const Workload& work = task.workload;
  const auto writer = task.engine->NewWriter(work.durability, work.batch_ops > 1);
  KeyMaker key(task.flags);
  NumberSource numbers(MergedKeys(task.flags), false, task.seed);
  NumberValues values(task.seed, work.value_bytes);
  for (int64_t i = 0; i < work.num; i += work.batch_ops) {
    const int64_t count = std::min(work.batch_ops, work.num - i);
    for (int64_t j = 0; j < count; ++j) writer->Merge(key.Set(numbers.Next(i + j)), values.Next());
    writer->Commit();
    task.stats.FinishedOps(count);
  }
  const int64_t bytes = work.num * (static_cast<int64_t>(key.view().size()) + work.value_bytes);
  task.stats.AddBytes(bytes);
  task.stats.AddUserBytes(bytes);
  task.stats.AddMessage("( updates:" + Number(work.num) + ")");
}

void ReadRandomMergeRandom(Task& task) {
  const Workload& work = task.workload;
  const auto reader = task.engine->NewReader();
  const auto writer = task.engine->NewWriter(work.durability, false);
  KeyMaker key(task.flags);
  NumberSource numbers(MergedKeys(task.flags), false, task.seed);
  NumberValues values(task.seed, work.value_bytes);
  std::string value;
  int64_t found = 0, merges = 0;
  size_t longest = 0;
  for (int64_t i = 0; i < work.num; ++i) {
    key.Set(numbers.Next(i));
    if (numbers.random().Uniform(100) < task.flags.mergereadpercent) {
      writer->Merge(key.view(), values.Next());
      writer->Commit();
      ++merges;
    } else if (reader->Get(key.view(), &value)) {
      ++found;
      longest = std::max(longest, value.size());
    }
    task.stats.FinishedOps(1);
  }
  task.stats.AddFound(found);
  task.stats.AddUserBytes(merges * (static_cast<int64_t>(key.view().size()) + work.value_bytes));
  task.stats.AddMessage("(reads:" + Number(work.num - merges) + " merges:" + Number(merges) +
                        " total:" + Number(work.num) + " hits:" + Number(found) +
                        " maxlength:" + Number(static_cast<int64_t>(longest)) + ")");
}

void ReadWhileMerging(Task& task) {
  if (task.index == 0) return WriteBesideOthers(task);
  ReadRandom(task);
}

// Only the first thread reads, because there is one database to read.
void FoldAll(Task& task) {
  if (task.index != 0) return;
  const auto cursor = task.engine->NewCursor();
  int64_t bytes = 0;
  for (cursor->SeekToFirst(); cursor->Valid(); cursor->Next()) {
    bytes += EntryBytes(*cursor, task.flags);
    task.stats.FinishedOps(1);
  }
  task.stats.AddBytes(bytes);
}

}  // namespace mergedb::bench
