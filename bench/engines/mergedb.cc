// mergedb, through its public interface.
#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "bench/engines/engine.h"
#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "mergedb/transaction.h"

namespace mergedb::bench {
namespace {

void Check(const Status& status, std::string_view act) {
  if (!status.ok()) Die("mergedb", act, status.ToString());
}

Options OptionsOf(const Flags& flags) {
  Options options;
  options.write_buffer_bytes = static_cast<size_t>(flags.write_buffer_size);
  options.memory_bytes =
      static_cast<size_t>(flags.memory > 0 ? flags.memory : 2 * flags.write_buffer_size + flags.cache_bytes());
  options.style = flags.style == "cascade" ? Style::kCascade : Style::kLazy;
  const auto codec = static_cast<Compression>(flags.compression);
  options.compression = {.upper = codec, .bottom = codec};
  options.bloom_bits_per_key = std::max(0, flags.bloom_bits);
  options.block_bytes = static_cast<size_t>(flags.block_size);
  options.open_tables_max = static_cast<size_t>(flags.open_files);
  options.use_mapped_wal_buffer = flags.mapped_staging;
  if (!flags.mmap_read) options.mapped_read_bytes_max = 0;
  options.keep_space_at_rest = flags.keep_space_at_rest;
  if (flags.min_blob_size >= 0) options.blob_value_bytes_min = static_cast<size_t>(flags.min_blob_size);
  return options;
}

WriteOptions WriteOptionsOf(Durability durability) {
  switch (durability) {
    case Durability::kSynced: return {.durability = mergedb::Durability::kSynced};
    case Durability::kNoWal: return {.durability = mergedb::Durability::kNoWal};
    case Durability::kProcessCrash: break;
  }
  return {.durability = mergedb::Durability::kProcessCrash};
}

class SingleWriter final : public Writer {
 public:
  SingleWriter(DB* db, Durability durability, std::string merge_operator)
      : db_(db), options_(WriteOptionsOf(durability)), merge_operator_(std::move(merge_operator)) {}
  void Put(std::string_view key, std::string_view value) override { Check(db_->Put(options_, key, value), "put"); }
  void Delete(std::string_view key) override { Check(db_->Delete(options_, key), "delete"); }
  void DeleteRange(std::string_view begin, std::string_view end) override {
    Check(db_->DeleteRange(options_, begin, end), "delete range");
  }
  void Merge(std::string_view key, std::string_view operand) override {
    Check(db_->Merge(options_, key, merge::Named(merge_operator_, operand)), "merge");
  }
  void Commit() override {}

 private:
  DB* db_;
  WriteOptions options_;
  std::string merge_operator_;
};

class BatchWriter final : public Writer {
 public:
  BatchWriter(DB* db, Durability durability, std::string merge_operator)
      : db_(db), options_(WriteOptionsOf(durability)), merge_operator_(std::move(merge_operator)) {}
  void Put(std::string_view key, std::string_view value) override { batch_.Put(key, value); }
  void Delete(std::string_view key) override { batch_.Delete(key); }
  void DeleteRange(std::string_view begin, std::string_view end) override { batch_.DeleteRange(begin, end); }
  void Merge(std::string_view key, std::string_view operand) override {
    batch_.Merge(key, merge::Named(merge_operator_, operand));
  }
  void Commit() override {
    Check(db_->Write(options_, batch_), "write");
    batch_.Clear();
  }

 private:
  DB* db_;
  WriteOptions options_;
  std::string merge_operator_;
  WriteBatch batch_;
};

class TransactionWriter final : public Writer {
 public:
  TransactionWriter(DB* db, Durability durability) : db_(db) {
    options_.durability = WriteOptionsOf(durability).durability;
  }
  void Put(std::string_view key, std::string_view value) override { Check(Begun().Put(key, value), "put"); }
  void Delete(std::string_view key) override { Check(Begun().Delete(key), "delete"); }
  void Commit() override {
    Check(Begun().Commit(), "commit");
    transaction_ = nullptr;
  }

 private:
  Transaction& Begun() {
    if (transaction_ != nullptr) [[likely]]
      return *transaction_;
    auto begun = Transaction::Begin(*db_, options_);
    Check(begun.status(), "begin");
    transaction_ = std::move(*begun);
    return *transaction_;
  }

  DB* db_;
  TransactionOptions options_;
  std::unique_ptr<Transaction> transaction_;
};

class MergedbReader final : public Reader {
 public:
  explicit MergedbReader(DB* db) : db_(db) {}
  bool Get(std::string_view key, std::string* value) override {
    const Status status = db_->Get({}, key, value);
    if (!status.ok() && !status.IsNotFound()) Check(status, "get");
    return status.ok();
  }
  int64_t MultiGet(const std::vector<std::string_view>& keys, std::vector<std::string>* values) override {
    int64_t found = 0;
    for (const Status& status : db_->MultiGet({}, keys, values)) {
      if (!status.ok() && !status.IsNotFound()) Check(status, "multi get");
      found += status.ok();
    }
    return found;
  }

 private:
  DB* db_;
};

class MergedbCursor final : public Cursor {
 public:
  explicit MergedbCursor(DB* db) : it_(db->NewIterator()) {}
  ~MergedbCursor() override { Check(it_->status(), "iterate"); }
  bool Valid() const override { return it_->Valid(); }
  void SeekToFirst() override { it_->SeekToFirst(); }
  void SeekToLast() override { it_->SeekToLast(); }
  void Seek(std::string_view target) override { it_->Seek(target); }
  void Next() override { it_->Next(); }
  void Prev() override { it_->Prev(); }
  std::string_view key() const override { return it_->key(); }
  std::string_view value() const override { return it_->value(); }

 private:
  std::unique_ptr<Iterator> it_;
};

class MergedbEngine final : public Engine {
 public:
  MergedbEngine(const Flags& flags, const std::string& path) : merge_operator_(flags.merge_operator) {
    auto db = DB::Open(OptionsOf(flags), path);
    if (!db) Check(db.error(), "open");
    db_ = std::move(db).value();
  }
  std::string Version() const override { return "mergedb " MERGEDB_VERSION; }
  bool CanMerge() const override { return IsMergeOperator(merge_operator_); }
  bool CanDeleteRange() const override { return true; }

  std::unique_ptr<Writer> NewWriter(Durability durability, bool is_batched) override {
    if (is_batched) return std::make_unique<BatchWriter>(db_.get(), durability, merge_operator_);
    return std::make_unique<SingleWriter>(db_.get(), durability, merge_operator_);
  }
  std::unique_ptr<Writer> NewTransactionWriter(Durability durability, bool) override {
    return std::make_unique<TransactionWriter>(db_.get(), durability);
  }
  std::unique_ptr<Reader> NewReader() override { return std::make_unique<MergedbReader>(db_.get()); }
  std::unique_ptr<Cursor> NewCursor() override { return std::make_unique<MergedbCursor>(db_.get()); }

  double WaitForCompaction() override {
    Check(db_->WaitForCompaction(), "waitforcompaction");
    return 0;
  }
  void Compact() override { Check(db_->CompactRange(nullptr, nullptr), "compact"); }

  std::string Property(std::string_view name) override {
    std::string text;
    return db_->GetProperty(name == "sstables" ? "mergedb.runs" : "mergedb." + std::string(name), &text)
               ? text
               : std::string();
  }
  int64_t RunCount() override { return Counter("\n" + Property("counters"), "runs"); }
  int64_t PendingCompactionBytes() override {
    std::istringstream lines(Property("stats"));
    double sum = 0, largest = 0;
    for (std::string line; std::getline(lines, line);) {
      uint64_t position = 0, level = 0, tables = 0;
      double mebibytes = 0;
      std::istringstream words(line);
      if (!(words >> position >> level >> tables >> mebibytes)) continue;  // a line that is no run
      sum += mebibytes;
      largest = std::max(largest, mebibytes);
    }
    return static_cast<int64_t>((sum - largest) * 1048576.0) +
           Counter("\n" + Property("counters"), "blob_bytes_garbage");
  }
  bool CompactsIntoOneRunWhenIdle() const override { return true; }
  int64_t WriteMemoryBytes() override {
    const std::string counters = "\n" + Property("counters");
    return Counter(counters, "memtable_bytes") + Counter(counters, "wal_buffer_bytes");
  }

 private:
  // The number in the line "name number"; 0 if there is no such line.
  static int64_t Counter(const std::string& lines, const std::string& name) {
    const size_t at = lines.find("\n" + name + " ");
    return at == std::string::npos ? 0 : std::strtoll(lines.c_str() + at + name.size() + 2, nullptr, 10);
  }

  const std::string merge_operator_;
  std::unique_ptr<DB> db_;
};

}  // namespace

std::unique_ptr<Engine> OpenMergedb(const Flags& flags, const std::string& path) {
  return std::make_unique<MergedbEngine>(flags, path);
}

void DestroyMergedb(const Flags& flags, const std::string& path) {
  const Status status = DB::Destroy(OptionsOf(flags), path);
  if (!status.IsNotFound()) Check(status, "destroy");
}

}  // namespace mergedb::bench
