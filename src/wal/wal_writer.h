// The WAL writer: copies bytes from the WAL buffer to segments, and knows how far they are written and durable.
//
//     durable <= written <= end                       kept <= written
//        |          |        |
//     synced   in segments   in the buffer            the buffer below `kept` may be reused
//
// One thread at a time holds the writer (Hold): the background work on the executor, a commit that needs
// durability, or a commit that finds the buffer full. A thread that waits for the holder waits for a write of
// kStepBytes, or for a sync.
//
// A step writes whole blocks directly from the buffer. A remainder of less than kBounceBytes goes through a
// separate buffer, padded with zeros, because a committer may write to the WAL buffer beyond the end. The
// next step writes its last block again.
//
// INVARIANT: `kept` is a frame boundary (rounded down to a block). If a step cuts a frame in two, the whole
// frame is still in the buffer. So replay finds every frame whole in one of the two places.
//
// A failed write sets trouble(): the next Append writes the bytes to a new segment before it adds a frame. A
// failed sync is final.
//
// Frames become durable within about kSyncNanosMax: a timer runs while there is something to sync, and stops
// after a period without.
//
// WHY a shared pointer: scheduled work may run after the WAL is destroyed.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/schedule_point.h"
#include "base/sync.h"
#include "wal/segments.h"
#include "wal/wal_buffer.h"

namespace mergedb::wal {

inline constexpr size_t kStepBytes = size_t{1} << 20;
inline constexpr size_t kBounceBytes = size_t{64} << 10;
inline constexpr uint64_t kSyncNanosMax = 1'000'000'000;

class WalWriter : public std::enable_shared_from_this<WalWriter> {
 public:
  WalWriter(const Options& options, std::unique_ptr<WalBuffer> buffer, size_t unwritten_bytes_max,
            Wal::Counters* counters);

  WalBuffer& buffer() { return *buffer_; }
  Segments& segments() { return segments_; }

  // (exclusive) All frames below `end` are complete.
  void Publish(uint64_t end) {
    SCHEDULE_POINT("publish the appended position");
    appended_end_.store(end, std::memory_order_release);  // WHY release: the bytes of the frames first
  }

  // The end of the positions that may be buffered now: by the buffer's size, unwritten_bytes_max and the
  // reserved segments.
  uint64_t BufferLimit() const;
  bool trouble() const { return trouble_.load(std::memory_order_relaxed); }  // WHY relaxed: a hint; Check() is exact
  uint64_t unwritten_bytes_max() const { return unwritten_bytes_max_; }
  uint64_t durable() const { return durable_.load(std::memory_order_acquire); }
  uint64_t written_end() const { return written_end_.load(std::memory_order_acquire); }
  uint64_t appended_end() const { return appended_end_.load(std::memory_order_acquire); }

  // OK, or why the WAL takes no more frames.
  Status Check() const;
  Status failure() const;

  // (exclusive) One step, by this thread, or a wait for the thread that holds the writer.
  Status Help();
  Status WriteAll();
  Status MakeDurable();
  // (exclusive) Writes a frame that bypasses the buffer: `header` and `payload`, from `position`, the current
  // end. The frame is durable if the method returns OK. Otherwise it is absent for certain, or
  // outcome_unknown is set and the WAL has failed.
  Status WriteLarge(uint64_t position, std::string_view header, std::string_view payload);

  // Schedules background work if enough bytes are unwritten, or if a new segment will be needed soon.
  void Nudge();
  // (exclusive) After Publish: the new frame must be durable a second later.
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

  Status Fail(const Status& status);
  void ClearTrouble();
  void Unhold();
  void Schedule();
  void ArmTimer();
  void RunLater(void (WalWriter::*work)());
  void OnTimer();
  // WHY: a thread may publish a frame while it still sees the timer as armed, just when the timer stops.
  void OnLastLook();
  void Run() noexcept;
  void RunHeld();
  void ScheduleSegment();
  void PrepareSegment();

  // REQUIRES, for all of these methods: this thread holds the writer.
  Status Step(uint64_t target);
  Piece CutBlocks(uint64_t from, uint64_t target);
  Piece CutBytes(uint64_t from, uint64_t target);
  void Advance(uint64_t written_end, uint64_t target);
  Status StepTo(uint64_t target);
  Status SyncHeld();
  Status WriteRange(uint64_t position, uint64_t begin, uint64_t end, std::string_view header, std::string_view payload,
                    char* buffer);
  void CopyStream(uint64_t position, uint64_t begin, uint64_t end, std::string_view header, std::string_view payload,
                  char* out);

  const Options options_;
  const std::unique_ptr<WalBuffer> buffer_;
  const size_t unwritten_bytes_max_;
  const uint64_t wake_bytes_;
  Wal::Counters* const counters_;
  Segments segments_;
  // A new segment is made when less than this is reserved beyond the end: while one segment fills, the next
  // one is written in full.
  // MEASURED: slow_disk_test, 15 MiB/s on a disk of 200: with half a buffer of lead, a put waited 62 ms for a
  // segment.
  const uint64_t segment_lead_;

  std::atomic<uint64_t> appended_end_{0};
  std::atomic<uint64_t> written_end_{0};
  std::atomic<uint64_t> durable_{0};
  std::atomic<uint64_t> kept_{0};
  std::atomic<bool> trouble_{false};
  std::atomic<bool> is_scheduled_{false};
  std::atomic<bool> is_making_segment_{false};
  std::atomic<bool> sync_wanted_{false};
  std::atomic<bool> is_timer_armed_{false};

  // Guarded by Hold.
  AlignedBytes bounce_;
  uint64_t boundary_ = 0;       // a frame boundary <= written_end_
  uint64_t next_boundary_ = 0;  // an end at which a step began; >= boundary_

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool is_held_ GUARDED_BY(mutex_) = false;
  int running_ GUARDED_BY(mutex_) = 0;
  bool is_stopped_ GUARDED_BY(mutex_) = false;
  Status failure_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::wal
