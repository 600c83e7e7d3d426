// LMDB, from the system's library: a copy-on-write B+tree in one mapped file. The durability "survives a
// process crash" is MDB_NOSYNC without MDB_WRITEMAP: a commit writes the pages to the page cache. After a power
// cut, such a file may be damaged as a whole, unlike that of a log-structured engine. LMDB has no mode between
// this one and a sync.
#include <lmdb.h>

#include <filesystem>

#include "bench/engines/engine.h"

namespace mergedb::bench {
namespace {

int Check(int code, std::string_view act) {
  if (code != 0 && code != MDB_NOTFOUND) Die("lmdb", act, mdb_strerror(code));
  return code;
}

MDB_val ValOf(std::string_view bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }
std::string_view ViewOf(const MDB_val& val) { return {static_cast<const char*>(val.mv_data), val.mv_size}; }

class LmdbWriter final : public Writer {
 public:
  LmdbWriter(MDB_env* env, MDB_dbi dbi, unsigned put_flags = 0) : env_(env), dbi_(dbi), put_flags_(put_flags) {}
  ~LmdbWriter() override {
    if (txn_) mdb_txn_abort(txn_);
  }
  void Put(std::string_view key, std::string_view value) override {
    MDB_val k = ValOf(key), v = ValOf(value);
    Check(mdb_put(Txn(), dbi_, &k, &v, put_flags_), "put");
  }
  void Delete(std::string_view key) override {
    MDB_val k = ValOf(key);
    Check(mdb_del(Txn(), dbi_, &k, nullptr), "delete");
  }
  void Commit() override {
    Check(mdb_txn_commit(Txn()), "commit");
    txn_ = nullptr;
  }

 private:
  MDB_txn* Txn() {
    if (!txn_) Check(mdb_txn_begin(env_, nullptr, 0, &txn_), "begin");
    return txn_;
  }
  MDB_env* env_;
  MDB_dbi dbi_;
  const unsigned put_flags_;
  MDB_txn* txn_ = nullptr;
};

class LmdbReader final : public Reader {
 public:
  LmdbReader(MDB_env* env, MDB_dbi dbi) : dbi_(dbi) {
    Check(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn_), "begin");
    mdb_txn_reset(txn_);
  }
  ~LmdbReader() override { mdb_txn_abort(txn_); }
  bool Get(std::string_view key, std::string* value) override {
    MDB_val k = ValOf(key), v;
    Check(mdb_txn_renew(txn_), "renew");
    const bool is_found = Check(mdb_get(txn_, dbi_, &k, &v), "get") == 0;
    if (is_found) value->assign(ViewOf(v));
    mdb_txn_reset(txn_);
    return is_found;
  }

 private:
  MDB_dbi dbi_;
  MDB_txn* txn_ = nullptr;
};

class LmdbCursor final : public Cursor {
 public:
  LmdbCursor(MDB_env* env, MDB_dbi dbi) {
    Check(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn_), "begin");
    Check(mdb_cursor_open(txn_, dbi, &cursor_), "cursor");
  }
  ~LmdbCursor() override {
    mdb_cursor_close(cursor_);
    mdb_txn_abort(txn_);
  }
  bool Valid() const override { return is_valid_; }
  void SeekToFirst() override { Move(MDB_FIRST); }
  void SeekToLast() override { Move(MDB_LAST); }
  void Seek(std::string_view target) override {
    key_ = ValOf(target);
    Move(MDB_SET_RANGE);
  }
  void Next() override { Move(MDB_NEXT); }
  void Prev() override { Move(MDB_PREV); }
  std::string_view key() const override { return ViewOf(key_); }
  std::string_view value() const override { return ViewOf(value_); }

 private:
  void Move(MDB_cursor_op op) { is_valid_ = Check(mdb_cursor_get(cursor_, &key_, &value_, op), "iterate") == 0; }

  MDB_txn* txn_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
  MDB_val key_ = {};
  MDB_val value_ = {};
  bool is_valid_ = false;
};

class LmdbEngine final : public Engine {
 public:
  LmdbEngine(const Flags& flags, const std::string& path) {
    Check(mdb_env_create(&env_), "create");
    Check(mdb_env_set_mapsize(env_, size_t{1} << 38), "mapsize");  // address space, not memory
    Check(mdb_env_set_maxreaders(env_, static_cast<unsigned>(flags.threads) + 126), "maxreaders");
    Check(mdb_env_open(env_, path.c_str(), MDB_NOSYNC | MDB_NOTLS, 0600), "open");
    MDB_txn* txn = nullptr;
    Check(mdb_txn_begin(env_, nullptr, 0, &txn), "begin");
    Check(mdb_dbi_open(txn, nullptr, 0, &dbi_), "dbi");
    Check(mdb_txn_commit(txn), "commit");
  }
  ~LmdbEngine() override { mdb_env_close(env_); }
  std::string Version() const override {
    return "LMDB " + std::to_string(MDB_VERSION_MAJOR) + "." + std::to_string(MDB_VERSION_MINOR) + "." +
           std::to_string(MDB_VERSION_PATCH);
  }

  // Sync on commit is a property of the environment, so writers of two durabilities cannot run at once.
  std::unique_ptr<Writer> NewWriter(Durability durability, bool) override {
    if (durability == Durability::kNoWal) Die("lmdb", "write", "LMDB has no WAL");
    Check(mdb_env_set_flags(env_, MDB_NOSYNC, durability != Durability::kSynced), "set flags");
    return std::make_unique<LmdbWriter>(env_, dbi_);
  }
  std::unique_ptr<Writer> NewTransactionWriter(Durability durability, bool is_sequential) override {
    (void)NewWriter(durability, true);
    return std::make_unique<LmdbWriter>(env_, dbi_, is_sequential ? MDB_APPEND : 0);
  }
  std::unique_ptr<Reader> NewReader() override { return std::make_unique<LmdbReader>(env_, dbi_); }
  std::unique_ptr<Cursor> NewCursor() override { return std::make_unique<LmdbCursor>(env_, dbi_); }

  double WaitForCompaction() override { return 0; }  // LMDB has no background work
  void Compact() override {}                         // LMDB has no compaction in place
  std::string Property(std::string_view) override { return {}; }
  int64_t RunCount() override { return 1; }
  int64_t WriteMemoryBytes() override { return -1; }

 private:
  MDB_env* env_ = nullptr;
  MDB_dbi dbi_ = 0;
};

}  // namespace

std::unique_ptr<Engine> OpenLmdb(const Flags& flags, const std::string& path) {
  return std::make_unique<LmdbEngine>(flags, path);
}

void DestroyLmdb(const Flags&, const std::string& path) {
  std::filesystem::remove(path + "/data.mdb");
  std::filesystem::remove(path + "/lock.mdb");
}

}  // namespace mergedb::bench
