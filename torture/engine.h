// The databases under test, behind one interface: their public C or C++ calls, their documented durable
// settings, and small buffers, so that little data causes many flushes and compactions. No option that turns
// checks off or on is changed.
//
//     mergedb         mapped WAL buffer, the default     mergedb-pwrite   use_mapped_wal_buffer = false
//     leveldb         Debian's 1.23                      rocksdb          Debian's 7.8
//     lmdb            one write transaction a batch      sqlite-wal       journal_mode=WAL, synchronous=FULL
//     sqlite          the default rollback journal, synchronous=FULL
//
// Each engine is tested against its promise. `syncs_each_commit`: a commit that returned survives a power cut.
// Other engines promise this only for a commit with `is_synced` and all commits before it. All engines promise
// that a killed process loses no commit that returned. An error is a text; the empty text means success.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mergedb::torture {

struct Batch {
  uint64_t number = 0;
  std::vector<std::pair<std::string, std::optional<std::string>>> changes = {};  // nullopt: a delete
  bool is_synced = false;
};

using Pairs = std::map<std::string, std::string>;

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string Open(const std::string& directory) = 0;  // creates a missing directory
  virtual std::string Write(const Batch& batch) = 0;           // atomically
  virtual std::string Scan(Pairs* found) = 0;
  virtual std::string Get(const std::string& key, std::optional<std::string>* value) = 0;
  virtual std::string Close() = 0;
  // The damage that a successful open reported; most engines have no call for this.
  virtual std::string Complaint() { return {}; }
  virtual bool syncs_each_commit() const = 0;
  virtual std::string version() const = 0;
};

// Null if the build lacks this engine.
std::unique_ptr<Engine> NewEngine(const std::string& name);
std::vector<std::string> EngineNames();

std::unique_ptr<Engine> NewMergedb(bool use_mapping);
std::unique_ptr<Engine> NewLeveldb();
std::unique_ptr<Engine> NewRocksdb();
std::unique_ptr<Engine> NewLmdb();
std::unique_ptr<Engine> NewSqlite(bool use_wal);

}  // namespace mergedb::torture
