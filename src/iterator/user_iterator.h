// What a reader sees: of each key the newest version with a sequence up to `sequence`, unless that is a DELETE. Operands
// are folded with what is below them; the entry is then a PUT of the newest one's sequence. A key whose operands cannot be
// folded, or whose value cannot be read, is an error: the iterator ends there with a Status that names the key, and goes on
// by a seek beyond it or by NextFromFailed and PrevFromFailed. What the input itself cannot read is of no one key.
//
// The value of a PUT_REF is read when its entry is shown, as a PUT: an iterator that is valid has the value that was put. Who wants
// keys alone says so, and no value file is touched.
//
// Both directions. Keys at or after `upper` and before `lower` are not shown, nor looked at.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

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
  std::function<void(TombstoneScan)> on_tombstone_scan = {};  // a move passed over very much; may be empty
  const kv::ProgramOperators* operators = nullptr;            // outlives the iterator; null: none
  // Values of PUT_REF entries; outlives the iterator. Null: there are none (one that turns up is NotSupported).
  kv::ValueSource* values = nullptr;
  bool keys_only = false;  // values are empty views; nothing is folded, nor found to be impossible to fold
};

class UserCursor : public kv::Iterator {
 public:
  // To the last key to show that is not after `key`. WHY not Seek and Prev: Seek shows the key behind, folds and reads its value,
  // and ends there if that cannot be had.
  virtual void SeekForPrev(std::string_view key) = 0;

  // The key that ended the last move by an error of its own; none: it is valid, at an end, or the input failed. Lives until
  // the next move.
  virtual std::optional<std::string_view> failed_key() const = 0;
  // To the next and the previous key to show. REQUIRES: failed_key().
  virtual void NextFromFailed() = 0;
  virtual void PrevFromFailed() = 0;
};

// The result's Seek ignores its tag argument: it shows at most one version of a key.
std::unique_ptr<UserCursor> NewUserIterator(const kv::Order& order, UserIteratorOptions options,
                                            std::unique_ptr<kv::Iterator> input);

}  // namespace mergedb::iterator
