// The drain: carries staged bytes from the ring into segments, and knows how far they are written and how far durable.
//
//     durable <= drained <= staged end                kept <= drained
//        |          |            |
//     synced   in segments   in the ring              the ring below `kept` may be used again
//
// One thread at a time holds the drain (Hold): the background work on the executor, a committer that wants durability, or a
// writer that found the ring full. Whoever waits for it waits for at most one write of kStepBytes.
//
// A step writes whole blocks straight from the ring. What is left of less than kBounceBytes goes through a buffer, padded
// with zeros, because the ring beyond the staged end is being written; its last block is written again by the next step.
//
// INVARIANT: `kept` is a frame boundary (rounded down to a block): the frame that a step cut in two is still whole in the
// ring, so replay finds every frame whole in one of the two places.
//
// A failed write sets trouble(): the next Append tries again, in a new segment, before it stages another byte. A failed sync
// is final.
//
// What is staged is durable within kSyncNanosMax or so: a timer runs while there is anything to sync, and rests after a
// second without.
//
// WHY a shared pointer: work waiting in the executor may come to run after the log is gone.
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
  WalWriter(const Options& options, std::unique_ptr<WalBuffer> buffer, size_t undrained_bytes_max,
            Wal::Counters* counters);

  WalBuffer& buffer() { return *buffer_; }
  Segments& segments() { return segments_; }

  // (turn) All frames below `end` are sealed.
  void Publish(uint64_t end) {
    SCHEDULE_POINT("publish what is staged");
    staged_end_.store(end, std::memory_order_release);  // WHY: their bytes go first
  }

  // No byte at or above it may be staged: the ring, the bound on undrained bytes or the reserved room ends there.
  uint64_t StagingLimit() const;
  bool trouble() const { return trouble_.load(std::memory_order_relaxed); }  // WHY: a hint; Check tells
  uint64_t undrained_bytes_max() const { return undrained_bytes_max_; }
  uint64_t durable() const { return durable_.load(std::memory_order_acquire); }
  uint64_t drained() const { return drained_.load(std::memory_order_acquire); }
  uint64_t staged_end() const { return staged_end_.load(std::memory_order_acquire); }

  // OK, or why nothing more may be staged.
  Status Check() const;
  Status failure() const;

  // (turn) One step, by this thread or by waiting for the one that is at it.
  Status Help();
  Status WriteAll();
  Status MakeDurable();
  // (turn) A frame that does not go through the ring: `header` and `payload` from `position`, the staged end, on. Durable
  // when it returns OK; after another status it is surely absent, or outcome_unknown is set and the log has failed.
  Status WriteLarge(uint64_t position, std::string_view header, std::string_view payload);

  // Start background work if enough is undrained, or a segment will be needed soon.
  void Nudge();
  // (turn) After Publish: something is staged that must be durable a second from now.
  void KeepTime() {
    if (!is_timer_armed_.load(std::memory_order_relaxed)) [[unlikely]]
      ArmTimer();  // WHY: OnLastLook covers a late view
  }
  void Stop();

 private:
  // The right to drain, for the life of the object.
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
  // WHY: when the timer stopped, a frame may just have been published by a thread that still saw it running.
  void OnLastLook();
  void Run() noexcept;
  void RunHeld();
  void ScheduleSegment();
  void PrepareSegment();

  // REQUIRES, all of them: the drain is held.
  Status Step(uint64_t target);
  Piece CutBlocks(uint64_t from, uint64_t target);
  Piece CutBytes(uint64_t from, uint64_t target);
  void Advance(uint64_t drained, uint64_t target);
  Status StepTo(uint64_t target);
  Status SyncHeld();
  Status WriteRange(uint64_t position, uint64_t begin, uint64_t end, std::string_view header, std::string_view payload,
                    char* buffer);
  void CopyStream(uint64_t position, uint64_t begin, uint64_t end, std::string_view header, std::string_view payload,
                  char* out);

  const Options options_;
  const std::unique_ptr<WalBuffer> buffer_;
  const size_t undrained_bytes_max_;
  const uint64_t wake_bytes_;
  Wal::Counters* const counters_;
  Segments segments_;
  // A segment is made when less than this is reserved beyond the staged end: while one is filled the next is written in full.
  // MEASURED: slow_disk_test, 15 MiB/s on a disk of 200: made half a ring ahead, a put waited 62 ms for one.
  const uint64_t segment_lead_;

  std::atomic<uint64_t> staged_end_{0};
  std::atomic<uint64_t> drained_{0};
  std::atomic<uint64_t> durable_{0};
  std::atomic<uint64_t> kept_{0};
  std::atomic<bool> trouble_{false};
  std::atomic<bool> is_scheduled_{false};
  std::atomic<bool> is_making_segment_{false};
  std::atomic<bool> sync_wanted_{false};
  std::atomic<bool> is_timer_armed_{false};

  // (held)
  AlignedBytes bounce_;
  uint64_t boundary_ = 0;       // a frame boundary <= drained
  uint64_t next_boundary_ = 0;  // one that was the staged end when a step began; >= boundary_

  mutable base::Mutex mutex_;
  base::CondVar changed_;
  bool is_held_ GUARDED_BY(mutex_) = false;
  int running_ GUARDED_BY(mutex_) = 0;
  bool is_stopped_ GUARDED_BY(mutex_) = false;
  Status failure_ GUARDED_BY(mutex_);
};

}  // namespace mergedb::wal
