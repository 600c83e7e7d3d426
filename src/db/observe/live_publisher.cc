#include "db/observe/live_publisher.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "db/observe/metrics.h"
#include "env/clock.h"
#include "env/hold.h"
#include "env/process.h"
#include "format/file_name.h"

namespace mergedb::db {
namespace {

constexpr uint64_t kUnchangedBeforePause = 10;
// The load is light if counters changed in at most seven of the last ten looks. It is not after six changes in a row,
// or if a counter of bytes grew by more than this between two of these looks.
constexpr uint32_t kRecentLooks = 0x3ff;
constexpr int kBusyLooks = 8;
constexpr uint32_t kChangesInARow = 0x3f;
constexpr uint64_t kLightBytesMax = 1 << 20;
// If a reader asks twice within kAskedAgainLooks, the next kFollowingLooks write, too. WHY: `top` asks again and again,
// and would wait for a look each time. A monitoring system asks seldom, and each question costs one update.
constexpr int kFollowingLooks = 10;

Result<std::unique_ptr<File>> OpenOrCreate(FileSystem* files, const std::string& path) {
  auto file = files->Open(path, {.access = Access::kReuse});
  if (file) return file;
  const bool has_two_names = file.error().IsInvalidArgument();
  if (!has_two_names && !file.error().IsNotFound()) return file;
  if (has_two_names) RETURN_IF_ERROR(files->Remove(path));  // the other name is that of a copy by hard links
  return files->Open(path, {.access = Access::kCreate});
}

// The slot in a whole file, so that later updates need no new blocks of the disk.
std::string WholeFile(std::string_view slot, uint64_t offset) {
  std::string bytes(format::kLiveFileBytes, '\0');
  std::copy(slot.begin(), slot.end(), bytes.begin() + static_cast<ptrdiff_t>(offset));
  return bytes;
}

}  // namespace

LivePublisher::LivePublisher(const Env& env, std::string directory, std::function<format::LiveState()> describe)
    : env_(env),
      directory_(std::move(directory)),
      path_(format::FilePath(directory_, format::FileKind::kLive)),
      describe_(std::move(describe)),
      slow_looks_(env::CanHold(*env_.file_system) ? kLooksBetweenSlowUpdates : kLooksBetweenUnwatchedUpdates),
      pid_(env::ProcessId()),
      opened_unix_micros_(env::WallMicros()),
      // WHY not 0: if the file of an earlier process could not be removed, its updates must not seem newer.
      update_(opened_unix_micros_) {}

void LivePublisher::Start() {
  if (env_.file_system->is_append_only()) return;  // nothing can be overwritten there
  {
    base::Lock lock(mutex_);
    samples_.push_back({.nanos = env_.clock->NowNanos(), .metrics = {}});
  }
  Arm(kPeriodNanos);
}

void LivePublisher::Stop() {
  if (env::ProcessId() != pid_) return;
  base::Lock lock(mutex_);
  is_stopped_ = true;
  if (std::exchange(has_published_, false)) (void)env_.file_system->Remove(path_);
}

void LivePublisher::Arm(uint64_t nanos) {
  env_.executor->ScheduleAfter(nanos, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->OnTimer();
  });
}

void LivePublisher::OnTimer() noexcept {
  uint64_t period_nanos = kPeriodNanos;
  {
    base::Lock lock(mutex_);
    if (is_stopped_) return;
    try {
      Update();
    } catch (const std::bad_alloc&) {  // the next update may have memory
    }
    period_nanos = period_nanos_;
  }
  Arm(period_nanos);
}

void LivePublisher::Update() {
  if (!has_published_) {
    const env::ProcessIdentity process = env::ThisProcess();
    process_ = {.pid = process.pid,
                .pid_namespace = process.pid_namespace,
                .start_ticks = process.start_ticks,
                .boot_id = process.boot_id};
  }
  format::LiveState state = describe_();
  const Change change = AddWindow(&state);
  unchanged_ = change.is_any ? 0 : unchanged_ + 1;
  recent_ = (recent_ << 1 | (change.is_any ? 1 : 0)) & kRecentLooks;
  if (change.bytes > kLightBytesMax) recent_ = kRecentLooks;
  const bool pauses = unchanged_ >= kUnchangedBeforePause;
  const bool is_light = !pauses && std::popcount(recent_) < kBusyLooks && (recent_ & kChangesInARow) != kChangesInARow;
  period_nanos_ = pauses ? std::min(2 * period_nanos_, kPeriodNanosMax) : kPeriodNanos;
  if (((pauses && is_paused_) || (is_light && is_slow_ && ++skipped_ < slow_looks_)) && !IsWanted()) return;
  state.update = ++update_;
  state.process = process_;
  state.times.opened_unix_micros = opened_unix_micros_;
  state.times.updated_unix_micros = env::WallMicros();
  state.times.updated_boot_nanos = env::BootNanos();
  state.times.period_nanos = pauses ? 0 : is_light ? slow_looks_ * kPeriodNanos : period_nanos_;
  const bool is_written = Write(state).ok();
  has_published_ |= is_written;
  is_paused_ = pauses && is_written;
  is_slow_ = is_light && is_written;
  skipped_ = 0;
}

bool LivePublisher::IsWanted() {
  FileSystem& files = *env_.file_system;
  looks_since_question_ = std::min(looks_since_question_ + 1, kAskedAgainLooks + 1);
  if (env::IsHeld(files, format::FilePath(directory_, format::FileKind::kCurrent))) {
    if (std::exchange(looks_since_question_, 0) <= kAskedAgainLooks) following_looks_ = kFollowingLooks;
    return true;
  }
  if (following_looks_ > 0) {
    --following_looks_;
    return true;
  }
  const auto bytes = files.SizeOf(path_);
  return bytes ? *bytes < format::kLiveFileBytes : bytes.error().IsNotFound();
}

// Fills in the values at the beginning of the window. Returns what changed since the last look.
LivePublisher::Change LivePublisher::AddWindow(format::LiveState* state) {
  const uint64_t now = env_.clock->NowNanos();
  while (samples_.size() > 1 && now - samples_[1].nanos >= kWindowNanos) samples_.pop_front();
  const Sample& first = samples_.front();
  const Sample& last = samples_.back();
  Change change;
  Sample sample{.nanos = now, .metrics = {}};
  sample.metrics.reserve(state->metrics.size());
  for (size_t i = 0; i < state->metrics.size(); ++i) {
    format::LiveMetric& metric = state->metrics[i];
    sample.metrics.push_back({.value = metric.value, .buckets = metric.buckets});
    const uint64_t last_value = i < last.metrics.size() ? last.metrics[i].value : 0;
    if (metric.kind != format::LiveKind::kGauge && last_value != metric.value) {
      change.is_any = true;
      if (metric.unit == UnitName(MetricUnit::kBytes) && metric.value > last_value)
        change.bytes = std::max(change.bytes, metric.value - last_value);
    }
    if (i >= first.metrics.size()) continue;  // the window begins at the open
    const Value& before = first.metrics[i];
    metric.value_before = before.value;
    auto old = before.buckets.begin();
    for (format::LiveBucket& bucket : metric.buckets) {
      while (old != before.buckets.end() && old->upper < bucket.upper) ++old;
      if (old != before.buckets.end() && old->upper == bucket.upper) bucket.count_before = old->count;
    }
  }
  state->times.window_nanos = now - first.nanos;
  samples_.push_back(std::move(sample));
  return change;
}

Status LivePublisher::Write(const format::LiveState& state) {
  ASSIGN_OR_RETURN(const auto file, OpenOrCreate(env_.file_system, path_));
  ASSIGN_OR_RETURN(const uint64_t bytes, file->Size());
  const std::string slot = format::EncodeLiveSlot(state);
  const uint64_t offset = state.update % 2 * format::kLiveSlotBytes;
  const Status status =
      bytes < format::kLiveFileBytes ? file->WriteAt(0, WholeFile(slot, offset)) : file->WriteAt(offset, slot);
  RETURN_IF_ERROR(status);
  return file->Close();
}

Result<format::LiveState> ReadLiveState(FileSystem* file_system, const std::string& directory) {
  const std::string path = format::FilePath(directory, format::FileKind::kLive);
  ASSIGN_OR_RETURN(const auto file, file_system->Open(path, {}));
  std::string bytes(format::kLiveFileBytes, '\0');
  size_t got = 0;
  RETURN_IF_ERROR(file->ReadAt(0, bytes.size(), bytes.data(), &got));
  if (got == 0) return Status::NotFound(path + ": the process that made the file has not written to it yet");
  bytes.resize(got);
  return format::DecodeLiveFile(bytes);
}

}  // namespace mergedb::db
