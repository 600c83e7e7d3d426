// The codecs of table blocks and blob records behind one enum (mergedb::Compression, whose values are stored).
//
// FORMAT: compressed := raw length u32 | the codec's bytes
//
// A block is stored raw if compression saves less than an eighth. The compressor then stores up to 15 more blocks
// raw without trying, since blocks of one table are similar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "mergedb/options.h"
#include "mergedb/status.h"

namespace mergedb::format {

// Larger blocks are stored raw. So damaged compressed bytes cannot ask for more memory than this.
inline constexpr size_t kCompressibleBytesMax = size_t{64} << 20;

bool IsKnownCompression(uint8_t codec);

// Keeps the working memory of a codec from block to block.
class Compressor {
 public:
  explicit Compressor(Compression codec) : codec_(codec) {}
  ~Compressor();
  Compressor(const Compressor&) = delete;
  Compressor& operator=(const Compressor&) = delete;

  Compression codec() const { return codec_; }
  // `raw` compressed, or an empty view if it should be stored raw. The view lives until the next call.
  std::string_view Compress(std::string_view raw);

 private:
  size_t CompressTo(std::string_view raw, char* out, size_t out_bytes);  // 0: the output did not fit

  Compression codec_;
  void* state_ = nullptr;
  std::string out_;
  uint32_t failures_ = 0;  // in a row
  uint32_t skips_ = 0;     // blocks to store raw before the next try
};

// The number of bytes that Decompress will write, at most kCompressibleBytesMax. Else Corruption.
[[nodiscard]] Status ReadRawBytes(std::string_view compressed, size_t* raw_bytes);
// Writes exactly `raw_bytes` to `out`, else returns Corruption.
[[nodiscard]] Status Decompress(Compression codec, std::string_view compressed, char* out, size_t raw_bytes);

}  // namespace mergedb::format
