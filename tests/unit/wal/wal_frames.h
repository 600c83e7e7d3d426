// Frames and segments made by hand, for the tests of the parts of replay.
#pragma once

#include <string>
#include <vector>

#include "tests/unit/wal/wal_fixture.h"
#include "wal/frame.h"

namespace mergedb::wal {

inline const uint32_t kSaltCrc = SaltCrc(42);

// Appends whole frames to a stream from `start` on, as a WAL does.
class FrameStream {
 public:
  explicit FrameStream(const Mark& start) : end_(start) {}

  // Returns the bytes of the frame. Its sequence is that of the mark before it.
  std::string Add(size_t payload_bytes, uint32_t salt_crc = kSaltCrc) {
    std::string frame(FrameBytes(payload_bytes), '\0');
    const std::string payload = PayloadOf(end_.sequence, payload_bytes).substr(0, payload_bytes);
    frame.replace(kFrameHeaderBytes, payload.size(), payload);
    FrameHeader header =
        MakeFrameHeader(salt_crc, end_.position, static_cast<uint32_t>(payload_bytes), end_.position, end_.sequence);
    StoreFrameHeader(frame.data(), header);
    header.crc = FrameCrc(end_.chain, frame.data(), kFrameHeaderBytes + payload_bytes);
    StoreFrameHeader(frame.data(), header);
    end_ = {.position = end_.position + frame.size(), .chain = header.crc, .sequence = end_.sequence + 1};
    return frame;
  }
  // Adds `count` frames and returns their bytes.
  std::string AddFrames(size_t count, size_t payload_bytes) {
    std::string bytes;
    for (size_t i = 0; i < count; ++i) bytes += Add(payload_bytes);
    return bytes;
  }
  const Mark& end() const { return end_; }

 private:
  Mark end_;
};

}  // namespace mergedb::wal
