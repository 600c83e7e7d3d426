#include "wal/wal_writer.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace mergedb::wal {

WalWriter::WalWriter(const Options& options, std::unique_ptr<WalBuffer> buffer, size_t unwritten_bytes_max,
                     Wal::Counters* counters)
    : options_(options),
      buffer_(std::move(buffer)),
      unwritten_bytes_max_(unwritten_bytes_max),
      wake_bytes_(std::min<uint64_t>(kStepBytes, buffer_->size() / 8)),
      counters_(counters),
      segments_(options, buffer_->is_mapped(), std::max(buffer_->size(), options.recycled_bytes), counters),
      segment_lead_(std::max<uint64_t>(segments_.capacity(), buffer_->size() / 2)),
      bounce_(AllocateAligned(kBounceBytes)) {}

// --- holding the writer --------------------------------------------------------------------------------------

void WalWriter::Unhold() {
  base::Lock lock(mutex_);
  is_held_ = false;
  changed_.NotifyAll();
}

WalWriter::Hold::Hold(WalWriter* writer) : writer_(writer) {
  base::Lock lock(writer->mutex_);
  while (writer->is_held_) writer->changed_.Wait(lock);
  writer->is_held_ = true;
}

WalWriter::Hold::~Hold() { writer_->Unhold(); }

Status WalWriter::Check() const {
  base::Lock lock(mutex_);
  if (!failure_.ok()) return failure_;
  return is_stopped_ ? Status::ShuttingDown("the WAL is closed") : Status();
}

Status WalWriter::failure() const {
  base::Lock lock(mutex_);
  return failure_;
}

Status WalWriter::Fail(const Status& status) {
  base::Lock lock(mutex_);
  if (failure_.ok()) failure_ = status;
  trouble_ = true;
  return status.WithOutcomeUnknown();
}

void WalWriter::ClearTrouble() {
  base::Lock lock(mutex_);
  trouble_ = is_stopped_ || !failure_.ok();
}

void WalWriter::Stop() {
  base::Lock lock(mutex_);
  is_stopped_ = true;
  trouble_ = true;
  while (is_held_ || running_ > 0) changed_.Wait(lock);
  segments_.Close();
}

// --- steps ---------------------------------------------------------------------------------------------------

uint64_t WalWriter::BufferLimit() const {
  const uint64_t kept_limit = kept_.load(std::memory_order_acquire) + buffer_->size();
  return std::min({kept_limit, written_end() + unwritten_bytes_max_, segments_.reserved_end()});
}

// One write, from written_end() towards `target`, which is an end of the buffered frames.
Status WalWriter::Step(uint64_t target) {
  const uint64_t from = written_end();
  const Piece piece = buffer_->is_mapped() ? CutBlocks(from, target) : CutBytes(from, target);
  auto written = segments_.Write(piece.position, piece.bytes, from);
  if (!written) {
    trouble_ = true;
    return std::move(written).error();
  }
  counters_->writes.fetch_add(1, std::memory_order_relaxed);
  Advance(std::min(target, piece.position + *written), target);
  return {};
}

WalWriter::Piece WalWriter::CutBlocks(uint64_t from, uint64_t target) {
  const uint64_t begin = RoundDown(from, kBlockBytes);
  const uint64_t padded = RoundUp(target, kBlockBytes) - begin;
  if (padded > kBounceBytes) {
    const uint64_t step = std::min<uint64_t>(kStepBytes, buffer_->size());
    return {begin, {buffer_->At(begin), std::min(RoundDown(target, kBlockBytes) - begin, step)}};
  }
  std::memcpy(bounce_.get(), buffer_->At(begin), target - begin);
  std::memset(bounce_.get() + (target - begin), 0, padded - (target - begin));
  return {begin, {bounce_.get(), padded}};
}

// The page cache accepts any length. When a write first enters a block, it fills the whole block: a partial
// write to a page that is not cached would read the page from disk first. (The caller holds the exclusive
// section, so the buffer beyond the end is free.)
WalWriter::Piece WalWriter::CutBytes(uint64_t from, uint64_t target) {
  const bool enters_block = !segments_.is_appended() && RoundUp(target, kBlockBytes) > RoundUp(from, kBlockBytes);
  const uint64_t lap_end = RoundDown(from, buffer_->size()) + buffer_->size();
  const uint64_t end = std::min(enters_block ? RoundUp(target, kBlockBytes) : target, lap_end);
  if (end > target) std::memset(buffer_->At(target), 0, end - target);
  return {from, {buffer_->At(from), end - from}};
}

void WalWriter::Advance(uint64_t written_end, uint64_t target) {
  SCHEDULE_POINT("publish the written position");
  counters_->bytes_written.fetch_add(written_end - written_end_, std::memory_order_relaxed);
  if (written_end >= next_boundary_) {
    boundary_ = written_end == target ? target : next_boundary_;
    next_boundary_ = target;
  }
  kept_.store(RoundDown(boundary_, kBlockBytes), std::memory_order_release);
  written_end_.store(written_end, std::memory_order_release);
}

Status WalWriter::StepTo(uint64_t target) {
  while (written_end() < target) RETURN_IF_ERROR(Step(target));
  ClearTrouble();
  return {};
}

// WHY boundary_ and not written_end(): after a failed step written_end() may be inside a frame, and replay takes the
// durable position for a frame boundary.
Status WalWriter::SyncHeld() {
  const uint64_t point = boundary_;
  if (point == durable()) return {};
  Status status = segments_.Sync();
  if (!status.ok()) return Fail(status);
  SCHEDULE_POINT("publish the durable position");
  durable_.store(point, std::memory_order_release);
  return {};
}

// --- called by the committer ---------------------------------------------------------------------------------

Status WalWriter::Help() {
  {
    base::Lock lock(mutex_);
    if (is_held_) {
      while (is_held_) changed_.Wait(lock);
      return {};
    }
    is_held_ = true;
  }
  Status status;
  const uint64_t target = appended_end();
  if (written_end() < target) status = Step(target);
  if (status.ok()) ClearTrouble();
  Unhold();
  return status;
}

Status WalWriter::WriteAll() {
  Hold hold(this);
  return StepTo(appended_end());
}

Status WalWriter::MakeDurable() {
  Hold hold(this);
  if (Status status = Check(); !status.ok()) return status.WithOutcomeUnknown();
  if (Status status = StepTo(appended_end()); !status.ok()) return status.WithOutcomeUnknown();
  return SyncHeld();
}

// Copies the bytes [begin, end) of the stream around a frame at `position`: the buffer's bytes before it, the
// frame, zeros.
void WalWriter::CopyStream(uint64_t position, uint64_t begin, uint64_t end, std::string_view header,
                           std::string_view payload, char* out) {
  std::memset(out, 0, end - begin);
  const auto copy = [&](uint64_t source_begin, std::string_view source) {
    const uint64_t lower = std::max(begin, source_begin);
    const uint64_t upper = std::min(end, source_begin + source.size());
    if (lower < upper) std::memcpy(out + (lower - begin), source.data() + (lower - source_begin), upper - lower);
  };
  const uint64_t block = RoundDown(position, kBlockBytes);
  copy(block, {buffer_->At(block), position - block});
  copy(position, header);
  copy(position + header.size(), payload);
}

Status WalWriter::WriteRange(uint64_t position, uint64_t begin, uint64_t end, std::string_view header,
                             std::string_view payload, char* buffer) {
  while (begin < end) {
    const uint64_t chunk = std::min<uint64_t>(end - begin, kStepBytes);
    CopyStream(position, begin, begin + chunk, header, payload, buffer);
    ASSIGN_OR_RETURN(const size_t written, segments_.Write(begin, {buffer, chunk}, position));
    begin += written;
  }
  return {};
}

// WHY the block with the header is written last: before that write, no trace of the frame can count as a
// frame, so an earlier failure leaves it absent for certain. A failure of that last write is final: the frame
// may be there, and no other frame may take its position. On an append-only file system the header is written
// first and any failure is final.
Status WalWriter::WriteLarge(uint64_t position, std::string_view header, std::string_view payload) {
  Hold hold(this);
  RETURN_IF_ERROR(Check());
  RETURN_IF_ERROR(StepTo(position));
  const uint64_t block = RoundDown(position, kBlockBytes);
  const uint64_t end = position + FrameBytes(payload.size());
  const AlignedBytes buffer = AllocateAligned(kStepBytes);
  Status status;
  if (segments_.is_appended()) {
    RETURN_IF_ERROR(segments_.Prepare(position, position));
    status = WriteRange(position, position, end, header, payload, buffer.get());
  } else {
    RETURN_IF_ERROR(segments_.Prepare(block, position));
    // If the header crosses into the next block, that block is written last as well. WHY it is prepared before the
    // rest is written: it may be the first block of a segment, and a segment holds all positions from its start on.
    const uint64_t rest = RoundUp(position + header.size(), kBlockBytes);
    RETURN_IF_ERROR(segments_.Prepare(rest - kBlockBytes, position));
    RETURN_IF_ERROR(WriteRange(position, rest, RoundUp(end, kBlockBytes), header, payload, buffer.get()));
    status = WriteRange(position, block, rest, header, payload, buffer.get());
  }
  if (!status.ok()) return Fail(status);
  const uint64_t tail = RoundDown(end, kBlockBytes);  // the next step writes this block again, from the buffer
  ASSERT(tail > position, "a large frame is longer than a block, so the WAL buffer keeps the bytes before it");
  CopyStream(position, tail, end, header, payload, buffer_->At(tail));
  appended_end_ = end;
  next_boundary_ = end;
  Advance(end, end);
  return SyncHeld();
}

// --- in the background ---------------------------------------------------------------------------------------

void WalWriter::Nudge() {
  const uint64_t end = appended_end();
  const bool is_much = buffer_->is_mapped() && end - written_end() >= wake_bytes_;
  if (is_much) Schedule();
  if (segments_.reserved_end() < end + segment_lead_) ScheduleSegment();
}

void WalWriter::ArmTimer() {
  if (!is_timer_armed_.exchange(true)) RunLater(&WalWriter::OnTimer);
}

void WalWriter::RunLater(void (WalWriter::*work)()) {
  options_.executor->ScheduleAfter(kSyncNanosMax, [weak = weak_from_this(), work] {
    if (const auto self = weak.lock(); self && self->Check().ok()) ((*self).*work)();
  });
}

void WalWriter::OnTimer() {
  if (appended_end() == durable()) {
    is_timer_armed_ = false;
    RunLater(&WalWriter::OnLastLook);
    return;
  }
  sync_wanted_ = true;
  Schedule();
  RunLater(&WalWriter::OnTimer);
}

void WalWriter::OnLastLook() {
  if (appended_end() != durable()) ArmTimer();
}

void WalWriter::Schedule() {
  if (is_scheduled_.exchange(true)) return;
  options_.executor->ScheduleUrgent([self = shared_from_this()] { self->Run(); });
}

void WalWriter::Run() noexcept {
  is_scheduled_ = false;
  {
    base::Lock lock(mutex_);
    if (is_stopped_ || is_held_ || !failure_.ok()) return;  // the holder does the work
    is_held_ = true;
    ++running_;
  }
  RunHeld();
  Unhold();
  const bool goes_on = !trouble() && buffer_->is_mapped() && appended_end() - written_end() >= wake_bytes_;
  base::Lock lock(mutex_);
  --running_;
  changed_.NotifyAll();
  lock.Unlock();
  if (goes_on) Schedule();
}

// Errors set trouble(); the next Append reports them.
void WalWriter::RunHeld() {
  const uint64_t target = appended_end();
  if (sync_wanted_.exchange(false)) {
    if (buffer_->is_mapped() && !StepTo(target).ok()) return;
    if (!SyncHeld().ok() || !buffer_->is_mapped()) return;
    // WHY this fails the WAL: on a full disk a later store to a page that a copy shares would kill the
    // process. The next epoch makes a new file.
    if (Status status = buffer_->Unshare(); !status.ok()) (void)Fail(status);
  } else if (buffer_->is_mapped() && target - written_end() >= wake_bytes_) {
    (void)Step(target);
  }
}

// WHY not in Run: making a file takes as long as writing all of it, and the buffer would fill meanwhile.
void WalWriter::ScheduleSegment() {
  if (is_making_segment_.exchange(true)) return;
  options_.executor->Schedule([self = shared_from_this()] { self->PrepareSegment(); });
}

// Makes a file before the writer needs it. If that fails, Append tries again and reports the failure.
void WalWriter::PrepareSegment() {
  {
    base::Lock lock(mutex_);
    if (is_stopped_ || !failure_.ok()) return;
    ++running_;
  }
  const uint64_t wanted = appended_end() + segment_lead_;
  if (segments_.reserved_end() < wanted) (void)segments_.Reserve(wanted);
  is_making_segment_ = false;
  base::Lock lock(mutex_);
  --running_;
  changed_.NotifyAll();
}

}  // namespace mergedb::wal
