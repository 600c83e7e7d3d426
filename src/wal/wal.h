// The WAL: one endless stream of bytes, cut into frames. The newest bytes are in the WAL buffer (file
// STAGING), in memory. The WAL writer copies them to WAL segments.
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

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kv/key.h"
#include "mergedb/env.h"
#include "wal/wal_options.h"
#include "wal/wal_writer.h"

namespace mergedb::wal {

class Wal {
 public:
  // REQUIRES: the MANIFEST durably names this epoch, and tables hold everything of the epoch before: Create
  // overwrites STAGING and the reusable segments.
  static Result<std::unique_ptr<Wal>> Create(const Options& options);
  ~Wal() { Stop(); }
  Wal(const Wal&) = delete;
  Wal& operator=(const Wal&) = delete;

  // (exclusive) Before the first frame: makes the first segment, which names the epoch. Optional: without it, repair
  // without a MANIFEST finds no WAL until something is written to a segment.
  Status Prepare() { return writer_->Begin(); }

  // (exclusive) Appends a frame. Its payload is the concatenation of the pieces; `records` is the number of sequences
  // that it takes, from next_sequence() on. Waits for the WAL writer while the buffer is full. An error if that writer
  // fails, or if there is no disk space (NoSpace) or no descriptor (Busy) for the frame; then there is no new frame,
  // unless outcome_unknown is set. A later Append may succeed again. `will_sync`: MakeDurable follows, so the frame
  // needs space in a segment. A payload of more than direct_bytes_max() bytes goes to segments, after all that the
  // buffer holds. It is durable if the method returns OK. If its outcome is unknown, the WAL has failed. REQUIRES: at
  // most kPayloadBytesMax bytes.
  Status Append(std::span<const std::string_view> payload, uint64_t records, bool will_sync);
  size_t direct_bytes_max() const { return direct_bytes_max_; }

  // (exclusive) Skips sequences (of writes without a WAL). The next frame begins with `sequence`.
  void SkipTo(kv::Sequence sequence);
  kv::Sequence next_sequence() const { return next_sequence_; }  // (exclusive)

  // (exclusive) Writes all buffered bytes to segments, so that they survive kill -9. Does nothing with a mapped
  // buffer. On failure the frames stay in the buffer, their outcome is unknown, and the next Append tries again.
  Status WriteThrough();
  // (exclusive) Makes all frames durable. If no segment can be made for them, nothing is written. After another failure
  // outcome_unknown is set. After a failed write the frames stay in the buffer and the next Append tries again. A
  // failed sync is final for this WAL (failure()): every later call fails, and no file of it may be synced or reused.
  Status MakeDurable();

  // (exclusive)
  Mark end() const { return {.position = end_, .chain = chain_, .sequence = next_sequence_}; }
  uint64_t durable_position() const { return writer_->durable(); }
  uint64_t unwritten_bytes() const;
  // How far the WAL writer is behind, scaled so that a writer waits at unwritten_bytes_max(). A backlog for the write
  // delay. 0 while the room in the buffer is larger than what the WAL writer keeps free.
  uint64_t backlog() const;
  uint64_t unwritten_bytes_max() const { return writer_->eager_bytes_max(); }
  bool is_mapped() const { return writer_->buffer().is_mapped(); }
  // The size of the file STAGING, which holds the bytes that no segment holds; empty if there is no such file. The
  // file and its name are durable before the first frame enters it, so the MANIFEST may require it from then on.
  std::optional<uint64_t> staging_file_bytes() const {
    return is_mapped() ? std::optional<uint64_t>(writer_->buffer().size()) : std::nullopt;
  }
  // True: frames that no segment has may be in no file. The WAL has failed, or will at its next write.
  bool has_lost_buffer() const { return writer_->buffer().has_failed(); }
  // A hint that costs one load: the WAL failed or stopped, or its last write failed.
  bool is_in_trouble() const { return writer_->trouble(); }
  // OK, or why the WAL takes no more frames.
  Status failure() const { return writer_->failure(); }

  // Releases the frames below `start`: their bytes in the buffer and the segments that end there become reusable.
  // REQUIRES: the VersionEdit that starts replay at `start` is durable, and it lists the result of the last
  // segments_from.
  void Release(const Mark& start) { writer_->Release(start); }
  // (exclusive) Gives back some of the disk space of the released part of the buffer; false if there is nothing more to
  // give back, or if the file system failed. `keeps_spare`: leaves some of it for the next frames, unless all frames
  // are released.
  bool GiveBackBlocks(bool keeps_spare) {
    limit_ = 0;
    return writer_->GiveBackBlocks(keeps_spare);
  }
  // (exclusive) If all frames are released: gives back the disk space of the segments and returns true. The caller then
  // commits an edit with segments_from soon; segments that the present one lists stay until then.
  bool GiveBackSegments() {
    limit_ = 0;
    return writer_->GiveBackSegments();
  }
  // (exclusive) Gives back the disk space of reusable segments that the frames so far do not need; false if there is
  // none.
  bool GiveBackReusableSegments() {
    limit_ = 0;
    return writer_->GiveBackReusableSegments();
  }
  // All files: live, reusable, being made, and to be removed once no edit lists them.
  std::vector<kv::FileNumber> segments() const { return writer_->segments().numbers(); }
  // The files that replay from `position` may need: the edit with that wal_start lists them. They stay until a
  // later edit is durable. (segments() has more: reusable files, which may go before the next edit.) kNothing: for the
  // edit of a clean close, if tables hold all frames.
  std::vector<kv::FileNumber> segments_from(uint64_t position) { return writer_->segments().ListFrom(position); }
  // Segments and the allocated part of STAGING.
  uint64_t bytes_on_disk() const { return writer_->segments().bytes_on_disk() + writer_->buffer().allocated_bytes(); }
  // Segments that hold the stream.
  uint64_t live_bytes_on_disk() const { return writer_->segments().live_bytes_on_disk(); }

  // Stops the background work and closes the files. Makes nothing durable. The destructor calls it, too.
  void Stop() {
    if (writer_ != nullptr) writer_->Stop();  // null: Create failed before it was set
  }
  // After Stop: removes STAGING and the segments that the last segments_from did not name. REQUIRES: the edit of a
  // clean close that lists that result is durable.
  void RemoveUnneeded();

  const Counters& counters() const { return *counters_; }

 private:
  explicit Wal(const Options& options);
  Status AppendLarge(std::string_view payload, uint64_t records);
  Status MakeRoom(uint64_t wanted);
  void Advance(uint64_t end, uint32_t chain, uint64_t records);

  FileSystem* const files_;
  const std::string directory_;
  const uint32_t salt_crc_;
  Clock* const clock_;
  const std::function<void(uint64_t)> on_wait_;
  const std::shared_ptr<Counters> counters_;
  std::shared_ptr<WalWriter> writer_;
  char* buffer_ = nullptr;
  uint64_t buffer_mask_ = 0;
  size_t direct_bytes_max_ = 0;
  uint64_t nudge_bytes_ = 0;

  // (exclusive)
  uint64_t end_ = 0;
  uint64_t limit_ = 0;  // a lower bound of writer_->BufferLimit()
  uint64_t nudge_at_ = 0;
  uint32_t chain_;
  kv::Sequence next_sequence_;
};

}  // namespace mergedb::wal
