#include "bench/workloads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/coding.h"
#include "base/crc32c.h"
#include "bench/keys.h"
#include "bench/measure.h"
#include "bench/merge_workloads.h"
#include "bench/replay.h"
#include "bench/transaction_workloads.h"
#include "bench/ycsb.h"

namespace mergedb::bench {
namespace {

void AddFoundMessage(Task& task, int64_t found, int64_t asked) {
  task.stats.AddFound(found);
  task.stats.AddMessage("(" + std::to_string(found) + " of " + std::to_string(asked) + " found)");
}

// Makes the range deletes that the flags request.
class RangeDeleter {
 public:
  explicit RangeDeleter(const Flags& flags) : flags_(flags), begin_(flags), end_(flags) {}

  // True if a range delete is due after this many writes.
  bool IsDue(int64_t written) const {
    return flags_.writes_per_range_tombstone > 0 && written % flags_.writes_per_range_tombstone == 0 &&
           (flags_.max_num_range_tombstones == 0 || made_ < flags_.max_num_range_tombstones);
  }
  void Delete(uint64_t first, Writer* writer) {
    writer->DeleteRange(begin_.Set(first), end_.Set(first + static_cast<uint64_t>(flags_.range_tombstone_width)));
    ++made_;
  }

 private:
  const Flags& flags_;
  KeyMaker begin_;
  KeyMaker end_;
  int64_t made_ = 0;
};

void Write(Task& task) {
  const Workload& work = task.workload;
  const auto writer = task.engine->NewWriter(work.durability, work.batch_ops > 1);
  KeyMaker key(task.flags);
  ValueSource values(task.value_bytes);
  ValueSizes sizes = SizesOf(task);
  NumberSource numbers(task.flags, work.is_sequential, task.seed);
  int64_t bytes = 0;
  if (work.num != task.flags.num) task.stats.AddMessage("(" + std::to_string(work.num) + " ops)");

  RangeDeleter ranges(task.flags);
  for (int64_t i = 0; i < work.num; i += work.batch_ops) {
    const int64_t count = std::min(work.batch_ops, work.num - i);
    for (int64_t j = 0; j < count; ++j) {
      const std::string_view value = values.Next(sizes.Next());
      writer->Put(key.Set(numbers.Next(i + j)), value);
      bytes += static_cast<int64_t>(key.view().size() + value.size());
      if (ranges.IsDue(i + j + 1)) ranges.Delete(numbers.Next(i + j), writer.get());
    }
    writer->Commit();
    task.stats.FinishedOps(count);
  }
  task.stats.AddBytes(bytes);
  task.stats.AddUserBytes(bytes);
}

// The threads share the keys. Each key is written once.
void FillUnique(Task& task) {
  const Workload& work = task.workload;
  const auto writer = task.engine->NewWriter(work.durability, work.batch_ops > 1);
  KeyMaker key(task.flags);
  ValueSource values(task.value_bytes);
  ValueSizes sizes = SizesOf(task);
  const Permutation numbers(work.num, static_cast<uint64_t>(task.flags.seed));
  const int64_t end = work.num * (task.index + 1) / task.flags.threads;
  int64_t bytes = 0;
  for (int64_t i = work.num * task.index / task.flags.threads; i < end;) {
    const int64_t count = std::min(work.batch_ops, end - i);
    for (const int64_t batch_end = i + count; i < batch_end; ++i) {
      const std::string_view value = values.Next(sizes.Next());
      writer->Put(key.Set(numbers.At(i)), value);
      bytes += static_cast<int64_t>(key.view().size() + value.size());
    }
    writer->Commit();
    task.stats.FinishedOps(count);
  }
  task.stats.AddBytes(bytes);
  task.stats.AddUserBytes(bytes);
}

void Delete(Task& task) {
  const Workload& work = task.workload;
  const auto writer = task.engine->NewWriter(work.durability, work.batch_ops > 1);
  KeyMaker key(task.flags);
  NumberSource numbers(task.flags, work.is_sequential, task.seed);
  for (int64_t i = 0; i < work.num; i += work.batch_ops) {
    const int64_t count = std::min(work.batch_ops, work.num - i);
    for (int64_t j = 0; j < count; ++j) writer->Delete(key.Set(numbers.Next(i + j)));
    writer->Commit();
    task.stats.FinishedOps(count);
  }
  task.stats.AddUserBytes(work.num * static_cast<int64_t>(key.view().size()));
}

// Ranges at equal distances, in scattered order: the same ranges for every engine and thread.
void DeleteRanges(Task& task) {
  const Flags& flags = task.flags;
  const int64_t half = std::max<int64_t>(1, flags.num / 2 / flags.range_tombstone_width);
  const int64_t count = flags.max_num_range_tombstones > 0 ? flags.max_num_range_tombstones : half;
  const int64_t stride = std::max<int64_t>(1, flags.num / count);
  const auto writer = task.engine->NewWriter(task.workload.durability, task.workload.batch_ops > 1);
  RangeDeleter ranges(flags);
  constexpr int64_t kPrime = 1'000'003;
  for (int64_t i = 0; i < count; i += task.workload.batch_ops) {
    const int64_t batch = std::min(task.workload.batch_ops, count - i);
    for (int64_t j = 0; j < batch; ++j) {
      ranges.Delete(static_cast<uint64_t>((i + j) * kPrime % count * stride), writer.get());
    }
    writer->Commit();
    task.stats.FinishedOps(batch);
  }
  task.stats.AddMessage("(" + std::to_string(count) + " ranges)");
}

void ReadSequential(Task& task) {
  const auto cursor = task.engine->NewCursor();
  int64_t bytes = 0, done = 0;
  for (cursor->SeekToFirst(); done < task.workload.reads && cursor->Valid(); cursor->Next(), ++done) {
    bytes += EntryBytes(*cursor, task.flags);
    task.stats.FinishedOps(1);
  }
  task.stats.AddBytes(bytes);
}

void ReadReverse(Task& task) {
  const auto cursor = task.engine->NewCursor();
  int64_t bytes = 0, done = 0;
  for (cursor->SeekToLast(); done < task.workload.reads && cursor->Valid(); cursor->Prev(), ++done) {
    bytes += EntryBytes(*cursor, task.flags);
    task.stats.FinishedOps(1);
  }
  task.stats.AddBytes(bytes);
}

}  // namespace

int64_t EntryBytes(const Cursor& cursor, const Flags& flags) {
  const std::string_view value = cursor.value();
  if (flags.touch_values) {
    uint64_t sum = 0;
    size_t at = 0;
    for (; at + 8 <= value.size(); at += 8) sum += base::LoadFixed64(value.data() + at);
    for (; at < value.size(); ++at) sum += static_cast<unsigned char>(value[at]);
    asm volatile("" ::"r"(sum));  // so that the compiler keeps the loads
  }
  return static_cast<int64_t>(cursor.key().size() + value.size());
}

ValueSizes SizesOf(const Task& task) {
  const int64_t bytes = task.workload.value_bytes;
  return bytes == task.flags.value_size ? ValueSizes(task.flags, task.seed) : ValueSizes(bytes);
}

void ReadRandom(Task& task) {
  const auto reader = task.engine->NewReader();
  KeyMaker key(task.flags);
  NumberSource numbers(task.flags, false, task.seed);
  std::string value;
  int64_t found = 0;
  for (int64_t i = 0; i < task.workload.reads; ++i) {
    found += reader->Get(key.Set(numbers.Next(i)), &value);
    task.stats.FinishedOps(1);
  }
  AddFoundMessage(task, found, task.workload.reads);
}

namespace {

void MultiReadRandom(Task& task) {
  const auto reader = task.engine->NewReader();
  const size_t batch = static_cast<size_t>(task.workload.batch_ops);
  std::vector<KeyMaker> makers(batch, KeyMaker(task.flags));
  NumberSource numbers(task.flags, false, task.seed);
  std::vector<std::string_view> keys(batch);
  std::vector<std::string> values(batch);
  int64_t found = 0, done = 0;
  for (; done < task.workload.reads; done += static_cast<int64_t>(batch)) {
    for (size_t i = 0; i < batch; ++i) keys[i] = makers[i].Set(numbers.Next(done + static_cast<int64_t>(i)));
    found += reader->MultiGet(keys, &values);
    task.stats.FinishedOps(static_cast<int64_t>(batch));
  }
  AddFoundMessage(task, found, done);
}

// Keys that are one character shorter than the written ones: absent, but between existing keys.
void ReadMissing(Task& task) {
  const auto reader = task.engine->NewReader();
  KeyMaker key(task.flags);
  NumberSource numbers(task.flags, false, task.seed);
  std::string value;
  for (int64_t i = 0; i < task.workload.reads; ++i) {
    const std::string_view whole = key.Set(numbers.Next(i));
    reader->Get(whole.substr(0, whole.size() - 1), &value);
    task.stats.FinishedOps(1);
  }
}

void ReadHot(Task& task) {
  const auto reader = task.engine->NewReader();
  KeyMaker key(task.flags);
  LehmerRandom random(task.seed);
  const int64_t range = (task.flags.num + 99) / 100;
  std::string value;
  for (int64_t i = 0; i < task.workload.reads; ++i) {
    reader->Get(key.Set(random.Uniform(range)), &value);
    task.stats.FinishedOps(1);
  }
}

// Opens a cursor for each seek.
void SeekRandom(Task& task) {
  KeyMaker key(task.flags);
  NumberSource numbers(task.flags, false, task.seed);
  int64_t found = 0;
  for (int64_t i = 0; i < task.workload.reads; ++i) {
    const auto cursor = task.engine->NewCursor();
    cursor->Seek(key.Set(numbers.Next(i)));
    found += cursor->Valid() && cursor->key() == key.view();
    task.stats.FinishedOps(1);
  }
  AddFoundMessage(task, found, task.workload.reads);
}

void SeekOrdered(Task& task) {
  const auto cursor = task.engine->NewCursor();
  KeyMaker key(task.flags);
  LehmerRandom random(task.seed);
  int64_t found = 0, number = 0;
  for (int64_t i = 0; i < task.workload.reads; ++i) {
    number = (number + random.Uniform(100)) % task.flags.num;
    cursor->Seek(key.Set(static_cast<uint64_t>(number)));
    found += cursor->Valid() && cursor->key() == key.view();
    task.stats.FinishedOps(1);
  }
  AddFoundMessage(task, found, task.workload.reads);
}

}  // namespace

// Overwrites random keys at --write_rate until the other threads have finished, and counts no operations.
void WriteBesideOthers(Task& task) {
  const auto writer = task.engine->NewWriter(task.workload.durability, false);
  KeyMaker key(task.flags);
  ValueSource values(task.value_bytes);
  ValueSizes sizes = task.workload.merges ? ValueSizes(task.workload.value_bytes) : SizesOf(task);
  NumberSource numbers(task.flags, false, task.seed);
  const double nanos_per_write = task.flags.write_rate > 0 ? 1e9 / task.flags.write_rate : 0;
  const uint64_t start = NowNanos();
  int64_t written = 0, bytes = 0;
  while (task.others_left.load() > 0) {
    if (nanos_per_write > 0 &&
        static_cast<double>(NowNanos() - start) < static_cast<double>(written) * nanos_per_write) {
      std::this_thread::sleep_for(std::chrono::microseconds(500));
      continue;
    }
    const std::string_view value = values.Next(sizes.Next());
    if (task.workload.merges) {
      writer->Merge(key.Set(numbers.Next(written)), value);
    } else {
      writer->Put(key.Set(numbers.Next(written)), value);
    }
    writer->Commit();
    bytes += static_cast<int64_t>(key.view().size() + value.size());
    ++written;
  }
  task.stats.AddUserBytes(bytes);
  task.stats.AddMessage("(" +
                        std::to_string(static_cast<int64_t>(static_cast<double>(written) /
                                                            (static_cast<double>(NowNanos() - start) * 1e-9))) +
                        " writes/s beside)");
}

namespace {

void ReadWhileWriting(Task& task) { task.index == 0 ? WriteBesideOthers(task) : ReadRandom(task); }
void SeekRandomWhileWriting(Task& task) { task.index == 0 ? WriteBesideOthers(task) : SeekRandom(task); }

// Only the first thread acts, because there is one database to open and one end to wait for.
void OpenAgain(Task& task) {
  if (task.index != 0) return;
  for (int64_t i = 0; i < task.workload.num; ++i) {
    task.reopen();
    task.stats.FinishedOps(1);
  }
}

void CompactAll(Task& task) {
  task.engine->Compact();
  task.stats.FinishedOps(1);
}

void WaitForCompaction(Task& task) {
  if (task.index != 0) return;
  const double idle_seconds = task.engine->WaitForCompaction();
  task.stats.CountOps(1);
  task.stats.Stop();
  task.stats.TakeOff(idle_seconds);
}

// A pause for background work that runs when nothing is written: mergedb starts an idle compaction into one
// sorted run 5 s after the last write, and checks once a second. WHY idle CPU does not end the wait: on a busy
// machine, the low-priority background threads may not run for a second.
void WaitForIdle(Task& task) {
  if (task.index != 0) return;
  constexpr double kPauseSeconds = 6.5, kSecondsMax = 120;
  const double begin = NowSeconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(kPauseSeconds));
  double idle_seconds = WaitUntilIdle();
  const auto is_owed = [&] { return task.engine->CompactsIntoOneRunWhenIdle() && task.engine->RunCount() > 1; };
  while (is_owed() && NowSeconds() - begin < kSecondsMax) idle_seconds = WaitUntilIdle();
  task.stats.CountOps(1);
  task.stats.Stop();
  task.stats.TakeOff(kPauseSeconds + idle_seconds);
  task.stats.AddMessage("(runs " + std::to_string(task.engine->RunCount()) + ")");
}

void Checksum(Task& task) {
  constexpr size_t kBlockBytes = 4096;
  constexpr int64_t kTotalBytes = int64_t{500} << 20;
  const std::string block(kBlockBytes, 'x');
  uint32_t crc = 0;
  for (int64_t bytes = 0; bytes < kTotalBytes; bytes += kBlockBytes) {
    crc ^= base::Crc32c(block);
    task.stats.FinishedOps(1);
    task.stats.AddBytes(kBlockBytes);
  }
  task.stats.AddMessage(crc == 1 ? "(4K per op) " : "(4K per op)");  // uses crc, so that the loop is not removed
}

struct Entry {
  std::string_view name;
  std::string_view help;
  void (*run)(Task&);
  void (*adjust)(Workload&);
};

const Entry kEntries[] = {
    {"fillseq", "write --num keys in order into a new database", Write,
     [](Workload& w) { w.needs_fresh_db = w.is_sequential = true; }},
    {"fillbatch", "as fillseq, in batches of 1000", Write,
     [](Workload& w) {
       w.needs_fresh_db = w.is_sequential = true;
       w.batch_ops = 1000;
     }},
    {"fillrandom", "write --num random keys into a new database", Write, [](Workload& w) { w.needs_fresh_db = true; }},
    {"filluniquerandom", "write each of --num keys once, in random order, into a new database", FillUnique,
     [](Workload& w) { w.needs_fresh_db = true; }},
    {"overwrite", "write --writes (below 0: --num) random keys into the existing database", Write,
     [](Workload& w) { w.takes_writes = true; }},
    {"fillsync", "write --num / 1000 random keys into a new database, each with a sync", Write,
     [](Workload& w) {
       w.needs_fresh_db = true;
       w.num /= 1000;
       w.durability = Durability::kSynced;
     }},
    {"filltxn", "write --num random keys into a new database, --batch_size keys in each transaction", FillTransactions,
     [](Workload& w) { w.needs_fresh_db = true; }},
    {"filltxnseq", "as filltxn, in key order", FillTransactions,
     [](Workload& w) { w.needs_fresh_db = w.is_sequential = true; }},
    {"readtxn", "read random keys that filltxn wrote, each in a transaction", ReadTransactions, [](Workload&) {}},
    {"readtxnwhilewriting", "as readtxn, while another thread writes transactions", ReadTransactionsWhileWriting,
     [](Workload& w) { w.extra_threads = 1; }},
    {"appendsync", "append to a plain file, with --sync sync it: the speed of the disk", AppendAndSync,
     [](Workload& w) { w.is_sampled = false; }},
    {"fill100K", "write --num / 1000 values of 100,000 bytes into a new database", Write,
     [](Workload& w) {
       w.needs_fresh_db = true;
       w.num /= 1000;
       w.value_bytes = 100 * 1000;
     }},
    {"deleteseq", "delete --num keys in order", Delete, [](Workload& w) { w.is_sequential = true; }},
    {"deleterandom", "delete --num random keys", Delete, [](Workload&) {}},
    {"deleterange", "delete ranges of --range_tombstone_width keys, spread evenly", DeleteRanges, [](Workload&) {}},
    {"readseq", "scan --reads entries from the first key forward", ReadSequential, [](Workload&) {}},
    {"readreverse", "scan --reads entries from the last key backward", ReadReverse, [](Workload&) {}},
    {"readrandom", "get --reads random keys", ReadRandom, [](Workload&) {}},
    {"multireadrandom", "get --reads random keys, --batch_size keys in each call, where the engine has such a call",
     MultiReadRandom, [](Workload&) {}},
    {"readrandomsmall", "get --reads / 1000 random keys", ReadRandom, [](Workload& w) { w.reads /= 1000; }},
    {"readmissing", "get --reads random keys that do not exist", ReadMissing, [](Workload&) {}},
    {"readhot", "get --reads random keys of the first hundredth", ReadHot, [](Workload&) {}},
    {"seekrandom", "open an iterator and seek a random key, --reads times", SeekRandom, [](Workload&) {}},
    {"seekordered", "seek ascending keys with one iterator", SeekOrdered, [](Workload&) {}},
    {"readwhilewriting", "readrandom while another thread overwrites at --write_rate", ReadWhileWriting,
     [](Workload& w) { w.extra_threads = 1; }},
    {"seekrandomwhilewriting", "seekrandom while another thread overwrites at --write_rate", SeekRandomWhileWriting,
     [](Workload& w) { w.extra_threads = 1; }},
    {"updaterandom", "get a random key and put it back with a new value", UpdateRandom,
     [](Workload& w) { w.changes = true; }},
    {"appendrandom", "get a random key and put it back with a value appended", AppendRandom,
     [](Workload& w) { w.changes = true; }},
    {"xorupdaterandom", "get a random key and put it back xored with a value", XorUpdateRandom,
     [](Workload& w) { w.changes = true; }},
    {"mergerandom", "merge with --merge_operator into random keys", MergeRandom,
     [](Workload& w) { w.changes = w.merges = true; }},
    {"readrandommergerandom", "get or merge random keys, --mergereadpercent percent merges", ReadRandomMergeRandom,
     [](Workload& w) { w.changes = w.merges = true; }},
    {"readwhilemerging", "readrandom while another thread merges at --write_rate", ReadWhileMerging,
     [](Workload& w) {
       w.merges = true;
       w.extra_threads = 1;
     }},
    {"foldall", "read all entries, so that all merge operands are applied; runs after merge benchmarks automatically",
     FoldAll, [](Workload&) {}},
    {"ycsbload", "insert the --num records of the ycsb benchmarks into a new database", LoadYcsb,
     [](Workload& w) { w.needs_fresh_db = true; }},
    {"ycsba", "YCSB's workload A: 50 percent reads, 50 percent updates, zipfian", RunYcsb,
     [](Workload& w) { w.mix = &kYcsbA; }},
    {"ycsbb", "YCSB's workload B: 95 percent reads, 5 percent updates, zipfian", RunYcsb,
     [](Workload& w) { w.mix = &kYcsbB; }},
    {"ycsbc", "YCSB's workload C: reads, zipfian", RunYcsb, [](Workload& w) { w.mix = &kYcsbC; }},
    {"ycsbd", "YCSB's workload D: 95 percent reads of recent records, 5 percent inserts", RunYcsb,
     [](Workload& w) { w.mix = &kYcsbD; }},
    {"ycsbe", "YCSB's workload E: 95 percent scans of 1 to 100 entries from a zipfian record, 5 percent inserts",
     RunYcsb, [](Workload& w) { w.mix = &kYcsbE; }},
    {"ycsbf", "YCSB's workload F: 50 percent reads, 50 percent reads with an update of the same record, zipfian",
     RunYcsb, [](Workload& w) { w.mix = &kYcsbF; }},
    {"replay", "do the operations of the trace --trace, at --replay_speed", Replay,
     [](Workload& w) { w.has_kinds = true; }},
    {"open", "close and open the database, --num / 10000 times", OpenAgain,
     [](Workload& w) {
       w.num = std::max<int64_t>(1, w.num / 10000);
       w.is_sampled = false;
     }},
    {"compact", "compact the whole database", CompactAll, [](Workload&) {}},
    {"waitforcompaction", "wait until no background work is left", WaitForCompaction,
     [](Workload& w) { w.waits_for_background = true; }},
    {"waitforidle", "pause as an idle program does, then wait until no background work is left", WaitForIdle,
     [](Workload& w) { w.waits_for_background = true; }},
    {"crc32c", "checksum 500 MB in blocks of 4 KB", Checksum, [](Workload&) {}},
    {"openloop", "put at a constant --rate for --duration seconds and print the latencies", RunOpenLoop,
     [](Workload&) {}},
};

struct PropertyEntry {
  std::string_view name;
  std::string_view help;
};

const PropertyEntry kProperties[] = {
    {"stats", "print the engine's statistics"},
    {"sstables", "print the engine's tables"},
    {"counters", "print mergedb's counters"},
};

void AppendHelp(std::string_view name, std::string_view help, std::string* text) {
  text->append("  ").append(name).append(name.size() < 24 ? 24 - name.size() : 1, ' ').append(help).append("\n");
}

}  // namespace

std::string WorkloadsHelp() {
  std::string text;
  for (const Entry& entry : kEntries) AppendHelp(entry.name, entry.help, &text);
  for (const PropertyEntry& entry : kProperties) AppendHelp(entry.name, entry.help, &text);
  return text;
}

bool IsProperty(std::string_view name) {
  return std::any_of(std::begin(kProperties), std::end(kProperties),
                     [&](const PropertyEntry& entry) { return entry.name == name; });
}

std::optional<Workload> FindWorkload(std::string_view name, const Flags& flags) {
  for (const Entry& entry : kEntries) {
    if (entry.name != name) continue;
    Workload workload{.name = std::string(name),
                      .run = entry.run,
                      .num = flags.num,
                      .reads = flags.read_count(),
                      .value_bytes = flags.value_size,
                      .batch_ops = flags.batch_size,
                      .durability = flags.sync          ? Durability::kSynced
                                    : flags.disable_wal ? Durability::kNoWal
                                                        : Durability::kProcessCrash};
    entry.adjust(workload);
    if (workload.changes || workload.mix != nullptr) workload.num = flags.change_count();
    if (workload.takes_writes && flags.writes >= 0) workload.num = flags.writes;
    return workload;
  }
  return std::nullopt;
}

}  // namespace mergedb::bench
