// Replay of the WAL: segment headers, frames and the WAL buffer. Replay must deliver frames in order, and none
// beyond the bytes.
#include <algorithm>

#include "format/file_name.h"
#include "fuzz/fix_checksums.h"
#include "fuzz/target.h"
#include "testing/fault_file_system.h"
#include "wal/frame.h"
#include "wal/replay.h"

namespace mergedb::fuzz {

namespace {

constexpr uint64_t kSalt = 42, kDatabase = 77, kEpoch = 1;
constexpr size_t kRingBytes = 32 << 10;

// A stream of frames with payloads of these sizes.
std::string StreamOf(std::initializer_list<size_t> payloads) {
  std::string stream;
  kv::Sequence sequence = 1;
  for (const size_t bytes : payloads) {
    const size_t at = stream.size();
    stream.resize(at + wal::FrameBytes(bytes), '\0');
    std::fill_n(stream.begin() + static_cast<ptrdiff_t>(at + wal::kFrameHeaderBytes), bytes,
                static_cast<char>('a' + sequence % 26));
    wal::StoreFrameHeader(stream.data() + at,
                          wal::MakeFrameHeader(0, at, static_cast<uint32_t>(bytes), at / 2, sequence));
    sequence += 1 + bytes / 100;
  }
  FixFramesChecksums(kSalt, &stream);
  return stream;
}

}  // namespace

// Flags, u8: 1 recompute checksums, 2 the WAL was closed at the end of the stream, 4 a durable position is
// known, 8 change a byte of the segment header. Then u16: bytes of the stream in the segment (the rest is in
// the WAL buffer); u16: the durable position; u8, u8: offset and value of the changed header byte; then the
// stream.
std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const char flags : {0, 1, 2, 3, 4, 5, 8, 9}) {
    const std::string stream = StreamOf({10, 200, 0, 1000, 77, 500});
    const size_t in_segment = flags % 3 == 0 ? stream.size() : 1024;
    std::string seed(1, flags);
    seed += {static_cast<char>(in_segment), static_cast<char>(in_segment >> 8), static_cast<char>(0xc8), 0, 40, 1};
    seeds.push_back(seed + stream);
  }
  return seeds;
}

namespace {

std::string SegmentFile(const std::string& stream, size_t in_segment, Input& changes, bool is_changed,
                        bool has_fixed_checksums) {
  const uint64_t capacity = std::max<uint64_t>(wal::RoundUp(in_segment, wal::kBlockBytes), wal::kBlockBytes);
  std::string file(wal::kBlockBytes, '\0');
  wal::StoreSegmentHead(file.data(), {.database_id = kDatabase,
                                      .epoch = kEpoch,
                                      .salt_crc = wal::SaltCrc(kSalt),
                                      .generation = 1,
                                      .start = 0,
                                      .capacity = capacity});
  const uint8_t at = changes.TakeByte(), byte = changes.TakeByte();
  if (is_changed) file[at % 64] = static_cast<char>(byte);
  if (is_changed && has_fixed_checksums) FixSegmentHeadChecksums(&file);
  file += stream.substr(0, in_segment);
  file.resize(wal::kBlockBytes + capacity, '\0');
  return file;
}

// The WAL buffer after the WAL writer has copied the first `in_segment` bytes of the stream, of which
// `stream.size()` is the end.
std::string RingFile(const std::string& stream, size_t in_segment) {
  std::string ring(kRingBytes, '\0');
  for (size_t at = in_segment; at < stream.size(); ++at) ring[at % kRingBytes] = stream[at];
  return ring;
}

}  // namespace
}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb;
  fuzz::Input input(data, bytes);
  const uint8_t flags = input.TakeByte();
  const uint64_t in_segment_asked = input.TakeNumber(2), durable = input.TakeNumber(2);
  fuzz::Input changes(data + std::min<size_t>(bytes, 5), std::min<size_t>(bytes - std::min<size_t>(bytes, 5), 2));
  (void)input.TakeBytes(2);
  std::string stream(input.rest());
  const size_t in_segment = std::min<size_t>(in_segment_asked, stream.size());
  if ((flags & 1) != 0) fuzz::FixFramesChecksums(fuzz::kSalt, &stream);

  testing::FaultFileSystem files;
  FUZZ_CHECK(files.CreateDirectory("/db").ok());
  FUZZ_CHECK(files
                 .WriteWhole("/db/000004.seg",
                             fuzz::SegmentFile(stream, in_segment, changes, (flags & 8) != 0, (flags & 1) != 0))
                 .ok());
  FUZZ_CHECK(files.WriteWhole("/db/STAGING", fuzz::RingFile(stream, in_segment)).ok());
  const wal::Mark start = wal::FirstMark(fuzz::kSalt, 1);
  const format::VersionEdit::WalStart from{
      .epoch = fuzz::kEpoch, .salt = fuzz::kSalt, .position = 0, .chain = start.chain, .sequence = 1};
  const auto clean_end = (flags & 2) != 0 ? std::optional<uint64_t>(stream.size()) : std::nullopt;
  kv::Sequence last = 0;
  uint64_t applied_bytes = 0;
  const auto replayed = wal::Replay(
      &files, "/db", fuzz::kDatabase, from,
      {.clean_end = clean_end, .durable_position = (flags & 4) != 0 ? durable : 0, .segments = {kv::FileNumber{4}}},
      [&](kv::Sequence sequence, std::string_view payload) {
        FUZZ_CHECK(sequence > last);
        last = sequence;
        applied_bytes += wal::FrameBytes(payload.size());
        for (const char byte : payload) FUZZ_CHECK(byte == byte);
        return Status();
      });
  FUZZ_CHECK(applied_bytes <= stream.size() + fuzz::kRingBytes + wal::kBlockBytes);
  if (replayed) FUZZ_CHECK(replayed->end.position == applied_bytes);
  if (replayed && clean_end) FUZZ_CHECK(replayed->end.position == *clean_end);
  return 0;
}
