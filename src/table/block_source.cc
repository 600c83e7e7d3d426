#include "table/block_source.h"

#include <algorithm>

#include "base/assert.h"
#include "env/file_reads.h"
#include "format/block.h"
#include "format/compression.h"
#include "format/table_layout.h"

namespace mergedb::table {
namespace {

using base::BlockCache;

Result<BlockCache::Pin> Decompress(const format::Part& part) {
  size_t raw_bytes = 0;
  RETURN_IF_ERROR(format::ReadRawBytes(part.payload, &raw_bytes));
  BlockCache::Pin raw(BlockCache::Allocate(raw_bytes));
  RETURN_IF_ERROR(format::Decompress(part.codec, part.payload, raw.block()->data(), raw_bytes));
  return raw;
}

// Stored bytes -> the raw bytes of a checked block.
Result<BlockCache::Pin> OpenStored(BlockCache::Pin stored, const format::Place& place, bool verify) {
  format::Part part;
  RETURN_IF_ERROR(format::OpenPart(stored.bytes(), place, verify, &part));
  if (part.codec == Compression::kNone) {
    stored.block()->bytes = static_cast<uint32_t>(part.payload.size());  // without the trailer
  } else {
    ASSIGN_OR_RETURN(stored, Decompress(part));
  }
  RETURN_IF_ERROR(format::CheckBlock(stored.bytes()));
  return stored;
}

// As OpenStored, but in place: the pin is empty unless the block is compressed.
Result<BlockCache::Pin> OpenInPlace(std::string_view stored, const format::Place& place, bool verify,
                                    std::string_view* raw) {
  format::Part part;
  RETURN_IF_ERROR(format::OpenPart(stored, place, verify, &part));
  BlockCache::Pin pin;
  *raw = part.payload;
  if (part.codec != Compression::kNone) {
    ASSIGN_OR_RETURN(pin, Decompress(part));
    *raw = pin.bytes();
  }
  RETURN_IF_ERROR(format::CheckBlock(*raw));
  return pin;
}

constexpr uint64_t RoundDown(uint64_t offset) { return offset / kDirectIoAlign * kDirectIoAlign; }
constexpr uint64_t RoundUp(uint64_t offset) { return RoundDown(offset + kDirectIoAlign - 1); }

}  // namespace

// The cache holds only verified blocks, since a read that verifies checksums trusts every block in the cache.
bool BlockSource::MayCache(std::string_view stored, uint64_t offset, const ReadControl& control) const {
  if (cache == nullptr || !control.fill_cache) return false;
  format::Part part;
  return control.verify_checksums ||
         format::OpenPart(stored, {.unique_id = unique_id, .offset = offset}, true, &part).ok();
}

Status BlockSource::InContext(uint32_t block, const Status& status) const {
  return status.WithContext(path + ": block at " + std::to_string(index.offset(block)));
}

Status BlockSource::LoadMapped(uint32_t block, const ReadControl& control, BlockCache::Pin* pin,
                               std::string_view* raw) const {
  const uint64_t offset = index.offset(block);
  around.Before(file.get(), offset);
  const std::string_view stored(mapping->data() + offset, index.stored_bytes(block));
  auto opened = OpenInPlace(stored, {.unique_id = unique_id, .offset = offset}, control.verify_checksums, raw);
  if (!opened) return InContext(block, opened.error());
  *pin = std::move(opened).value();
  if (*pin) {
    // WHY the mapping is looked at last: what was decompressed may be the zeros of a fault.
    if (MayCache(stored, offset, control) && is_mapped()) cache->Insert(number, offset, *pin);
  } else if (control.verify_checksums) {
    checked.Add(block);
  }
  return {};
}

Status BlockSource::Load(uint32_t block, const ReadControl& control, BlockCache::Pin* pin,
                         std::string_view* raw) const {
  const uint64_t offset = index.offset(block);
  const bool is_in_place = control.in_place && is_mapped();
  if (is_in_place && LoadMapped(block, control, pin, raw).ok()) return {};
  const size_t bytes = index.stored_bytes(block);
  around.Before(file.get(), offset);
  BlockCache::Pin stored(BlockCache::Allocate(bytes));
  if (Status status = env::ReadMeasured(latencies, file.get(), offset, bytes, stored.block()->data()); !status.ok()) {
    return InContext(block, status);
  }
  const bool may_cache = MayCache(stored.bytes(), offset, control);
  auto opened = OpenStored(std::move(stored), {.unique_id = unique_id, .offset = offset}, control.verify_checksums);
  if (!opened) return InContext(block, opened.error());
  *pin = std::move(opened).value();
  *raw = pin->bytes();
  if (may_cache) cache->Insert(number, offset, *pin);
  if (is_in_place) mapping->Fail(offset);  // it has other bytes than the file
  return {};
}

// True: the block is asked for, and the caller waits.
bool BlockSource::Defers(uint32_t block, env::Deferral* deferral) const {
  const env::Deferral::Extent extent{.file = number, .offset = index.offset(block), .bytes = index.stored_bytes(block)};
  if (!deferral->Waits(extent)) return false;
  around.Before(file.get(), extent.offset);
  file->WillRead(extent.offset, extent.bytes);
  return true;
}

bool BlockSource::Find(uint32_t block, bool counts_miss, BlockCache::Pin* pin, std::string_view* raw) const {
  *raw = FindMapped(block);
  if (!raw->empty()) return true;
  *pin = FindCached(block, counts_miss);
  if (!*pin) return false;
  *raw = pin->bytes();
  return true;
}

Status BlockSource::Read(uint32_t block, const ReadControl& control, BlockCache::Pin* pin,
                         std::string_view* raw) const {
  return Find(block, true, pin, raw) ? Status() : Load(block, control, pin, raw);
}

env::ReadResult BlockSource::ReadOrWait(uint32_t block, const ReadControl& control, env::Deferral* deferral,
                                        BlockCache::Pin* pin, std::string_view* raw) const {
  const bool will_wait = deferral != nullptr && deferral->WouldWait(number, index.offset(block));
  if (Find(block, !will_wait, pin, raw)) return env::Progress::kDone;
  if (deferral != nullptr && Defers(block, deferral)) return env::Progress::kWaits;
  RETURN_IF_ERROR(Load(block, control, pin, raw));
  return env::Progress::kDone;
}

// One large read that contains all of [begin, end), and the bytes after it or before it.
Status BlockWindow::Refill(uint64_t begin, uint64_t end, Direction direction) {
  const uint64_t data_end = RoundUp(source_.index.offset(source_.index.count()));
  uint64_t first = RoundDown(begin), last = RoundUp(end);
  if (direction == Direction::kForward) {
    last = std::max(last, std::min(first + read_bytes_, data_end));
  } else {
    first = std::min(first, last - std::min<uint64_t>(read_bytes_, last));
  }
  const size_t bytes = static_cast<size_t>(last - first);
  if (buffer_.size() < bytes) buffer_ = env::AlignedBuffer(bytes);
  begin_ = end_ = 0;
  size_t got = 0;
  RETURN_IF_ERROR(env::OfRead(file_->ReadAt(first, bytes, buffer_.data(), &got)));
  if (first + got < end) {
    return Status::Corruption("the file ends at " + std::to_string(first + got) + ", expected at least " +
                              std::to_string(end) + " bytes");
  }
  begin_ = first;
  end_ = first + got;
  read_bytes_ = std::min(read_bytes_ * 2, shape_.bytes_max);
  // WHY not forward: there the system reads ahead by itself.
  if (direction == Direction::kBackward && first > 0) {
    const uint64_t next_bytes = std::min<uint64_t>(read_bytes_, first);
    file_->WillRead(first - next_bytes, next_bytes);
  }
  return {};
}

char* BlockWindow::Room(size_t bytes) {
  if (raw_room_ < bytes) {
    raw_.reset(new char[bytes]);
    raw_room_ = bytes;
  }
  return raw_.get();
}

Status BlockWindow::Open(std::string_view stored, uint64_t offset, std::string_view* raw) {
  format::Part part;
  RETURN_IF_ERROR(format::OpenPart(stored, {.unique_id = source_.unique_id, .offset = offset}, shape_.verify, &part));
  if (part.codec == Compression::kNone) {
    *raw = part.payload;
  } else {
    size_t raw_bytes = 0;
    RETURN_IF_ERROR(format::ReadRawBytes(part.payload, &raw_bytes));
    RETURN_IF_ERROR(format::Decompress(part.codec, part.payload, Room(raw_bytes), raw_bytes));
    *raw = {raw_.get(), raw_bytes};
  }
  return format::CheckBlock(*raw);
}

Status BlockWindow::Read(uint32_t block, std::string_view* raw, Direction direction) {
  const uint64_t offset = source_.index.offset(block);
  const size_t bytes = source_.index.stored_bytes(block);
  Status status;
  if (offset < begin_ || offset + bytes > end_) {
    status = Refill(offset, offset + bytes, direction);
    // The disk may have failed to read a neighbour of the block.
    if (status.IsIOError() && read_bytes_ > bytes + 2 * kDirectIoAlign) {
      read_bytes_ = 0;
      status = Refill(offset, offset + bytes, direction);
      read_bytes_ = shape_.bytes_first;
    }
  }
  if (status.ok()) status = Open({buffer_.data() + (offset - begin_), bytes}, offset, raw);
  return status.ok() ? status : source_.InContext(block, status);
}

}  // namespace mergedb::table
