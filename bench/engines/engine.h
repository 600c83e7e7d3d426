// One key-value store for the benchmark: the same few calls for every engine, so that all engines run the same
// loops. The calls are as thin as each engine's interface allows.
//
// A failure of the engine ends the program, because a partial run has no valid result. THREADS: many threads
// may use an Engine; a Writer, Reader or Cursor belongs to the thread that made it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/flags.h"

namespace mergedb::bench {

enum class Durability { kProcessCrash, kSynced, kNoWal };

// Puts and deletes take effect at Commit. A writer for single operations may apply each at once; then Commit
// must follow each operation.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual void Put(std::string_view key, std::string_view value) = 0;
  virtual void Delete(std::string_view key) = 0;
  // Ends the program if the engine does not support it.
  virtual void DeleteRange(std::string_view begin, std::string_view end);
  // Adds an operand for the operator of --merge_operator. REQUIRES: the engine's CanMerge.
  virtual void Merge(std::string_view, std::string_view) {}
  virtual void Commit() = 0;
};

class Reader {
 public:
  virtual ~Reader() = default;
  // Copies the value, for every engine. False: not found.
  virtual bool Get(std::string_view key, std::string* value) = 0;
  // The same for many keys in one call, if the engine has such a call; the default calls Get for each key. Returns the
  // number of keys that were found. REQUIRES: as many values as keys.
  virtual int64_t MultiGet(const std::vector<std::string_view>& keys, std::vector<std::string>* values);
};

class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual bool Valid() const = 0;
  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  virtual void Seek(std::string_view target) = 0;
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string Version() const = 0;  // "LevelDB 1.23"
  // True if the engine has the operator of --merge_operator.
  virtual bool CanMerge() const { return false; }
  virtual bool CanDeleteRange() const { return false; }

  virtual std::unique_ptr<Writer> NewWriter(Durability durability, bool is_batched) = 0;
  // Commit ends a transaction of the engine's own kind; the next Put begins one. The second parameter is true
  // if keys ascend and are larger than all existing keys.
  virtual std::unique_ptr<Writer> NewTransactionWriter(Durability durability, bool) {
    return NewWriter(durability, true);
  }
  virtual std::unique_ptr<Reader> NewReader() = 0;
  virtual std::unique_ptr<Cursor> NewCursor() = 0;

  // Returns when no background work is left. The result is the part of the wait, in seconds, that only detects
  // this.
  virtual double WaitForCompaction() = 0;
  virtual void Compact() = 0;

  // The engine's text for "stats" or "sstables"; empty if it has none.
  virtual std::string Property(std::string_view name) = 0;
  // Sorted runs that a scan merges, without memtables.
  virtual int64_t RunCount() = 0;
  // Bytes that compactions still have to rewrite: RocksDB's own estimate; of mergedb the tables outside of the largest
  // sorted run and the garbage in blob files, which are not 0 at rest. < 0 if the engine has no such figure.
  virtual int64_t PendingCompactionBytes() { return -1; }
  // True if an idle compaction leaves one sorted run some time after the last write.
  virtual bool CompactsIntoOneRunWhenIdle() const { return false; }
  // Bytes of memory for unflushed writes, as the engine reports them; < 0 if it does not.
  virtual int64_t WriteMemoryBytes() = 0;
};

// True for the operators of RocksDB that mergedb has too.
bool IsMergeOperator(std::string_view name);

[[noreturn]] void Die(std::string_view engine, std::string_view act, std::string_view reason);

// The engines whose libraries are linked, not loaded at run time.
std::vector<std::string> LinkedEngines();

// Creates `path` if it is missing.
std::unique_ptr<Engine> OpenEngine(const Flags& flags, const std::string& path);
// Removes the engine's own database at `path`, if there is one.
void DestroyEngine(const Flags& flags, const std::string& path);

// The engines, one file each. An engine is present if CMake found its library.
std::unique_ptr<Engine> OpenMergedb(const Flags& flags, const std::string& path);
void DestroyMergedb(const Flags& flags, const std::string& path);
std::unique_ptr<Engine> OpenLeveldb(const Flags& flags, const std::string& path);
void DestroyLeveldb(const Flags& flags, const std::string& path);
std::unique_ptr<Engine> OpenRocksdb(const Flags& flags, const std::string& path);
void DestroyRocksdb(const Flags& flags, const std::string& path);
std::unique_ptr<Engine> OpenLmdb(const Flags& flags, const std::string& path);
void DestroyLmdb(const Flags& flags, const std::string& path);
// fjall or Pebble, as --engine says.
std::unique_ptr<Engine> OpenPeer(const Flags& flags, const std::string& path);
void DestroyPeer(const Flags& flags, const std::string& path);

}  // namespace mergedb::bench
