#include "wal/frame.h"

#include <cstring>
#include <string>

namespace mergedb::wal {

namespace {

constexpr uint64_t kSegmentMagic = 0x31474553'4244474Du;  // "MGDBSEG1"
constexpr uint32_t kSegmentVersion = 1;
constexpr size_t kSegmentHeadBytes = 64;
constexpr size_t kMarkedHeadBytes = 84;
constexpr uint32_t kAppendedFlag = 1;
constexpr uint32_t kMarkFlag = 2;
constexpr uint64_t kCapacityMax = uint64_t{1} << 48;

}  // namespace

uint32_t SaltCrc(uint64_t salt) {
  char bytes[8];
  base::StoreFixed64(bytes, salt);
  return base::Crc32c({bytes, sizeof bytes});
}

Mark FirstMark(uint64_t salt, kv::Sequence sequence) {
  return {.position = 0, .chain = SaltCrc(salt), .sequence = sequence};
}

FrameHeader LoadFrameHeader(const char* frame) {
  return {.crc = base::LoadFixed32(frame),
          .check = base::LoadFixed32(frame + 4),
          .length = base::LoadFixed32(frame + 8),
          .undurable = base::LoadFixed32(frame + 12),
          .sequence = base::LoadFixed64(frame + 16)};
}

bool HeaderBelongs(const char* frame, uint32_t salt_crc, uint64_t position) {
  char checked[24];
  base::StoreFixed64(checked, position);
  std::memcpy(checked + 8, frame + 8, 16);
  return base::Crc32cExtend(salt_crc, checked, sizeof checked) == base::LoadFixed32(frame + 4);
}

void StoreSegmentHead(char* block, const SegmentHead& head) {
  std::memset(block, 0, kBlockBytes);
  base::StoreFixed64(block, kSegmentMagic);
  base::StoreFixed32(block + 8, kSegmentVersion);
  base::StoreFixed32(block + 12, head.salt_crc);
  base::StoreFixed64(block + 16, head.database_id);
  base::StoreFixed64(block + 24, head.epoch);
  base::StoreFixed64(block + 32, head.generation);
  base::StoreFixed64(block + 40, head.start);
  base::StoreFixed64(block + 48, head.capacity);
  base::StoreFixed32(block + 56, (head.is_appended ? kAppendedFlag : 0) | (head.mark ? kMarkFlag : 0));
  base::StoreFixed32(block + 60, base::Crc32c({block, 60}));
  if (!head.mark) return;
  base::StoreFixed32(block + 64, head.mark->chain);
  base::StoreFixed64(block + 72, head.mark->sequence);
  base::StoreFixed32(block + 80, base::Crc32c({block, 80}));
}

namespace {

Status CheckCrc(std::string_view block, size_t offset) {
  const uint32_t expected = base::Crc32c(block.substr(0, offset));
  const uint32_t found = base::LoadFixed32(block.data() + offset);
  if (found == expected) return {};
  return Status::Corruption("checksum of the segment head at offset " + std::to_string(offset) + ": expected " +
                            std::to_string(expected) + ", found " + std::to_string(found));
}

}  // namespace

Result<SegmentHead> LoadSegmentHead(std::string_view block) {
  if (block.size() < kSegmentHeadBytes) return Status::Corruption("segment head cut short");
  const char* in = block.data();
  if (base::LoadFixed64(in) != kSegmentMagic) return Status::Corruption("no segment head at offset 0");
  RETURN_IF_ERROR(CheckCrc(block, 60));
  if (base::LoadFixed32(in + 8) != kSegmentVersion) {
    return Status::NotSupported("segment version " + std::to_string(base::LoadFixed32(in + 8)));
  }
  const uint32_t flags = base::LoadFixed32(in + 56);
  if ((flags & ~(kAppendedFlag | kMarkFlag)) != 0)
    return Status::NotSupported("segment flags " + std::to_string(flags));
  SegmentHead head = {.database_id = base::LoadFixed64(in + 16),
                      .epoch = base::LoadFixed64(in + 24),
                      .salt_crc = base::LoadFixed32(in + 12),
                      .generation = base::LoadFixed64(in + 32),
                      .start = base::LoadFixed64(in + 40),
                      .capacity = base::LoadFixed64(in + 48),
                      .is_appended = (flags & kAppendedFlag) != 0};
  if (head.capacity == 0 || head.capacity > kCapacityMax || head.capacity % kBlockBytes != 0 ||
      head.start > kPositionMax) {
    return Status::Corruption("impossible segment head: start " + std::to_string(head.start) + ", capacity " +
                              std::to_string(head.capacity));
  }
  if ((flags & kMarkFlag) == 0) return head;
  if (block.size() < kMarkedHeadBytes) return Status::Corruption("segment head cut short");
  RETURN_IF_ERROR(CheckCrc(block, 80));
  head.mark = {.position = head.start, .chain = base::LoadFixed32(in + 64), .sequence = base::LoadFixed64(in + 72)};
  if (head.mark->sequence > kv::kSequenceMax) {
    return Status::Corruption("impossible segment head: sequence " + std::to_string(head.mark->sequence));
  }
  return head;
}

}  // namespace mergedb::wal
