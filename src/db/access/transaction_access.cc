#include "db/access/transaction_access.h"

#include "db/access/traced_iterator.h"

namespace mergedb::db {

void TransactionAccess::EnterWindow() {
  if (!parts_.checks.recent_writes().Enter()) return;
  write::WriterQueue::ExclusiveSection section(parts_.writers.queue());
  parts_.checks.recent_writes().StartRecording(parts_.store->snapshots->published());
}

std::unique_ptr<OpenTransactions::Entry> TransactionAccess::Register(const std::string& name, TransactionKind kind,
                                                                     kv::Sequence sequence) {
  return parts_.store->transactions->Add(
      {.name = name, .kind = kind, .sequence = sequence, .since_nanos = parts_.store->options.env.clock->NowNanos()});
}

void TransactionAccess::RegisterAgain(OpenTransactions::Entry& entry, kv::Sequence sequence) {
  entry.Return(sequence, parts_.store->options.env.clock->NowNanos());
}

std::unique_ptr<Iterator> TransactionAccess::NewIteratorUnder(const IteratorOptions& options, read::Overlay overlay,
                                                              read::PinnedTables* kept) {
  const trace::Recorder::Call call = recorder().Begin();
  std::unique_ptr<Iterator> iterator = parts_.access.NewIterator(options, std::move(overlay), kept);
  if (call.session == 0) [[likely]]
    return iterator;
  return TraceIterator(parts_.store, call, options, true, std::move(iterator));
}

// WHY CheckAhead: all writers wait for the checks of a commit. Reads that are checked here need not be checked then.
Status TransactionAccess::Commit(const write::Change& change) {
  RETURN_IF_ERROR(parts_.writers.CheckWritable({.durability = change.durability}));
  const trace::Recorder::Call call = recorder().Begin();
  Status status = change.reads == nullptr ? Status() : parts_.checks.recent_writes().CheckAhead(change.reads);
  if (status.ok()) {
    status =
        change.keyspace_changes == nullptr ? parts_.writers.Commit(change) : parts_.keyspaces.CommitRecords(change);
  }
  if (call.session != 0) [[unlikely]] {
    recorder().AddBatch(
        call, {.code = status.code(), .records = change.batch()->bytes, .map = change.key_map, .in_transaction = true});
  }
  return status;
}

}  // namespace mergedb::db
