#include "wal/wal_writer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "base/out_of_memory.h"

namespace mergedb::wal {

namespace {

constexpr uint64_t kTickNanosMax = 1'000'000'000;
// Blocks of the buffer are allocated this far ahead of the end, at most.
constexpr uint64_t kAllocationLeadMax = size_t{8} << 20;

uint64_t TickNanos(uint64_t interval) {
  return interval == 0 ? kTickNanosMax : std::clamp<uint64_t>(interval / 2, 1, kTickNanosMax);
}

}  // namespace

WalWriter::WalWriter(const Options& options, std::unique_ptr<WalBuffer> buffer, Counters* counters)
    : options_(options),
      buffer_(std::move(buffer)),
      // WHY at least a frame: it must find room once all bytes before it are written, for any value of the option.
      eager_bytes_max_(std::clamp(options.unwritten_bytes_max, buffer_->frame_bytes_max(), buffer_->size())),
      unwritten_max_(buffer_->size() / 8 * 7),
      wake_bytes_(std::min<uint64_t>(kStepBytes, buffer_->size() / 8)),
      tick_nanos_(TickNanos(options.sync_interval_nanos)),
      ticks_(options.sync_interval_nanos / tick_nanos_),
      counters_(counters),
      segments_(options, buffer_->is_mapped(), std::max(buffer_->size(), options.recycled_bytes), counters),
      bounce_(AllocateAligned(kBounceBytes)) {}

// --- holding the writer --------------------------------------------------------------------------------------

void WalWriter::Unhold() {
  base::Lock lock(mutex_);
  is_held_ = false;
  changed_.NotifyAll();
  const bool is_awaited = std::exchange(is_awaited_, false) && !is_stopped_;
  lock.Unlock();
  if (is_awaited) Schedule();
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

Status WalWriter::FailBuffer() { return Fail(buffer_->failure()); }

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

uint64_t WalWriter::room() const {
  const uint64_t kept_limit = kept_.load(std::memory_order_acquire) + buffer_->size();
  const uint64_t limit = is_bounded() ? std::min(kept_limit, written_end() + eager_bytes_max_) : kept_limit;
  const uint64_t end = appended_end();
  return limit > end ? limit - end : 0;
}

uint64_t WalWriter::BufferLimit() const {
  const uint64_t end = appended_end() + room();
  return std::min(end, buffer_->is_mapped() ? buffer_->allocated_end() : segments_.reserved_end());
}

// WHY a buffer in memory reserves segments: its bytes are written before the commit returns.
Status WalWriter::MakeRoom(uint64_t wanted) {
  if (wanted > appended_end() + room()) return Help();
  return buffer_->is_mapped() ? Allocate(wanted) : segments_.Reserve(wanted);
}

Status WalWriter::Allocate(uint64_t position) {
  base::Lock lock(allocation_mutex_);
  return buffer_->Allocate(position);
}

// One write, from written_end() towards `target`, which is an end of the buffered frames.
Status WalWriter::Step(uint64_t target) {
  const uint64_t from = written_end();
  const Piece piece = buffer_->is_mapped() ? CutBlocks(from, target) : CutBytes(from, target);
  base::TouchPages(piece.bytes);  // WHY: for a page that cannot be read, the write would only say "Bad address"
  RETURN_IF_ERROR(CheckLoaded());
  const uint64_t start = NowNanos();
  auto written = segments_.Write(piece.position, piece.bytes, from);
  counters_->write_nanos.fetch_add(NowNanos() - start, std::memory_order_relaxed);
  RETURN_IF_ERROR(CheckLoaded());  // WHY again: the write loaded from the buffer
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
  {
    base::Lock lock(mutex_);
    for (; !marks_.empty() && marks_.front() <= written_end; marks_.pop_front())
      boundary_ = std::max(boundary_, marks_.front());
  }
  if (written_end == target) boundary_ = std::max(boundary_, target);
  kept_.store(std::max(kept_.load(), RoundDown(boundary_, kBlockBytes)), std::memory_order_release);
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
  if (point <= durable()) return {};
  const uint64_t start = NowNanos();
  Status status = segments_.Sync();
  const uint64_t nanos = NowNanos() - start;
  counters_->sync_nanos.fetch_add(nanos, std::memory_order_relaxed);
  if (options_.latencies != nullptr) options_.latencies->Record(env::Operation::kWalSync, nanos);
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
  const uint64_t end = appended_end();
  if (Status status = Check(); !status.ok()) return status.WithOutcomeUnknown();
  RETURN_IF_ERROR(segments_.Reserve(end));
  if (Status status = StepTo(end); !status.ok()) return status.WithOutcomeUnknown();
  eager_until_.store(end + buffer_->size() / 2, std::memory_order_relaxed);
  return SyncHeld();
}

// WHY it holds the writer: a step that has begun reads bytes of the buffer that a committer may overwrite afterwards.
void WalWriter::Release(const Mark& start) {
  Hold hold(this);
  released_ = start;
  if (start.position > written_end()) {
    segments_.Restart(start);
    boundary_ = start.position;
    written_end_.store(start.position, std::memory_order_release);
    base::Lock lock(mutex_);
    while (!marks_.empty() && marks_.front() <= start.position) marks_.pop_front();
  }
  durable_.store(std::max(durable(), start.position), std::memory_order_release);
  kept_.store(std::max(kept_.load(), RoundDown(start.position, kBlockBytes)), std::memory_order_release);
  segments_.Release(start.position);
}

bool WalWriter::GiveBackBlocks(bool keeps_spare) {
  Hold hold(this);
  if (Check().IsShuttingDown()) return false;
  // WHY a WAL that failed, too: the flush of its writes needs space. What was written to a segment and not synced may
  // be lost there, so the buffer keeps it.
  const uint64_t kept = failure().ok() ? kept_.load() : RoundDown(durable(), kBlockBytes);
  const uint64_t end = appended_end();
  base::Lock lock(allocation_mutex_);
  return buffer_->GiveBack(end == released_.position ? end : kept, end, keeps_spare);
}

bool WalWriter::GiveBackReusableSegments() {
  return !Check().IsShuttingDown() && segments_.GiveBackReusable(appended_end());
}

bool WalWriter::GiveBackSegments() {
  Hold hold(this);
  if (!Check().ok() || appended_end() != released_.position) return false;
  segments_.Restart(released_);
  segments_.GiveBack();
  // If this fails, the next sync tries again.
  (void)segments_.Prepare(released_.position, released_.position);
  return true;
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
    RETURN_IF_ERROR(CheckLoaded());
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
  const uint64_t block = RoundDown(position, kBlockBytes);
  const uint64_t end = position + FrameBytes(payload.size());
  RETURN_IF_ERROR(Allocate(end));
  RETURN_IF_ERROR(StepTo(position));
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
  RETURN_IF_ERROR(CheckBuffer());
  appended_end_ = end;
  Advance(end, end);
  return SyncHeld();
}

// --- in the background ---------------------------------------------------------------------------------------

uint64_t WalWriter::NoteMark(uint64_t end) {
  base::Lock lock(mutex_);
  if (marks_.empty() || marks_.back() < end) marks_.push_back(end);
  return marks_.back();
}

// The position up to which segments should exist. While one segment fills, the next one is made.
// MEASURED: slow_disk_test, 15 MiB/s on a disk of 200: with half a buffer of lead, a put waited 62 ms for a segment.
uint64_t WalWriter::SegmentsWanted() const {
  const uint64_t end = appended_end();
  return is_bounded() ? end + std::min(segments_.capacity_max(), end) : 0;
}

// The position up to which the buffer should have blocks.
uint64_t WalWriter::BlocksWanted() const {
  const uint64_t lead = std::min({kAllocationLeadMax, buffer_->size() / 4, buffer_->allocated_bytes()});
  return appended_end() + lead;
}

bool WalWriter::NeedsSpace() const {
  return buffer_->allocated_end() < BlocksWanted() || segments_.reserved_end() < SegmentsWanted();
}

void WalWriter::Nudge() {
  const uint64_t end = appended_end();
  const uint64_t spacing = std::min<uint64_t>(kMarkBytes, buffer_->size() / 32);
  if (end / spacing != last_mark_ / spacing) {
    last_mark_ = end;
    (void)NoteMark(end);
  }
  if (buffer_->is_mapped() && NeedsWrite()) Schedule();
  if (NeedsSpace()) ScheduleSpace();
}

void WalWriter::ArmTimer() {
  if (!is_timer_armed_.exchange(true)) RunLater(&WalWriter::OnTimer);
}

void WalWriter::RunLater(void (WalWriter::*work)()) {
  options_.executor->ScheduleAfter(tick_nanos_, [weak = weak_from_this(), work] {
    if (const auto self = weak.lock(); self && self->Check().ok()) ((*self).*work)();
  });
}

void WalWriter::OnTimer() {
  const uint64_t end = appended_end();
  if (end == durable()) {
    tick_ends_.clear();
    is_timer_armed_ = false;
    RunLater(&WalWriter::OnLastLook);
    return;
  }
  sync_goal_ = std::max(sync_goal_.load(), NextDue(end));
  is_tick_ = true;
  Schedule();
  RunLater(&WalWriter::OnTimer);
}

// The end as of one sync interval before the next tick.
uint64_t WalWriter::NextDue(uint64_t end) {
  if (options_.sync_interval_nanos == 0) return 0;  // no limit in time
  tick_ends_.push_back(NoteMark(end));
  if (tick_ends_.size() < ticks_) return 0;
  const uint64_t due = tick_ends_.front();
  tick_ends_.pop_front();
  return due;
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
    if (is_stopped_ || !failure_.ok()) return;
    is_awaited_ = is_held_;
    if (is_held_) return;
    is_held_ = true;
    ++running_;
  }
  base::OrStop([this] { RunHeld(); });
  Unhold();
  const bool goes_on = !trouble() && buffer_->is_mapped() && (NeedsWrite() || sync_goal_ > durable());
  base::Lock lock(mutex_);
  --running_;
  changed_.NotifyAll();
  lock.Unlock();
  if (goes_on) Schedule();
}

// One step or one sync. Errors set trouble(); the next Append reports them.
void WalWriter::RunHeld() {
  const uint64_t goal = sync_goal_;
  if (is_tick_.exchange(false) && buffer_->is_mapped()) {
    // WHY this fails the WAL: on a full disk a later store to a page that a copy shares would kill the
    // process. The next epoch makes a new file.
    if (Status status = buffer_->Unshare(); !status.ok()) {
      (void)Fail(status);
      return;
    }
  }
  if (goal > durable()) {
    if (buffer_->is_mapped() && written_end() < goal) {
      // WHY a small rest goes along: it would soon need a sync of its own, which writes the last block again. A large
      // rest may be flushed before.
      const uint64_t end = appended_end();
      (void)Step(end - written_end() <= kBounceBytes ? end : goal);
    } else {
      (void)SyncHeld();
    }
  } else if (buffer_->is_mapped() && NeedsWrite()) {
    (void)Step(appended_end());
  }
}

// WHY not in Run: making a segment takes as long as writing all of it, and the buffer would fill meanwhile.
void WalWriter::ScheduleSpace() {
  if (is_making_space_.exchange(true)) return;
  options_.executor->Schedule([self = shared_from_this()] { self->PrepareSpace(); });
}

// Makes space before the writer needs it. If that fails, Append tries again and reports the failure.
void WalWriter::PrepareSpace() {
  {
    base::Lock lock(mutex_);
    if (is_stopped_ || !failure_.ok()) return;
    ++running_;
  }
  (void)Allocate(BlocksWanted());
  (void)segments_.Reserve(SegmentsWanted());
  is_making_space_ = false;
  base::Lock lock(mutex_);
  --running_;
  changed_.NotifyAll();
}

}  // namespace mergedb::wal
