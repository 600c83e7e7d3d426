// Goal: the checksum is that of RFC 3720, for each implementation and however the bytes are split.
#include "base/crc32c.h"

#include <gtest/gtest.h>

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>
#endif
#include <string>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/random.h"
#include "testing/changing_bytes.h"

namespace mergedb::base {
namespace {

std::string RandomBytes(uint64_t seed, size_t count) {
  Random random(seed);
  std::string bytes(count, '\0');
  for (char& c : bytes) c = static_cast<char>(random.Next());
  return bytes;
}

TEST(Crc32c, AnswersTheVectorsOfRfc3720) {
  std::string ascending, descending;
  for (char c = 0; c < 32; ++c) {
    ascending += c;
    descending += static_cast<char>(31 - c);
  }
  std::string read_command;
  ASSERT_TRUE(
      FromHex("01c00000000000000000000000000000140000000000040000000014000000182800000000000000"
              "0200000000000000",
              &read_command));
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  EXPECT_EQ(Crc32c(ascending), 0x46dd794eu);
  EXPECT_EQ(Crc32c(descending), 0x113fdb5cu);
  EXPECT_EQ(Crc32c(read_command), 0xd9963a56u);
}

TEST(Crc32c, AnswersTheUsualCheckValue) { EXPECT_EQ(Crc32c("123456789"), 0xe3069283u); }

TEST(Crc32c, OfNothingIsWhatItWas) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32cExtend(0x12345678, nullptr, 0), 0x12345678u);
}

TEST(Crc32c, PortableAndHardwareAgreeAtEveryLengthAndAlignment) {
  const uint64_t seed = 2;
  SCOPED_TRACE(seed);
  const std::string bytes = RandomBytes(seed, 600);
  for (size_t start = 0; start < 9; ++start) {
    for (size_t count = 0; start + count <= bytes.size(); ++count) {
      ASSERT_EQ(Crc32cExtend(7, bytes.data() + start, count), Crc32cExtendPortable(7, bytes.data() + start, count))
          << "start " << start << " count " << count;
    }
  }
}

TEST(Crc32c, AllImplementationsAgreeFromTheFirstFoldOn) {
  const std::string bytes = RandomBytes(7, 1'900);
  for (size_t start = 0; start < 3; ++start) {
    uint32_t portable = Crc32cExtendPortable(9, bytes.data() + start, 999);
    for (size_t count = 1'000; start + count <= bytes.size(); ++count) {
      portable = Crc32cExtendPortable(portable, bytes.data() + start + count - 1, 1);
      ASSERT_EQ(Crc32cExtend(9, bytes.data() + start, count), portable) << "start " << start << " count " << count;
      ASSERT_EQ(Crc32cExtendUnfolded(9, bytes.data() + start, count), portable)
          << "start " << start << " count " << count;
    }
  }
}

TEST(Crc32c, PortableAndHardwareAgreeAcrossTheLongLanes) {
  const uint64_t seed = 3;
  SCOPED_TRACE(seed);
  const std::string bytes = RandomBytes(seed, 9000);
  for (const size_t count : {2039u, 2040u, 2041u, 2047u, 2111u, 2112u, 4079u, 4080u, 4096u, 6120u, 8192u, 9000u}) {
    ASSERT_EQ(Crc32c(bytes.substr(0, count)), Crc32cExtendPortable(0, bytes.data(), count)) << "count " << count;
    ASSERT_EQ(Crc32cExtendUnfolded(0, bytes.data(), count), Crc32cExtendPortable(0, bytes.data(), count)) << count;
  }
}

TEST(Crc32c, ExtendsAcrossEveryCut) {
  const std::string bytes = RandomBytes(4, 257);
  const uint32_t whole = Crc32c(bytes);
  for (size_t cut = 0; cut <= bytes.size(); ++cut) {
    const uint32_t front = Crc32c(std::string_view(bytes).substr(0, cut));
    ASSERT_EQ(Crc32cExtend(front, bytes.data() + cut, bytes.size() - cut), whole) << "cut " << cut;
  }
}

TEST(Crc32c, CopiesAtEveryLengthAndAlignment) {
  const uint64_t seed = 4;
  SCOPED_TRACE(seed);
  const std::string bytes = RandomBytes(seed, 4200);
  for (size_t count = 0; count < 4100; count += count < 600 ? 1 : 37) {
    for (const size_t start : {0, 1, 5, 8}) {
      std::string copy(count + 2 * start, '#');
      ASSERT_EQ(Crc32cCopy(7, copy.data() + start, bytes.data() + start, count),
                Crc32cExtend(7, bytes.data() + start, count))
          << "start " << start << " count " << count;
      ASSERT_EQ(copy, std::string(start, '#') + bytes.substr(start, count) + std::string(start, '#'));
    }
  }
}

TEST(Crc32c, OfACopyOfChangingBytesIsThatOfTheCopy) {
  const testing::ChangingBytes source(3000);
  std::string copy(3000, '\0');
  for (int i = 0; i < 3000; ++i) {
    const size_t count = i % 3000 + 1;
    const uint32_t crc = Crc32cCopy(0, copy.data(), source.view().data(), count);
    ASSERT_EQ(crc, Crc32c(std::string_view(copy).substr(0, count))) << count;
  }
}

TEST(Crc32c, OfNumbersIsThatOfTheirBytes) {
  Random random(6);
  for (int i = 0; i < 100; ++i) {
    const auto start = static_cast<uint32_t>(random.Next());
    const uint64_t first = random.Next(), second = random.Next(), third = random.Next();
    char bytes[24];
    StoreFixed64(bytes, first);
    StoreFixed64(bytes + 8, second);
    StoreFixed64(bytes + 16, third);
    ASSERT_EQ(Crc32cExtendNumbers(start, first, second, third), Crc32cExtendPortable(start, bytes, 24));
    StoreFixed32(bytes + 4, static_cast<uint32_t>(first));
    ASSERT_EQ(Crc32cExtendNumbers(start, static_cast<uint32_t>(first), second, third),
              Crc32cExtendPortable(start, bytes + 4, 20));
  }
}

TEST(Crc32c, NoticesEverySingleBitFlip) {
  std::string bytes = RandomBytes(5, 150);
  const uint32_t right = Crc32c(bytes);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_NE(Crc32c(bytes), right) << "bit " << bit;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  }
}

#ifdef __x86_64__
// True if the upper parts of the AVX registers are in use (XINUSE: Intel's manual, volume 1, 13.6).
[[gnu::target("xsave")]] bool HasUpperPartsInUse() {
  constexpr unsigned long long kUpperParts = 1 << 2 | 1 << 6;  // of the 256-bit and of the 512-bit registers
  return (_xgetbv(1) & kUpperParts) != 0;
}
bool CanAskForThem() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __builtin_cpu_supports("avx512f") && __get_cpuid_count(0xd, 1, &a, &b, &c, &d) != 0 && (a & 1 << 2) != 0;
}
[[gnu::target("avx512f")]] void UseUpperParts() { asm volatile("vpternlogd $0xff, %%zmm0, %%zmm0, %%zmm0" ::: "xmm0"); }
[[gnu::target("avx")]] void ClearUpperParts() { _mm256_zeroupper(); }

// SSE instructions are slow as long as they are in use.
TEST(Crc32c, LeavesTheUpperPartsOfTheRegistersUnused) {
  if (!CanAskForThem()) GTEST_SKIP() << "the processor has no AVX-512, or does not tell";
  UseUpperParts();
  ASSERT_TRUE(HasUpperPartsInUse());
  ClearUpperParts();
  if (HasUpperPartsInUse()) GTEST_SKIP() << "the processor does not tell that they are unused";
  const std::string bytes(4096, 'b');
  for (const size_t count : {100u, 1'000u, 1'024u, 4'096u}) {
    UseUpperParts();
    ClearUpperParts();
    Crc32cExtend(7, bytes.data(), count);
    EXPECT_FALSE(HasUpperPartsInUse()) << count;
  }
}
#endif

}  // namespace
}  // namespace mergedb::base
