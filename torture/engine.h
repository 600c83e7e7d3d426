// The databases that are tortured, behind one face: their public C or C++ calls, their documented durable settings, small buffers
// so that little data makes much happen, every check that costs no option left at its default.
//
//     mergedb         mapped staging, the default        mergedb-pwrite   use_mapped_wal_buffer = false
//     leveldb         Debian's 1.23                      rocksdb          Debian's 7.8
//     lmdb            one write transaction a batch      sqlite-wal       journal_mode=WAL, synchronous=FULL
//     sqlite          the default rollback journal, synchronous=FULL
//
// Each is judged by what it promises: `syncs_each_commit` says that a commit that returned survives a power cut; the others
// promise that of a commit with `is_synced` and of all before it. All promise that a killed process loses nothing that returned.
// An error is a text; empty means that it went well.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mergedb::torture {

struct Batch {
  uint64_t number = 0;
  std::vector<std::pair<std::string, std::optional<std::string>>> changes = {};  // none: deleted
  bool is_synced = false;
};

using Pairs = std::map<std::string, std::string>;

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string Open(const std::string& directory) = 0;  // creates what is not there
  virtual std::string Write(const Batch& batch) = 0;           // atomically
  virtual std::string Scan(Pairs* found) = 0;
  virtual std::string Get(const std::string& key, std::optional<std::string>* value) = 0;
  virtual std::string Close() = 0;
  // What an open that succeeded had to say about damage; most engines have no call for it.
  virtual std::string Complaint() { return {}; }
  virtual bool syncs_each_commit() const = 0;
  virtual std::string version() const = 0;
};

// Null if this build does not have it.
std::unique_ptr<Engine> NewEngine(const std::string& name);
std::vector<std::string> EngineNames();

std::unique_ptr<Engine> NewMergedb(bool use_mapping);
std::unique_ptr<Engine> NewLeveldb();
std::unique_ptr<Engine> NewRocksdb();
std::unique_ptr<Engine> NewLmdb();
std::unique_ptr<Engine> NewSqlite(bool use_wal);

}  // namespace mergedb::torture
