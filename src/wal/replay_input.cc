#include "wal/replay_input.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "format/file_name.h"

namespace mergedb::wal {

namespace {

constexpr size_t kWindowBytes = size_t{1} << 20;

}  // namespace

Status SegmentBytes::Add(kv::FileNumber number, const SegmentHead& head, std::unique_ptr<File> file) {
  // WHY an error is not size 0: the bytes of the segment would seem absent.
  ASSIGN_OR_RETURN(const uint64_t size, file->Size());
  const uint64_t held = size > kBlockBytes ? std::min(size - kBlockBytes, head.capacity) : 0;
  Segment segment = {.number = number, .head = head, .file = std::move(file), .limit = head.base() + held};
  const auto place =
      std::upper_bound(segments_.begin(), segments_.end(), head.generation,
                       [](uint64_t generation, const Segment& other) { return generation < other.head.generation; });
  segments_.insert(place, std::move(segment));
  return {};
}

// The segment of the largest generation that holds `position`; *piece_end is where its data ends or a newer
// segment begins.
const SegmentBytes::Segment* SegmentBytes::Find(uint64_t position, uint64_t* piece_end) const {
  *piece_end = UINT64_MAX;
  for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment) {
    if (position < segment->head.start) {
      *piece_end = std::min(*piece_end, segment->head.start);
    } else if (position < segment->limit) {
      *piece_end = std::min(*piece_end, segment->limit);
      return &*segment;
    }
  }
  return nullptr;
}

uint64_t SegmentBytes::NextHeld(uint64_t position) const {
  uint64_t next = UINT64_MAX;
  for (const Segment& segment : segments_) {
    if (position < segment.limit) next = std::min(next, std::max(position, segment.head.start));
  }
  return next;
}

std::string SegmentBytes::Describe(uint64_t position) const {
  uint64_t piece_end = 0;
  const Segment* segment = Find(position, &piece_end);
  if (segment == nullptr) {
    // The newest segment that should hold the position is cut short.
    for (auto cut = segments_.rbegin(); cut != segments_.rend(); ++cut) {
      if (position < cut->head.start || position >= cut->head.limit()) continue;
      return format::PrintFileName(format::FileKind::kSegment, cut->number) + ": ends before WAL position " +
             std::to_string(position) + " (truncated?)";
    }
    return "no segment has WAL position " + std::to_string(position);
  }
  return format::PrintFileName(format::FileKind::kSegment, segment->number) + ": offset " +
         std::to_string(kBlockBytes + (position - segment->head.base())) + " (WAL position " +
         std::to_string(position) + ")";
}

std::optional<SegmentBytes::Place> SegmentBytes::Locate(uint64_t position) const {
  for (auto segment = segments_.rbegin(); segment != segments_.rend(); ++segment) {
    if (position < segment->head.start || position >= segment->head.limit()) continue;
    return Place{segment->number, kBlockBytes + (position - segment->head.base())};
  }
  return std::nullopt;
}

Status SegmentBytes::Read(uint64_t position, size_t bytes, std::string_view* out) {
  const auto held = [&] {
    return position >= window_position_ && position - window_position_ <= window_.size()
               ? window_.size() - (position - window_position_)
               : 0;
  };
  if (held() < bytes) RETURN_IF_ERROR(Fill(position, std::max(bytes, kWindowBytes)));
  *out = std::string_view(window_).substr(position - window_position_, bytes);
  return {};
}

// The window grows piece by piece, by the bytes that exist: a forged length allocates no memory.
Status SegmentBytes::Fill(uint64_t position, size_t bytes) {
  window_.clear();
  window_position_ = position;
  while (window_.size() < bytes) {
    uint64_t piece_end = 0;
    const uint64_t at = position + window_.size();
    const Segment* segment = Find(at, &piece_end);
    if (segment == nullptr) return {};
    const size_t want = std::min<uint64_t>(bytes - window_.size(), piece_end - at);
    const size_t before = window_.size();
    window_.resize(before + want);
    size_t got = 0;
    const Status status =
        segment->file->ReadAt(kBlockBytes + (at - segment->head.base()), want, window_.data() + before, &got);
    window_.resize(before + (status.ok() ? got : 0));
    if (!status.ok() || got < want) return status;
  }
  return {};
}

BufferBytes::BufferBytes(FileSystem* file_system, std::string directory, std::optional<uint64_t> expected_bytes)
    : file_system_(file_system), directory_(std::move(directory)), expected_bytes_(expected_bytes) {}

Status BufferBytes::Load() {
  if (std::exchange(is_loaded_, true)) return {};
  const std::string path = format::JoinPath(directory_, format::PrintFileName(format::FileKind::kStaging));
  const auto lost = [&](const std::string& what) {
    const std::string bytes = std::to_string(*expected_bytes_);
    return Status::Corruption(path + ": " + what + ", expected " + bytes +
                              " bytes; it may have the newest writes. To open without them: `mergedb repair`, or " +
                              "a file of " + bytes + " zeros in its place");
  };
  auto file = file_system_->Open(path, {.access = Access::kRead});
  if (!file) {
    if (!file.error().IsNotFound()) return file.error();
    return expected_bytes_ ? lost("missing") : Status();
  }
  ASSIGN_OR_RETURN(const uint64_t size, (*file)->Size());
  if (expected_bytes_ && size != *expected_bytes_) return lost(std::to_string(size) + " bytes");
  if (size < kBlockBytes || size > kBufferBytesMax || !std::has_single_bit(size)) return {};
  buffer_.resize(size);
  size_t got = 0;
  RETURN_IF_ERROR((*file)->ReadAt(0, size, buffer_.data(), &got));
  if (got == size) return {};
  buffer_.clear();
  return expected_bytes_ ? lost("a read found " + std::to_string(got) + " bytes") : Status();
}

std::string_view BufferBytes::Read(uint64_t position, size_t bytes) {
  if (buffer_.empty()) return {};
  const size_t offset = position & (buffer_.size() - 1);
  const size_t front = std::min(bytes, buffer_.size() - offset);
  if (front == bytes) return std::string_view(buffer_).substr(offset, bytes);
  wrapped_.assign(buffer_, offset, front);
  wrapped_.append(buffer_, 0, bytes - front);
  return wrapped_;
}

std::pair<std::string_view, std::string_view> BufferBytes::ReadAll(uint64_t position) const {
  const std::string_view all = buffer_;
  const size_t offset = all.empty() ? 0 : position & (all.size() - 1);
  return {all.substr(offset), all.substr(0, offset)};
}

}  // namespace mergedb::wal
