// Goal: each codec decompresses to the original bytes, and accepts any input without harm or unbounded memory.
#include "format/compression.h"

#include <gtest/gtest.h>

#include "base/coding.h"
#include "base/random.h"

namespace mergedb::format {
namespace {

constexpr Compression kCodecs[] = {Compression::kSnappy, Compression::kLz4, Compression::kZstd};

std::string Compressible(size_t bytes) {
  base::Random random(1);
  std::string text;
  while (text.size() < bytes) text += "entry " + std::to_string(random.Uniform(50)) + ", ";
  text.resize(bytes);
  return text;
}

std::string Incompressible(size_t bytes) {
  base::Random random(2);
  std::string noise(bytes, '\0');
  for (char& byte : noise) byte = static_cast<char>(random.Next());
  return noise;
}

TEST(Compression, GivesBackWhatItWasGiven) {
  for (const Compression codec : kCodecs) {
    Compressor compressor(codec);
    for (const size_t bytes : {100, 4096, 5000, 300'000}) {
      SCOPED_TRACE("codec " + std::to_string(static_cast<int>(codec)) + ", bytes " + std::to_string(bytes));
      const std::string raw = Compressible(bytes);
      const std::string compressed(compressor.Compress(raw));
      ASSERT_FALSE(compressed.empty());
      EXPECT_LE(compressed.size(), raw.size() - raw.size() / 8);
      size_t raw_bytes = 0;
      ASSERT_TRUE(ReadRawBytes(compressed, &raw_bytes).ok());
      ASSERT_EQ(raw_bytes, bytes);
      std::string back(raw_bytes, '\0');
      ASSERT_TRUE(Decompress(codec, compressed, back.data(), raw_bytes).ok());
      EXPECT_EQ(back, raw);
    }
  }
}

TEST(Compression, LeavesWhatWouldNotShrink) {
  for (const Compression codec : kCodecs) EXPECT_TRUE(Compressor(codec).Compress(Incompressible(4096)).empty());
  EXPECT_TRUE(Compressor(Compression::kNone).Compress(Compressible(4096)).empty());
}

TEST(Compression, TriesAgainAfterBlocksThatWouldNotShrink) {
  Compressor compressor(Compression::kLz4);
  for (int i = 0; i < 100; ++i) (void)compressor.Compress(Incompressible(4096));
  int tries = 1;
  while (compressor.Compress(Compressible(4096)).empty()) ++tries;
  EXPECT_LE(tries, 16);
  EXPECT_FALSE(compressor.Compress(Compressible(4096)).empty()) << "and then at once";
}

TEST(Compression, RefusesEveryTruncation) {
  const std::string raw = Compressible(500);
  for (const Compression codec : kCodecs) {
    const std::string compressed(Compressor(codec).Compress(raw));
    for (size_t size = 4; size < compressed.size(); ++size) {
      std::string back(raw.size(), '\0');
      EXPECT_TRUE(Decompress(codec, compressed.substr(0, size), back.data(), raw.size()).IsCorruption())
          << static_cast<int>(codec) << " " << size;
    }
  }
}

TEST(Compression, IsSafeOnEveryChangedByte) {
  const std::string raw = Compressible(300);
  for (const Compression codec : kCodecs) {
    const std::string compressed(Compressor(codec).Compress(raw));
    for (size_t at = 4; at < compressed.size(); ++at) {
      std::string damaged = compressed;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      const std::unique_ptr<char[]> back(new char[raw.size()]);  // exact size: the sanitizer detects an overflow
      (void)Decompress(codec, damaged, back.get(), raw.size());
    }
  }
}

TEST(Compression, RefusesToClaimMoreThanTheMost) {
  size_t raw_bytes = 0;
  std::string claim;
  base::AppendFixed32(&claim, static_cast<uint32_t>(kCompressibleBytesMax) + 1);
  EXPECT_TRUE(ReadRawBytes(claim, &raw_bytes).IsCorruption());
  EXPECT_TRUE(ReadRawBytes("abc", &raw_bytes).IsCorruption());
}

}  // namespace
}  // namespace mergedb::format
