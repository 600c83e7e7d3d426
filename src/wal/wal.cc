#include "wal/wal.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/assert.h"
#include "base/coding.h"
#include "base/prefetch.h"
#include "format/file_name.h"
#include "wal/frame.h"
#include "wal/wal_buffer.h"
#include "wal/wal_writer.h"

namespace mergedb::wal {

namespace {

constexpr size_t kRingBytesMin = size_t{32} << 10;
constexpr size_t kMemoryRingBytesMax = size_t{16} << 20;
constexpr size_t kNudgeBytes = size_t{64} << 10;

class WalImpl final : public Wal {
 public:
  static Result<std::unique_ptr<Wal>> Create(const Options& options);
  ~WalImpl() override { Stop(); }

  Status Append(std::span<const std::string_view> payload, uint64_t records, bool will_sync) override;
  Status AppendLarge(std::string_view payload, uint64_t records) override;

  void SkipTo(kv::Sequence sequence) override {
    ASSERT(sequence >= next_sequence_, "sequences only grow");
    next_sequence_ = sequence;
  }
  kv::Sequence next_sequence() const override { return next_sequence_; }

  Status WriteThrough() override;
  Status MakeDurable() override {
    limit_ = 0;  // fewer bytes may be buffered after a sync
    const uint64_t start = clock_ == nullptr ? 0 : clock_->NowNanos();
    Status status = writer_->MakeDurable();
    if (clock_ != nullptr) base::thread_waited_nanos += clock_->NowNanos() - start;
    return status;
  }

  Mark end() const override { return {.position = end_, .chain = chain_, .sequence = next_sequence_}; }
  uint64_t durable_position() const override { return writer_->durable(); }
  uint64_t unwritten_bytes() const override {
    const uint64_t written_end = writer_->written_end();  // first: it never passes an end that is read later
    return writer_->appended_end() - written_end;
  }
  uint64_t backlog() const override {
    const uint64_t wanted = writer_->room_wanted();
    return unwritten_bytes_max() * (wanted - std::min(wanted, writer_->room())) / wanted;
  }
  uint64_t unwritten_bytes_max() const override { return writer_->eager_bytes_max(); }
  bool is_mapped() const override { return writer_->buffer().is_mapped(); }
  std::optional<uint64_t> staging_file_bytes() const override {
    return is_mapped() ? std::optional<uint64_t>(writer_->buffer().size()) : std::nullopt;
  }
  bool is_in_trouble() const override { return writer_->trouble(); }
  Status failure() const override { return writer_->failure(); }

  Status Prepare() override { return writer_->Begin(); }
  void Release(const Mark& start) override { writer_->Release(start); }
  bool GiveBackBlocks(bool keeps_spare) override {
    limit_ = 0;
    return writer_->GiveBackBlocks(keeps_spare);
  }
  bool GiveBackReusableSegments() override {
    limit_ = 0;
    return writer_->GiveBackReusableSegments();
  }
  bool GiveBackSegments() override {
    limit_ = 0;
    return writer_->GiveBackSegments();
  }
  std::vector<kv::FileNumber> segments() const override { return writer_->segments().numbers(); }
  std::vector<kv::FileNumber> segments_from(uint64_t position) override {
    return writer_->segments().ListFrom(position);
  }
  uint64_t bytes_on_disk() const override {
    return writer_->segments().bytes_on_disk() + writer_->buffer().allocated_bytes();
  }
  uint64_t live_bytes_on_disk() const override { return writer_->segments().live_bytes_on_disk(); }
  void Stop() override {
    if (writer_ != nullptr) writer_->Stop();  // null: Create failed before it was set
  }
  void RemoveUnneeded() override {
    // A file that cannot be removed is left to the next open.
    if (is_mapped()) (void)files_->Remove(format::FilePath(directory_, format::FileKind::kStaging));
    writer_->segments().RemoveUnneeded();
  }

 private:
  WalImpl(const Options& options, size_t direct_bytes_max)
      : files_(options.file_system),
        directory_(options.directory),
        salt_crc_(SaltCrc(options.salt)),
        clock_(options.clock),
        on_wait_(options.on_wait),
        chain_(salt_crc_),
        next_sequence_(options.first_sequence) {
    direct_bytes_max_ = direct_bytes_max;
  }
  Status MakeRoom(uint64_t wanted);
  void Advance(uint64_t end, uint32_t chain, uint64_t records);

  FileSystem* const files_;
  const std::string directory_;
  const uint32_t salt_crc_;
  Clock* const clock_;
  const std::function<void(uint64_t)> on_wait_;
  std::shared_ptr<WalWriter> writer_;
  char* buffer_ = nullptr;
  uint64_t ring_mask_ = 0;
  uint64_t nudge_bytes_ = 0;

  // Guarded by the exclusive section.
  uint64_t end_ = 0;
  uint64_t limit_ = 0;  // a lower bound of writer_->BufferLimit()
  uint64_t nudge_at_ = 0;
  uint32_t chain_;
  kv::Sequence next_sequence_;
};

Result<std::unique_ptr<Wal>> WalImpl::Create(const Options& options) {
  const size_t ring_bytes = std::bit_ceil(std::clamp(options.buffer_bytes, kRingBytesMin, kRingBytesMax));
  ASSIGN_OR_RETURN(auto buffer,
                   WalBuffer::Create(options.file_system, options.directory,
                                     {.mapped = ring_bytes, .in_memory = std::min(ring_bytes, kMemoryRingBytesMax)},
                                     options.use_mapping && !options.file_system->is_append_only()));
  auto log = std::unique_ptr<WalImpl>(new WalImpl(options, buffer->frame_bytes_max() - kFrameHeaderBytes));
  log->buffer_ = buffer->data();
  log->ring_mask_ = buffer->size() - 1;
  log->nudge_bytes_ = std::min(kNudgeBytes, buffer->size() / 32);
  log->nudge_at_ = log->nudge_bytes_;
  log->writer_ = std::make_shared<WalWriter>(options, std::move(buffer), &log->counters_);
  RETURN_IF_ERROR(log->writer_->segments().Adopt(options.reusable_segments));
  return std::unique_ptr<Wal>(std::move(log));
}

// WHY Crc32cCopy: a program may change its bytes during the call (Python, Java, Go). Replay ends at a frame whose bytes
// are not those of its checksum, and every later frame would be lost. WHY not a checksum that reads the copies: see
// Crc32cExtendNumbers.
// MEASURED: bench/micro/wal_bench, mapped, CPU of the appending thread a record, three alternating runs, checksum
// of the copies -> of the pieces: 132 B 39-41 -> 24-32 ns, 1,060 B 173-181 -> 48-95, 4,132 B 486-511 -> 180-269.
Status WalImpl::Append(std::span<const std::string_view> payload, uint64_t records, bool will_sync) {
  size_t payload_bytes = 0;
  for (const std::string_view piece : payload) payload_bytes += piece.size();
  ASSERT(payload_bytes <= direct_bytes_max_ && records > 0,
         "larger frames go to AppendLarge, and a frame has a record");
  const uint64_t frame_bytes = FrameBytes(payload_bytes);
  if (end_ + frame_bytes > limit_ || writer_->trouble()) [[unlikely]]
    RETURN_IF_ERROR(MakeRoom(end_ + frame_bytes));
  if (will_sync) RETURN_IF_ERROR(writer_->segments().Reserve(end_ + frame_bytes));
  char* const frame = buffer_ + (end_ & ring_mask_);
  base::PrefetchForWritesAhead(frame, frame_bytes);

  const uint64_t durable = writer_->durable();
  const FrameHead head = MakeFrameHead(salt_crc_, end_, static_cast<uint32_t>(payload_bytes), durable, next_sequence_);
  uint32_t crc = HeadCrc(chain_, head);
  base::StoreFixed64(frame + frame_bytes - 8, 0);  // the padding; the payload overwrites the rest
  char* out = frame + kFrameHeaderBytes;
  for (const std::string_view piece : payload) {
    crc = base::Crc32cCopy(crc, out, piece.data(), piece.size());
    out += piece.size();
  }
  StoreFrameHead(frame, crc, head);
  if (end_ / (ring_mask_ + 1) != (end_ + frame_bytes - 1) / (ring_mask_ + 1)) [[unlikely]] {
    writer_->buffer().Mirror(end_, frame_bytes);
  }
  Advance(end_ + frame_bytes, crc, records);
  writer_->Publish(end_);
  writer_->KeepTime();
  if (end_ >= nudge_at_) [[unlikely]] {
    nudge_at_ = end_ + nudge_bytes_;
    writer_->Nudge();
  }
  return {};
}

Status WalImpl::MakeRoom(uint64_t wanted) {
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
    (needs_space ? counters_.segment_waits : counters_.wal_buffer_waits).Add(waited);
    if (on_wait_) on_wait_(waited);
    RETURN_IF_ERROR(status);
  }
}

// WHY a load and a store instead of an atomic add: only the holder of the exclusive section changes the counters.
void WalImpl::Advance(uint64_t end, uint32_t chain, uint64_t records) {
  end_ = end;
  chain_ = chain;
  next_sequence_ += records;
  counters_.bytes_appended.store(end, std::memory_order_relaxed);
  counters_.frames.store(counters_.frames.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

Status WalImpl::AppendLarge(std::string_view payload, uint64_t records) {
  ASSERT(payload.size() <= kPayloadBytesMax && records > 0, "a frame has a record and up to 2 GiB");
  ASSERT(payload.size() > direct_bytes_max(), "smaller frames go through the WAL buffer, where replay looks for them");
  RETURN_IF_ERROR(writer_->Check());
  const uint64_t frame_bytes = FrameBytes(payload.size());
  RETURN_IF_ERROR(writer_->segments().Reserve(end_ + frame_bytes));
  const FrameHead head =
      MakeFrameHead(salt_crc_, end_, static_cast<uint32_t>(payload.size()), writer_->durable(), next_sequence_);
  const uint32_t crc = base::Crc32cExtend(HeadCrc(chain_, head), payload.data(), payload.size());
  char header[kFrameHeaderBytes];
  StoreFrameHead(header, crc, head);
  RETURN_IF_ERROR(writer_->WriteLarge(end_, {header, sizeof header}, payload));
  Advance(end_ + frame_bytes, crc, records);
  limit_ = 0;
  nudge_at_ = end_ + nudge_bytes_;
  return {};
}

Status WalImpl::WriteThrough() {
  if (is_mapped()) return {};
  Status status = writer_->Check();
  if (status.ok()) status = writer_->WriteAll();
  return status.ok() ? Status() : status.WithOutcomeUnknown();
}

}  // namespace

Wal::~Wal() = default;

// WHY kReuse: another database may share the file by a hard link.
Result<uint64_t> GiveBackStaging(FileSystem* file_system, const std::string& directory, uint64_t start,
                                 const Replayed& replayed) {
  ASSIGN_OR_RETURN(const auto file, file_system->Open(format::FilePath(directory, format::FileKind::kStaging),
                                                      {.access = Access::kReuse}));
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  const uint64_t begin = RoundDown(start, kBlockBytes);
  const uint64_t end = RoundUp(replayed.end.position, kBlockBytes);
  if (!std::has_single_bit(size) || end - begin >= size) return 0;
  for (uint64_t at = end; at < begin + size;) {
    const uint64_t bytes = std::min(begin + size - at, size - (at & (size - 1)));
    RETURN_IF_ERROR(file->Deallocate(at & (size - 1), bytes));
    at += bytes;
  }
  return begin + size - end;
}

Result<std::unique_ptr<Wal>> Wal::Create(const Options& options) { return WalImpl::Create(options); }

}  // namespace mergedb::wal
