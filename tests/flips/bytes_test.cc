// Goal: no damage to the bytes of any file is silent: flipped bits, changed bytes, files cut at any length,
// pages and sectors of zeros. Method: one small database of each ending; copies of it share their bytes, so
// that each damage gets a fresh copy; the judge (judge.h) opens it and reads everything.
// The short form tests all written bytes of small files and samples of large ones. MERGEDB_FULL=1 tests many
// times as many bytes of the large ones, and every byte and every length of the small ones.
#include <cstring>

#include "testing/seed.h"
#include "tests/flips/judge.h"

namespace mergedb::testing {
namespace {

const size_t kSmallFileBytes = Sized(768, 4096);
// For a large file.
const size_t kFlipsOfAFile = Sized(25, 2500);
const size_t kLengthsOfAFile = Sized(16, 1200);
constexpr int kPatterns = 4;

class BytesTest : public FlipsTest {
 protected:
  BytesTest() : random_(SeedOr(1)) {}

  // The offsets to try: all nonzero bytes of a small file, some of a large file, and some zero bytes.
  std::vector<size_t> Offsets(const std::string& bytes) {
    std::vector<size_t> offsets, written;
    if (bytes.size() <= kSmallFileBytes) {
      const size_t stride = IsFullSize() ? 1 : 64;  // of zeros
      for (size_t i = 0; i < bytes.size(); ++i) {
        if (bytes[i] != 0 || i % stride == 0) offsets.push_back(i);
      }
      return offsets;
    }
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes[i] != 0) written.push_back(i);
    }
    // WHY random: a stride would hit the same field of record after record.
    for (size_t i = 0; i < kFlipsOfAFile && !written.empty(); ++i) {
      offsets.push_back(written[random_.Uniform(written.size())]);
      if (i % 8 == 0) offsets.push_back(random_.Uniform(bytes.size()));
    }
    // No later record can reveal damage to the last record, so more of its bytes are tried.
    for (size_t i = 0; i < 64 && i < written.size(); ++i) offsets.push_back(written[written.size() - 1 - i]);
    return offsets;
  }

  // The changed byte, by pattern: a bit flipped, 0x00, 0xff, a random byte. It may be equal to `byte`.
  char Changed(char byte, int pattern) {
    switch (pattern) {
      case 0: return static_cast<char>(byte ^ 1 << random_.Uniform(8));
      case 1: return 0;
      case 2: return static_cast<char>(0xff);
      default: return static_cast<char>(random_.Next());
    }
  }

  void CheckBytes(const std::string& path, size_t offset, std::string_view bytes, const char* what) {
    SCOPED_TRACE(path + " at " + std::to_string(offset) + ": " + what);
    auto sim = whole_.Copy();
    ASSERT_OK(sim->files->PatchBytes(path, offset, bytes));
    judge_.Check(*sim, path);
  }

  base::Random random_;
};

TEST_P(BytesTest, OpensUnharmed) {
  auto sim = whole_.Copy();
  EXPECT_EQ(judge_.Check(*sim, ""), Verdict::kHarmless);
  EXPECT_TRUE(judge_.found().damages.empty()) << ToText(judge_.found().damages.front());
  EXPECT_GT(judge_.found().wal_frames, 0u);
  EXPECT_GE(whole_.Files(".tbl").size(), 3u);
  EXPECT_GE(whole_.Files(".seg").size(), 1u);
}

TEST_P(BytesTest, NoticesAChangedByte) {
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(SeedOr(1)));
  for (const std::string& path : whole_.Files()) {
    const std::string bytes = whole_.Bytes(path);
    int pattern = 0;
    for (const size_t offset : Offsets(bytes)) {
      if (!IsTried(offset)) continue;
      const char changed = Changed(bytes[offset], pattern++ % kPatterns);
      if (changed == bytes[offset]) continue;
      CheckBytes(path, offset, {&changed, 1}, ("byte " + std::to_string(static_cast<uint8_t>(changed))).c_str());
      // Verify reads every byte of these files, whether a read would reach it or not.
      const bool is_watched =
          whole_.IsLiveTable(path) || BaseName(path) == "CURRENT" || (is_closed() && BaseName(path)[0] == 'M');
      EXPECT_TRUE(!is_watched || judge_.PointsAt(path, offset))
          << path << " at " << offset << ": verify does not point there";
      if (HasFailure()) return;
    }
  }
}

TEST_P(BytesTest, NoticesACut) {
  for (const std::string& path : whole_.Files()) {
    const std::string bytes = whole_.Bytes(path);
    std::vector<size_t> lengths;
    if (bytes.size() <= Sized(512, kSmallFileBytes)) {
      for (size_t length = 0; length < bytes.size(); ++length) lengths.push_back(length);
    } else {
      lengths = {0, 1, 511, 512, 513, bytes.size() - 1, bytes.size() - 512, bytes.size() - 4096, bytes.size() - 65536};
      for (size_t i = 1; i < 16; ++i) lengths.push_back(bytes.size() * i / 16);
      for (size_t i = 0; i < kLengthsOfAFile; ++i) lengths.push_back(random_.Uniform(bytes.size()));
    }
    for (const size_t length : lengths) {
      if (length >= bytes.size() || !IsTried(length)) continue;
      SCOPED_TRACE(path + " of " + std::to_string(bytes.size()) + " cut at " + std::to_string(length));
      auto sim = whole_.Copy();
      ASSERT_OK(sim->files->WriteWhole(path, bytes.substr(0, length)));
      judge_.Check(*sim, path);
      if (HasFailure()) return;
    }
  }
}

TEST_P(BytesTest, NoticesZeros) {
  for (const std::string& path : whole_.Files()) {
    const std::string bytes = whole_.Bytes(path);
    for (const size_t unit : {size_t{512}, size_t{4096}, size_t{32} << 10}) {
      for (size_t at = 0; at < bytes.size(); at += unit) {
        const size_t length = std::min(unit, bytes.size() - at);
        if (bytes.find_first_not_of('\0', at) >= at + length) continue;
        // Nothing proves the existence of the last frames of a killed process: docs/PROMISES.md, "Where they
        // end".
        if (!is_closed() && bytes.find_first_not_of('\0', at + length) == std::string::npos) continue;
        if (!is_closed() && BaseName(path) == "STAGING") continue;
        CheckBytes(path, at, std::string(length, '\0'), "zeros");
        if (HasFailure()) return;
      }
    }
  }
}

INSTANTIATE_FOR(BytesTest, kEndings);
INSTANTIATE_FOR(BytesTest, kEndingsWithBlobFiles);

}  // namespace
}  // namespace mergedb::testing
