// DbImpl: the part of TransactionHost that is not about keyspaces, and the conflict checks of the writer
// queue.
#include "db/db_impl.h"

namespace mergedb::db {

Status DbImpl::CheckUsable(bool to_write) const { return to_write ? CheckWritable() : CheckOpen(); }

Status DbImpl::LockWriters(const void* owner, uint64_t wait_nanos) { return queue_.LockWriters(owner, wait_nanos); }

void DbImpl::UnlockWriters(const void* owner) { queue_.UnlockWriters(owner); }

void DbImpl::EnterWindow() {
  if (!recent_writes_.Enter()) return;
  write::WriterQueue::ExclusiveSection section(queue_);
  recent_writes_.StartRecording(store_->snapshots->published());
}

void DbImpl::LeaveWindow() { recent_writes_.Leave(); }

Status DbImpl::CheckAhead(write::ReadCheck* reads) { return recent_writes_.CheckAhead(reads); }

std::unique_ptr<OpenTransactions::Entry> DbImpl::Register(const std::string& name, TransactionKind kind,
                                                          kv::Sequence sequence) {
  return store_->transactions->Add(
      {.name = name, .kind = kind, .sequence = sequence, .since_nanos = store_->options.env.clock->NowNanos()});
}

void DbImpl::RegisterAgain(OpenTransactions::Entry& entry, kv::Sequence sequence) {
  entry.Return(sequence, store_->options.env.clock->NowNanos());
}

Status DbImpl::CommitTransaction(const write::Change& change) {
  RETURN_IF_ERROR(CheckWritable({.durability = change.durability}));
  return change.keyspace_changes == nullptr ? CommitToQueue(change) : CommitKeyspaceRecords(change);
}

// ---- In the exclusive section

// The members of a group are checked in order. Earlier members count as written.
Status DbImpl::CheckConflicts(const write::Change& change) {
  if (change.key_map != store_->key_map()) [[unlikely]] {
    return Status::Aborted("the first keyspace was created in the meantime; begin a new transaction");
  }
  const bool is_recording = recent_writes_.is_recording();
  if (is_recording && change.reads != nullptr) RETURN_IF_ERROR(recent_writes_.Check(change.reads));
  if (!change.keyspaces.empty() || change.keyspace_changes != nullptr) RETURN_IF_ERROR(keyspace_ids_.Check(change));
  if (is_recording) [[unlikely]]
    recent_writes_.Add(change);
  return {};
}

// Its keys stay in recent_writes_: at worst they cause a needless conflict.
void DbImpl::Withdraw(const write::Change& change) {
  if (change.keyspace_changes != nullptr) keyspace_ids_.Withdraw(*change.keyspace_changes);
}

// WHY the sequence is published last: a transaction that does not see these writes must be checked against
// them, and one that sees a keyspace record may write to the keyspace.
void DbImpl::Publish(kv::Sequence last) {
  if (recent_writes_.is_recording()) [[unlikely]]
    recent_writes_.Publish(last);
  if (store_->key_map() != nullptr) keyspace_ids_.Publish();
  store_->snapshots->Publish(last);
}

}  // namespace mergedb::db
