// Goal: damage to MANIFEST, CURRENT or STAGING is not silent, of kinds that a single changed byte
// (bytes_test.cc) does not include: older contents of the same file, damage to both copies of a record, bytes
// inserted, removed and copied. Method: as bytes_test.cc.
#include <cstring>

#include "base/coding.h"
#include "manifest/mirror_file.h"
#include "testing/seed.h"
#include "tests/flips/judge.h"

namespace mergedb::testing {
namespace {

class MetadataTest : public FlipsTest {
 protected:
  std::string PathOf(std::string_view name) const {
    for (const std::string& path : whole_.Files()) {
      if (BaseName(path).starts_with(name)) return path;
    }
    return "";
  }
  Verdict CheckContents(const std::string& path, const std::string& bytes, const std::string& blamed) {
    auto sim = whole_.Copy();
    EXPECT_OK(sim->files->WriteWhole(path, bytes));
    return judge_.Check(*sim, blamed);
  }
};

// The offsets of a MANIFEST's records in its first copy, which has at most one page.
std::vector<size_t> RecordsOf(const std::string& bytes) {
  std::vector<size_t> begins;
  for (size_t at = 40; at + 8 < manifest::kPageBytes;) {
    const size_t length = base::LoadFixed32(bytes.data() + at + 4);
    if (length == 0) break;
    begins.push_back(at);
    at += 8 + length;
  }
  return begins;
}

TEST_P(MetadataTest, NoticesAnOlderManifest) {
  const std::string path = PathOf("MANIFEST");
  const auto contents = whole_.EarlierContents(path);
  ASSERT_GT(contents.size(), 3u);
  for (size_t i = 0; i < contents.size(); ++i) {
    SCOPED_TRACE("as it was " + std::to_string(contents.size() - i) + " contents ago");
    const Verdict verdict = CheckContents(path, contents[i], "");
    if (is_closed()) { EXPECT_EQ(verdict, Verdict::kRefused); }
  }
}

// Repair does not trust an older MANIFEST either: it uses the tables and the WAL, and all of them are still
// there.
TEST_P(MetadataTest, RepairKeepsAllBesideAnOlderManifest) {
  if (!is_closed()) return;
  const auto contents = whole_.EarlierContents(PathOf("MANIFEST"));
  auto sim = whole_.Copy();
  ASSERT_OK(sim->files->WriteWhole(PathOf("MANIFEST"), contents[contents.size() / 2]));
  EXPECT_THAT(whole_.Open(*sim), StatusIs(Code::kCorruption));
  ASSERT_OK_AND_ASSIGN(const RepairReport report, Repair(whole_.OptionsFor(*sim), SimulatedEnv::kPath));
  EXPECT_FALSE(report.losses.empty());  // the extent of the loss is unknown
  ASSERT_OK_AND_ASSIGN(auto db, whole_.Open(*sim));
  ModelDb::Pairs shown;
  auto it = db->NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) shown.emplace_back(it->key(), it->value());
  ASSERT_OK(it->status());
  EXPECT_EQ(shown, whole_.expected());
}

// It names the same MANIFEST, and its statement about it still holds.
TEST_P(MetadataTest, AnOlderCurrentDoesNoHarm) {
  for (const std::string& older : whole_.EarlierContents(PathOf("CURRENT"))) {
    SCOPED_TRACE(older);
    EXPECT_EQ(CheckContents(PathOf("CURRENT"), older, ""), Verdict::kHarmless);
  }
}

TEST_P(MetadataTest, NoticesDamageToBothCopiesOfARecord) {
  const std::string path = PathOf("MANIFEST");
  const std::string whole = whole_.Bytes(path);
  const std::vector<size_t> records = RecordsOf(whole);
  ASSERT_GT(records.size(), 5u);
  base::Random random(SeedOr(1));
  for (size_t i = 0; i < records.size(); ++i) {
    const size_t end =
        i + 1 < records.size() ? records[i + 1] : records[i] + 8 + base::LoadFixed32(whole.data() + records[i] + 4);
    for (int time = 0; time < 12; ++time) {
      std::string bytes = whole;
      // The checksum, the length, then any byte.
      const size_t begin = time < 3 ? records[i] : time < 6 ? records[i] + 4 : records[i] + 8;
      const size_t limit = time < 3 ? records[i] + 4 : time < 6 ? records[i] + 8 : end;
      for (const size_t copy : {size_t{0}, manifest::kPageBytes})
        bytes[copy + begin + random.Uniform(limit - begin)] ^= static_cast<char>(1 + random.Uniform(255));
      SCOPED_TRACE("record " + std::to_string(i) + " of " + std::to_string(records.size()) + ", time " +
                   std::to_string(time));
      const Verdict verdict = CheckContents(path, bytes, path);
      const bool is_last = i + 1 == records.size();
      if (!is_last || is_closed()) { EXPECT_EQ(verdict, Verdict::kRefused); }
      if (HasFailure()) return;
    }
  }
}

TEST_P(MetadataTest, NoticesBytesPutInAndTakenOut) {
  base::Random random(SeedOr(1));
  for (const char* name : {"MANIFEST", "CURRENT"}) {
    const std::string path = PathOf(name);
    const std::string whole = whole_.Bytes(path);
    const size_t written = std::min(whole.size(), manifest::kPageBytes);
    for (int time = 0; time < 150; ++time) {
      std::string bytes = whole;
      const size_t at = random.Uniform(time % 2 == 0 ? whole.find_last_not_of('\0', written) : written);
      const size_t count = 1 + random.Uniform(16);
      if (random.OneIn(2)) {
        bytes.insert(at, random.OneIn(2) ? std::string(count, '\0') : bytes.substr(at, count));
      } else {
        bytes.erase(at, count);
      }
      if (random.OneIn(2)) bytes.resize(whole.size(), '\0');
      SCOPED_TRACE(std::string(name) + " at " + std::to_string(at) + ", time " + std::to_string(time));
      CheckContents(path, bytes, path);
      if (HasFailure()) return;
    }
  }
}

// After a clean close no data is only in STAGING; after a kill an older STAGING is a WAL that ends there
// (docs/PROMISES.md).
TEST_P(MetadataTest, AnOlderStagingDoesNoHarmAfterAClose) {
  if (!whole_.shape().is_mapped || !is_closed()) return;
  const std::string path = SimulatedEnv::kPath + "/STAGING";  // Close has removed it
  const auto contents = whole_.EarlierContents(path);
  EXPECT_FALSE(contents.empty());
  for (const std::string& older : contents) EXPECT_EQ(CheckContents(path, older, ""), Verdict::kHarmless);
}

TEST_P(MetadataTest, NoticesBytesPutIntoStagingTakenOutAndCopied) {
  if (!whole_.shape().is_mapped || is_closed()) return;
  const std::string path = PathOf("STAGING"), whole = whole_.Bytes(path);
  const size_t written = whole.find_last_not_of('\0') + 1;
  base::Random random(SeedOr(1));
  for (int time = 0; time < 120; ++time) {
    std::string bytes = whole;
    const size_t at = random.Uniform(written), count = 1 + random.Uniform(random.OneIn(2) ? 16 : 400);
    const std::string others = whole.substr(random.Uniform(written), count);
    if (time % 3 == 0) bytes.insert(at, random.OneIn(2) ? std::string(count, '\0') : others);
    if (time % 3 == 1) bytes.erase(at, count);
    if (time % 3 == 2) bytes.replace(at, others.size(), others);
    bytes.resize(whole.size(), '\0');
    SCOPED_TRACE("at " + std::to_string(at) + ", time " + std::to_string(time));
    CheckContents(path, bytes, path);
    if (HasFailure()) return;
  }
}

INSTANTIATE_FOR(MetadataTest, kEndings);
INSTANTIATE_FOR(MetadataTest, kEndingsWithBlobFiles);

}  // namespace
}  // namespace mergedb::testing
