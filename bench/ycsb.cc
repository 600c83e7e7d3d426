#include "bench/ycsb.h"

#include <algorithm>
#include <memory>
#include <string>

#include "bench/workloads.h"

namespace mergedb::bench {
namespace {

constexpr int64_t kZipfianItems = 10'000'000'000;  // of YCSB's ScrambledZipfianGenerator

// One thread of a workload.
class YcsbThread {
 public:
  explicit YcsbThread(Task& task)
      : task_(task),
        mix_(*task.workload.mix),
        records_(*task.records),
        reader_(task.engine->NewReader()),
        writer_(task.engine->NewWriter(task.workload.durability, false)),
        key_(task.flags),
        values_(task.value_bytes),
        sizes_(SizesOf(task)),
        random_(static_cast<uint32_t>(YcsbHash(task.seed))),
        chooser_(task.flags.distribution.empty() ? mix_.distribution : task.flags.distribution, task.flags.zipf_theta,
                 CountMax()) {}

  void Run() {
    for (int64_t i = 0; i < task_.workload.num; ++i) RunOne(static_cast<int>(random_.Uniform(100)));
    task_.stats.AddFound(found_);
    task_.stats.AddBytes(read_bytes_ + user_bytes_);
    task_.stats.AddUserBytes(user_bytes_);
  }

 private:
  // Twice the expected inserts, as in YCSB.
  int64_t CountMax() const {
    const int64_t inserts = task_.workload.num * task_.flags.threads * mix_.insert / 100;
    return task_.records_at_start + 2 * inserts;
  }

  void RunOne(int percent) {
    if ((percent -= mix_.read) < 0) return task_.stats.FinishedOp(OpKind::kRead, Read(Choose()));
    if ((percent -= mix_.update) < 0) return Update();
    if ((percent -= mix_.insert) < 0) return Insert();
    if ((percent -= mix_.scan) < 0) return Scan();
    ReadModifyWrite();
  }

  int64_t Choose() { return chooser_.Next(records_.count(), &random_); }

  int64_t Read(int64_t record) {
    if (!reader_->Get(key_.Set(record), &value_)) return 0;
    read_bytes_ += static_cast<int64_t>(key_.view().size() + value_.size());
    ++found_;
    return 1;
  }

  void Write(int64_t record) {
    const std::string_view value = values_.Next(sizes_.Next());
    writer_->Put(key_.Set(record), value);
    writer_->Commit();
    user_bytes_ += static_cast<int64_t>(key_.view().size() + value.size());
  }

  void Update() {
    Write(Choose());
    task_.stats.FinishedOp(OpKind::kUpdate, 0);
  }

  void Insert() {
    const int64_t record = records_.Reserve();
    if (record >= key_.record_count_max()) Die("--key_size", "insert", "the new record needs a longer key");
    Write(record);
    records_.Acknowledge(record);
    task_.stats.FinishedOp(OpKind::kInsert, 0);
  }

  void Scan() {
    const std::string_view first = key_.Set(Choose());
    const int64_t length = 1 + random_.Uniform(kYcsbScanMax);
    int64_t entries = 0;
    {
      const auto cursor = task_.engine->NewCursor();
      for (cursor->Seek(first); entries < length && cursor->Valid(); cursor->Next(), ++entries) {
        read_bytes_ += EntryBytes(*cursor, task_.flags);
      }
    }
    task_.stats.FinishedOp(OpKind::kScan, entries);
  }

  void ReadModifyWrite() {
    const int64_t record = Choose();
    const int64_t found = Read(record);
    Write(record);
    task_.stats.FinishedOp(OpKind::kReadModifyWrite, found);
  }

  Task& task_;
  const YcsbMix& mix_;
  RecordCounter& records_;
  const std::unique_ptr<Reader> reader_;
  const std::unique_ptr<Writer> writer_;
  RecordKey key_;
  ValueSource values_;
  ValueSizes sizes_;
  LehmerRandom random_;
  RecordChooser chooser_;
  std::string value_;
  int64_t found_ = 0;
  int64_t read_bytes_ = 0;
  int64_t user_bytes_ = 0;
};

}  // namespace

void RecordCounter::Reset(int64_t count) {
  next_.store(count);
  count_.store(count);
  early_.clear();
}

void RecordCounter::Acknowledge(int64_t record) {
  const std::lock_guard lock(mutex_);
  early_.insert(record);
  int64_t count = count_.load();
  while (!early_.empty() && *early_.begin() == count) {
    early_.erase(early_.begin());
    ++count;
  }
  count_.store(count);
}

// A multiplication by a number without the factors 2 and 5 permutes 0 to 10^n - 1. Multiples of the golden ratio are
// spread evenly.
RecordKey::RecordKey(const Flags& flags) : key_(flags), modulus_(1) {
  for (int digit = 0; digit < std::min(flags.key_size, 18); ++digit) modulus_ *= 10;
  factor_ = static_cast<uint64_t>(0.6180339887498949 * static_cast<double>(modulus_)) | 1;
  if (factor_ % 5 == 0) factor_ += 2;
}

uint64_t RecordKey::NumberOf(int64_t record) const {
  return static_cast<uint64_t>(static_cast<unsigned __int128>(record) * factor_ % modulus_);
}

RecordChooser::RecordChooser(std::string_view distribution, double theta, int64_t count_max)
    : is_latest_(distribution == "latest"),
      is_zipfian_(distribution == "zipfian"),
      count_max_(count_max),
      count_(is_latest_ ? count_max : kZipfianItems),
      zipfian_(count_, theta) {}

int64_t RecordChooser::Next(int64_t count, LehmerRandom* random) {
  if (is_latest_) {
    if (count != count_) zipfian_.SetCount(count_ = count);
    return count - 1 - zipfian_.NextRank(random);
  }
  if (!is_zipfian_) return random->Uniform(count);
  for (;;) {
    const int64_t record = YcsbHash(zipfian_.NextRank(random)) % count_max_;
    if (record < count) return record;
  }
}

int64_t YcsbHash(int64_t number) {
  uint64_t hash = 0xcbf29ce484222325;
  for (int byte = 0; byte < 8; ++byte)
    hash = (hash ^ (static_cast<uint64_t>(number) >> 8 * byte & 0xff)) * 0x100000001b3;
  return static_cast<int64_t>(static_cast<int64_t>(hash) < 0 ? 0 - hash : hash);
}

void LoadYcsb(Task& task) {
  const Workload& work = task.workload;
  const auto writer = task.engine->NewWriter(work.durability, work.batch_ops > 1);
  RecordKey key(task.flags);
  ValueSource values(task.value_bytes);
  ValueSizes sizes = SizesOf(task);
  const int64_t end = work.num * (task.index + 1) / task.flags.threads;
  int64_t bytes = 0;
  for (int64_t record = work.num * task.index / task.flags.threads; record < end;) {
    const int64_t count = std::min(work.batch_ops, end - record);
    for (const int64_t batch_end = record + count; record < batch_end; ++record) {
      const std::string_view value = values.Next(sizes.Next());
      writer->Put(key.Set(record), value);
      bytes += static_cast<int64_t>(key.view().size() + value.size());
    }
    writer->Commit();
    task.stats.FinishedOps(count);
  }
  task.stats.AddBytes(bytes);
  task.stats.AddUserBytes(bytes);
}

void RunYcsb(Task& task) { YcsbThread(task).Run(); }

}  // namespace mergedb::bench
