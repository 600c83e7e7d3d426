// The WAL: one endless stream of bytes, cut into frames. The newest bytes are in the WAL buffer (file
// STAGING), a ring in memory. The WAL writer copies them to WAL segments.
//
//   position  0 ........... written ............ end        (64 bits; counts the bytes of an epoch)
//             |   segments  |     WAL buffer     |
//             000004.seg 000007.seg   STAGING: byte p of the stream is at p % size
//
// A commit copies its frame into the buffer and returns. If the file system allows it, the buffer is a mapped
// file in the database directory, so its bytes survive kill -9 at once. Otherwise the commit leader calls
// WriteThrough, one write a group. A commit that asks for power-loss durability calls MakeDurable.
//
// Bytes of a mapped buffer are written to segments only if something asks: a sync; their age
// (Options::sync_interval_nanos); a full buffer. If a memtable is flushed before that, Release drops its bytes
// unwritten (docs/decisions/0049-unwritten-wal.md). While commits are synced, the WAL writer writes ahead in the
// background, so that a sync has little to write.
// MEASURED: bench/micro/wal_bench, 132 B: 66-75 ns of CPU for a record through the buffer to a segment, 660
// ns for one write() a record.
//
// FORMAT: frame (docs/formats/wal.md), at a multiple of 8 bytes:
//   0   crc        u32  crc32c of (chain: the predecessor's crc, then bytes 4..24, then the payload)
//   4   check      u32  crc32c of (salt u64, position u64, bytes 8..24): identifies a frame without its predecessor
//   8   length     u32  of the payload, without padding
//   12  undurable  u32  position - (durable position when the frame was written); 2^32 - 1: not said
//   16  sequence   u64  of the first record
//   24  payload, zero-padded to 8
// The chain starts from the salt of the epoch. So a frame is valid in one place only: after its predecessor,
// at its position, in its epoch. Replay stops where the chain breaks.
//
// INVARIANT: no byte of the buffer is reused before it is in a segment or released.
// THREADS: methods marked (exclusive) REQUIRE the exclusive section of the writer queue. Any thread calls the
// other methods.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait_counter.h"
#include "env/latencies.h"
#include "format/version_edit.h"
#include "kv/key.h"
#include "mergedb/env.h"

namespace mergedb::wal {

inline constexpr size_t kFrameHeaderBytes = 24;

inline constexpr uint64_t kNothing = UINT64_MAX;  // for segments_from

// A point between two frames, where replay may start.
struct Mark {
  uint64_t position = 0;
  uint32_t chain = 0;         // crc of the frame before
  kv::Sequence sequence = 1;  // lower bound of the next frame's sequence
};

// The start of an epoch's WAL. The chain starts from the salt.
Mark FirstMark(uint64_t salt, kv::Sequence sequence);

struct Options {
  FileSystem* file_system = nullptr;
  Clock* clock = nullptr;               // to count waits; may be null
  env::Latencies* latencies = nullptr;  // of syncs; outlives the WAL; may be null
  Executor* executor = nullptr;         // runs the WAL writer in the background
  std::string directory;
  uint64_t database_id = 0;
  uint64_t epoch = 1;
  uint64_t salt = 0;
  kv::Sequence first_sequence = 1;
  // Size of the WAL buffer: rounded up to a power of two, 32 KiB to 256 MiB; in memory at most 16 MiB.
  size_t buffer_bytes = size_t{16} << 20;
  // While commits are synced or the buffer is in memory: a writer waits for the WAL writer at this many bytes.
  size_t unwritten_bytes_max = size_t{8} << 20;
  // A frame is durable at most this long after its commit. 0: as long as it takes until its memtable is flushed.
  uint64_t sync_interval_nanos = 1'000'000'000;
  size_t segment_bytes = size_t{16} << 20;  // of the largest segments
  // Released segments kept for reuse: at least 8, and at least the size of the WAL buffer.
  size_t recycled_bytes = 0;
  bool use_mapping = true;
  std::function<void(uint64_t nanos)> on_wait = {};  // a writer has waited for room or disk space; may be null
  std::function<kv::FileNumber()> allocate_number;   // for a new segment file; any thread calls it
  std::vector<kv::FileNumber> reusable_segments;     // of earlier epochs, now owned. REQUIRES: none is of a failed WAL
};

class Wal {
 public:
  // REQUIRES: the MANIFEST durably names this epoch, and tables hold everything of the epoch before: Create
  // overwrites STAGING and the reusable segments.
  static Result<std::unique_ptr<Wal>> Create(const Options& options);
  virtual ~Wal();

  // (exclusive) Before the first frame: makes the first segment, which names the epoch. Optional: without it, repair
  // without a MANIFEST finds no WAL until something is written to a segment.
  virtual Status Prepare() = 0;

  // (exclusive) Appends a frame to the buffer. Its payload is the concatenation of the pieces; `records` is
  // the number of sequences that it takes, from next_sequence() on. Waits for the WAL writer while the buffer
  // is full. NoSpace or IOError if that writer fails, or if there is no disk space for the frame; the buffer then
  // holds no new frame. A later Append may succeed again. `will_sync`: MakeDurable follows, so the frame needs space
  // in a segment, too. REQUIRES: the payload has at most direct_bytes_max() bytes.
  virtual Status Append(std::span<const std::string_view> payload, uint64_t records, bool will_sync) = 0;
  // (exclusive) A frame larger than direct_bytes_max(): writes the buffer to segments, then the frame itself.
  // The frame is durable if the method returns OK. Otherwise the frame is absent for certain, unless
  // outcome_unknown is set; then the WAL has failed.
  virtual Status AppendLarge(std::string_view payload, uint64_t records) = 0;
  size_t direct_bytes_max() const { return direct_bytes_max_; }

  // (exclusive) Skips sequences (of writes without a WAL). The next frame begins with `sequence`.
  virtual void SkipTo(kv::Sequence sequence) = 0;
  virtual kv::Sequence next_sequence() const = 0;  // (exclusive)

  // (exclusive) Writes all buffered bytes to segments, so that they survive kill -9. Does nothing with a mapped
  // buffer. On failure the frames stay in the buffer, their outcome is unknown, and the next Append tries again.
  virtual Status WriteThrough() = 0;
  // (exclusive) Makes all frames durable. If there is no disk space, nothing happens. After another failure
  // outcome_unknown is set. After a failed write the frames stay in the buffer and the next Append tries again. A
  // failed sync is final for this WAL (failure()): every later call fails, and no file of it may be synced or reused.
  virtual Status MakeDurable() = 0;

  virtual Mark end() const = 0;  // (exclusive)
  virtual uint64_t durable_position() const = 0;
  virtual uint64_t unwritten_bytes() const = 0;
  // How far the WAL writer is behind, scaled so that a writer waits at unwritten_bytes_max(). A backlog for the write
  // delay. 0 while the room in the buffer is larger than what the WAL writer keeps free.
  virtual uint64_t backlog() const = 0;
  virtual uint64_t unwritten_bytes_max() const = 0;
  virtual bool is_mapped() const = 0;
  // The size of the file STAGING, which holds the bytes that no segment holds; empty if there is no such file. The
  // file and its name are durable before the first frame enters it, so the MANIFEST may require it from then on.
  virtual std::optional<uint64_t> staging_file_bytes() const = 0;
  // A hint that costs one load: the WAL failed or stopped, or its last write failed.
  virtual bool is_in_trouble() const = 0;
  // OK, or why the WAL takes no more frames.
  virtual Status failure() const = 0;

  // Releases the frames below `start`: their bytes in the buffer and the segments that end there become reusable.
  // REQUIRES: the VersionEdit that starts replay at `start` is durable, and it lists the result of the last
  // segments_from.
  virtual void Release(const Mark& start) = 0;
  // (exclusive) Gives back some of the disk space of the released part of the buffer; false if there is nothing more to
  // give back, or if the file system failed. `keeps_spare`: leaves some of it for the next frames, unless all frames
  // are released.
  virtual bool GiveBackBlocks(bool keeps_spare) = 0;
  // (exclusive) If all frames are released: gives back the disk space of the segments and returns true. The caller then
  // commits an edit with segments_from soon; segments that the present one lists stay until then.
  virtual bool GiveBackSegments() = 0;
  // (exclusive) Gives back the disk space of reusable segments that the frames so far do not need; false if there is
  // none.
  virtual bool GiveBackReusableSegments() = 0;
  virtual std::vector<kv::FileNumber> segments() const = 0;  // all files, live and reusable
  // The files that replay from `position` may need: the edit with that wal_start lists them. They stay until a
  // later edit is durable. (segments() has more: reusable files, which may go before the next edit.) kNothing: for the
  // edit of a clean close, if tables hold all frames.
  virtual std::vector<kv::FileNumber> segments_from(uint64_t position) = 0;
  virtual uint64_t bytes_on_disk() const = 0;       // segments and the allocated part of STAGING
  virtual uint64_t live_bytes_on_disk() const = 0;  // segments that hold the stream

  // Stops the background work and closes the files. Makes nothing durable. The destructor calls it, too.
  virtual void Stop() = 0;
  // After Stop: removes STAGING and the segments that the last segments_from did not name. REQUIRES: the edit of a
  // clean close that lists that result is durable.
  virtual void RemoveUnneeded() = 0;

  struct Counters {
    std::atomic<uint64_t> bytes_appended{0}, bytes_written{0}, writes{0}, syncs{0}, frames{0};
    std::atomic<uint64_t> write_nanos{0}, sync_nanos{0};  // of writes and syncs of segments
    std::atomic<uint64_t> segments_created{0}, segments_reused{0};
    // Waits of Append: for room in the buffer, and for disk space of the buffer or a new segment.
    base::WaitCounter wal_buffer_waits, segment_waits;
  };
  const Counters& counters() const { return counters_; }

 protected:
  size_t direct_bytes_max_ = 0;
  Counters counters_;
};

struct Replayed {
  Mark end;  // where the chain ends
  uint64_t frames = 0;
  uint64_t dropped_bytes = 0;            // of a torn tail: a frame was begun and is not whole
  std::string report;                    // for property mergedb.recovery; empty if nothing was dropped
  std::vector<kv::FileNumber> segments;  // files found, of any epoch
};

// The facts about the WAL in the MANIFEST.
struct Expected {
  std::optional<uint64_t> clean_end = {};      // the WAL was closed: it ends exactly here
  uint64_t durable_position = 0;               // the WAL was durable up to here
  std::vector<kv::FileNumber> segments = {};   // files that must exist
  std::optional<uint64_t> staging_bytes = {};  // STAGING must exist with this size: it may hold the newest frames
};

// Reads the WAL from `start`, in order, and calls `apply` for every whole frame. Corruption if damage lies
// below a position that a frame of the epoch says was durable, or if an expected fact does not hold. Writes
// nothing. Memory: the largest frame (as far as files hold its bytes), the buffer and 1 MiB. A frame does not
// say how many sequences it takes, so replay checks only their order. The caller that applies the payloads
// counts; end.sequence is one more than the first sequence of the last frame.
Result<Replayed> Replay(FileSystem* file_system, const std::string& directory, uint64_t database_id,
                        const format::VersionEdit::WalStart& start, const Expected& expected,
                        const std::function<Status(kv::Sequence, std::string_view payload)>& apply);

// For an open that found no disk space: makes holes of the bytes of STAGING that Replay does not need. Returns their
// number.
// REQUIRES: `replayed` is what Replay returned for `start`, it dropped nothing, and no process writes.
Result<uint64_t> GiveBackStaging(FileSystem* file_system, const std::string& directory, uint64_t start,
                                 const Replayed& replayed);

// Where replay may start in an epoch's chain: from the MANIFEST, or, without one, from segment heads and frames.
struct Origin {
  uint64_t database_id = 0;
  uint64_t epoch = 0;
  uint32_t salt_crc = 0;
  Mark start;
  // Bytes of the stream before `start` that exist but cannot be proved: the predecessor of their frame is lost.
  uint64_t unproved_bytes = 0;
};
Origin OriginOf(uint64_t database_id, const format::VersionEdit::WalStart& start);
// The origin of the newest epoch that a segment head names; empty if there is none. For repair without a MANIFEST.
Result<std::optional<Origin>> FindOrigin(FileSystem* file_system, const std::string& directory);

// As Replay, for a WAL that may be damaged: applies every frame that the chain proves, and reports damage in
// the result.
struct Salvaged {
  Replayed replayed;
  Status verdict;             // OK, or the status that Replay returns for this WAL
  std::vector<Status> flaws;  // of segments and STAGING: missing, cut short, without a head; each with its path
  // Frames above the end of the chain that cannot be proved, because a frame before them is lost.
  uint64_t frames_beyond = 0;
  uint64_t beyond_end = 0;         // position where the last of them ends
  std::string break_file;          // the file where the chain ends: a segment, or STAGING
  uint64_t break_offset = 0;       // in that file
  bool end_is_in_segment = false;  // the head of a segment says that it holds the position where the chain ends
};
// Calls `on_loaded` after it has read STAGING and the heads of the segments, before it reads frames. If `apply` returns
// Corruption or NotSupported for a frame, the chain ends before it, as with damage. Any other error of `apply` is
// returned.
Result<Salvaged> Salvage(FileSystem* file_system, const std::string& directory, const Origin& origin,
                         const Expected& expected,
                         const std::function<Status(kv::Sequence, std::string_view payload)>& apply,
                         const std::function<void()>& on_loaded = {});

}  // namespace mergedb::wal
