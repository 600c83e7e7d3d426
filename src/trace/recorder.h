// Records the calls on one database to a trace.
//
//   a call       is_on()?  no: nothing else                         one relaxed load, one branch
//                          yes: Begin, the call itself, Add...      two readings of the clock, and the mutex
//   Add...       encodes a record into the block in memory          under the mutex
//                if the block is full: it waits to be written; if no other thread writes, this thread
//                writes the blocks that wait                        without the mutex
//
// If kWaitingBytesMax wait because the file is slow, operations are lost, and a record LOST counts them. If the file
// cannot be written, the trace ends, and End returns the error. No Add fails.
//
// Memory: if it runs out in a call of this class, the process stops (docs/decisions/0017-out-of-memory.md).
// THREADS: any; the mutex is a leaf. Tests: tests/unit/trace/recorder_test.cc, tests/db/trace_test.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/sync.h"
#include "kv/key_map.h"
#include "mergedb/env.h"
#include "mergedb/trace.h"
#include "trace/format.h"

namespace mergedb::trace {

class Recorder {
 public:
  static constexpr size_t kBlockBytes = size_t{64} << 10;
  static constexpr size_t kWaitingBytesMax = size_t{8} << 20;
  static constexpr size_t kGroupBytesMax = size_t{32} << 20;
  static constexpr size_t kValueBytesMax = size_t{1} << 20;

  // Files and clock outlive this object. `is_bytewise`: the order of the keys is that of their bytes.
  Recorder(FileSystem* files, Clock* clock, bool is_bytewise);
  ~Recorder();

  // WHY relaxed: a call that begins while a trace starts or ends may be missing in it; the mutex orders all else.
  bool is_on() const { return session_now_.load(std::memory_order_relaxed) != 0; }

  // Creates the file. Busy if a trace was started and not ended, also if it is full or has failed.
  Status Start(const std::string& path, const TraceOptions& options) noexcept;
  // Ends the trace and writes what waits. InvalidArgument if no trace was started; else OK, or the error of the file.
  // `report` may be null; it is filled also if the trace has failed.
  Status End(EndReason reason, TraceReport* report) noexcept;

  // The trace that runs at the beginning of a call, and the time. Another trace does not record the call.
  struct Call {
    uint64_t session = 0;  // 0: no trace
    uint64_t begin_nanos = 0;
  };
  Call Begin() {
    const uint64_t session = session_now_.load(std::memory_order_relaxed);
    return {.session = session, .begin_nanos = session == 0 ? 0 : clock_->NowNanos()};
  }

  // Records a call that has returned. `operation` has no thread and no times.
  void Add(const Call& call, const Operation& operation) noexcept;
  struct Batch {
    Code code = Code::kOk;
    std::string_view records;         // format/batch.h
    const kv::KeyMap* map = nullptr;  // if not null, the keys of the records are tree keys
    bool in_transaction = false;      // the batch is the commit of a transaction
  };
  void AddBatch(const Call& call, const Batch& batch) noexcept;
  // REQUIRES: as many statuses and values as keys.
  void AddMultiGet(const Call& call, uint32_t keyspace, const std::vector<std::string_view>& keys,
                   const std::vector<Status>& statuses, const std::vector<std::string>& values) noexcept;
  // Returns the number of the iterator in the trace; 0 if the trace does not have it. `operation.iterator` is ignored.
  uint64_t AddIterator(const Call& call, Operation operation) noexcept;

 private:
  struct Session;
  struct Block;
  enum class Outcome : uint8_t { kAdded, kUnwanted, kTooLarge };

  // `encode(session, timed)` adds records with the thread and times of `timed`. Unless it returns kAdded, they are
  // dropped again.
  template <typename Encode>
  void Record(const Call& call, const Encode& encode);
  void StopSession(Session& session) REQUIRES_LOCK(mutex_);
  void WriteWaitingLocked() REQUIRES_LOCK(mutex_);
  Status WriteBlocks(Session& session, const std::vector<Block>& blocks);
  bool IsRecordingLocked(const Call& call) const REQUIRES_LOCK(mutex_);

  FileSystem* const files_;
  Clock* const clock_;
  const bool is_bytewise_;
  std::atomic<uint64_t> session_now_{0};  // number of the trace that records; 0: none

  base::Mutex mutex_;
  base::CondVar written_;
  std::unique_ptr<Session> session_ GUARDED_BY(mutex_);  // null: no trace was started
  uint64_t sessions_ GUARDED_BY(mutex_) = 0;
};

}  // namespace mergedb::trace
