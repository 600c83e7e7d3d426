// All that a reader needs, behind one pointer: the memtables and the version. Immutable; writers install the
// next one.
//
//   SuperVersion #17   active -> M5     immutable -> M4, M3    version -> V12
//   SuperVersion #18   active -> M5     immutable -> M4      version -> V13        (M3 was flushed)
//
// A reader takes the SuperVersion first and the sequence second, never the reverse: a flush between the two
// could drop versions that the sequence still needs. Third, the reader checks whether a batch larger than a
// memtable was published in between (db/state/version_set.h, IsTooOld). Such a batch goes into several memtables, and
// the SuperVersion may hold the first of them and not the last. The reader then takes the next SuperVersion.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/current.h"
#include "kv/key.h"
#include "memtable/memtable.h"
#include "version/version.h"

namespace mergedb::read {

struct SuperVersion {
  std::shared_ptr<memtable::Memtable> active;
  std::vector<std::shared_ptr<memtable::Memtable>> immutable;  // immutable memtables, newest first
  version::VersionPtr version;
  // How many batches larger than a memtable were published when this SuperVersion was installed. If more are
  // published now, this SuperVersion may hold the first pieces of such a batch and not the last.
  uint64_t large_batches = 0;
};
using SuperVersionPtr = std::shared_ptr<const SuperVersion>;

// The current SuperVersion: Pinned() for a point read, Share() for longer use. THREADS: any.
using SuperVersionHolder = base::Current<SuperVersion>;
using SuperVersionPin = SuperVersionHolder::Pin;

}  // namespace mergedb::read
