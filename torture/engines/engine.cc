#include "torture/engine.h"

namespace mergedb::torture {

std::vector<std::string> EngineNames() {
  std::vector<std::string> names = {"mergedb", "mergedb-pwrite"};
#ifdef MERGEDB_TORTURE_LEVELDB
  names.push_back("leveldb");
#endif
#ifdef MERGEDB_TORTURE_ROCKSDB
  names.push_back("rocksdb");
#endif
#ifdef MERGEDB_TORTURE_LMDB
  names.push_back("lmdb");
#endif
#ifdef MERGEDB_TORTURE_SQLITE
  names.push_back("sqlite-wal");
  names.push_back("sqlite");
#endif
  return names;
}

std::unique_ptr<Engine> NewEngine(const std::string& name) {
  if (name == "mergedb") return NewMergedb(true);
  if (name == "mergedb-pwrite") return NewMergedb(false);
#ifdef MERGEDB_TORTURE_LEVELDB
  if (name == "leveldb") return NewLeveldb();
#endif
#ifdef MERGEDB_TORTURE_ROCKSDB
  if (name == "rocksdb") return NewRocksdb();
#endif
#ifdef MERGEDB_TORTURE_LMDB
  if (name == "lmdb") return NewLmdb();
#endif
#ifdef MERGEDB_TORTURE_SQLITE
  if (name == "sqlite-wal") return NewSqlite(true);
  if (name == "sqlite") return NewSqlite(false);
#endif
  return nullptr;
}

}  // namespace mergedb::torture
