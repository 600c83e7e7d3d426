// A mergedb database: an ordered map from byte strings to byte strings, in one directory, used by one process.
//
//     #include <mergedb/db.h>
//     auto db = mergedb::DB::Open({}, "/tmp/example");
//     if (!db) return Fail(db.error());
//     RETURN_IF_ERROR((*db)->Put({}, "key", "value"));
//     std::string value;
//     RETURN_IF_ERROR((*db)->Get({}, "key", &value));
//
// Keys and values may contain any bytes. The database copies what it gets before a call returns.
// Promises: docs/PROMISES.md.
// THREADS: any number of threads may call every method at the same time, except Close and the destructor: no
// other call may start while they run. Calls after Close return ShuttingDown.
// OWNERSHIP: the caller owns the DB. The comparator and the Env members of the options must outlive it.
// Iterators and snapshots may outlive it; transactions must not.
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
#include "mergedb/metrics.h"
#include "mergedb/options.h"
#include "mergedb/result.h"
#include "mergedb/snapshot.h"
#include "mergedb/trace.h"
#include "mergedb/write_batch.h"

namespace mergedb {

// Limits in bytes. A larger key, value or batch returns InvalidArgument before a byte is written.
inline constexpr size_t kKeyBytesMax = size_t{8} << 20;
inline constexpr size_t kValueBytesMax = size_t{1} << 30;
inline constexpr size_t kBatchBytesMax = (size_t{1} << 31) - (size_t{1} << 20);

struct KeyRange {
  std::string_view lower;
  std::string_view upper;  // exclusive
};

class MERGEDB_EXPORT DB {
 public:
  // Opens the database in the directory `path`, or creates it, as options.mode says. Open fails, without a
  // change to any data file, if the directory is locked or no thread can be started (Busy), damaged (Corruption),
  // made by another program or a newer version (NotSupported), or if the options contradict each other or the database
  // (InvalidArgument). Other errors: NotFound, IOError, NoSpace. A LevelDB directory is converted: mergedb/leveldb.h.
  // The database stays in this directory: a later rename of it or chdir does not matter.
  static Result<std::unique_ptr<DB>> Open(const Options& options, const std::string& path);

  // Removes the files of the database, which may be damaged, and the directory if it is empty then. A LevelDB database
  // is removed, too. Errors: NotFound (`path` has no database), Busy (the database is open), NotSupported and
  // InvalidArgument (the files are of another engine), IOError.
  static Status Destroy(const Options& options, const std::string& path);

  virtual ~DB();  // calls Close and ignores its error

  // Sets the value of `key`. For all writes: if a write fails, Status::outcome_unknown() says whether it may still be
  // present after the next open. A database that is open read-only returns NotSupported.
  virtual Status Put(const WriteOptions& options, std::string_view key, std::string_view value) = 0;
  virtual Status Delete(const WriteOptions& options, std::string_view key) = 0;  // OK if the key is absent
  // Deletes every key in [begin, end), in the comparator's order. The cost is that of one write, however many
  // keys the range has. Compactions free the space later. If begin equals end, nothing is deleted; if begin
  // is after end: InvalidArgument.
  virtual Status DeleteRange(const WriteOptions& options, std::string_view begin, std::string_view end) = 0;
  // Deletes every key that begins with `prefix`. Requires the bytewise comparator. InvalidArgument if no key
  // is greater than all keys with this prefix: an empty prefix, or a prefix of 0xff bytes only.
  virtual Status DeletePrefix(const WriteOptions& options, std::string_view prefix) = 0;
  // Applies an operand to the value of `key` without reading the value, which may be absent. Reads and
  // compactions apply the operand. include/mergedb/merge.h makes operands and describes them; other bytes
  // return InvalidArgument.
  virtual Status Merge(const WriteOptions& options, std::string_view key, std::string_view operand) = 0;
  // Applies the batch atomically: all of its changes become visible and survive a crash, or none of them.
  virtual Status Write(const WriteOptions& options, const WriteBatch& batch) = 0;

  // NotFound if the key is absent; *value is unchanged, unless a page of a mapped file could not be read meanwhile. If
  // the operands of this key cannot be applied: MergeFailed, or NotSupported if a merge operator is missing; *value is
  // then undefined.
  virtual Status Get(const ReadOptions& options, std::string_view key, std::string* value) = 0;
  // Reads all keys as of one moment. Returns one Status and one value per key, in the order of `keys`.
  virtual std::vector<Status> MultiGet(const ReadOptions& options, const std::vector<std::string_view>& keys,
                                       std::vector<std::string>* values) = 0;

  // Never null: if the iterator cannot be made, its status has the error. options.keyspace names the keyspace.
  virtual std::unique_ptr<Iterator> NewIterator(const IteratorOptions& options = {}) = 0;
  // A snapshot of the present state. It keeps old versions on disk until its last pointer is released.
  virtual std::shared_ptr<const Snapshot> GetSnapshot() = 0;

  // After OK, everything that was written before the call is in tables and durable.
  virtual Status Flush() = 0;
  // After OK, every write that returned before the call survives a power loss.
  virtual Status SyncWal() = 0;
  // Flushes, then compacts the keys of [lower, upper) into the bottommost run, and waits for it. A null bound
  // is open; an empty range does nothing.
  virtual Status CompactRange(const std::string_view* lower, const std::string_view* upper) = 0;
  // Waits until no background work is pending: every memtable of more than 1 MiB is flushed, and the space on disk is
  // at most 1.25 times the live data. Then gives back the disk space that the WAL does not need.
  virtual Status WaitForCompaction() = 0;

  // Estimates the bytes on disk of each range, values in blob files included. Unflushed writes do not count.
  virtual std::vector<uint64_t> ApproximateSizes(const std::vector<KeyRange>& ranges) = 0;

  // ---- named keyspaces (mergedb/keyspace.h; RocksDB: column family, LMDB: named database). The calls above,
  // for the keyspace that the parameter names. Keyspace() is the default keyspace.

  // Creates a keyspace. The name has 1 to kKeyspaceNameBytesMax bytes, of any value. InvalidArgument if the
  // name exists, unless the options allow it. The first keyspace of a database writes the MANIFEST; libraries
  // that do not know keyspaces then refuse the database.
  virtual Result<Keyspace> CreateKeyspace(std::string_view name, const KeyspaceOptions& options = {});
  // NotFound if no keyspace has this name.
  virtual Result<Keyspace> OpenKeyspace(std::string_view name, const ReadOptions& options = {});
  virtual Result<std::vector<KeyspaceEntry>> ListKeyspaces(const ReadOptions& options = {});  // sorted by name
  // Drops the keyspace with all of its keys, by one write. InvalidArgument for the default keyspace and for a
  // keyspace that is already dropped.
  virtual Status DropKeyspace(const WriteOptions& options, Keyspace keyspace);
  // Deletes all keys of the keyspace, by one write. InvalidArgument for the default keyspace.
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

  // Stores the property `name` in *value; false if the name is unknown. "mergedb.stats" (text),
  // "mergedb.runs" (text), "mergedb.recovery", "mergedb.errors", "mergedb.snapshots", "mergedb.transactions"
  // (open transactions, a line each, oldest first), "mergedb.merge_operators" (names of the program's
  // operators that operands need, a line each), "mergedb.counters" (all counters, lines of "name value"),
  // "mergedb.<counter>" (one counter, a number), "mergedb.stats.json" (path and all counters, one JSON object),
  // "mergedb.prometheus" (all counters in Prometheus' text format 0.0.4, for an HTTP answer of /metrics).
  virtual bool GetProperty(std::string_view name, std::string* value) = 0;

  // The present values of all counters and gauges, with units and explanations (mergedb/metrics.h), in the order of
  // "mergedb.counters". A database that is open read-only has only those of its files and its own reads. The values are
  // read one after the other while other threads go on. Errors: ShuttingDown, and NotSupported from another
  // implementation of DB.
  virtual Result<std::vector<Metric>> Metrics();
  // The latency histograms of this process's operations, in a fixed order. Errors: as Metrics.
  virtual Result<std::vector<LatencyHistogram>> Histograms();

  // Records the calls on this database, with their times, to a new file (mergedb/trace.h, docs/TRACE.md). The file must
  // not exist. Errors: InvalidArgument (the options), Busy (a trace was started and not ended), IOError, NoSpace,
  // ShuttingDown, and NotSupported from another implementation of DB. If the file cannot be written later, the trace
  // ends, and no call fails for that reason.
  virtual Status StartTrace(const std::string& path, const TraceOptions& options = {});
  // Ends the trace. OK, also if the trace was full before; or the error that ended it, which leaves a trace without an
  // end. InvalidArgument if no trace was started. Close ends the trace, too. `report` may be null; it is filled also
  // after an error of the file.
  virtual Status EndTrace(TraceReport* report = nullptr);

  // Reads and checks every byte of every live table and blob file. OK, or the first damage found.
  virtual Status CheckIntegrity() = 0;

  // Makes the WAL durable, flushes writes that are not in the WAL (kNoWal), stops compactions at their next
  // step (see finish_compactions_on_close) and releases the lock. Iterators and snapshots that still exist become
  // errors. A second call returns OK.
  virtual Status Close() = 0;
};

}  // namespace mergedb
