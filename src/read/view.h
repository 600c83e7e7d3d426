// All that a reader needs, held by one shared pointer: the memtables and the Version. Immutable; writers install the next one.
//
//   View #17   active -> M5     sealed -> M4, M3     version -> V12
//   View #18   active -> M5     sealed -> M4         version -> V13        (M3 was flushed)
//
// A reader takes the View first and the sequence second, never the reverse: a flush between the two could drop what the
// sequence still needs.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/sync.h"
#include "kv/key.h"
#include "memtable/memtable.h"
#include "tree/version.h"

namespace mergedb::read {

struct View {
  std::shared_ptr<memtable::Memtable> active;
  std::vector<std::shared_ptr<memtable::Memtable>> sealed;  // newest first
  tree::VersionPtr version;
  // Readers see nothing newer than this. Lower than the newest only while a batch larger than a memtable is applied piece by
  // piece: its first pieces may be in this View and its last ones not.
  kv::Sequence sequence_max = kv::kSequenceMax;
};
using ViewPtr = std::shared_ptr<const View>;

// The current View. THREADS: any. A mutex held for one pointer copy: libstdc++ 12's atomic<shared_ptr> is a lock as well.
class ViewHolder {
 public:
  ViewPtr Current() const {
    base::Lock lock(mutex_);
    return view_;
  }
  // The one before comes back, to be let go of outside of the lock.
  ViewPtr Install(ViewPtr view) {
    base::Lock lock(mutex_);
    std::swap(view_, view);
    return view;
  }

 private:
  mutable base::Mutex mutex_;
  ViewPtr view_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::read
