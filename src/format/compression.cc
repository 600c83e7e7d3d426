#include "format/compression.h"

#include <lz4.h>
#include <snappy.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <new>

#include "base/assert.h"
#include "base/coding.h"

namespace mergedb::format {
namespace {

constexpr size_t kLengthBytes = sizeof(uint32_t);
constexpr uint32_t kSkipsMax = 15;
constexpr int kZstdLevel = 1;
constexpr int kLz4Acceleration = 1;

// The size of the output buffer. Only snappy needs its own bound: the other codecs fail if the buffer is too small.
size_t BoundOf(Compression codec, size_t raw_bytes) {
  switch (codec) {
    case Compression::kSnappy: return snappy::MaxCompressedLength(raw_bytes);
    case Compression::kLz4:
    case Compression::kZstd:
    case Compression::kNone: return raw_bytes - raw_bytes / 8;
  }
  return 0;
}

struct FreeContext {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

bool DecompressZstd(std::string_view bytes, char* out, size_t raw_bytes) {
  // WHY thread_local: setting up a context of 150 KB costs far more than decompressing a block.
  thread_local std::unique_ptr<ZSTD_DCtx, FreeContext> context;
  if (context == nullptr) context.reset(ZSTD_createDCtx());
  if (context == nullptr) throw std::bad_alloc();  // not Corruption: the block may be whole; the next call tries again
  return ZSTD_decompressDCtx(context.get(), out, raw_bytes, bytes.data(), bytes.size()) == raw_bytes;
}

bool DecompressSnappy(std::string_view bytes, char* out, size_t raw_bytes) {
  size_t claimed = 0;
  return snappy::GetUncompressedLength(bytes.data(), bytes.size(), &claimed) && claimed == raw_bytes &&
         snappy::RawUncompress(bytes.data(), bytes.size(), out);
}

bool DecompressLz4(std::string_view bytes, char* out, size_t raw_bytes) {
  // kCompressibleBytesMax keeps both lengths within an int.
  return LZ4_decompress_safe(bytes.data(), out, static_cast<int>(bytes.size()), static_cast<int>(raw_bytes)) ==
         static_cast<int>(raw_bytes);
}

}  // namespace

bool IsKnownCompression(uint8_t codec) { return codec <= static_cast<uint8_t>(Compression::kLz4); }

Compressor::~Compressor() {
  if (codec_ == Compression::kLz4) LZ4_freeStream(static_cast<LZ4_stream_t*>(state_));
  if (codec_ == Compression::kZstd) ZSTD_freeCCtx(static_cast<ZSTD_CCtx*>(state_));
}

std::string_view Compressor::Compress(std::string_view raw) {
  if (codec_ == Compression::kNone || raw.size() > kCompressibleBytesMax) return {};
  if (skips_ > 0) {
    --skips_;
    return {};
  }
  const size_t limit = raw.size() - raw.size() / 8;
  const size_t room = kLengthBytes + BoundOf(codec_, raw.size());
  if (out_.size() < room) out_.resize(room);
  const size_t bytes = CompressTo(raw, out_.data() + kLengthBytes, room - kLengthBytes);
  if (bytes == 0 || kLengthBytes + bytes > limit) {
    failures_ = std::min(failures_ + 1, kSkipsMax);
    skips_ = failures_;
    return {};
  }
  failures_ = 0;
  base::StoreFixed32(out_.data(), static_cast<uint32_t>(raw.size()));
  return {out_.data(), kLengthBytes + bytes};
}

size_t Compressor::CompressTo(std::string_view raw, char* out, size_t out_bytes) {
  switch (codec_) {
    case Compression::kNone: return 0;
    case Compression::kSnappy: {
      size_t bytes = 0;
      snappy::RawCompress(raw.data(), raw.size(), out, &bytes);
      return bytes;
    }
    case Compression::kLz4: {
      if (state_ == nullptr) state_ = LZ4_createStream();
      if (state_ == nullptr) return 0;
      // WHY a stream that is reset for each block: the one-shot call clears its table of 16 KiB each time.
      LZ4_resetStream_fast(static_cast<LZ4_stream_t*>(state_));
      const int bytes =
          LZ4_compress_fast_continue(static_cast<LZ4_stream_t*>(state_), raw.data(), out, static_cast<int>(raw.size()),
                                     static_cast<int>(out_bytes), kLz4Acceleration);
      return bytes > 0 ? static_cast<size_t>(bytes) : 0;
    }
    case Compression::kZstd: {
      if (state_ == nullptr) state_ = ZSTD_createCCtx();
      if (state_ == nullptr) return 0;
      const size_t bytes =
          ZSTD_compressCCtx(static_cast<ZSTD_CCtx*>(state_), out, out_bytes, raw.data(), raw.size(), kZstdLevel);
      return ZSTD_isError(bytes) ? 0 : bytes;
    }
  }
  return 0;
}

Status ReadRawBytes(std::string_view compressed, size_t* raw_bytes) {
  uint32_t bytes = 0;
  if (!base::TakeFixed32(&compressed, &bytes))
    return Status::Corruption("compressed block without its uncompressed length");
  if (bytes > kCompressibleBytesMax || compressed.size() > kCompressibleBytesMax) {
    return Status::Corruption("compressed block with " + std::to_string(bytes) +
                              " uncompressed bytes; the maximum is " + std::to_string(kCompressibleBytesMax));
  }
  *raw_bytes = bytes;
  return {};
}

Status Decompress(Compression codec, std::string_view compressed, char* out, size_t raw_bytes) {
  ASSERT(compressed.size() >= kLengthBytes, "ReadRawBytes comes first");
  const std::string_view bytes = compressed.substr(kLengthBytes);
  bool is_whole = false;
  switch (codec) {
    case Compression::kNone: break;
    case Compression::kSnappy: is_whole = DecompressSnappy(bytes, out, raw_bytes); break;
    case Compression::kZstd: is_whole = DecompressZstd(bytes, out, raw_bytes); break;
    case Compression::kLz4: is_whole = DecompressLz4(bytes, out, raw_bytes); break;
  }
  if (!is_whole) {
    return Status::Corruption("codec " + std::to_string(static_cast<int>(codec)) + " cannot decompress " +
                              std::to_string(bytes.size()) + " bytes into " + std::to_string(raw_bytes));
  }
  return {};
}

}  // namespace mergedb::format
