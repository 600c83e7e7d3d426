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
#include "format/bloom.h"
#include "format/filter_block.h"
#include "format/version_edit.h"
#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/range_tombstones.h"
#include "mergedb/env.h"
#include "mergedb/result.h"
#include "table/block_source.h"
#include "table/scan_iterator.h"

namespace mergedb::table {

struct ReaderOptions {
  // The program's own filter policy; must outlive the reader. Null: bloom filters.
  const format::FilterPolicy* filter_policy = nullptr;
  // Maps the file and reads around cold blocks if this allows it; outlives the reader's open. Null: the file is not
  // mapped.
  env::FileMemory* memory = nullptr;
  env::Latencies* latencies = nullptr;  // of reads of blocks; outlives the reader; may be null
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

  // False: this table has no version of a key with this base::Hash64. Bytewise order only.
  bool MayContain(uint64_t hash) const { return bloom_.MayContain(hash); }
  // Prefetches the CPU cache line that MayContain reads.
  void PrefetchFilter(uint64_t hash) const { bloom_.Prefetch(hash); }

  // The newest version of `key` with a sequence up to `sequence`: OK and *found, NotFound, or an error. Asks
  // the program's own filter, but not the bloom filter.
  Status Get(std::string_view key, kv::Sequence sequence, const ReadControl& control, Found* found) const {
    return GetOrWait(key, sequence, control, nullptr, found).status();
  }
  // As Get, but may wait before it reads a block from the file. A null `deferral` never waits.
  env::ReadResult GetOrWait(std::string_view key, kv::Sequence sequence, const ReadControl& control,
                            env::Deferral* deferral, Found* found) const;
  // The next older version of the same key, from the place in *found, which Get or GetOlder has filled. So all versions
  // of a key cost one step each. The result is as of Get; after a failure *found is unusable.
  Status GetOlder(std::string_view key, const ReadControl& control, Found* found) const;

  // All range tombstones of the file, whatever the bounds of a virtual table; most tables have none. They are
  // valid as long as the Reader.
  const kv::RangeTombstones& range_tombstones() const { return range_tombstones_; }

  // Both directions, block by block through the cache. The Reader must outlive the iterator. `keep`, if
  // given, is this Reader; the iterator then holds it.
  std::unique_ptr<kv::Iterator> NewIterator(const ReadControl& control,
                                            std::shared_ptr<const Reader> keep = nullptr) const;
  // For compactions: from `lower` on, if given; reads of 1 MiB past the caches, always verified.
  std::unique_ptr<kv::ForwardIterator> NewScanIterator(std::optional<std::string> lower = {},
                                                       const ScanLimit& limit = {}) const;

  // Approximate number of bytes of the file before the first entry at or after `key`.
  uint64_t ApproximateOffset(std::string_view key) const;
  size_t memory_bytes() const;  // of index, filter, range tombstones and the bits of checked blocks
  // Asks the system to load the file into its page cache, since the writer bypassed it.
  void Warm() const;
  // Reads and verifies every byte.
  Status CheckIntegrity() const;
  const format::FileMeta& meta() const { return *meta_; }
  // The mapped file; empty if the table is not mapped. Values, and keys of blocks without prefix compression,
  // point into it.
  std::string_view mapped() const {
    return source_.mapping == nullptr ? std::string_view()
                                      : std::string_view(source_.mapping->data(), source_.mapping->size());
  }

 private:
  struct Sections;

  Reader(FileSystem* file_system, const std::string& path, const kv::Order& order, base::BlockCache* cache,
         const ReaderOptions& options);
  bool has_blocks() const { return source_.index.count() > 0; }  // a table without blocks has only range tombstones
  Status Load(format::FileMetaPtr meta);
  Status LoadChecked(format::FileMetaPtr meta);
  Status LoadIndex(const Sections& sections);
  Status MapBlocks();
  Status LoadRangeTombstones(const Sections& sections);
  Status LoadFilter(const Sections& sections);
  Status CheckSections() const;
  Status CheckPadding(uint64_t begin, uint64_t end) const;
  Status CheckEntries() const;

  // Constant after Load.
  BlockSource source_;
  format::Bloom bloom_;
  const format::FilterPolicy* const filter_policy_;
  env::FileMemory* const memory_;
  std::string own_filter_bytes_;
  std::optional<format::FilterBlock> own_filter_;
  kv::RangeTombstones range_tombstones_;
  format::FileMetaPtr meta_;
};

}  // namespace mergedb::table
