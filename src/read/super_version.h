// All that a reader needs, behind one pointer: the memtables and the Version. Immutable; writers install the next one.
//
//   View #17   active -> M5     sealed -> M4, M3     version -> V12
//   View #18   active -> M5     sealed -> M4         version -> V13        (M3 was flushed)
//
// A reader takes the View first and the sequence second, never the reverse: a flush between the two could drop what the
// sequence still needs. Third, it looks whether a batch larger than a memtable was published in between (db/version_set.h, IsTooOld): such a
// batch goes into several memtables, and the View may hold the first of them and not the last. Then it takes the next View.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/current.h"
#include "kv/key.h"
#include "memtable/memtable.h"
#include "version/version.h"

namespace mergedb::read {

struct View {
  std::shared_ptr<memtable::Memtable> active;
  std::vector<std::shared_ptr<memtable::Memtable>> sealed;  // newest first
  version::VersionPtr version;
  // Batches larger than a memtable that were published when this View was installed. A View with fewer than are published now may hold
  // the first pieces of one and not the last.
  uint64_t large_batches = 0;
};
using ViewPtr = std::shared_ptr<const View>;

// The current View: Pinned() for a point read, Share() for what lasts longer. THREADS: any.
using ViewHolder = base::Current<View>;
using ViewPin = ViewHolder::Pin;

}  // namespace mergedb::read
