// The ordered (key, value) cursor: bulk data moves only through it. Memtables, blocks, tables, sorted runs
// and the merging iterator implement Iterator. Reads end in the user iterator (iterator/user_iterator.h).
// Compactions, imports and repairs read forward only, through ForwardIterator; compactions end in the
// compaction iterator (iterator/compaction_iterator.h).
//
// The contract, which tests/unit/kv/iterator_contract.h checks for every implementation:
//   R1  A new iterator is not valid. Its status is OK, or the error that made it unusable.
//   R2  Seek* may be called at any time. Afterwards the iterator is valid, or not valid at the end, or not valid with
//       an error. Seek* clears an earlier error that is not permanent.
//   R3  Entries are in kv::Order: keys ascending, versions of a key newest first. No two entries are equal, except in
//       a merging iterator, which shows equal entries of its children next to each other.
//   R4  Next and Prev need Valid(). After Prev from the first or Next from the last entry, the iterator is not valid.
//   R5  The entry's views live until the iterator moves or is destroyed.
//   R6  After an error Valid() is false and status() holds the error. The iterator skips unread data only if the
//       reader asked for that (kv/skipped_errors.h).
//   R7  LookAhead shows the entries that Next would show, without moving. Skip(n) moves as n calls of Next do.
//
// WHY the entry is a field and not a virtual call: a step of the merging iterator compares the entries of K
// children; a virtual key() for each would double the cost of the step.
// THREADS: one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "kv/key.h"
#include "mergedb/status.h"

namespace mergedb::kv {

// R1 to R6 without Seek and Prev.
class ForwardIterator {
 public:
  virtual ~ForwardIterator() = default;
  ForwardIterator() = default;
  ForwardIterator(const ForwardIterator&) = delete;
  ForwardIterator& operator=(const ForwardIterator&) = delete;

  bool Valid() const { return valid_; }
  const Entry& entry() const { return entry_; }  // REQUIRES: Valid()
  const Status& status() const { return status_; }

  virtual void SeekToFirst() = 0;
  virtual void Next() = 0;

 protected:
  Entry entry_;
  bool valid_ = false;
  Status status_;
};

class Iterator : public ForwardIterator {
 public:
  virtual void SeekToLast() = 0;
  // Moves to the first entry at or after (key, tag); see SeekTag.
  virtual void Seek(std::string_view key, Tag tag) = 0;
  virtual void Prev() = 0;

  // Copies the entries that are ready behind the current one to `ahead`, in order, at most ahead.size(). Returns their
  // count. They live as long as the current entry. A count of 0 says nothing about what follows. REQUIRES: Valid().
  // WHY: a scan through several iterators then pays for each of them once per call, not once per entry.
  // MEASURED: db_bench readseq of 600,000 entries of 100 B, compacted, twelve alternating runs: 49 ns, 66 without it.
  virtual size_t LookAhead(std::span<Entry>) { return 0; }
  bool looks_ahead() const { return looks_ahead_; }  // if false, LookAhead always returns 0
  // Next, n times. REQUIRES: LookAhead returned at least n, and the iterator has not moved since.
  virtual void Skip(size_t n) {
    while (n-- > 0) Next();
  }

 protected:
  bool looks_ahead_ = false;
};

// An iterator without entries. `status` may be an error.
std::unique_ptr<Iterator> NewEmptyIterator(Status status = {});

}  // namespace mergedb::kv
