// The WAL writer: copies bytes from the WAL buffer to segments if something asks for it, and knows how far they are
// written and durable.
//
//     durable <= written <= end                       kept <= written
//        |          |        |
//     synced   in segments   in the buffer            the buffer below `kept` may be reused
//
// What asks, with a mapped buffer:
//   a sync           MakeDurable writes everything. Until half a buffer of bytes without a sync has followed, the
//                    background work writes ahead (is_eager), so that the next sync has little to write.
//   the clock        a timer writes and syncs what is as old as Options::sync_interval_nanos, and a small rest with it
//   a full buffer    the background work writes the oldest bytes when seven eighths of the buffer are in use
// Release ends the need: bytes below it count as written and durable, because tables hold them.
// A buffer in memory is written after each commit group (WriteAll), and the timer only syncs.
//
// One thread at a time holds the writer (Hold): the background work on the executor, for one write of at most
// kStepBytes or one sync; a commit that needs durability, that finds the buffer full, or whose frame bypasses the
// buffer; Release; and what gives disk space back.
//
// A step of a mapped buffer writes whole blocks directly from it. A remainder of at most kBounceBytes goes through a
// separate buffer, padded with zeros, because a committer may write to the WAL buffer beyond the end. The
// next step writes its last block again.
//
// INVARIANT: `kept` is a frame boundary (rounded down to a block). If a step cuts a frame in two, the whole
// frame is still in the buffer. So replay finds every frame whole in one of the two places. marks_ has the
// boundaries, one for each kMarkBytes.
//
// A failed write sets trouble(): the next Append writes the bytes to a new segment before it adds a frame. A
// failed sync is final.
//
// WHY a shared pointer: scheduled work may run after the WAL is destroyed.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>

#include "base/mapped_faults.h"
#include "base/schedule_point.h"
#include "base/sync.h"
#include "wal/segments.h"
#include "wal/wal_buffer.h"

namespace mergedb::wal {

inline constexpr size_t kStepBytes = size_t{1} << 20;
inline constexpr size_t kBounceBytes = size_t{64} << 10;
inline constexpr size_t kMarkBytes = size_t{1} << 20;

class WalWriter : public std::enable_shared_from_this<WalWriter> {
 public:
  WalWriter(const Options& options, std::unique_ptr<WalBuffer> buffer, Counters* counters);

  WalBuffer& buffer() { return *buffer_; }
  Segments& segments() { return segments_; }

  // (exclusive) Before the first frame: makes a segment, so that a file names the epoch.
  Status Begin() { return segments_.Prepare(0, 0); }
  // (exclusive) All frames below `end` are complete.
  void Publish(uint64_t end) {
    SCHEDULE_POINT("publish the appended position");
    appended_end_.store(end, std::memory_order_release);  // WHY release: the bytes of the frames first
  }

  // The end of the positions that may be buffered now.
  uint64_t BufferLimit() const;
  // (exclusive) If BufferLimit() is below `wanted`: allocates, reserves, writes or waits once. `wanted` is at most a
  // frame above the end.
  Status MakeRoom(uint64_t wanted);
  // The bytes that may be buffered before a writer waits for the WAL writer.
  uint64_t room() const;
  // The room at which the WAL writer begins to fall behind.
  uint64_t room_wanted() const { return is_bounded() ? eager_bytes_max_ : buffer_->size() - unwritten_max_; }
  bool trouble() const { return trouble_.load(std::memory_order_relaxed); }  // WHY relaxed: a hint; Check() is exact
  uint64_t eager_bytes_max() const { return eager_bytes_max_; }
  uint64_t durable() const { return durable_.load(std::memory_order_acquire); }
  uint64_t written_end() const { return written_end_.load(std::memory_order_acquire); }
  uint64_t appended_end() const { return appended_end_.load(std::memory_order_acquire); }

  // OK, or why the WAL takes no more frames.
  Status Check() const;
  Status failure() const;
  // After stores to the buffer. An error is final, as of a failed sync: frames may be missing in the file.
  Status CheckBuffer() {
    if (!buffer_->has_failed()) [[likely]]
      return {};
    return FailBuffer();
  }

  // (exclusive) One step, by this thread, or a wait for the thread that holds the writer.
  Status Help();
  // (exclusive)
  Status WriteAll();
  Status MakeDurable();
  // Wal::Release. THREADS: any.
  void Release(const Mark& start);
  // (exclusive) Of Wal.
  bool GiveBackBlocks(bool keeps_spare);
  bool GiveBackSegments();
  bool GiveBackReusableSegments();
  // (exclusive) Writes a frame that bypasses the buffer: `header` and `payload`, from `position`, the current
  // end. The frame is durable if the method returns OK. Otherwise it is absent for certain, or
  // outcome_unknown is set and the WAL has failed.
  Status WriteLarge(uint64_t position, std::string_view header, std::string_view payload);

  // (exclusive) After Publish, now and then: schedules what the background work has to do.
  void Nudge();
  // (exclusive) After Publish: the new frame must be durable after the sync interval.
  void KeepTime() {
    if (!is_timer_armed_.load(std::memory_order_relaxed)) [[unlikely]]
      ArmTimer();  // WHY relaxed is enough: OnLastLook handles a stale value
  }
  void Stop();

 private:
  // The exclusive right to write to segments, for the life of the object.
  class Hold {
   public:
    explicit Hold(WalWriter* writer);
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    WalWriter* writer_;
  };
  struct Piece {
    uint64_t position = 0;
    std::string_view bytes;
  };

  Status FailBuffer();
  // After loads from the buffer, before what was loaded counts: a segment's last block, which may be synced, is written
  // again from the buffer.
  Status CheckLoaded() {
    buffer_->CheckSize();
    return CheckBuffer();
  }
  Status Fail(const Status& status);
  void ClearTrouble();
  void Unhold();
  bool is_bounded() const { return !buffer_->is_mapped() || is_eager(); }
  bool is_eager() const { return appended_end() < eager_until_.load(std::memory_order_relaxed); }
  bool NeedsWrite() const { return appended_end() - written_end() >= (is_eager() ? wake_bytes_ : unwritten_max_); }
  uint64_t NoteMark(uint64_t end);
  uint64_t SegmentsWanted() const;
  uint64_t BlocksWanted() const;
  bool NeedsSpace() const;
  Status Allocate(uint64_t position);
  void Schedule();
  void ArmTimer();
  void RunLater(void (WalWriter::*work)());
  void OnTimer();
  uint64_t NextDue(uint64_t end);
  // WHY: a thread may publish a frame while it still sees the timer as armed, just when the timer stops.
  void OnLastLook();
  void Run() noexcept;
  void RunHeld();
  void ScheduleSpace();
  void PrepareSpace();

  // REQUIRES, for all of these methods: this thread holds the writer.
  Status Step(uint64_t target);
  Piece CutBlocks(uint64_t from, uint64_t target);
  Piece CutBytes(uint64_t from, uint64_t target);
  void Advance(uint64_t written_end, uint64_t target);
  Status StepTo(uint64_t target);
  Status SyncHeld();
  uint64_t NowNanos() const { return options_.clock == nullptr ? 0 : options_.clock->NowNanos(); }
  Status WriteRange(uint64_t position, uint64_t begin, uint64_t end, std::string_view header, std::string_view payload,
                    char* buffer);
  void CopyStream(uint64_t position, uint64_t begin, uint64_t end, std::string_view header, std::string_view payload,
                  char* out);

  const Options options_;
  const std::unique_ptr<WalBuffer> buffer_;
  const uint64_t eager_bytes_max_;  // unwritten, while is_eager: a writer waits
  const uint64_t unwritten_max_;    // unwritten, otherwise: the background work writes
  const uint64_t wake_bytes_;       // unwritten, while is_eager: the background work writes
  const uint64_t tick_nanos_;
  const size_t ticks_;  // in a sync interval
  Counters* const counters_;
  Segments segments_;

  std::atomic<uint64_t> appended_end_{0};
  std::atomic<uint64_t> written_end_{0};
  std::atomic<uint64_t> durable_{0};
  std::atomic<uint64_t> kept_{0};
  std::atomic<uint64_t> eager_until_{0};
  std::atomic<uint64_t> sync_goal_{0};  // the background work makes everything below it durable
  std::atomic<bool> trouble_{false};
  std::atomic<bool> is_scheduled_{false};
  std::atomic<bool> is_making_space_{false};
  std::atomic<bool> is_tick_{false};
  std::atomic<bool> is_timer_armed_{false};
  std::deque<uint64_t> tick_ends_;  // of the last ticks, oldest first; used by the timer, one call at a time

  uint64_t last_mark_ = 0;  // (exclusive)

  // Guarded by Hold.
  AlignedBytes bounce_;
  uint64_t boundary_ = 0;  // the last known frame boundary <= written_end_
  Mark released_;

  base::Mutex allocation_mutex_;  // lock order: before mutex_
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool is_held_ GUARDED_BY(mutex_) = false;
  bool is_awaited_ GUARDED_BY(mutex_) = false;  // background work found the writer held
  int running_ GUARDED_BY(mutex_) = 0;
  bool is_stopped_ GUARDED_BY(mutex_) = false;
  Status failure_ GUARDED_BY(mutex_);
  std::deque<uint64_t> marks_ GUARDED_BY(mutex_);  // frame boundaries above boundary_, ascending
};

}  // namespace mergedb::wal
