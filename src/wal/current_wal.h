// The WAL that takes the writes of an open database, and its epoch. Positions of another epoch mean nothing in it: the
// methods below then answer as for no WAL.
//
// THREADS: any, if nothing else is said. Lock order: mutex_ is a leaf.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/sync.h"
#include "format/version_edit.h"
#include "wal/wal.h"

namespace mergedb::wal {

class CurrentWal {
 public:
  using WalStart = format::VersionEdit::WalStart;
  // What a commit to the MANIFEST records of the WAL.
  struct Facts {
    uint64_t durable = 0;
    std::vector<kv::FileNumber> segments;
    std::optional<uint64_t> staging_bytes = {};  // of the file STAGING, if frames may be in it
  };

  // Of the WALs of all epochs.
  const std::shared_ptr<Counters>& counters() const { return counters_; }

  // In the exclusive section. Replaces both.
  void Replace(std::shared_ptr<Wal> wal, uint64_t epoch) {
    base::Lock lock(mutex_);
    wal_ = std::move(wal);
    epoch_ = epoch;
  }
  // In the exclusive section. REQUIRES: Replace was called.
  Wal& wal() const { return *wal_; }
  // In the exclusive section. 0 before the first Replace.
  uint64_t epoch() const { return epoch_; }

  // Null before the first Replace.
  std::shared_ptr<Wal> Get() const {
    base::Lock lock(mutex_);
    return wal_;
  }

  // For a commit from which on replay begins at `from`. `clean_end`: the database closes, and the WAL ends there.
  Facts FactsOf(const WalStart& from, std::optional<uint64_t> clean_end) const {
    const auto wal = Of(from.epoch);
    if (wal == nullptr) return {};
    if (clean_end) {
      const uint64_t needed_from = from.position == *clean_end ? kNothing : from.position;
      return {.durable = *clean_end, .segments = wal->segments_from(needed_from)};
    }
    return {.durable = wal->durable_position(),
            .segments = wal->segments_from(from.position),
            .staging_bytes = wal->staging_file_bytes()};
  }
  // The MANIFEST durably says that replay begins at `start`: nothing needs the WAL before it.
  void Release(const WalStart& start) const {
    if (const auto wal = Of(start.epoch))
      wal->Release({.position = start.position, .chain = start.chain, .sequence = start.sequence});
  }

 private:
  std::shared_ptr<Wal> Of(uint64_t epoch) const {
    base::Lock lock(mutex_);
    return epoch == epoch_ ? wal_ : nullptr;
  }

  const std::shared_ptr<Counters> counters_ = std::make_shared<Counters>();
  mutable base::Mutex mutex_;
  // Replaced together, in the exclusive section and under mutex_; read under either.
  std::shared_ptr<Wal> wal_;
  uint64_t epoch_ = 0;
};

}  // namespace mergedb::wal
