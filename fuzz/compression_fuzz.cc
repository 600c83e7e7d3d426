// The codecs: any bytes decompress to the size that they state, or to an error. Compressed bytes decompress to
// the original.
#include <cstring>

#include "format/compression.h"
#include "fuzz/target.h"

namespace mergedb::fuzz {

// First byte: the codec. Then its input.
std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  std::string text;
  for (int i = 0; i < 60; ++i) text += "the same words " + std::to_string(i % 7);
  for (const Compression codec : {Compression::kSnappy, Compression::kZstd, Compression::kLz4}) {
    format::Compressor compressor(codec);
    seeds.push_back(static_cast<char>(codec) + std::string(compressor.Compress(text)));
  }
  return seeds;
}

namespace {

constexpr size_t kTriedBytesMax = 1 << 20;  // a larger size is valid but slow

void Expand(Compression codec, std::string_view compressed) {
  size_t raw_bytes = 0;
  if (!format::ReadRawBytes(compressed, &raw_bytes).ok()) return;
  FUZZ_CHECK(raw_bytes <= format::kCompressibleBytesMax);
  if (raw_bytes > kTriedBytesMax) return;
  std::string raw(raw_bytes, '\0');
  (void)format::Decompress(codec, compressed, raw.data(), raw_bytes);
}

void ThereAndBack(Compression codec, std::string_view raw) {
  format::Compressor compressor(codec);
  const std::string_view compressed = compressor.Compress(raw);
  if (compressed.empty()) return;
  size_t raw_bytes = 0;
  FUZZ_CHECK(format::ReadRawBytes(compressed, &raw_bytes).ok() && raw_bytes == raw.size());
  std::string back(raw_bytes, '\0');
  FUZZ_CHECK(format::Decompress(codec, compressed, back.data(), raw_bytes).ok() && back == raw);
}

}  // namespace
}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb;
  fuzz::Input input(data, bytes);
  const uint8_t codec = input.TakeByte() % 5;
  if (!format::IsKnownCompression(codec)) return 0;
  const std::string rest(input.rest());
  fuzz::Expand(static_cast<Compression>(codec), rest);
  fuzz::ThereAndBack(static_cast<Compression>(codec), rest);
  return 0;
}
