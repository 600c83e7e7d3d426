#include "mergedb/db.h"
#include "torture/engine.h"

namespace mergedb::torture {
namespace {

std::string TextOf(const Status& status) { return status.ok() ? "" : status.ToString(); }

class MergedbEngine final : public Engine {
 public:
  explicit MergedbEngine(bool use_mapping) : use_mapping_(use_mapping) {}

  std::string Open(const std::string& directory) override {
    Options options;
    options.memory_bytes = 1 << 20;
    options.write_buffer_bytes = 64 << 10;
    options.use_mapped_wal_buffer = use_mapping_;
    auto db = DB::Open(options, directory);
    if (!db) return db.error().ToString();
    db_ = std::move(*db);
    return {};
  }
  std::string Write(const Batch& batch) override {
    WriteBatch writes;
    for (const auto& [key, value] : batch.changes) value ? writes.Put(key, *value) : writes.Delete(key);
    return TextOf(
        db_->Write({.durability = batch.is_synced ? Durability::kSynced : Durability::kProcessCrash}, writes));
  }
  std::string Scan(Pairs* found) override {
    auto it = db_->NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) (*found)[std::string(it->key())] = it->value();
    return TextOf(it->status());
  }
  std::string Get(const std::string& key, std::optional<std::string>* value) override {
    std::string text;
    const Status status = db_->Get({}, key, &text);
    if (status.ok()) *value = std::move(text);
    return status.IsNotFound() ? "" : TextOf(status);
  }
  std::string Close() override { return TextOf(db_->Close()); }
  std::string Complaint() override {
    std::string report;
    (void)db_->GetProperty("mergedb.recovery", &report);
    return report;
  }
  bool syncs_each_commit() const override { return false; }
  std::string version() const override { return MERGEDB_VERSION; }

 private:
  const bool use_mapping_;
  std::unique_ptr<DB> db_;
};

}  // namespace

std::unique_ptr<Engine> NewMergedb(bool use_mapping) { return std::make_unique<MergedbEngine>(use_mapping); }

}  // namespace mergedb::torture
