// The codecs of table blocks behind one enum (mergedb::Compression, whose values are stored).
//
// FORMAT: compressed := raw length u32 | the codec's bytes
//
// A block that would not shrink by an eighth is stored raw: reading it costs nothing then. After such a block the compressor
// skips a few more untried, up to 15, since blocks of one table resemble each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mergedb/options.h"
#include "mergedb/status.h"

namespace mergedb::format {

// Larger blocks are always stored raw, so that no compressed bytes, however hostile, ask for more memory than this.
inline constexpr size_t kCompressibleBytesMax = size_t{64} << 20;

bool IsKnownCompression(uint8_t codec);

// Keeps a codec's working memory from block to block.
class Compressor {
 public:
  explicit Compressor(Compression codec) : codec_(codec) {}
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  Compression codec() const { return codec_; }
  // `raw` compressed, or an empty view if it is better stored raw. Lives until the next call.
  std::string_view Compress(std::string_view raw);

 private:
  size_t CompressTo(std::string_view raw, char* out, size_t out_bytes);  // 0: did not fit

  Compression codec_;
  void* state_ = nullptr;
  std::string out_;
  uint32_t failures_ = 0;  // in a row
  uint32_t skips_ = 0;     // blocks still to pass over
};

// How many bytes Decompress will write: at most kCompressibleBytesMax, or Corruption.
[[nodiscard]] Status ReadRawBytes(std::string_view compressed, size_t* raw_bytes);
// Exactly `raw_bytes` to `out`, or Corruption.
[[nodiscard]] Status Decompress(Compression codec, std::string_view compressed, char* out, size_t raw_bytes);

}  // namespace mergedb::format
