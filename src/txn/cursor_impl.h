// A cursor behind the face: LMDB's positions over an iterator.
//
//              move                       write of the transaction
//   kFresh ─────────► kAt: the iterator is there ─────────► kParked: the key is kept, the iterator is stale
//                      ▲                                      │
//                      └──────────── move: seek ◄─────────────┘     the key may be gone by then: that is the gap
//
// Whether a parked cursor stands at its key or in the gap that it left is found out by the next move, which has to seek
// anyway. So whatever changes under it, by itself, by others, by a range delete or by a rollback, is one case.
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
  // False, too, after a move that threw: the iterator then stands nowhere.
  bool Valid() const override {
    return state_ == State::kAt && (walk_ != nullptr ? walk_->Valid() : iterator_->Valid());
  }
  std::string_view key() const override { return walk_ != nullptr ? walk_->entry().key : iterator_->key(); }
  std::string_view value() const override { return walk_ != nullptr ? walk_->entry().value : iterator_->value(); }
  Status Put(std::string_view value) override;
  Status Delete() override;
  Keyspace keyspace() const override { return keyspace_; }

  // ---- for the transaction

  void Park();    // it is about to write
  void Detach();  // it has ended

 private:
  enum class State : uint8_t { kFresh, kAt, kParked, kEnd };

  Status Prepare();
  bool CanJustStep() const;
  bool CanStepPlainly() const;
  bool SeekParked();
  Status StepForward();  // what Next does where it cannot just step
  Status Fail();
  Status Arrive(ReadSet::OptionalKey lower, ReadSet::OptionalKey upper);
  Status StayAtLast();
  Status StayAtFirst();
  Status FindNone(ReadSet::OptionalKey lower, ReadSet::OptionalKey upper);
  Status SeekTo(std::string_view key);

  TransactionImpl* transaction_;  // null: it has ended
  const Keyspace keyspace_;
  State state_ = State::kFresh;
  std::unique_ptr<Iterator> iterator_;
  read::WalkableIterator* walkable_ = nullptr;  // the iterator, where it shows keys as they stand in the tree
  kv::Iterator* walk_ = nullptr;         // then its inside: a step and a look at it are one call in place of five
  const kv::KeyMap* key_map_ = nullptr;  // by which the iterator was made
  uint64_t generation_ = 0;              // of the own writes that the iterator was made over
  bool has_overlay_ = false;             // there were any
  std::string key_;                      // where it is parked; of use to moves besides
};

}  // namespace mergedb::txn
