#include "wal/wal.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"
#include "base/coding.h"
#include "base/count_alone.h"
#include "base/prefetch.h"
#include "format/file_name.h"
#include "wal/frame.h"
#include "wal/wal_buffer.h"

namespace mergedb::wal {
namespace {

constexpr size_t kBufferBytesMin = size_t{32} << 10;
constexpr size_t kMemoryBufferBytesMax = size_t{16} << 20;
constexpr size_t kNudgeBytes = size_t{64} << 10;

// WHY a copy: a program may change its bytes between the checksum and the write.
std::string Join(std::span<const std::string_view> pieces) {
  std::string joined;
  for (const std::string_view piece : pieces) joined += piece;
  return joined;
}

}  // namespace

Wal::Wal(const Options& options)
    : files_(options.file_system),
      directory_(options.directory),
      salt_crc_(SaltCrc(options.salt)),
      clock_(options.clock),
      on_wait_(options.on_wait),
      counters_(options.counters != nullptr ? options.counters : std::make_shared<Counters>()),
      chain_(salt_crc_),
      next_sequence_(options.first_sequence) {}

Result<std::unique_ptr<Wal>> Wal::Create(const Options& options) {
  const size_t bytes = std::bit_ceil(std::clamp(options.buffer_bytes, kBufferBytesMin, kBufferBytesMax));
  ASSIGN_OR_RETURN(auto buffer,
                   WalBuffer::Create(options.file_system, options.directory,
                                     {.mapped = bytes, .in_memory = std::min(bytes, kMemoryBufferBytesMax)},
                                     options.use_mapping && !options.file_system->is_append_only()));
  std::unique_ptr<Wal> wal(new Wal(options));
  wal->buffer_ = buffer->data();
  wal->buffer_mask_ = buffer->size() - 1;
  wal->direct_bytes_max_ = buffer->frame_bytes_max() - kFrameHeaderBytes;
  wal->nudge_bytes_ = std::min(kNudgeBytes, buffer->size() / 32);
  wal->nudge_at_ = wal->nudge_bytes_;
  wal->writer_ = std::make_shared<WalWriter>(options, std::move(buffer), wal->counters_.get());
  RETURN_IF_ERROR(wal->writer_->segments().Adopt(options.reusable_segments));
  return wal;
}

// WHY Crc32cCopy: a program may change its bytes during the call (Python, Java, Go). Replay ends at a frame whose bytes
// are not those of its checksum, and every later frame would be lost. WHY not a checksum that reads the copies: see
// Crc32cExtendNumbers.
// MEASURED: bench/micro/wal_bench, mapped, CPU of the appending thread a record, three alternating runs, checksum
// of the copies -> of the pieces: 132 B 39-41 -> 24-32 ns, 1,060 B 173-181 -> 48-95, 4,132 B 486-511 -> 180-269.
Status Wal::Append(std::span<const std::string_view> payload, uint64_t records, bool will_sync) {
  size_t payload_bytes = 0;
  for (const std::string_view piece : payload) payload_bytes += piece.size();
  ASSERT(payload_bytes <= kPayloadBytesMax && records > 0, "a frame has a record and up to 2 GiB");
  if (payload_bytes > direct_bytes_max_) [[unlikely]]
    return payload.size() == 1 ? AppendLarge(payload.front(), records) : AppendLarge(Join(payload), records);
  const uint64_t frame_bytes = FrameBytes(payload_bytes);
  if (end_ + frame_bytes > limit_ || writer_->trouble()) [[unlikely]]
    RETURN_IF_ERROR(MakeRoom(end_ + frame_bytes));
  if (will_sync) RETURN_IF_ERROR(writer_->segments().Reserve(end_ + frame_bytes));
  char* const frame = buffer_ + (end_ & buffer_mask_);
  base::PrefetchForWritesAhead(frame, frame_bytes);

  const uint64_t durable = writer_->durable();
  FrameHeader header = MakeFrameHeader(salt_crc_, end_, static_cast<uint32_t>(payload_bytes), durable, next_sequence_);
  header.crc = HeaderCrc(chain_, header);
  base::StoreFixed64(frame + frame_bytes - 8, 0);  // the padding; the payload overwrites the rest
  char* out = frame + kFrameHeaderBytes;
  for (const std::string_view piece : payload) {
    header.crc = base::Crc32cCopy(header.crc, out, piece.data(), piece.size());
    out += piece.size();
  }
  StoreFrameHeader(frame, header);
  if (end_ / (buffer_mask_ + 1) != (end_ + frame_bytes - 1) / (buffer_mask_ + 1)) [[unlikely]] {
    writer_->buffer().Mirror(end_, frame_bytes);
  }
  RETURN_IF_ERROR(writer_->CheckBuffer());
  Advance(end_ + frame_bytes, header.crc, records);
  writer_->Publish(end_);
  writer_->KeepTime();
  if (end_ >= nudge_at_) [[unlikely]] {
    nudge_at_ = end_ + nudge_bytes_;
    writer_->Nudge();
  }
  return {};
}

Status Wal::MakeRoom(uint64_t wanted) {
  for (;;) {
    RETURN_IF_ERROR(writer_->Check());
    if (writer_->trouble()) {
      RETURN_IF_ERROR(writer_->Help());
      continue;
    }
    limit_ = writer_->BufferLimit();
    if (wanted <= limit_) return {};
    const bool needs_space = wanted <= writer_->appended_end() + writer_->room();
    const uint64_t start = clock_ == nullptr ? 0 : clock_->NowNanos();
    const Status status = writer_->MakeRoom(wanted);
    const uint64_t waited = clock_ == nullptr ? 0 : clock_->NowNanos() - start;
    (needs_space ? counters_->segment_waits : counters_->wal_buffer_waits).Add(waited);
    if (on_wait_) on_wait_(waited);
    RETURN_IF_ERROR(status);
  }
}

void Wal::Advance(uint64_t end, uint32_t chain, uint64_t records) {
  base::CountAlone(counters_->bytes_appended, end - end_);
  base::CountAlone(counters_->frames, 1);
  end_ = end;
  chain_ = chain;
  next_sequence_ += records;
}

Status Wal::AppendLarge(std::string_view payload, uint64_t records) {
  RETURN_IF_ERROR(writer_->Check());
  const uint64_t frame_bytes = FrameBytes(payload.size());
  RETURN_IF_ERROR(writer_->segments().Reserve(end_ + frame_bytes));
  FrameHeader header =
      MakeFrameHeader(salt_crc_, end_, static_cast<uint32_t>(payload.size()), writer_->durable(), next_sequence_);
  header.crc = base::Crc32cExtend(HeaderCrc(chain_, header), payload.data(), payload.size());
  char bytes[kFrameHeaderBytes];
  StoreFrameHeader(bytes, header);
  RETURN_IF_ERROR(writer_->WriteLarge(end_, {bytes, sizeof bytes}, payload));
  Advance(end_ + frame_bytes, header.crc, records);
  limit_ = 0;
  nudge_at_ = end_ + nudge_bytes_;
  return {};
}

Status Wal::WriteThrough() {
  if (is_mapped()) return {};
  Status status = writer_->Check();
  if (status.ok()) status = writer_->WriteAll();
  return status.ok() ? Status() : status.WithOutcomeUnknown();
}

void Wal::SkipTo(kv::Sequence sequence) {
  ASSERT(sequence >= next_sequence_, "sequences only grow");
  next_sequence_ = sequence;
}

Status Wal::MakeDurable() {
  limit_ = 0;  // fewer bytes may be buffered after a sync
  const uint64_t start = clock_ == nullptr ? 0 : clock_->NowNanos();
  Status status = writer_->MakeDurable();
  if (clock_ != nullptr) base::thread_waited_nanos += clock_->NowNanos() - start;
  return status;
}

uint64_t Wal::unwritten_bytes() const {
  const uint64_t written_end = writer_->written_end();  // first: it never passes an end that is read later
  return writer_->appended_end() - written_end;
}

uint64_t Wal::backlog() const {
  const uint64_t wanted = writer_->room_wanted();
  return unwritten_bytes_max() * (wanted - std::min(wanted, writer_->room())) / wanted;
}

void Wal::RemoveUnneeded() {
  // A file that cannot be removed is left to the next open.
  if (is_mapped()) (void)files_->Remove(format::FilePath(directory_, format::FileKind::kStaging));
  writer_->segments().RemoveUnneeded();
}

}  // namespace mergedb::wal
