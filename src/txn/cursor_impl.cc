#include "txn/cursor_impl.h"

#include "txn/transaction_impl.h"

namespace mergedb {

Cursor::~Cursor() = default;

namespace txn {

using OptionalKey = ReadSet::OptionalKey;

CursorImpl::~CursorImpl() {
  if (transaction_ != nullptr) transaction_->Forget(this);
}

void CursorImpl::Park() {
  if (!Valid()) return;
  key_.assign(iterator_->key());
  state_ = State::kParked;
}

void CursorImpl::Detach() {
  iterator_ = nullptr;
  access_ = nullptr;
  internal_ = nullptr;
  state_ = State::kFresh;
  transaction_ = nullptr;
}

// Prepares an iterator that sees all own writes once it has sought.
Status CursorImpl::Prepare() {
  if (transaction_ == nullptr) return Status::Aborted("the transaction of this cursor has ended");
  if (state_ == State::kAt && !Valid()) state_ = State::kFresh;
  RETURN_IF_ERROR(transaction_->CheckReadable(keyspace_));
  const bool needs_overlay = transaction_->has_writes() && !has_overlay_;
  const bool has_same_map = key_map_ == transaction_->key_map();
  if (iterator_ != nullptr && !needs_overlay && has_same_map && generation_ == transaction_->generation()) [[likely]]
    return {};
  Park();  // keeps its key: a write to another keyspace has not parked the cursor
  iterator_ = transaction_->NewIterator(keyspace_);
  access_ = dynamic_cast<read::InternalAccessIterator*>(iterator_.get());
  internal_ = access_ == nullptr ? nullptr : &access_->internal();
  key_map_ = transaction_->key_map();
  generation_ = transaction_->generation();
  has_overlay_ = transaction_->has_writes();
  return {};
}

// True if a move is one step of the internal iterator: the cursor is at a key, no write came in between (a
// write parks the cursor), reads are not remembered, and this thread made the last call that notes its thread.
bool CursorImpl::CanJustStep() const {
  return state_ == State::kAt && internal_ != nullptr && internal_->Valid() && access_->IsOpen() &&
         !transaction_->remembers_reads() && transaction_->IsOnThisThread();
}

// The same for an iterator that maps the tree's keys to those of a named keyspace.
bool CursorImpl::CanStepPlainly() const {
  return state_ == State::kAt && internal_ == nullptr && iterator_->Valid() && !transaction_->remembers_reads() &&
         transaction_->IsOnThisThread();
}

Status CursorImpl::Fail() {
  state_ = State::kFresh;
  return iterator_->status();
}

// The iterator has moved and has seen [lower, upper]. A limit that is the new position is key() itself.
Status CursorImpl::Arrive(OptionalKey lower, OptionalKey upper) {
  state_ = State::kAt;
  if (!transaction_->remembers_reads()) [[likely]]
    return {};
  Status status = transaction_->RememberStretch(keyspace_, lower, upper);
  if (!status.ok()) state_ = State::kFresh;
  return status;
}

Status CursorImpl::FindNone(OptionalKey lower, OptionalKey upper) {
  Status status;
  if (transaction_->remembers_reads()) status = transaction_->RememberStretch(keyspace_, lower, upper);
  if (status.ok()) return Status::NotFound("");
  state_ = State::kFresh;
  return status;
}

Status CursorImpl::First() {
  RETURN_IF_ERROR(Prepare());
  iterator_->SeekToFirst();
  if (iterator_->Valid()) return Arrive(std::nullopt, iterator_->key());
  RETURN_IF_ERROR(Fail());
  return FindNone(std::nullopt, std::nullopt);
}

Status CursorImpl::Last() {
  RETURN_IF_ERROR(Prepare());
  iterator_->SeekToLast();
  if (iterator_->Valid()) return Arrive(iterator_->key(), std::nullopt);
  RETURN_IF_ERROR(Fail());
  return FindNone(std::nullopt, std::nullopt);
}

// Seeks to the parked position: to the key (true), to the first key after the gap, or to the end of all keys.
bool CursorImpl::SeekParked() {
  iterator_->Seek(key_);
  return iterator_->Valid() && transaction_->order().SameKey(iterator_->key(), key_);
}

Status CursorImpl::Next() {
  if (CanJustStep()) [[likely]] {
    internal_->Next();
    if (internal_->Valid()) [[likely]]
      return {};
    return StayAtLast();
  }
  return StepForward();
}

[[gnu::noinline]] Status CursorImpl::StepForward() {
  if (CanStepPlainly()) {
    iterator_->Next();
    if (iterator_->Valid()) [[likely]]
      return {};
    return StayAtLast();
  }
  RETURN_IF_ERROR(Prepare());
  if (state_ == State::kFresh) return First();
  if (state_ == State::kEnd) return Status::NotFound("");
  bool is_at_key = true;
  if (state_ == State::kParked) {
    is_at_key = SeekParked();
  } else if (transaction_->remembers_reads()) {
    key_.assign(iterator_->key());
  }
  if (is_at_key) iterator_->Next();
  if (iterator_->Valid()) [[likely]]
    return Arrive(key_, iterator_->key());
  if (is_at_key) return StayAtLast();
  if (!iterator_->status().ok()) return Fail();
  return FindNone(key_, std::nullopt);
}

// The iterator has moved past the last key, or has failed.
Status CursorImpl::StayAtLast() {
  if (!iterator_->status().ok()) return Fail();
  iterator_->SeekToLast();
  if (!iterator_->Valid()) return Fail();
  state_ = State::kAt;
  return FindNone(key_, std::nullopt);
}

Status CursorImpl::StayAtFirst() {
  if (!iterator_->status().ok()) return Fail();
  iterator_->SeekToFirst();
  if (!iterator_->Valid()) return Fail();
  state_ = State::kAt;
  return FindNone(std::nullopt, key_);
}

Status CursorImpl::Prev() {
  if (CanJustStep()) [[likely]] {
    internal_->Prev();
    if (internal_->Valid()) [[likely]]
      return {};
    return StayAtFirst();
  }
  RETURN_IF_ERROR(Prepare());
  if (state_ == State::kFresh || state_ == State::kEnd) return Last();
  bool is_at_key = true;
  bool is_behind_all = false;
  if (state_ == State::kParked) {
    is_at_key = SeekParked();
    if (!iterator_->Valid() && !iterator_->status().ok()) return Fail();
    is_behind_all = !iterator_->Valid();
  } else if (transaction_->remembers_reads()) {
    key_.assign(iterator_->key());
  }
  if (is_behind_all) {
    iterator_->SeekToLast();
  } else {
    iterator_->Prev();
  }
  if (iterator_->Valid()) [[likely]]
    return Arrive(iterator_->key(), key_);
  if (is_at_key) return StayAtFirst();
  if (!iterator_->status().ok()) return Fail();
  return FindNone(std::nullopt, key_);
}

// OK at the first key at or after `key`; NotFound at the end.
Status CursorImpl::SeekTo(std::string_view key) {
  RETURN_IF_ERROR(Prepare());
  key_.assign(key);  // WHY: `key` may be a view of the iterator's entry
  iterator_->Seek(key_);
  if (iterator_->Valid()) return {};
  RETURN_IF_ERROR(Fail());
  state_ = State::kEnd;
  return FindNone(key_, std::nullopt);
}

Status CursorImpl::Set(std::string_view key) {
  RETURN_IF_ERROR(SeekTo(key));
  if (!transaction_->order().SameKey(iterator_->key(), key_)) {
    RETURN_IF_ERROR(Arrive(key_, iterator_->key()));
    return Status::NotFound("");
  }
  state_ = State::kAt;
  if (!transaction_->remembers_reads()) return {};
  Status status = transaction_->RememberKey(keyspace_, key_);
  if (!status.ok()) state_ = State::kFresh;
  return status;
}

Status CursorImpl::SetRange(std::string_view key) {
  RETURN_IF_ERROR(SeekTo(key));
  return Arrive(key_, iterator_->key());
}

Status CursorImpl::SetForPrev(std::string_view key) {
  RETURN_IF_ERROR(Prepare());
  key_.assign(key);
  iterator_->SeekForPrev(key_);
  if (iterator_->Valid()) return Arrive(iterator_->key(), key_);
  RETURN_IF_ERROR(Fail());
  iterator_->SeekToFirst();
  if (!iterator_->Valid()) {
    RETURN_IF_ERROR(Fail());
    return FindNone(std::nullopt, std::nullopt);
  }
  RETURN_IF_ERROR(Arrive(std::nullopt, iterator_->key()));
  return Status::NotFound("");
}

Status CursorImpl::Current() {
  RETURN_IF_ERROR(Prepare());
  if (state_ == State::kAt) return {};
  if (state_ == State::kFresh) return Status::InvalidArgument("the cursor has no position");
  if (state_ == State::kEnd) return Status::NotFound("");
  (void)SeekParked();
  if (iterator_->Valid()) return Arrive(key_, iterator_->key());
  if (!iterator_->status().ok()) return Fail();
  return FindNone(key_, std::nullopt);
}

Status CursorImpl::Put(std::string_view value) {
  RETURN_IF_ERROR(Prepare());
  if (state_ == State::kFresh) return Status::InvalidArgument("the cursor has no position");
  if (state_ == State::kEnd) return Status::NotFound("");
  if (state_ == State::kParked && !SeekParked()) {
    if (!iterator_->Valid() && !iterator_->status().ok()) return Fail();
    return FindNone(key_, iterator_->Valid() ? OptionalKey(iterator_->key()) : std::nullopt);
  }
  key_.assign(iterator_->key());
  return transaction_->Put(keyspace_, key_, value);
}

Status CursorImpl::Delete() {
  RETURN_IF_ERROR(Current());
  key_.assign(iterator_->key());
  return transaction_->Delete(keyspace_, key_);
}

}  // namespace txn
}  // namespace mergedb
