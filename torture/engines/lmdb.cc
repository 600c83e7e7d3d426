#include <lmdb.h>
#include <sys/stat.h>

#include "torture/engine.h"

namespace mergedb::torture {
namespace {

constexpr size_t kMapBytes = size_t{64} << 20;

std::string TextOf(int code) { return code == MDB_SUCCESS ? "" : mdb_strerror(code); }
MDB_val ValueOf(const std::string& text) { return {text.size(), const_cast<char*>(text.data())}; }
std::string TextOf(const MDB_val& value) { return {static_cast<const char*>(value.mv_data), value.mv_size}; }

class LmdbEngine final : public Engine {
 public:
  std::string Open(const std::string& directory) override {
    (void)mkdir(directory.c_str(), 0700);  // LMDB requires that the directory exists
    int code = mdb_env_create(&env_);
    if (code == MDB_SUCCESS) code = mdb_env_set_mapsize(env_, kMapBytes);
    if (code == MDB_SUCCESS) code = mdb_env_open(env_, directory.c_str(), 0, 0600);
    if (code != MDB_SUCCESS) return TextOf(code);
    MDB_txn* transaction = nullptr;
    code = mdb_txn_begin(env_, nullptr, 0, &transaction);
    if (code != MDB_SUCCESS) return TextOf(code);
    code = mdb_dbi_open(transaction, nullptr, 0, &table_);
    if (code == MDB_SUCCESS) return TextOf(mdb_txn_commit(transaction));
    mdb_txn_abort(transaction);
    return TextOf(code);
  }
  std::string Write(const Batch& batch) override {
    MDB_txn* transaction = nullptr;
    int code = mdb_txn_begin(env_, nullptr, 0, &transaction);
    if (code != MDB_SUCCESS) return TextOf(code);
    for (const auto& [key, value] : batch.changes) {
      MDB_val name = ValueOf(key);
      const std::string text = value.value_or("");
      MDB_val data = ValueOf(text);
      code = value ? mdb_put(transaction, table_, &name, &data, 0) : mdb_del(transaction, table_, &name, nullptr);
      if (code == MDB_NOTFOUND && !value) code = MDB_SUCCESS;
      if (code != MDB_SUCCESS) break;
    }
    if (code == MDB_SUCCESS) return TextOf(mdb_txn_commit(transaction));
    mdb_txn_abort(transaction);
    return TextOf(code);
  }
  std::string Scan(Pairs* found) override {
    MDB_txn* transaction = nullptr;
    int code = mdb_txn_begin(env_, nullptr, MDB_RDONLY, &transaction);
    if (code != MDB_SUCCESS) return TextOf(code);
    MDB_cursor* cursor = nullptr;
    code = mdb_cursor_open(transaction, table_, &cursor);
    MDB_val key{}, value{};
    // Bounded, because iteration of a damaged tree may never end. A valid tree has far fewer entries.
    for (int entries = 0; code == MDB_SUCCESS && entries < 1'000'000; ++entries) {
      code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT);
      if (code == MDB_SUCCESS) (*found)[TextOf(key)] = TextOf(value);
    }
    mdb_cursor_close(cursor);
    mdb_txn_abort(transaction);
    return code == MDB_NOTFOUND ? "" : TextOf(code);
  }
  std::string Get(const std::string& key, std::optional<std::string>* value) override {
    MDB_txn* transaction = nullptr;
    int code = mdb_txn_begin(env_, nullptr, MDB_RDONLY, &transaction);
    if (code != MDB_SUCCESS) return TextOf(code);
    MDB_val name = ValueOf(key), data{};
    code = mdb_get(transaction, table_, &name, &data);
    if (code == MDB_SUCCESS) *value = TextOf(data);
    mdb_txn_abort(transaction);
    return code == MDB_NOTFOUND ? "" : TextOf(code);
  }
  std::string Close() override {
    mdb_env_close(env_);
    return {};
  }
  bool syncs_each_commit() const override { return true; }
  std::string version() const override {
    int major = 0, minor = 0, patch = 0;
    (void)mdb_version(&major, &minor, &patch);
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
  }

 private:
  MDB_env* env_ = nullptr;
  MDB_dbi table_ = 0;
};

}  // namespace

std::unique_ptr<Engine> NewLmdb() { return std::make_unique<LmdbEngine>(); }

}  // namespace mergedb::torture
