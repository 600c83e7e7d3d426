// The ordered (key, value) cursor: the only way data moves in bulk. Memtables, blocks, tables, runs and merges of them
// are all one of these; reading ends in stream/visible, compaction in stream/collapsing.
//
// The contract, which tests/unit/kv/iterator_contract.h runs against every implementation:
//   R1  A new iterator is not valid; its status is OK or the error that made it useless.
//   R2  Seek* makes it valid, or not valid at the end, or not valid with an error. It may be called at any time, and
//       clears an earlier error that was not permanent.
//   R3  Entries are in kv::Order: keys ascending, versions of a key newest first. No two entries are equal, but for
//       a merge of several children, which shows equal ones next to each other.
//   R4  Next and Prev need Valid(). Prev of the first and Next of the last entry end it.
//   R5  The entry's views live until the iterator moves or dies.
//   R6  After an error Valid() is false and status() says why; it skips nothing unread unless asked (kv/skipped_errors.h).
//   R7  LookAhead shows what Next would, without moving; Skip(n) moves as n calls of Next do.
//
// WHY the entry is a field and not a virtual call: a merge step compares entries of K children; a virtual key() each
// would double its cost.
// THREADS: none of it is for two threads at once.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "kv/key.h"
#include "mergedb/status.h"

namespace mergedb::kv {

class Iterator {
 public:
  virtual ~Iterator() = default;
  Iterator() = default;
  Iterator(const Iterator&) = delete;
  Iterator& operator=(const Iterator&) = delete;

  bool Valid() const { return valid_; }
  const Entry& entry() const { return entry_; }  // REQUIRES: Valid()
  const Status& status() const { return status_; }

  virtual void SeekToFirst() = 0;
  virtual void SeekToLast() = 0;
  // The first entry at or after (key, tag); see SeekTag.
  virtual void Seek(std::string_view key, Tag tag) = 0;
  virtual void Next() = 0;
  virtual void Prev() = 0;

  // Entries that lie ready behind the one shown, in order: as many as there are, at most ahead.size(). They live as long as the one
  // shown. 0 says nothing about what follows. REQUIRES: Valid().
  // WHY: a walk through stages pays each of them once a call, and not once an entry.
  virtual size_t LookAhead(std::span<Entry>) { return 0; }
  bool looks_ahead() const { return looks_ahead_; }  // else LookAhead shows nothing, ever
  // Next, n times. REQUIRES: LookAhead showed so many, and it has not moved since.
  virtual void Skip(size_t n) {
    while (n-- > 0) Next();
  }

 protected:
  Entry entry_;
  bool valid_ = false;
  bool looks_ahead_ = false;
  Status status_;
};

// No entries; `status` may be an error.
std::unique_ptr<Iterator> NewEmptyIterator(Status status = {});

}  // namespace mergedb::kv
