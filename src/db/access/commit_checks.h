// What the leader of a group checks each change against: the writes that an optimistic transaction has not
// seen, and the keyspaces that exist. What passes the checks becomes visible when the group is published.
//
//   Discard ─► Check each member ─► (Withdraw a member that did not get into the WAL) ─► Publish
//
// THREADS: in the exclusive section, except for the accessors.
#pragma once

#include "db/access/keyspace_ids.h"
#include "db/state/store.h"
#include "write/recent_writes.h"
#include "write/writer_queue.h"

namespace mergedb::db {

class CommitChecks {
 public:
  explicit CommitChecks(const Store& store)
      : store_(store), recent_writes_(store.order, store.memory.write_buffer_bytes / kWindowPart) {}

  write::RecentWrites& recent_writes() { return recent_writes_; }  // THREADS: any
  KeyspaceIds& keyspace_ids() { return keyspace_ids_; }            // THREADS: any

  // Drops the changes of a group that failed.
  void Discard() {
    recent_writes_.Discard();
    if (store_.key_map() != nullptr) keyspace_ids_.Discard();
  }
  // The members of a group are checked in order. Earlier members count as written.
  Status Check(const write::Change& change) {
    if (change.key_map != store_.key_map()) [[unlikely]] {
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
  void Withdraw(const write::Change& change) {
    if (change.keyspace_changes != nullptr) keyspace_ids_.Withdraw(*change.keyspace_changes);
  }
  // WHY the sequence is published last: a transaction that does not see these writes must be checked against
  // them, and one that sees a keyspace record may write to the keyspace.
  void Publish(kv::Sequence last) {
    if (recent_writes_.is_recording()) [[unlikely]]
      recent_writes_.Publish(last);
    if (store_.key_map() != nullptr) keyspace_ids_.Publish();
    store_.snapshots->Publish(last);
  }

 private:
  // The keys of recent_writes_ may use 1/kWindowPart of write_buffer_bytes; its index comes on top.
  static constexpr size_t kWindowPart = 4;

  const Store& store_;
  KeyspaceIds keyspace_ids_;
  write::RecentWrites recent_writes_;
};

}  // namespace mergedb::db
