#include "db/background/flush_runner.h"

#include "compaction/flush_job.h"
#include "compaction/masked_bytes.h"

namespace mergedb::db {

bool FlushRunner::IsWantedLocked() const {
  const bool has_immutable =
      tree_.version_set.immutable_count() > 0 && state_.scheduler.MayTryLocked(BackgroundScheduler::Work::kFlushes);
  return has_immutable || standby_is_wanted_;
}

void FlushRunner::Run() {
  const uint64_t start = state_.clock()->NowNanos();
  const Status status = Flush();
  {
    BackgroundLock lock(state_.scheduler.mutex());
    state_.scheduler.NoteOutcomeLocked(BackgroundScheduler::Work::kFlushes, start, status);
    standby_is_wanted_ = false;
  }
  writers_.make_standby();
}

Status FlushRunner::Flush() {
  const auto immutable = tree_.version_set.OldestImmutable();
  if (immutable == nullptr) return {};
  Clock* const clock = state_.clock();
  const uint64_t start = clock->NowNanos();
  iterator::CompactionIteratorCounts counts;
  const version::VersionPtr older = state_.CurrentVersion();
  const auto masked_bytes = [&](const kv::RangeTombstones& ranges) {
    return compaction::EstimateMaskedBytes(store_.order, *store_.tables, *older, kv::Position{UINT64_MAX}, ranges);
  };
  auto sampled = state_.inputs.BeginSample();
  store_.events.Emit(EventKind::kFlushBegin, [&] {
    return EventFields{NumberField("bytes", immutable->bytes_used()), NumberField("entries", immutable->entries())};
  });
  auto made = compaction::Flush(tree_.factory, *immutable, store_.snapshots->Live(), store_.options.compression.upper,
                                &counts, masked_bytes, store_.order.is_bytewise() ? &sampled : nullptr);
  Status status = made.status();
  if (status.ok()) status = tree_.version_set.InstallFlush(made->table, made->blob_files);
  store_.events.Emit(EventKind::kFlushEnd, [&] {
    const bool has_table = made && made->table != nullptr;
    return EventFields{NumberField("bytes", made ? made->bytes() : 0),
                       NumberField("table", has_table ? kv::ToInt(made->table->number) : 0),
                       NumberField("micros", (clock->NowNanos() - start) / 1000), StatusField(status)};
  });
  RETURN_IF_ERROR(status);
  const compaction::Flushed flushed = std::move(*made);
  state_.inputs.NoteFlush(sampled, flushed);
  state_.counters.flushes.fetch_add(1, std::memory_order_relaxed);
  state_.counters.flush_entries_in.fetch_add(counts.entries_in, std::memory_order_relaxed);
  state_.counters.flush_entries_out.fetch_add(counts.entries_out, std::memory_order_relaxed);
  state_.counters.flush_hot_key_entries.fetch_add(flushed.hot_key_versions, std::memory_order_relaxed);
  hot_key_.Set(std::move(flushed.hot_key));
  state_.counters.flush_bytes.fetch_add(flushed.bytes(), std::memory_order_relaxed);
  const uint64_t nanos = clock->NowNanos() - start;
  state_.counters.flush_nanos.fetch_add(nanos, std::memory_order_relaxed);
  store_.latencies.Record(env::Operation::kFlush, nanos);
  state_.UpdateController();
  return {};
}

BackgroundScheduler::Task FlushRunner::NextIdleSwitchLocked() {
  if (!may_switch_ || !compactions_.IsIdleLocked() || state_.requests.UrgencyLocked() != picker::Urgency::kIdle)
    return nullptr;
  may_switch_ = false;
  return [this, is_worth_it = IsWorthSwitchingLocked()] { writers_.flush_if_idle(is_worth_it); };
}

bool FlushRunner::IsWorthSwitchingLocked() const {
  constexpr uint64_t kShare = 64;
  const read::SuperVersionPtr super_version = tree_.version_set.Current();
  return super_version->active->bytes_used() * kShare >= super_version->version->bytes_on_disk();
}

}  // namespace mergedb::db
