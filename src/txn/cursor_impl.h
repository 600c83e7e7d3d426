// The cursor implementation: LMDB's cursor positions over an iterator.
//
//              move                       write of the transaction
//   kFresh ─────────► kAt: the iterator is there ─────────► kParked: the key is kept, the iterator is stale
//                      ▲                                      │
//                      └──────────── move: seek ◄─────────────┘     the key may be deleted by then: the gap
//
//   kEnd: Set or SetRange found no key
//
// The next move of a parked cursor has to seek anyway. That seek finds out whether the cursor stands at its
// key or in the gap that the key left. So all changes under a cursor are one case: its own, those of other
// cursors, range deletes and rollbacks.
// Tests: tests/unit/txn/cursor_test.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "kv/iterator.h"
#include "kv/key_map.h"
#include "mergedb/cursor.h"
#include "mergedb/iterator.h"
#include "read/db_iterator.h"
#include "txn/read_set.h"

namespace mergedb::txn {

class TransactionImpl;

class CursorImpl final : public Cursor {
 public:
  CursorImpl(TransactionImpl* transaction, Keyspace keyspace) : transaction_(transaction), keyspace_(keyspace) {}
  ~CursorImpl() override;

  Status First() override;
  Status Last() override;
  Status Next() override;
  Status Prev() override;
  Status Set(std::string_view key) override;
  Status SetRange(std::string_view key) override;
  Status SetForPrev(std::string_view key) override;
  Status Current() override;
  // Also false after a move that threw: the iterator then has no position. And after the close of the database.
  bool Valid() const override {
    return state_ == State::kAt &&
           (internal_ != nullptr ? internal_->Valid() && access_->IsOpen() : iterator_->Valid());
  }
  std::string_view key() const override { return internal_ != nullptr ? internal_->entry().key : iterator_->key(); }
  std::string_view value() const override {
    return internal_ != nullptr ? internal_->entry().value : iterator_->value();
  }
  Status Put(std::string_view value) override;
  Status Delete() override;
  Keyspace keyspace() const override { return keyspace_; }

  // ---- for the transaction

  void Park();    // the transaction is about to write
  void Detach();  // the transaction has ended

 private:
  enum class State : uint8_t { kFresh, kAt, kParked, kEnd };

  Status Prepare();
  bool CanJustStep() const;
  bool CanStepPlainly() const;
  bool SeekParked();
  Status StepForward();  // Next, where it cannot just step
  Status Fail();
  Status Arrive(ReadSet::OptionalKey lower, ReadSet::OptionalKey upper);
  Status StayAtLast();
  Status StayAtFirst();
  Status FindNone(ReadSet::OptionalKey lower, ReadSet::OptionalKey upper);
  Status SeekTo(std::string_view key);

  TransactionImpl* transaction_;  // null: the transaction has ended
  const Keyspace keyspace_;
  State state_ = State::kFresh;
  std::unique_ptr<Iterator> iterator_;
  read::InternalAccessIterator* access_ = nullptr;  // the iterator, if it has an internal one
  kv::Iterator* internal_ = nullptr;                // the internal iterator: a step and a look are one call, not five
  const kv::KeyMap* key_map_ = nullptr;             // the key map that the iterator was made with
  uint64_t generation_ = 0;                         // of the own writes, when the iterator was made
  bool has_overlay_ = false;                        // there were own writes then
  std::string key_;                                 // where the cursor is parked; moves use it as scratch too
};

}  // namespace mergedb::txn
