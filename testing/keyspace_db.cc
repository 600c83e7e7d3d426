#include "testing/keyspace_db.h"

#include <string>
#include <utility>
#include <vector>

namespace mergedb::testing {
namespace {

class MovedBatch final : public WriteBatch::Visitor {
 public:
  explicit MovedBatch(Keyspace keyspace) : keyspace_(keyspace) {}
  void Put(std::string_view key, std::string_view value) override { batch.Put(keyspace_, key, value); }
  void Delete(std::string_view key) override { batch.Delete(keyspace_, key); }
  void DeleteRange(std::string_view begin, std::string_view end) override { batch.DeleteRange(keyspace_, begin, end); }
  void Merge(std::string_view key, std::string_view operand) override { batch.Merge(keyspace_, key, operand); }

  WriteBatch batch;

 private:
  const Keyspace keyspace_;
};

class KeyspaceDb final : public DB {
 public:
  KeyspaceDb(std::unique_ptr<DB> whole, Keyspace tenant, Keyspace neighbour)
      : whole_(std::move(whole)), tenant_(tenant), neighbour_(neighbour) {}

  Status Put(const WriteOptions& options, std::string_view key, std::string_view value) override {
    Neighbour(options, key);
    return whole_->Put(options, tenant_, key, value);
  }
  Status Delete(const WriteOptions& options, std::string_view key) override {
    Neighbour(options, key);
    return whole_->Delete(options, tenant_, key);
  }
  Status DeleteRange(const WriteOptions& options, std::string_view begin, std::string_view end) override {
    return whole_->DeleteRange(options, tenant_, begin, end);
  }
  Status DeletePrefix(const WriteOptions& options, std::string_view prefix) override {
    return whole_->DeletePrefix(options, tenant_, prefix);
  }
  Status Merge(const WriteOptions& options, std::string_view key, std::string_view operand) override {
    Neighbour(options, key);
    return whole_->Merge(options, tenant_, key, operand);
  }
  Status Write(const WriteOptions& options, const WriteBatch& batch) override {
    MovedBatch moved(tenant_);
    RETURN_IF_ERROR(batch.Visit(moved));
    return whole_->Write(options, moved.batch);
  }
  Status Get(const ReadOptions& options, std::string_view key, std::string* value) override {
    return whole_->Get(options, tenant_, key, value);
  }
  std::vector<Status> MultiGet(const ReadOptions& options, const std::vector<std::string_view>& keys,
                               std::vector<std::string>* values) override {
    return whole_->MultiGet(options, tenant_, keys, values);
  }
  std::unique_ptr<Iterator> NewIterator(const IteratorOptions& options) override {
    IteratorOptions moved = options;
    moved.keyspace = tenant_;
    return whole_->NewIterator(moved);
  }
  std::shared_ptr<const Snapshot> GetSnapshot() override { return whole_->GetSnapshot(); }
  Status Flush() override { return whole_->Flush(); }
  Status SyncWal() override { return whole_->SyncWal(); }
  Status CompactRange(const std::string_view* lower, const std::string_view* upper) override {
    return whole_->CompactRange(tenant_, lower, upper);
  }
  Status WaitForCompaction() override { return whole_->WaitForCompaction(); }
  std::vector<uint64_t> ApproximateSizes(const std::vector<KeyRange>& ranges) override {
    return whole_->ApproximateSizes(tenant_, ranges);
  }
  bool GetProperty(std::string_view name, std::string* value) override { return whole_->GetProperty(name, value); }
  Result<std::vector<Metric>> Metrics() override { return whole_->Metrics(); }
  Result<std::vector<LatencyHistogram>> Histograms() override { return whole_->Histograms(); }
  Status CheckIntegrity() override { return whole_->CheckIntegrity(); }
  Status Close() override { return whole_->Close(); }

 private:
  // Uses the durability of the write that it accompanies, so that it does not change the durability of that write.
  void Neighbour(const WriteOptions& options, std::string_view key) {
    if (key.size() < 1000) (void)whole_->Put(options, neighbour_, key, "a neighbour's");
  }

  const std::unique_ptr<DB> whole_;
  const Keyspace tenant_;
  const Keyspace neighbour_;
};

Result<Keyspace> Have(DB& db, std::string_view name) {
  auto found = db.OpenKeyspace(name);
  return found ? found : db.CreateKeyspace(name, {.may_exist = true});
}

}  // namespace

std::unique_ptr<DB> NewKeyspaceDb(std::unique_ptr<DB> whole, Tenancy tenancy) {
  const auto named = Have(*whole, "named");
  if (!named) return whole;
  const bool is_named = tenancy == Tenancy::kNamed;
  return std::make_unique<KeyspaceDb>(std::move(whole), is_named ? *named : Keyspace(), is_named ? Keyspace() : *named);
}

}  // namespace mergedb::testing
