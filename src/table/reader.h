// An open table: its index and filter are in memory, its blocks come through the block cache.
//
// A point read has five steps with one or two CPU cache misses each: filter line, index heads, cache slot,
// block tail and keys, value. Damage is Corruption with file and offset, never an absent key: a damaged
// filter or index fails Open.
//
// Tests: tests/unit/table/reader_test.cc (behaviour), damage_test.cc (every byte flipped, every length cut).
// A table may be mapped (ReaderOptions). Then its uncompressed blocks are read in place, each verified before
// its first use, and views of them are valid as long as the Reader (docs/decisions/0027-mapped-tables.md).
// THREADS: everything except the iterators may be used by many threads at the same time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/block_cache.h"
#include "env/deferral.h"
#include "env/file_memory.h"
#include "env/latencies.h"
#include "format/filter_block.h"
#include "format/version_edit.h"
#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"
#include "kv/skipped_errors.h"
#include "mergedb/env.h"
#include "mergedb/result.h"

namespace mergedb::table {

struct ReadControl {
  bool verify_checksums = true;
  bool fill_cache = true;
  // Iterators skip blocks that cannot be read and add the errors here; it must outlive them. Null: an
  // iterator ends at the error.
  kv::SkippedErrors* skipped = nullptr;
};

struct ReaderOptions {
  // The program's own filter policy; must outlive the reader. Null: bloom filters.
  const format::FilterPolicy* filter_policy = nullptr;
  // Maps the file and reads around cold blocks if this allows it; outlives the reader's open. Null: the file is not
  // mapped.
  env::FileMemory* memory = nullptr;
  env::Latencies* latencies = nullptr;  // of reads of blocks; outlives the reader; may be null
};

// How far a scan for a compaction goes, and what it says about an error.
struct ScanLimit {
  std::optional<std::string> upper = {};  // the caller needs no key from here on: no block behind it is read
  // Receives, after an error, the keys of the block that could not be read; it outlives the iterator. May be null.
  format::Bounds* unreadable = nullptr;
};

// The result of a point read. `pin` keeps `value` alive. With an empty pin, `value` is in the mapping and
// valid as long as the Reader.
struct Found {
  kv::Tag tag = 0;
  std::string_view value;
  base::BlockCache::Pin pin;
  // The place of the version, for GetOlder.
  std::string_view raw;  // its block
  uint32_t block = 0;
  uint32_t entry = 0;
};

class Reader {
 public:
  // Reads footer, properties, index, filter and range tombstones, and checks all of them against `meta`
  // (bytes, unique id, entries, bounds) and against each other. A null `meta` trusts the file (tools,
  // repair). `cache` may be null.
  static Result<std::shared_ptr<Reader>> Open(FileSystem* file_system, const std::string& path,
                                              format::FileMetaPtr meta, const kv::Order& order, base::BlockCache* cache,
                                              const ReaderOptions& options = {});
  virtual ~Reader();

  // False: this table has no version of a key with this base::Hash64. Bytewise order only.
  virtual bool MayContain(uint64_t hash) const = 0;
  // Prefetches the CPU cache line that MayContain reads.
  virtual void PrefetchFilter(uint64_t hash) const = 0;

  // The newest version of `key` with a sequence up to `sequence`: OK and *found, NotFound, or an error. Asks
  // the program's own filter, but not the bloom filter.
  Status Get(std::string_view key, kv::Sequence sequence, const ReadControl& control, Found* found) const {
    return env::StatusOf(GetOrWait(key, sequence, control, nullptr, found));
  }
  // As Get, but may wait before it reads a block from the file. A null `deferral` never waits.
  virtual Result<env::Progress> GetOrWait(std::string_view key, kv::Sequence sequence, const ReadControl& control,
                                          env::Deferral* deferral, Found* found) const = 0;
  // The next older version of the same key, from the place in *found, which Get or GetOlder has filled. So all versions
  // of a key cost one step each. The result is as of Get; after a failure *found is unusable.
  virtual Status GetOlder(std::string_view key, const ReadControl& control, Found* found) const = 0;

  // All range tombstones of the file, whatever the bounds of a virtual table; most tables have none. They are
  // valid as long as the Reader.
  virtual const kv::RangeTombstones& range_tombstones() const = 0;

  // Both directions, block by block through the cache. The Reader must outlive the iterator. `keep`, if
  // given, is this Reader; the iterator then holds it.
  virtual std::unique_ptr<kv::Iterator> NewIterator(const ReadControl& control,
                                                    std::shared_ptr<const Reader> keep = nullptr) const = 0;
  // For compactions: from `lower` on, if given; reads of 1 MiB past the caches, always verified.
  virtual std::unique_ptr<kv::ForwardIterator> NewScanIterator(std::optional<std::string> lower = {},
                                                               const ScanLimit& limit = {}) const = 0;

  // Approximate number of bytes of the file before the first entry at or after `key`.
  virtual uint64_t ApproximateOffset(std::string_view key) const = 0;
  virtual size_t memory_bytes() const = 0;  // of index, filter, range tombstones and the bits of checked blocks
  // Asks the system to load the file into its page cache, since the writer bypassed it.
  virtual void Warm() const = 0;
  // Reads and verifies every byte.
  virtual Status CheckIntegrity() const = 0;
  // Keys that cut the file into about `parts` equal shares by bytes, ascending; fewer if the file has fewer blocks.
  virtual std::vector<std::string> SplitKeys(size_t parts) const = 0;
  virtual const format::FileMeta& meta() const = 0;
  // The mapped file; empty if the table is not mapped. Values, and keys of blocks without prefix compression,
  // point into it.
  virtual std::string_view mapped() const = 0;
};

}  // namespace mergedb::table
