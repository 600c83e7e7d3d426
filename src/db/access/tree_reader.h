// Reads of tree keys (kv/key_map.h): point reads, iterators and sizes, each over one SuperVersion.
//
//   1. take the SuperVersion     it holds all memtables and tables that the read looks into
//   2. take the sequence         in the other order, a flush in between could drop versions that the sequence needs
//   3. if a batch was published that the SuperVersion has only in part: again from 1
//
// THREADS: any. Iterators may outlive this object and the database's Close; they share the Store.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/state/store.h"
#include "db/state/version_set.h"
#include "iterator/tombstone_scan.h"
#include "mergedb/keyspace.h"
#include "read/db_iterator.h"
#include "read/lookup.h"

namespace mergedb::db {

class TreeReader {
 public:
  TreeReader(std::shared_ptr<Store> store, const VersionSet& version_set)
      : store_(std::move(store)), version_set_(version_set) {}

  read::SuperVersionPtr Current() const { return version_set_.Current(); }

  // `newer` holds operands that are newer than all data of the database, newest first. `in_place`: as in
  // read::Lookup.
  Status Get(const ReadOptions& options, std::string_view key, std::string* value,
             std::span<const std::string_view> newer = {}, read::InPlace* in_place = nullptr) const;
  // If `map` is not null, it maps `keys` of keyspace `id` to tree keys. REQUIRES: as many `values` as `keys`.
  std::vector<Status> MultiGet(const ReadOptions& options, const kv::KeyMap* map, kv::KeyspaceId id,
                               const std::vector<std::string_view>& keys, std::vector<std::string>* values) const;

  // `overlay`: the writes of a transaction. Mapped tables whose data the iterator shows are added to `kept`,
  // which must outlive the iterator; null: they are released as the iterator moves on. If `skipped` is given,
  // the iterator passes over blocks and tables that it cannot read, and adds the errors there.
  std::unique_ptr<read::InternalAccessIterator> NewIterator(const IteratorOptions& options, read::Overlay overlay = {},
                                                            read::PinnedTables* kept = nullptr,
                                                            kv::SkippedErrors* skipped = nullptr) const;

  // The approximate bytes on disk of the keys within `bounds`.
  uint64_t SizeOf(const version::Version& version, const format::Bounds& bounds) const;

 private:
  Status CheckSnapshot(const ReadOptions& options) const;
  template <class Take>
  auto TakeSuperVersion(const ReadOptions& options, const Take& take, kv::Sequence* sequence) const;
  read::LookupContext LookupIn() const {
    return {.order = store_->order,
            .tables = *store_->tables,
            .values = store_->values,
            .operators = &store_->operators,
            .faults = &store_->file_memory.faults()};
  }

  const std::shared_ptr<Store> store_;
  const VersionSet& version_set_;
};

}  // namespace mergedb::db
