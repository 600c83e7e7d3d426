// Finds the origin of a chain without a MANIFEST, from segment heads and frames.
//
//     000004 [0, 16M)   recycled   000007 [32M, 48M)   000008 [48M, 64M)    the last range without a gap begins at 32M
//                                  ...|frame|frame|                         the first frame's predecessor is lost: the
//                                                                           frame is unproved, but proves the next one
#include <algorithm>

#include "format/file_name.h"
#include "wal/frame.h"
#include "wal/replay.h"
#include "wal/replay_input.h"

namespace mergedb::wal {
namespace {

constexpr size_t kWindowBytes = size_t{256} << 10;

struct Found {
  kv::FileNumber number{};
  SegmentHead head;
  std::unique_ptr<File> file;
};

// The segments with a whole head. Skips files that it cannot read: Salvage reports them.
Result<std::vector<Found>> FindSegments(FileSystem* file_system, const std::string& directory) {
  ASSIGN_OR_RETURN(const auto names, file_system->List(directory));
  std::vector<Found> found;
  for (const std::string& name : names) {
    const auto parsed = format::ParseFileName(name);
    if (!parsed || parsed->kind != format::FileKind::kSegment) continue;
    auto file = file_system->Open(format::JoinPath(directory, name), {.access = Access::kRead});
    // Busy: no file descriptor is left, so the segment may exist.
    if (!file && file.error().IsBusy()) return std::move(file).error();
    if (!file) continue;
    char block[kBlockBytes];
    size_t got = 0;
    if (!(*file)->ReadAt(0, sizeof block, block, &got).ok()) continue;
    const auto head = LoadSegmentHead({block, got});
    if (head && head->generation != 0) found.push_back({parsed->number, *head, std::move(*file)});
  }
  return found;
}

// The start of the last range of positions that the segments hold without a gap.
uint64_t LastStretch(std::vector<Found>& segments) {
  std::sort(segments.begin(), segments.end(),
            [](const Found& a, const Found& b) { return a.head.start < b.head.start; });
  uint64_t start = segments.front().head.start, limit = start;
  for (const Found& segment : segments) {
    if (segment.head.start > limit) start = segment.head.start;
    limit = std::max(limit, segment.head.limit());
  }
  return start;
}

// The newest point at which the WAL went on after a gap, if a segment still says so.
std::optional<Mark> NewestMark(const std::vector<Found>& segments) {
  const SegmentHead* newest = nullptr;
  for (const Found& segment : segments) {
    if (segment.head.mark && (newest == nullptr || segment.head.generation > newest->generation))
      newest = &segment.head;
  }
  return newest == nullptr ? std::nullopt : newest->mark;
}

// Finds the first frame at or above `position` by its header alone, and returns the mark after it.
Result<std::optional<Mark>> FirstFrame(SegmentBytes& remains, uint64_t position, uint32_t salt_crc) {
  for (uint64_t at = RoundUp(position, 8);;) {
    std::string_view bytes;
    RETURN_IF_ERROR(remains.Read(at, kWindowBytes, &bytes));
    for (size_t i = 0; i + kFrameHeaderBytes <= bytes.size(); i += 8) {
      if (!HeaderBelongs(bytes.data() + i, salt_crc, at + i)) continue;
      const FrameHeader header = LoadFrameHeader(bytes.data() + i);
      if (header.length > kPayloadBytesMax || header.sequence > kv::kSequenceMax) continue;
      return std::optional(
          Mark{.position = at + i + FrameBytes(header.length), .chain = header.crc, .sequence = header.sequence + 1});
    }
    if (bytes.size() < kWindowBytes) return std::optional<Mark>();
    at += kWindowBytes - kFrameHeaderBytes;
  }
}

}  // namespace

Result<std::optional<Origin>> FindOrigin(FileSystem* file_system, const std::string& directory) {
  ASSIGN_OR_RETURN(std::vector<Found> segments, FindSegments(file_system, directory));
  if (segments.empty()) return std::optional<Origin>();
  const SegmentHead newest = std::max_element(segments.begin(), segments.end(), [](const Found& a, const Found& b) {
                               return a.head.epoch < b.head.epoch;
                             })->head;
  std::erase_if(segments, [&](const Found& each) {
    return each.head.epoch != newest.epoch || each.head.salt_crc != newest.salt_crc ||
           each.head.database_id != newest.database_id;
  });
  const uint64_t start = LastStretch(segments);
  Origin origin{.database_id = newest.database_id,
                .epoch = newest.epoch,
                .salt_crc = newest.salt_crc,
                .start = {.position = 0, .chain = newest.salt_crc, .sequence = 1}};
  if (const std::optional<Mark> mark = NewestMark(segments); mark && mark->position >= start) {
    origin.start = *mark;
    return std::optional(origin);
  }
  if (start == 0) return std::optional(origin);
  SegmentBytes remains;
  for (Found& segment : segments) RETURN_IF_ERROR(remains.Add(segment.number, segment.head, std::move(segment.file)));
  ASSIGN_OR_RETURN(const std::optional<Mark> mark, FirstFrame(remains, start, newest.salt_crc));
  if (!mark) return std::optional<Origin>();
  origin.start = *mark;
  origin.unproved_bytes = mark->position - start;
  return std::optional(origin);
}

Origin OriginOf(uint64_t database_id, const format::VersionEdit::WalStart& start) {
  return {.database_id = database_id,
          .epoch = start.epoch,
          .salt_crc = SaltCrc(start.salt),
          .start = {.position = start.position, .chain = start.chain, .sequence = start.sequence}};
}

}  // namespace mergedb::wal
