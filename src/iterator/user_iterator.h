// Shows what a reader sees (RocksDB: DBIter): of each key the newest version with a sequence up to
// `sequence`, unless that version is a DELETE.
//
// Operands are folded onto the version below them; the entry shown is a PUT with the newest operand's
// sequence. If the operands of a key cannot be folded or its value cannot be read, the iterator ends there
// with a Status that names the key. A seek beyond the key, NextFromFailed and PrevFromFailed go on after such
// an error. An error of the input belongs to no single key.
//
// The value of a blob index is read when its entry is shown, and the entry is shown as a PUT. With `keys_only`
// no blob file is read.
//
// Both directions. Keys before `lower` and keys at or after `upper` are not shown; the scan ends at the first one.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/mapped_faults.h"
#include "iterator/tombstone_scan.h"
#include "kv/fold.h"
#include "kv/iterator.h"
#include "kv/order.h"
#include "kv/value_source.h"

namespace mergedb::iterator {

struct UserIteratorOptions {
  kv::Sequence sequence = kv::kSequenceMax;
  std::optional<std::string> lower = {};
  std::optional<std::string> upper = {};
  std::function<void(TombstoneScan)> on_tombstone_scan = {};  // called after a tombstone-heavy move; may be empty
  const kv::ProgramOperators* operators = nullptr;            // outlives the iterator; may be null
  // Reads the values of blob indexes; outlives the iterator. Null: a blob index is NotSupported.
  kv::ValueSource* values = nullptr;
  // Of the mapped files that the input and `values` show. After a fault the iterator has ended, and stays so.
  const base::MappedFaults* faults = &base::no_mapped_faults;
  // Reverse moves show bytes in place if `values` says that they last.
  bool shows_lasting = false;
  size_t operands_max = kv::kChainOperandsMax;  // of one key at a time in memory; fewer in tests
  bool keys_only = false;                       // values are empty views; operands are not folded, so no fold fails
};

class UserCursor : public kv::Iterator {
 public:
  // Moves to the last visible key at or before `key`. WHY not Seek and Prev: Seek would show the key after
  // it, fold it and read its value, and would end there on an error.
  virtual void SeekForPrev(std::string_view key) = 0;

  // The key whose own error ended the last move. nullopt: the iterator is valid, at an end, or the input
  // failed. The view lives until the next move.
  virtual std::optional<std::string_view> failed_key() const = 0;
  // Move to the next and the previous visible key. REQUIRES: failed_key().
  virtual void NextFromFailed() = 0;
  virtual void PrevFromFailed() = 0;
};

// Seek of the result ignores its tag argument: the iterator shows at most one version of a key.
std::unique_ptr<UserCursor> NewUserIterator(const kv::Order& order, UserIteratorOptions options,
                                            std::unique_ptr<kv::Iterator> input);

}  // namespace mergedb::iterator
