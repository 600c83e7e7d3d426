// A mergedb database: an ordered map from byte strings to byte strings, in one directory, for one process.
//
//     #include <mergedb/db.h>
//     auto db = mergedb::DB::Open({}, "/tmp/example");
//     if (!db) return Fail(db.error());
//     RETURN_IF_ERROR((*db)->Put({}, "key", "value"));
//     std::string value;
//     RETURN_IF_ERROR((*db)->Get({}, "key", &value));
//
// Promises: docs/PROMISES.md. THREADS: every method may be called from any number of threads at once, but for
// Close and the destructor, which must not race with other calls' start; calls after Close return ShuttingDown.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mergedb/export.h"
#include "mergedb/iterator.h"
#include "mergedb/keyspace.h"
#include "mergedb/options.h"
#include "mergedb/result.h"
#include "mergedb/snapshot.h"
#include "mergedb/write_batch.h"

namespace mergedb {

// Larger ones are InvalidArgument before a byte is written.
inline constexpr size_t kKeyBytesMax = size_t{8} << 20;
inline constexpr size_t kValueBytesMax = size_t{1} << 30;
inline constexpr size_t kBatchBytesMax = (size_t{1} << 31) - (size_t{1} << 20);

struct KeyRange {
  std::string_view lower;
  std::string_view upper;  // not included
};

class MERGEDB_EXPORT DB {
 public:
  // Fails without changing a byte of any data file if the directory is locked, damaged, foreign, or of a newer
  // version, or if the options contradict it.
  static Result<std::unique_ptr<DB>> Open(const Options& options, const std::string& path);

  // Remove the database's own files, and the directory if that leaves it empty. Refuses a directory that is not a
  // database (NotFound) or is open (Busy).
  static Status Destroy(const Options& options, const std::string& path);

  virtual ~DB();  // closes

  virtual Status Put(const WriteOptions& options, std::string_view key, std::string_view value) = 0;
  virtual Status Delete(const WriteOptions& options, std::string_view key) = 0;  // OK if absent
  // Every key from `begin` on and before `end`, in the comparator's order. Costs what one write costs, however many keys that
  // are; their space comes back as merges get there. Nothing if the two are equal, InvalidArgument if begin is after end.
  virtual Status DeleteRange(const WriteOptions& options, std::string_view begin, std::string_view end) = 0;
  // Every key that begins with these bytes. Bytewise comparator only; InvalidArgument for a prefix after which no key comes:
  // an empty one, or one of 0xff bytes alone.
  virtual Status DeletePrefix(const WriteOptions& options, std::string_view prefix) = 0;
  // Apply an operand to the value of `key` without reading it, whether there is one or not: reads do it, and background
  // merges. include/mergedb/merge.h makes operands and says what they do; other bytes are InvalidArgument.
  virtual Status Merge(const WriteOptions& options, std::string_view key, std::string_view operand) = 0;
  virtual Status Write(const WriteOptions& options, const WriteBatch& batch) = 0;

  // NotFound if absent; *value is then untouched. MergeFailed, or NotSupported if a merge operator is missing, if this
  // key's operands cannot be applied: *value is then anything.
  virtual Status Get(const ReadOptions& options, std::string_view key, std::string* value) = 0;
  // As of one moment. One Status and one value per key, in the order asked.
  virtual std::vector<Status> MultiGet(const ReadOptions& options, const std::vector<std::string_view>& keys,
                                       std::vector<std::string>* values) = 0;

  // Never null: an iterator that could not be made carries the error in its status. Of the keyspace that the options name.
  virtual std::unique_ptr<Iterator> NewIterator(const IteratorOptions& options = {}) = 0;
  virtual std::shared_ptr<const Snapshot> GetSnapshot() = 0;

  // Everything written before the call is in tables and durable when this returns OK.
  virtual Status Flush() = 0;
  // Every write that returned before the call survives power loss when this returns OK.
  virtual Status SyncLog() = 0;
  // Flush, then merge [lower, upper) into the bottom run; null ends are open, an empty range is nothing. Waits.
  virtual Status CompactRange(const std::string_view* lower, const std::string_view* upper) = 0;
  // Wait until no background work is owed: everything sealed is flushed and space is within 1.25 of live data.
  virtual Status WaitForCompaction() = 0;

  // Bytes on disk of each range, about; unflushed writes not counted.
  virtual std::vector<uint64_t> ApproximateSizes(const std::vector<KeyRange>& ranges) = 0;

  // ---- named keyspaces (mergedb/keyspace.h). The same calls as above in one of them; Keyspace() is the default one.

  // A name is 1 to 1,024 bytes, any bytes. InvalidArgument if there is one of this name, unless the options allow that. The first
  // keyspace of a database writes the MANIFEST: from then on libraries that do not know keyspaces refuse the database.
  virtual Result<Keyspace> CreateKeyspace(std::string_view name, const KeyspaceOptions& options = {});
  // NotFound if there is none of this name.
  virtual Result<Keyspace> OpenKeyspace(std::string_view name, const ReadOptions& options = {});
  virtual Result<std::vector<KeyspaceEntry>> ListKeyspaces(const ReadOptions& options = {});  // by name
  // The keyspace and all that is in it, by one write. InvalidArgument for the default one, and if it was dropped before.
  virtual Status DropKeyspace(const WriteOptions& options, Keyspace keyspace);
  // All that is in it, by one write. InvalidArgument for the default one.
  virtual Status ClearKeyspace(const WriteOptions& options, Keyspace keyspace);

  virtual Status Put(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view value);
  virtual Status Delete(const WriteOptions& options, Keyspace keyspace, std::string_view key);
  virtual Status DeleteRange(const WriteOptions& options, Keyspace keyspace, std::string_view begin,
                             std::string_view end);
  virtual Status DeletePrefix(const WriteOptions& options, Keyspace keyspace, std::string_view prefix);
  virtual Status Merge(const WriteOptions& options, Keyspace keyspace, std::string_view key, std::string_view operand);
  virtual Status Get(const ReadOptions& options, Keyspace keyspace, std::string_view key, std::string* value);
  virtual std::vector<Status> MultiGet(const ReadOptions& options, Keyspace keyspace,
                                       const std::vector<std::string_view>& keys, std::vector<std::string>* values);
  virtual Status CompactRange(Keyspace keyspace, const std::string_view* lower, const std::string_view* upper);
  virtual std::vector<uint64_t> ApproximateSizes(Keyspace keyspace, const std::vector<KeyRange>& ranges);

  // "mergedb.stats" (text), "mergedb.runs" (text), "mergedb.recovery", "mergedb.errors", "mergedb.snapshots",
  // "mergedb.transactions" (those that are open, a line each, oldest first),
  // "mergedb.merge_operators" (names of the programs' operators that operands ask for, a line each),
  // "mergedb.<counter>" (a number; "mergedb.counters" lists them as lines of "name value"). False if unknown.
  virtual bool GetProperty(std::string_view name, std::string* value) = 0;

  // Read every byte of every live table and check it. OK, or the first damage found.
  virtual Status CheckIntegrity() = 0;

  // Flush nothing but writes without a log, stop background work at its next step (see finish_merges_on_close), make the log durable, and
  // release the lock. Iterators and snapshots that are left become errors. A second call is OK.
  virtual Status Close() = 0;
};

}  // namespace mergedb
