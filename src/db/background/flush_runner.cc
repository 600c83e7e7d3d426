#include "db/background/flush_runner.h"

#include "compaction/flush_job.h"
#include "compaction/masked_bytes.h"

namespace mergedb::db {

FlushRunner::FlushRunner(const BackgroundParts& parts, BackgroundScheduler& scheduler,
                         const CompactionRequests& requests, const CompactionRunner& compactions, PickInputs& inputs,
                         WriteController& controller, BackgroundCounters& counters)
    : parts_(parts),
      scheduler_(scheduler),
      requests_(requests),
      compactions_(compactions),
      inputs_(inputs),
      controller_(controller),
      counters_(counters) {}

bool FlushRunner::IsWantedLocked() const {
  const bool has_immutable =
      parts_.version_set.immutable_count() > 0 && scheduler_.MayTryLocked(BackgroundScheduler::Work::kFlushes);
  return has_immutable || standby_is_wanted_;
}

void FlushRunner::Run() {
  const uint64_t start = parts_.options.env.clock->NowNanos();
  const Status status = Flush();
  {
    BackgroundLock lock(scheduler_.mutex());
    scheduler_.NoteOutcomeLocked(BackgroundScheduler::Work::kFlushes, start, status);
    standby_is_wanted_ = false;
  }
  parts_.make_standby();
}

Status FlushRunner::Flush() {
  const auto immutable = parts_.version_set.OldestImmutable();
  if (immutable == nullptr) return {};
  Clock* const clock = parts_.options.env.clock;
  const uint64_t start = clock->NowNanos();
  iterator::CompactionIteratorCounts counts;
  const version::VersionPtr older = parts_.version_set.Current()->version;
  const auto masked_bytes = [&](const kv::RangeTombstones& ranges) {
    return compaction::EstimateMaskedBytes(parts_.order, parts_.tables, *older, kv::Position{UINT64_MAX}, ranges);
  };
  auto sampled = inputs_.BeginSample();
  parts_.events.Emit(EventKind::kFlushBegin, [&] {
    return EventFields{NumberField("bytes", immutable->bytes_used()), NumberField("entries", immutable->entries())};
  });
  auto made = compaction::Flush(parts_.factory, *immutable, parts_.snapshots.Live(), parts_.options.compression.upper,
                                &counts, masked_bytes, parts_.order.is_bytewise() ? &sampled : nullptr);
  Status status = made.status();
  if (status.ok()) status = parts_.version_set.InstallFlush(made->table, made->blob_files);
  parts_.events.Emit(EventKind::kFlushEnd, [&] {
    const bool has_table = made && made->table != nullptr;
    return EventFields{NumberField("bytes", made ? made->bytes() : 0),
                       NumberField("table", has_table ? kv::ToInt(made->table->number) : 0),
                       NumberField("micros", (clock->NowNanos() - start) / 1000), StatusField(status)};
  });
  RETURN_IF_ERROR(status);
  const compaction::Flushed flushed = std::move(*made);
  inputs_.NoteFlush(sampled, flushed);
  counters_.flushes.fetch_add(1, std::memory_order_relaxed);
  counters_.flush_entries_in.fetch_add(counts.entries_in, std::memory_order_relaxed);
  counters_.flush_entries_out.fetch_add(counts.entries_out, std::memory_order_relaxed);
  counters_.flush_hot_key_entries.fetch_add(flushed.hot_key_versions, std::memory_order_relaxed);
  hot_key_.Set(std::move(flushed.hot_key));
  counters_.flush_bytes.fetch_add(flushed.bytes(), std::memory_order_relaxed);
  const uint64_t nanos = clock->NowNanos() - start;
  counters_.flush_nanos.fetch_add(nanos, std::memory_order_relaxed);
  parts_.latencies.Record(env::Operation::kFlush, nanos);
  const read::SuperVersionPtr super_version = parts_.version_set.Current();
  controller_.UpdateTree(*super_version, inputs_.For(*super_version->version, {}, picker::Urgency::kWriting));
  return {};
}

BackgroundScheduler::Task FlushRunner::NextIdleSwitchLocked() {
  if (!may_switch_ || !compactions_.IsIdleLocked() || requests_.UrgencyLocked() != picker::Urgency::kIdle)
    return nullptr;
  may_switch_ = false;
  return [this, is_worth_it = IsWorthSwitchingLocked()] { parts_.flush_if_idle(is_worth_it); };
}

bool FlushRunner::IsWorthSwitchingLocked() const {
  constexpr uint64_t kShare = 64;
  const read::SuperVersionPtr super_version = parts_.version_set.Current();
  return super_version->active->bytes_used() * kShare >= super_version->version->bytes_on_disk();
}

}  // namespace mergedb::db
