// One key-value store as the benchmark sees it: the same few calls for every engine, so that the loops above it are
// the same code. The calls are as thin as each engine's own interface allows.
//
// A failure of the engine ends the program: a benchmark has nothing to say about half a run.
// THREADS: an Engine may be used by many threads; a Writer, Reader or Cursor by the thread that made it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bench/flags.h"

namespace mergedb::bench {

enum class Durability { kProcessCrash, kSynced, kNoWal };

// Puts and deletes take effect at Commit. A writer made for single operations may apply them at once; Commit must
// then follow each.
class Writer {
 public:
  virtual ~Writer() = default;
  virtual void Put(std::string_view key, std::string_view value) = 0;
  virtual void Delete(std::string_view key) = 0;
  virtual void DeleteRange(std::string_view begin, std::string_view end);  // an engine that cannot ends the program
  // What the operator of --merge_operator is given. REQUIRES: the engine's CanMerge.
  virtual void Merge(std::string_view, std::string_view) {}
  virtual void Commit() = 0;
};

class Reader {
 public:
  virtual ~Reader() = default;
  // Every engine copies the value out. False: not found.
  virtual bool Get(std::string_view key, std::string* value) = 0;
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
  // Does it know the operator of --merge_operator?
  virtual bool CanMerge() const { return false; }

  virtual std::unique_ptr<Writer> NewWriter(Durability durability, bool is_batched) = 0;
  // Commit ends a transaction, in the engine's own sense of the word; the next Put begins one. `is_sequential`: keys ascend, and
  // stand after all that are there.
  virtual std::unique_ptr<Writer> NewTransactionWriter(Durability durability, bool) {
    return NewWriter(durability, true);
  }
  virtual std::unique_ptr<Reader> NewReader() = 0;
  virtual std::unique_ptr<Cursor> NewCursor() = 0;

  // Return when no background work is left; the result is how long of the wait was only looking for it.
  virtual double WaitForCompaction() = 0;
  virtual void Compact() = 0;

  // What the engine says of itself under "stats" or "sstables"; empty if it has no such text.
  virtual std::string Property(std::string_view name) = 0;
  // Sorted runs that a scan has to merge, memtables not counted.
  virtual int64_t RunCount() = 0;
  // Is that one, some time after the last write?
  virtual bool SettlesIntoOneRun() const { return false; }
  // Bytes of memory for unflushed writes, by the engine's own account; < 0 if it gives none.
  virtual int64_t WriteMemoryBytes() = 0;
};

// Of RocksDB's operators, those that we have too.
bool IsMergeOperator(std::string_view name);

[[noreturn]] void Die(std::string_view engine, std::string_view act, std::string_view reason);

// `path` is created if missing.
std::unique_ptr<Engine> OpenEngine(const Flags& flags, const std::string& path);
// Remove the engine's own database at `path`, if there is one.
void DestroyEngine(const Flags& flags, const std::string& path);

// The engines, each in its file; they exist if the library was there at configure time.
std::unique_ptr<Engine> OpenMergedb(const Flags& flags, const std::string& path);
void DestroyMergedb(const Flags& flags, const std::string& path);
std::unique_ptr<Engine> OpenLeveldb(const Flags& flags, const std::string& path);
void DestroyLeveldb(const Flags& flags, const std::string& path);
std::unique_ptr<Engine> OpenRocksdb(const Flags& flags, const std::string& path);
void DestroyRocksdb(const Flags& flags, const std::string& path);
std::unique_ptr<Engine> OpenLmdb(const Flags& flags, const std::string& path);
void DestroyLmdb(const Flags& flags, const std::string& path);

}  // namespace mergedb::bench
