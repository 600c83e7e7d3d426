// The log: one endless stream of bytes, cut into frames, staged in a ring of memory and drained into segment files.
//
//   position  0 ............ drained ............ end        (64 bits, counts bytes for the life of an epoch)
//             |   segments   |   staging ring     |
//             000004.seg 000007.seg   STAGING: byte p of the stream lies at p % ring size
//
// The simple truth: a commit copies its frame into the ring and returns. Where the file system allows it the ring is a
// mapped file of the database directory, so the bytes survive kill -9 at once; elsewhere the commit leader calls
// WriteThrough, one write a group. Background work (the drain) copies the ring to segments in large aligned writes; a
// commit that wants power-loss durability calls MakeDurable. MEASURED (log_bench): staging and draining 132 B costs 66-75 ns
// of CPU, one write() a record 660.
//
// FORMAT: frame (docs/formats/log.md), at a multiple of 8 bytes:
//   0   crc        u32  crc32c of (chain: the predecessor's crc, then bytes 4..24, then the payload)
//   4   check      u32  crc32c of (salt u64, position u64, bytes 8..24): recognises a frame without its predecessor
//   8   length     u32  of the payload, without padding
//   12  undurable  u32  position - (position known durable when this was staged); 2^32 - 1: not said
//   16  sequence   u64  of the first record
//   24  payload, zero-padded to 8
// The chain starts from the salt of the epoch. So a frame is valid in one place only: after its predecessor, at its
// position, in its epoch. Replay stops where the chain breaks.
//
// INVARIANT: no byte of the ring is reused before it is in a segment.
// THREADS: Append and the other methods marked (turn) are called by whoever holds the commit turn, one at a time. The
// rest from any thread.
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
#include "format/version_edit.h"
#include "kv/key.h"
#include "mergedb/env.h"

namespace mergedb::wal {

inline constexpr size_t kFrameHeaderBytes = 24;

// A point between two frames: where replay may start.
struct Mark {
  uint64_t position = 0;
  uint32_t chain = 0;         // checksum of the frame before
  kv::Sequence sequence = 1;  // that the next frame must begin with
};

// Where an epoch's log begins. The chain starts from the salt.
Mark FirstMark(uint64_t salt, kv::Sequence sequence);

struct Options {
  FileSystem* file_system = nullptr;
  Clock* clock = nullptr;  // for counting waits; may be null
  Executor* executor =
      nullptr;  // the background drain runs here; it syncs every second while there is something to sync
  std::string directory;
  uint64_t database_id = 0;
  uint64_t epoch = 1;
  uint64_t salt = 0;
  kv::Sequence first_sequence = 1;
  size_t staging_bytes = size_t{16} << 20;  // rounded to a power of two, at least 32 KiB
  size_t undrained_bytes_max = size_t{8} << 20;
  size_t segment_bytes = size_t{16} << 20;
  size_t recycled_bytes =
      0;  // released segments kept for reuse, at least two; as much as is released at once saves making new ones
  bool use_mapping = true;
  std::function<kv::FileNumber()> allocate_number;  // for a new segment file; called from any thread
  std::vector<kv::FileNumber> reusable_segments;    // left by earlier epochs; ours now. Never those of a failed log
};

class Wal {
 public:
  // REQUIRES: the MANIFEST names this epoch, durably, and everything that the one before held is in tables: Create
  // overwrites STAGING and the reusable segments.
  static Result<std::unique_ptr<Wal>> Create(const Options& options);
  virtual ~Wal();

  // Make the first segment now, not under the first Append (10 ms). A failure will be met again there.
  virtual Status Prepare() = 0;

  // (turn) Stage a frame, whose payload is these pieces, one behind the other; `records` is how many sequences it takes, from
  // next_sequence(). Waits for the drain while the ring is full. NoSpace or IOError if the drain fails; nothing is staged then. Between a
  // failed Append and the next one space may have come back. REQUIRES: the payload has at most direct_bytes_max() bytes.
  virtual Status Append(std::span<const std::string_view> payload, uint64_t records) = 0;
  // (turn) A frame larger than direct_bytes_max(): drains, then writes straight to segments. Durable when it returns OK;
  // surely absent otherwise, unless outcome_unknown is set; then the log has failed.
  virtual Status AppendLarge(std::string_view payload, uint64_t records) = 0;
  size_t direct_bytes_max() const { return direct_bytes_max_; }

  // (turn) The log skips sequences (writes without a log). The next frame begins with `sequence`.
  virtual void SkipTo(kv::Sequence sequence) = 0;
  virtual kv::Sequence next_sequence() const = 0;  // (turn)

  // (turn) All staged bytes are in a file: survives kill -9. Does nothing with a mapped ring. On failure the frames stay
  // staged, their outcome is unknown, and the next Append tries again.
  virtual Status WriteThrough() = 0;
  // (turn) All frames staged so far are durable. outcome_unknown is set on failure. A failed write leaves the frames staged
  // (the next Append tries again); a failed sync is final for this log (failure()): every later call fails, no file of it
  // is synced again or may be reused.
  virtual Status MakeDurable() = 0;

  virtual Mark end() const = 0;  // (turn)
  virtual uint64_t durable_position() const = 0;
  virtual uint64_t undrained_bytes() const = 0;
  // How much of the room for undrained bytes is taken, or not there because the next segment is still being made: a writer
  // waits when it reaches undrained_bytes_max(). A debt for pacing.
  virtual uint64_t backlog() const = 0;
  virtual uint64_t undrained_bytes_max() const = 0;
  virtual bool is_mapped() const = 0;
  // Size of the file STAGING, which holds what no segment does; nothing if there is no such file. It is durable, with its
  // name, before the first frame is staged: the MANIFEST may demand it from then on.
  virtual std::optional<uint64_t> staging_file_bytes() const = 0;
  // A hint that costs a load: the log failed or stopped, or its last write did.
  virtual bool is_in_trouble() const = 0;
  // OK, or why the log can take no more.
  virtual Status failure() const = 0;

  // Frames below `position` are no longer needed: segments that end there become reusable. REQUIRES: the MANIFEST edit that
  // starts replay at `position` is durable, and it lists what the last segments_from returned.
  virtual void Release(uint64_t position) = 0;
  virtual std::vector<kv::FileNumber> segments() const = 0;  // all files, live and reusable
  // The files that replay from `position` may need: what the edit with that wal_start lists. (Not segments(): a reusable
  // one may be removed before the next edit, and would be missed.) The log keeps them until the Release that follows a later call.
  virtual std::vector<kv::FileNumber> segments_from(uint64_t position) = 0;
  virtual uint64_t bytes_on_disk() const = 0;  // segments and STAGING

  // Stop the background drain and close the files. Makes nothing durable. Called by the destructor too.
  virtual void Stop() = 0;

  struct Counters {
    std::atomic<uint64_t> bytes_staged{0}, bytes_drained{0}, drains{0}, syncs{0}, frames{0};
    std::atomic<uint64_t> segments_created{0}, segments_reused{0};
    base::WaitCounter drain_waits, segment_waits;  // of Append: for room in the ring, for a segment to be made
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
  std::vector<kv::FileNumber> segments;  // files found, any epoch
};

// What the MANIFEST knows of the log.
struct Expected {
  std::optional<uint64_t> clean_end = {};      // it was closed: it ends exactly here
  uint64_t durable_position = 0;               // it was durable up to here
  std::vector<kv::FileNumber> segments = {};   // files that must be there
  std::optional<uint64_t> staging_bytes = {};  // frames may be in a file STAGING of this size alone
};

// Read the log from `start`, in order, calling `apply` for every whole frame. Corruption if damage lies below a mark that
// some frame of the epoch says was durable, or if anything that is expected is not so.
// Writes nothing. Memory: the largest frame, as far as files really hold its bytes, the ring and 1 MiB.
// A frame does not say how many sequences it takes: in end.sequence and between frames only the order is known. Whoever
// applies the payloads counts; end.sequence is one more than the last frame's first.
Result<Replayed> Replay(FileSystem* file_system, const std::string& directory, uint64_t database_id,
                        const format::VersionEdit::WalStart& start, const Expected& expected,
                        const std::function<Status(kv::Sequence, std::string_view payload)>& apply);

// Where an epoch's chain can be taken up: what a MANIFEST says, or what segment heads and frames still tell without one.
struct Origin {
  uint64_t database_id = 0;
  uint64_t epoch = 0;
  uint32_t salt_crc = 0;
  Mark start;
  // Bytes of the stream before `start` that are there and cannot be proved: a frame whose predecessor is gone.
  uint64_t unproved_bytes = 0;
};
Origin OriginOf(uint64_t database_id, const format::VersionEdit::WalStart& start);
// Of the newest epoch that some segment head speaks of; nothing if there is none. For repair, when the MANIFEST is lost.
Result<std::optional<Origin>> FindOrigin(FileSystem* file_system, const std::string& directory);

// As Replay, but of a log that may be damaged: every frame that the chain proves is applied, and damage is told, not returned.
struct Salvaged {
  Replayed replayed;
  Status verdict;             // OK, or what Replay says of this log
  std::vector<Status> flaws;  // segment files that are missing, cut short, or without a head: each with its path
  // Above the end of the chain: frames that cannot be proved, since something before them is gone.
  uint64_t frames_beyond = 0;
  uint64_t beyond_end = 0;    // log position where the last of them ends
  std::string break_file;     // where the chain ends: the segment's name, or STAGING
  uint64_t break_offset = 0;  // in it
};
// A frame that `apply` calls Corruption or NotSupported ends the chain before it, as damage does; any other error of `apply` is
// returned.
Result<Salvaged> Salvage(FileSystem* file_system, const std::string& directory, const Origin& origin,
                         const Expected& expected,
                         const std::function<Status(kv::Sequence, std::string_view payload)>& apply);

}  // namespace mergedb::wal
