#include "db/transaction_host.h"

namespace mergedb::db {

void TransactionHost::EnterWindow() {
  if (!parts_.checks.recent_writes().Enter()) return;
  write::WriterQueue::ExclusiveSection section(parts_.writers.queue());
  parts_.checks.recent_writes().StartRecording(parts_.store.snapshots->published());
}

std::unique_ptr<OpenTransactions::Entry> TransactionHost::Register(const std::string& name, TransactionKind kind,
                                                                   kv::Sequence sequence) {
  return parts_.store.transactions->Add(
      {.name = name, .kind = kind, .sequence = sequence, .since_nanos = parts_.store.options.env.clock->NowNanos()});
}

void TransactionHost::RegisterAgain(OpenTransactions::Entry& entry, kv::Sequence sequence) {
  entry.Return(sequence, parts_.store.options.env.clock->NowNanos());
}

Status TransactionHost::Commit(const write::Change& change) {
  RETURN_IF_ERROR(parts_.writers.CheckWritable({.durability = change.durability}));
  const trace::Recorder::Call call = parts_.store.recorder.Begin();
  Status status =
      change.keyspace_changes == nullptr ? parts_.writers.Commit(change) : parts_.keyspaces.CommitRecords(change);
  if (call.session != 0) [[unlikely]]
    parts_.store.recorder.AddBatch(call, status.code(), change.batch, change.key_map);
  return status;
}

}  // namespace mergedb::db
