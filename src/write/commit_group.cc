#include "write/commit_group.h"

#include <algorithm>

#include "base/assert.h"
#include "base/count_alone.h"
#include "base/perf.h"
#include "base/schedule_point.h"

namespace mergedb::write {
namespace {

// WHY by bytes: replay knows the bytes of a frame before it counts its records, and refuses a frame whose
// sequences might exceed the maximum.
Status CheckSequences(kv::Sequence first, const Change& change) {
  if (first <= kv::kSequenceMax - std::min<uint64_t>(kv::kSequenceMax, change.payload_bytes())) [[likely]]
    return {};
  return Status::NotSupported("sequence numbers are used up");
}

// Adds the time of its life to a counter of the thread's PerfContext, if there is one.
class PerfTimer {
 public:
  PerfTimer(const WriteTarget& target, uint64_t PerfContext::*counter)
      : target_(target), counter_(counter), perf_(base::thread_perf) {
    if (perf_ != nullptr) [[unlikely]]
      start_ = target.NowNanos();
  }
  ~PerfTimer() {
    if (perf_ != nullptr) [[unlikely]]
      perf_->*counter_ += target_.NowNanos() - start_;
  }
  PerfTimer(const PerfTimer&) = delete;
  PerfTimer& operator=(const PerfTimer&) = delete;

 private:
  const WriteTarget& target_;
  uint64_t PerfContext::*const counter_;
  PerfContext* const perf_;
  uint64_t start_ = 0;
};

}  // namespace

template <typename Act>
void CommitGroup::ForEach(Act&& act) {
  for (Waiter* waiter = &leader_;; waiter = waiter->next) {
    act(*waiter);
    if (waiter == leader_.group_last) break;
  }
}

CommitGroup::CommitGroup(Host& host, WriteTarget& target, WriteCounters& counters, Waiter& leader)
    : host_(host), target_(target), counters_(counters), leader_(leader) {
  Measure();
  if (leader_.group_last == &leader_ || target_.FitsOneMemtable(room_)) [[likely]]
    return;
  leader_.group_last = &leader_;  // small memtables: one write at a time
  Measure();
}

void CommitGroup::Measure() {
  room_ = {};
  is_synced_ = false;
  ForEach([&](Waiter& waiter) {
    const Change& change = *waiter.change();
    room_.records += change.records();
    room_.bytes += change.payload_bytes();
    is_synced_ |= change.durability == Durability::kSynced;
  });
}

void CommitGroup::Commit() {
  if (!Begin()) return;
  CheckConflicts();
  if (IsOneLargeBatch()) return CommitInPieces();
  if (!MakeMemtableRoom()) return;
  {
    const PerfTimer timer(target_, &PerfContext::wal_nanos);
    Stage();
    if (!WriteOut()) return;
  }
  {
    const PerfTimer timer(target_, &PerfContext::memtable_nanos);
    Apply();
  }
  Publish();
}

// ---- Steps ------------------------------------------------------------------------------------------------------

bool CommitGroup::Begin() { return EndUnless(host_.BeforeGroup(room_.bytes)); }

void CommitGroup::CheckConflicts() {
  ForEach([&](Waiter& waiter) { waiter.status = host_.CheckConflicts(*waiter.change()); });
}

bool CommitGroup::MakeMemtableRoom() { return EndUnless(host_.MakeMemtableRoom(room_, false)); }

void CommitGroup::Stage() {
  Status failed;  // of a frame whose outcome is unknown: no later frame may follow it
  ForEach([&](Waiter& waiter) {
    if (!waiter.status.ok()) return;  // a conflict
    waiter.status = failed.ok() ? AppendFrame(waiter, is_synced_) : failed;
    if (waiter.status.ok()) return;
    host_.FrameFailed(*waiter.change(), waiter.status);
    if (waiter.status.outcome_unknown()) failed = Status::Make(waiter.status.code(), waiter.status.message());
  });
}

bool CommitGroup::WriteOut() {
  if (!has_frames_) return true;
  Status status = is_synced_ ? MakeDurable() : WithFreedSpace(host_, [&] { return target_.wal().WriteThrough(); });
  if (status.ok()) [[likely]]
    return true;
  status = status.WithOutcomeUnknown();
  host_.GroupFailed(status);
  return EndUnless(status);
}

void CommitGroup::Apply() {
  ForEach([&](Waiter& waiter) {
    if (!waiter.status.ok()) return;
    const Change& change = *waiter.change();
    SCHEDULE_POINT("add to the memtable");
    base::CountAlone(counters_.writes, 1);
    base::CountAlone(counters_.records, change.records());
    memtable::Memtable& active = *target_.active;
    kv::Sequence sequence = waiter.first_sequence;
    change.ForEachRecord([&](kv::Kind kind, std::string_view key, std::string_view value) {
      active.Add(key, kv::MakeTag(sequence++, kind), value);
    });
    ASSERT(sequence == waiter.first_sequence + change.records(), "a batch has as many records as it says");
    last_ = sequence - 1;
  });
}

void CommitGroup::Publish() {
  if (last_ != 0) host_.Publish(last_, false);
  base::CountAlone(counters_.groups, 1);
}

// ---- A batch larger than a memtable -----------------------------------------------------------------------------

bool CommitGroup::IsOneLargeBatch() const {
  return leader_.change()->batch() != nullptr && !target_.FitsOneMemtable(room_);
}

// The batch is durable in the WAL before any piece can reach a table: a table with half of a batch and a WAL without
// the rest would break atomicity. For the same reason it goes to the WAL even if it asks for no WAL.
void CommitGroup::CommitInPieces() {
  if (!leader_.status.ok()) return;
  const Change& change = *leader_.change();
  const wal::Mark before = target_.wal().end();
  leader_.status = AppendDurably();
  if (!leader_.status.ok()) return host_.FrameFailed(change, leader_.status);

  const PerfTimer timer(target_, &PerfContext::memtable_nanos);
  target_.pieces_from = before;
  kv::Sequence sequence = leader_.first_sequence;
  change.ForEachRecord([&](kv::Kind kind, std::string_view key, std::string_view value) {
    SCHEDULE_POINT("add a piece to the memtable");
    const Room room{.records = 1, .bytes = key.size() + value.size()};
    // WHY `must`: the pieces that are applied cannot be undone, and the next commit would make them visible.
    if (!host_.MakeMemtableRoom(room, false).ok()) (void)host_.MakeMemtableRoom(room, true);
    target_.active->Add(key, kv::MakeTag(sequence++, kind), value);
  });
  target_.pieces_from = std::nullopt;
  host_.Publish(sequence - 1, true);
  base::CountAlone(counters_.writes, 1);
  base::CountAlone(counters_.records, change.records());
  base::CountAlone(counters_.groups, 1);
}

Status CommitGroup::AppendDurably() {
  const PerfTimer timer(target_, &PerfContext::wal_nanos);
  RETURN_IF_ERROR(AppendFrame(leader_, true));
  if (target_.wal().durable_position() >= target_.wal().end().position) return {};
  const Status status = MakeDurable();
  return status.ok() ? status : status.WithOutcomeUnknown();
}

// ---- Frames -----------------------------------------------------------------------------------------------------

// Assigns the sequences of the change and appends its frame to the WAL: again if it found no disk space or no
// descriptor for a new segment, and there may be some now.
// WHY once for space: each try may take blocks and segments that the host then gives back. WHY not after an unknown
// outcome: no other frame may take the place.
Status CommitGroup::AppendFrame(Waiter& waiter, bool will_sync) {
  Status status = TryAppendFrame(waiter, will_sync);
  if (status.ok()) [[likely]]
    return status;
  const auto may_try_again = [&] { return !status.outcome_unknown() && host_.FreeFor(status); };
  if (status.IsNoSpace() && may_try_again()) status = TryAppendFrame(waiter, will_sync);
  while (status.IsBusy() && may_try_again()) status = TryAppendFrame(waiter, will_sync);
  return status;
}

Status CommitGroup::TryAppendFrame(Waiter& waiter, bool will_sync) {
  const Change& change = *waiter.change();
  wal::Wal& wal = target_.wal();
  waiter.first_sequence = wal.next_sequence();
  RETURN_IF_ERROR(CheckSequences(waiter.first_sequence, change));
  if (change.durability == Durability::kNoWal && !IsOneLargeBatch()) {
    wal.SkipTo(waiter.first_sequence + change.records());
    return {};
  }
  RETURN_IF_ERROR(wal.Append(EncodedRecords(change).pieces(), change.records(), will_sync));
  has_frames_ = true;
  return {};
}

Status CommitGroup::MakeDurable() {
  return WithFreedSpace(host_, [&] { return target_.wal().MakeDurable(); });
}

// False if `status` is an error: it is then that of all members.
bool CommitGroup::EndUnless(const Status& status) {
  if (status.ok()) [[likely]]
    return true;
  ForEach([&](Waiter& waiter) {
    if (waiter.status.ok()) waiter.status = status;
  });
  return false;
}

}  // namespace mergedb::write
