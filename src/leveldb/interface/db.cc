// leveldb::DB over mergedb's DbImpl. Each call translates its arguments and calls the engine. It makes no copy
// that mergedb's own interface would not make.
#include "leveldb/db.h"

#include <memory>
#include <utility>
#include <vector>

#include "db/db_impl.h"
#include "leveldb/interface/adapters.h"
#include "leveldb/interface/open_options.h"
#include "leveldb/interface/properties.h"
#include "leveldb/write_batch.h"

namespace leveldb {
namespace {

// A larger translated batch is not kept for the next call.
constexpr size_t kKeptBatchBytes = size_t{1} << 20;

struct HeldSnapshot final : public Snapshot {
  explicit HeldSnapshot(std::shared_ptr<const mergedb::Snapshot> taken) : core(std::move(taken)) {}
  ~HeldSnapshot() override = default;
  const std::shared_ptr<const mergedb::Snapshot> core;
};

mergedb::WriteOptions ToCore(const WriteOptions& options) {
  return {.durability = options.sync ? mergedb::Durability::kSynced : mergedb::Durability::kProcessCrash};
}

mergedb::ReadOptions ToCore(const ReadOptions& options) {
  mergedb::ReadOptions core;
  core.fill_cache = options.fill_cache;
  if (options.snapshot != nullptr) core.snapshot = static_cast<const HeldSnapshot*>(options.snapshot)->core.get();
  return core;
}

// WHY noexcept, here and below: if memory runs out where no error can be returned, the process stops, as with
// LevelDB. No exception leaves this interface.
// MEASURED: db_bench readseq over cached data: with one call of the engine's iterator for each call here, an
// entry took 54 instructions (10 %) more than through mergedb's own interface. So the Cursor steps with the internal
// iterator, internal(). It seeks with the engine's own, which counts the seek: compactions for reads and metrics need
// that.
class Cursor final : public Iterator {
 public:
  Cursor(std::shared_ptr<const Borrowed> borrowed, mergedb::db::DbImpl& database, const mergedb::ReadOptions& options)
      : borrowed_(std::move(borrowed)),
        core_(database.NewCursor({.read = options}, &skipped_)),
        walk_(core_->internal()) {}
  bool Valid() const noexcept override { return walk_.Valid(); }
  void SeekToFirst() noexcept override {
    core_->SeekToFirst();
    if (!walk_.Valid()) [[unlikely]]
      PassOverFailedKeys(true);
  }
  void SeekToLast() noexcept override {
    core_->SeekToLast();
    if (!walk_.Valid()) [[unlikely]]
      PassOverFailedKeys(false);
  }
  void Seek(const Slice& target) noexcept override {
    core_->Seek(ToStringView(target));
    if (!walk_.Valid()) [[unlikely]]
      PassOverFailedKeys(true);
  }
  void Next() noexcept override {
    if (walk_.Valid()) walk_.Next();
    if (!walk_.Valid()) [[unlikely]]
      PassOverFailedKeys(true);
  }
  void Prev() noexcept override {
    if (walk_.Valid()) walk_.Prev();
    if (!walk_.Valid()) [[unlikely]]
      PassOverFailedKeys(false);
  }
  Slice key() const noexcept override { return ToSlice(walk_.entry().key); }
  Slice value() const noexcept override { return ToSlice(walk_.entry().value); }
  // As in LevelDB: unreadable entries are passed over, and from then on status() returns the error, also while
  // the iterator is valid.
  Status status() const noexcept override {
    const mergedb::Status& status = core_->status();
    return FromCore(status.ok() ? skipped_.first() : status);
  }

 private:
  // The engine's iterator passes over unreadable blocks and tables itself. This passes over keys whose value is
  // unreadable.
  void PassOverFailedKeys(bool is_forward) noexcept {
    while (!walk_.Valid() && core_->failed_key()) {
      skipped_.Add(core_->status());
      is_forward ? core_->Next() : core_->Prev();
    }
  }

  const std::shared_ptr<const Borrowed> borrowed_;  // keeps it alive if the iterator is deleted after its database
  mergedb::kv::SkippedErrors skipped_;
  const std::unique_ptr<mergedb::read::InternalAccessIterator> core_;
  mergedb::kv::Iterator& walk_;
};

// A batch in LevelDB's encoding -> its single record, or a batch in mergedb's encoding.
class Translated final : public WriteBatch::Handler {
 public:
  explicit Translated(mergedb::WriteBatch* several) : several_(*several) { several_.Clear(); }

  void Put(const Slice& key, const Slice& value) override { Add({.key = key, .value = value}); }
  void Delete(const Slice& key) override { Add({.is_delete = true, .key = key}); }

  mergedb::Status WriteTo(mergedb::DB& database, const mergedb::WriteOptions& options) const {
    if (count_ != 1) return database.Write(options, several_);
    return first_.is_delete ? database.Delete(options, ToStringView(first_.key))
                            : database.Put(options, ToStringView(first_.key), ToStringView(first_.value));
  }

 private:
  struct Record {
    bool is_delete = false;
    Slice key = {};
    Slice value = {};
  };
  void Add(const Record& record) {
    if (++count_ == 1) {
      first_ = record;
      return;
    }
    if (count_ == 2) Append(first_);
    Append(record);
  }
  void Append(const Record& record) {
    if (record.is_delete) {
      several_.Delete(ToStringView(record.key));
    } else {
      several_.Put(ToStringView(record.key), ToStringView(record.value));
    }
  }

  size_t count_ = 0;
  Record first_;
  mergedb::WriteBatch& several_;
};

// A batch of this thread, whose memory is kept from call to call. A call within a call, such as a write of a program's
// Comparator to another database, gets one of its own.
class ThreadBatch {
 public:
  ThreadBatch() : batch_(kept_.is_used ? own_ : kept_.batch), is_kept_(!kept_.is_used) { kept_.is_used = true; }
  ~ThreadBatch() {
    if (!is_kept_) return;
    if (batch_.bytes() > kKeptBatchBytes) batch_ = {};
    kept_.is_used = false;
  }
  ThreadBatch(const ThreadBatch&) = delete;
  ThreadBatch& operator=(const ThreadBatch&) = delete;

  mergedb::WriteBatch& batch() { return batch_; }

 private:
  struct Kept {
    mergedb::WriteBatch batch;
    bool is_used = false;
  };
  static thread_local Kept kept_;

  mergedb::WriteBatch own_;
  mergedb::WriteBatch& batch_;
  const bool is_kept_;
};
thread_local ThreadBatch::Kept ThreadBatch::kept_;

class Database final : public DB {
 public:
  Database(const Comparator* order, std::shared_ptr<Borrowed> borrowed, std::unique_ptr<mergedb::db::DbImpl> core)
      : order_(*order), borrowed_(std::move(borrowed)), core_(std::move(core)) {}

  Status Put(const WriteOptions& options, const Slice& key, const Slice& value) override {
    return Guarded([&] { return FromCore(core_->Put(ToCore(options), ToStringView(key), ToStringView(value))); });
  }
  Status Delete(const WriteOptions& options, const Slice& key) override {
    return Guarded([&] { return FromCore(core_->Delete(ToCore(options), ToStringView(key))); });
  }
  Status Write(const WriteOptions& options, WriteBatch* updates) override;
  Status Get(const ReadOptions& options, const Slice& key, std::string* value) override {
    return Guarded([&] { return FromCore(core_->Get(ToCore(options), ToStringView(key), value)); });
  }
  Iterator* NewIterator(const ReadOptions& options) noexcept override;
  const Snapshot* GetSnapshot() noexcept override { return new HeldSnapshot(core_->GetSnapshot()); }
  void ReleaseSnapshot(const Snapshot* snapshot) noexcept override {
    delete static_cast<const HeldSnapshot*>(snapshot);
  }
  bool GetProperty(const Slice& property, std::string* value) noexcept override {
    value->clear();
    return PrintProperty(*core_, ToStringView(property), value);
  }
  void GetApproximateSizes(const Range* ranges, int n, uint64_t* sizes) noexcept override;
  void CompactRange(const Slice* begin, const Slice* end) noexcept override;

 private:
  const Comparator& order_;
  const std::shared_ptr<Borrowed> borrowed_;
  const std::unique_ptr<mergedb::db::DbImpl> core_;
};

Status Database::Write(const WriteOptions& options, WriteBatch* updates) {
  return Guarded([&] {
    if (updates == nullptr) return FromCore(core_->Flush());  // LevelDB begins a new memtable
    ThreadBatch several;
    Translated translated(&several.batch());
    Status status = updates->Iterate(&translated);
    if (status.ok()) status = FromCore(translated.WriteTo(*core_, ToCore(options)));
    return status;
  });
}

Iterator* Database::NewIterator(const ReadOptions& options) noexcept {
  return new Cursor(borrowed_, *core_, ToCore(options));
}

void Database::GetApproximateSizes(const Range* ranges, int n, uint64_t* sizes) noexcept {
  std::vector<mergedb::KeyRange> core;
  for (int i = 0; i < n; ++i)
    core.push_back({.lower = ToStringView(ranges[i].start), .upper = ToStringView(ranges[i].limit)});
  const std::vector<uint64_t> found = core_->ApproximateSizes(core);
  for (int i = 0; i < n; ++i) sizes[i] = found[static_cast<size_t>(i)];
}

// LevelDB's end is inclusive, mergedb's is exclusive. The next existing key after the end, if there is one,
// bounds the same keys.
void Database::CompactRange(const Slice* begin, const Slice* end) noexcept {
  const Status status = Guarded([&] {
    const std::string_view lower = begin == nullptr ? std::string_view() : ToStringView(*begin);
    std::string_view upper;
    std::unique_ptr<mergedb::Iterator> after;
    if (end != nullptr) {
      after = core_->NewIterator({});
      after->Seek(ToStringView(*end));
      if (after->Valid() && order_.Compare(ToSlice(after->key()), *end) == 0) after->Next();
      if (after->Valid()) upper = after->key();
    }
    return FromCore(
        core_->CompactRange(begin == nullptr ? nullptr : &lower, upper.data() == nullptr ? nullptr : &upper));
  });
  if (!status.ok()) borrowed_->log.Log("CompactRange: " + status.ToString());
}

Status Open(const Options& options, const std::string& name, DB** dbptr) {
  if (Status status = CheckOptions(options); !status.ok()) return status;
  // WHY before the engine's open: it recovers a database of mergedb, and converts one of LevelDB.
  if (options.error_if_exists && !options.create_if_missing && options.env->FileExists(name + "/CURRENT"))
    return Status::InvalidArgument(name, "exists (error_if_exists is true)");
  auto borrowed = std::make_shared<Borrowed>(options, name);
  auto core =
      mergedb::db::DbImpl::Open(ToCore(options, borrowed.get()), name,
                                {.block_keeper = borrowed->blocks.get(), .filter_policy = borrowed->filters.get()});
  if (!core) return OpenError(options, name, core.error());
  borrowed->log.Begin(options.env, name);
  borrowed->log.Log("mergedb serves LevelDB's interface; it keeps its own statistics, see the properties");
  *dbptr = new Database(options.comparator, std::move(borrowed), std::move(*core));
  return {};
}

}  // namespace

Status DB::Open(const Options& options, const std::string& name, DB** dbptr) {
  *dbptr = nullptr;
  return Guarded([&] { return leveldb::Open(options, name, dbptr); });
}

}  // namespace leveldb
