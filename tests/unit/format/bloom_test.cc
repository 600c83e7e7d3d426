// Goal: the filter never denies a key that was added, seldom passes another key, and its format never changes.
#include "format/bloom.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "base/hash.h"
#include "base/random.h"

namespace mergedb::format {
namespace {

std::vector<uint64_t> Hashes(size_t count, const char* kind) {
  std::vector<uint64_t> hashes;
  for (size_t i = 0; i < count; ++i) hashes.push_back(base::Hash64(kind + std::to_string(i)));
  return hashes;
}

TEST(Bloom, HasTheseBits) {
  const std::string bytes = EncodeBloom(Hashes(100, "key"), 10);
  EXPECT_EQ(bytes.size(), 129u);
  EXPECT_EQ(static_cast<int>(bytes.back()), 6) << "probes";
  EXPECT_EQ(base::ToHex(bytes.substr(0, 8)), "99b7498e16130ba3");
  EXPECT_EQ(base::Crc32c(bytes), 841599020u);
}

TEST(Bloom, NeverDeniesAKeyItWasGiven) {
  for (const size_t count : {0, 1, 2, 50, 51, 52, 5000}) {
    for (const int bits : {1, 5, 10, 16, 30}) {
      const std::vector<uint64_t> hashes = Hashes(count, "in");
      Bloom bloom;
      ASSERT_TRUE(bloom.Decode(EncodeBloom(hashes, bits)).ok());
      for (const uint64_t hash : hashes) ASSERT_TRUE(bloom.MayContain(hash)) << count << " keys, " << bits << " bits";
    }
  }
}

TEST(Bloom, PassesOneInAHundredAtTenBits) {
  Bloom bloom;
  ASSERT_TRUE(bloom.Decode(EncodeBloom(Hashes(20'000, "in"), 10)).ok());
  size_t passed = 0;
  for (const uint64_t hash : Hashes(20'000, "out")) passed += bloom.MayContain(hash);
  EXPECT_LT(passed, 20'000u * 13 / 1000);
}

TEST(Bloom, PassesEverythingBeforeItIsDecoded) {
  const Bloom bloom;
  EXPECT_TRUE(bloom.MayContain(0));
  EXPECT_TRUE(bloom.MayContain(~uint64_t{0}));
}

TEST(Bloom, RefusesBytesThatAreNoFilter) {
  const std::string bytes = EncodeBloom(Hashes(100, "key"), 10);
  for (size_t size = 0; size < bytes.size(); ++size) {
    if (size == 65) continue;  // one line, and a byte that is a valid number of probes
    EXPECT_TRUE(Bloom().Decode(bytes.substr(0, size)).IsCorruption()) << size;
  }
  for (const int probes : {0, 17, 255}) {
    std::string damaged = bytes;
    damaged.back() = static_cast<char>(probes);
    EXPECT_TRUE(Bloom().Decode(damaged).IsCorruption()) << probes;
  }
}

}  // namespace
}  // namespace mergedb::format
