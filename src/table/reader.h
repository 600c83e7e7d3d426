// An open table: its index and filter in memory, its blocks through the cache.
//
// A point read is five steps, each of them at most a cache miss or two: filter line, index heads, cache slot, block tail
// and keys, value. Damage met on the way is Corruption naming file and offset, never an absent key: a damaged filter or
// index fails Open.
//
// Tests: tests/unit/table/reader_test.cc (behaviour), damage_test.cc (every byte flipped, every length cut).
// A table may be mapped (ReaderOptions): its uncompressed blocks are then read in place, each verified before its first use, and what
// is found in them lives as long as the Reader (docs/decisions/0027-mapped-tables.md).
// THREADS: everything but the iterators may be used from many threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/block_cache.h"
#include "format/leveldb_filter.h"
#include "format/version_edit.h"
#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"
#include "kv/skipped_errors.h"
#include "mergedb/env.h"

namespace mergedb::table {

struct ReadControl {
  bool verify_checksums = true;
  bool fill_cache = true;
  // Iterators pass over blocks that cannot be read and add the errors here; it must outlive them. Null: they end at the
  // error.
  kv::SkippedErrors* skipped = nullptr;
};

struct ReaderOptions {
  // The program's own filters, or null; must outlive the reader.
  const format::leveldb::FilterPolicy* filter_policy = nullptr;
  // Map the file, where the file system can; else it is read as others are.
  bool is_mapped = false;
};

// The answer of a point read. `pin` keeps `value` alive; an empty one: it lies in the mapping, and lives as long as the Reader.
struct Found {
  kv::Tag tag = 0;
  std::string_view value;
  base::BlockCache::Pin pin;
};

class Reader {
 public:
  // Reads footer, properties, index, filter and range tombstones, all checked against `meta` (bytes, unique id, entries, bounds) and each
  // other. A null `meta` believes the file (tools, repair). `cache` may be null.
  static Result<std::shared_ptr<Reader>> Open(FileSystem* file_system, const std::string& path,
                                              format::FileMetaPtr meta, const kv::Order& order, base::BlockCache* cache,
                                              const ReaderOptions& options = {});
  virtual ~Reader();

  // False: this table surely has no version of a key with this base::Hash64. Bytewise order only.
  virtual bool MayContain(uint64_t hash) const = 0;
  // Start loading into the processor's cache the line that MayContain will look at.
  virtual void PrefetchFilter(uint64_t hash) const = 0;

  // The newest version of key with a sequence up to `sequence`: OK and *found, NotFound, or an error. Does not ask the
  // filter, but the program's own.
  virtual Status Get(std::string_view key, kv::Sequence sequence, const ReadControl& control, Found* found) const = 0;

  // All of the file's, whatever a slice shows; most tables have none. They live as long as the Reader.
  virtual const kv::RangeTombstones& range_tombstones() const = 0;

  // Both directions, block by block through the cache. The Reader must outlive it: `keep`, if given, is the Reader, which it then keeps.
  virtual std::unique_ptr<kv::Iterator> NewIterator(const ReadControl& control,
                                                    std::shared_ptr<const Reader> keep = nullptr) const = 0;
  // For compactions: forward only (SeekToFirst, Seek, Next), reads 1 MiB at a time past the caches, always verifies.
  virtual std::unique_ptr<kv::Iterator> NewScanIterator() const = 0;

  // Bytes of the file before the first entry at or after `key`, about.
  virtual uint64_t ApproximateOffset(std::string_view key) const = 0;
  virtual size_t memory_bytes() const = 0;  // of index, filter and range tombstones
  // Ask the system to have the file in its page cache soon: it was written past it.
  virtual void Warm() const = 0;
  // Read and verify every byte.
  virtual Status CheckIntegrity() const = 0;
  // Keys that cut the file into about `parts` equal shares by bytes, ascending; fewer if it has fewer blocks.
  virtual std::vector<std::string> SplitKeys(size_t parts) const = 0;
  virtual const format::FileMeta& meta() const = 0;
  // Where the file is in memory; empty if it is not mapped. Values, and keys of blocks that share no prefix, are shown there.
  virtual std::string_view mapped() const = 0;
};

}  // namespace mergedb::table
