// Damage of every kind to every file of a database, closed or killed: it is noticed, or it does not matter. What opens answers
// right or with an error; what does not open is left as it was, and the error names the file. Only the tail of a log that was
// never closed may be dropped, to the end of a commit, and the property "mergedb.recovery" says so.
// Method: one database of several tables, with a log; copies of it share their bytes, so each damage gets a fresh copy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/coding.h"
#include "base/crc32c.h"
#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/model_db.h"
#include "testing/model_merges.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/world.h"

namespace mergedb::testing {
namespace {

constexpr size_t kSmallFileBytes = 4096;

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

class DamageTest : public ::testing::TestWithParam<bool> {
 protected:
  bool is_closed() const { return GetParam(); }

  void SetUp() override {
    base::Random random(9);
    World world({.seed = 5});
    ASSERT_OK_AND_ASSIGN(auto db, world.Open());
    for (int i = 0; i < 260; ++i) {
      std::vector<ModelDb::Change> changes;
      WriteBatch batch;
      for (uint64_t size = 1 + random.Uniform(3); size > 0; --size) {
        const std::string key = (random.OneIn(5) ? "n" : "k") + std::to_string(random.Uniform(80));
        if (random.OneIn(12)) {
          std::string end = key + "~";
          batch.DeleteRange(key, end);
          changes.push_back({.key = key, .end = std::move(end)});
        } else if (random.OneIn(6)) {
          batch.Delete(key);
          changes.push_back({.key = key});
        } else if (random.OneIn(4) || key[0] == 'n') {
          ModelMerge merge = DrawMerge(random, key);
          batch.Merge(key, merge.operand);
          changes.push_back({.key = key, .merge = std::move(merge.apply)});
        } else {
          std::string value = std::to_string(i) + std::string(random.Uniform(700), 'v');
          batch.Put(key, value);
          changes.push_back({.key = key, .value = std::move(value)});
        }
      }
      model_.Commit(changes);
      const bool is_synced = random.OneIn(12);
      ASSERT_OK(db->Write({.durability = is_synced ? Durability::kSynced : Durability::kProcessCrash}, batch));
      if (is_synced) durable_ = model_.commits();
      world.executor.RunOne();
      if (i == 60 || i == 120 || i == 200) {
        ASSERT_OK(db->Flush());
        durable_ = model_.commits();
      }
    }
    if (is_closed()) {
      ASSERT_OK(db->Close());
      durable_ = model_.commits();
    }
    image_ = world.files->Crash(CrashMode::kKill, CrashModel::kStrict, 1);
    expected_ = model_.Scan(model_.commits());
  }

  std::unique_ptr<World> Copy() const {
    return std::make_unique<World>(World::Options{.seed = 9}, image_->Crash(CrashMode::kKill, CrashModel::kStrict, 1));
  }
  std::vector<std::string> Files() const { return image_->Files(); }
  std::string Bytes(const std::string& path) const { return *image_->ReadWhole(path); }

  // The offsets to try: all of a small file, some of a large one, most of them where something is written.
  std::vector<size_t> Offsets(const std::string& path, size_t count) const {
    const std::string bytes = Bytes(path);
    std::vector<size_t> written, offsets;
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (bytes.size() <= kSmallFileBytes) offsets.push_back(i);
      if (bytes[i] != 0) written.push_back(i);
    }
    if (bytes.size() <= kSmallFileBytes) return offsets;
    const size_t stride = written.size() / count + 1;
    for (size_t i = 0; i < written.size(); i += stride) offsets.push_back(written[i]);
    if (!written.empty()) offsets.push_back(written.back());
    for (size_t i = 0; i < bytes.size(); i += bytes.size() / (count / 8 + 1) + 1) offsets.push_back(i);
    return offsets;
  }

  // All that a program can learn from the database: OK, and everything is right, or an error.
  Status ReadAll(DB& db, ModelDb::Pairs* found) const {
    auto it = db.NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) found->emplace_back(it->key(), it->value());
    RETURN_IF_ERROR(it->status());
    for (const std::string& key : model_.KeysEverUsed()) {
      std::string value;
      const Status status = db.Get({}, key, &value);
      if (!status.ok() && !status.IsNotFound()) return status;
      const auto listed = std::lower_bound(found->begin(), found->end(), std::pair(key, std::string()));
      const bool is_listed = listed != found->end() && listed->first == key;
      EXPECT_EQ(status.ok(), is_listed) << key;
      if (status.ok() && is_listed) {
        EXPECT_EQ(value, listed->second) << key;
      }
    }
    return {};
  }

  // True if the damage showed.
  bool Check(World& world, const std::string& path) const {
    const uint64_t before = world.files->Fingerprint();
    auto db = world.Open();
    if (!db) {
      CheckError(db.error(), path);
      EXPECT_EQ(world.files->Fingerprint(), before) << "a failed open changed something: " << db.error().ToString();
      EXPECT_FALSE(world.Open().has_value()) << "the second open";
      return true;
    }
    ModelDb::Pairs found;
    if (Status status = ReadAll(**db, &found); !status.ok()) {
      CheckError(status, path);
      return true;
    }
    if (found == expected_) return false;
    const std::string report = Property(**db, "recovery");
    EXPECT_FALSE(is_closed()) << "a closed database shows other contents; it says: " << report;
    EXPECT_NE(report, "") << "commits are gone without a word";
    EXPECT_TRUE(model_.FindPrefix(found, durable_, model_.commits()).has_value()) << "no prefix: " << report;
    return true;
  }

  void CheckError(const Status& status, const std::string& path) const {
    EXPECT_TRUE(status.IsCorruption() || status.IsIOError() || status.IsInvalidArgument() ||
                status.code() == Code::kNotSupported)
        << status.ToString();
    // What the staging file has lost is missed in the log as a whole.
    const std::string name = BaseName(path) == "STAGING" ? World::kPath : BaseName(path);
    EXPECT_NE(status.ToString().find(name), std::string::npos) << status.ToString();
  }

  ModelDb model_;
  uint64_t durable_ = 0;
  ModelDb::Pairs expected_;
  std::unique_ptr<FaultFileSystem> image_;
};

TEST_P(DamageTest, OpensUnharmed) {
  auto world = Copy();
  EXPECT_FALSE(Check(*world, ""));
  int tables = 0;
  for (const std::string& path : Files()) tables += EndsWith(path, ".tbl");
  EXPECT_GE(tables, 2);
}

TEST_P(DamageTest, NoticesFlippedBits) {
  const uint64_t seed = SeedOr(1);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  for (const std::string& path : Files()) {
    for (const size_t offset : Offsets(path, IsFullSize() ? 5000 : 300)) {
      const int bit = static_cast<int>(random.Uniform(8));
      SCOPED_TRACE(path + " offset " + std::to_string(offset) + " bit " + std::to_string(bit));
      auto world = Copy();
      ASSERT_OK(world->files->FlipBit(path, offset, bit));
      Check(*world, path);
      if (HasFailure()) return;
    }
  }
}

TEST_P(DamageTest, NoticesTruncation) {
  for (const std::string& path : Files()) {
    const std::string bytes = Bytes(path);
    std::vector<size_t> lengths = {0, 1, bytes.size() / 2, bytes.size() - 1, bytes.size() - 4096, bytes.size() - 65536};
    for (size_t i = 1; i < 16; ++i) lengths.push_back(bytes.size() * i / 16);
    for (size_t i = 4096; i < bytes.size(); i += bytes.size() / 16 / 4096 * 4096 + 4096) lengths.push_back(i);
    for (const size_t length : lengths) {
      if (length >= bytes.size()) continue;
      SCOPED_TRACE(path + " of " + std::to_string(bytes.size()) + " cut at " + std::to_string(length));
      auto world = Copy();
      ASSERT_OK(world->files->WriteWhole(path, bytes.substr(0, length)));
      Check(*world, path);
      if (HasFailure()) return;
    }
  }
}

TEST_P(DamageTest, NoticesZeroedPages) {
  for (const std::string& path : Files()) {
    const std::string bytes = Bytes(path);
    for (size_t at = 0; at < bytes.size(); at += 4096) {
      const size_t length = std::min<size_t>(4096, bytes.size() - at);
      if (bytes.find_first_not_of('\0', at) >= at + length) continue;
      SCOPED_TRACE(path + " zeroed at " + std::to_string(at));
      std::string zeroed = bytes;
      std::memset(zeroed.data() + at, 0, length);
      auto world = Copy();
      ASSERT_OK(world->files->WriteWhole(path, zeroed));
      Check(*world, path);
      if (HasFailure()) return;
    }
  }
}

TEST_P(DamageTest, NoticesMissingFiles) {
  for (const std::string& path : Files()) {
    SCOPED_TRACE(path + " removed");
    auto world = Copy();
    ASSERT_OK(world->files->Remove(path));
    const bool showed = Check(*world, path);
    if ((is_closed() && EndsWith(path, ".tbl")) || BaseName(path) == "CURRENT" || path.find("MANIFEST") != std::string::npos) {
      EXPECT_TRUE(showed);
    }
  }
}

// After a kill the newest commits are in STAGING and nowhere else; after a clean close nothing is.
TEST_P(DamageTest, NoticesALostStagingFileUnlessTheDatabaseWasClosed) {
  const std::string path = World::kPath + "/STAGING", bytes = Bytes(path);
  for (const bool is_removed : {true, false}) {
    auto world = Copy();
    ASSERT_OK(is_removed ? world->files->Remove(path) : world->files->WriteWhole(path, bytes.substr(bytes.size() / 2)));
    EXPECT_EQ(Check(*world, path), !is_closed());
    if (is_closed()) continue;
    const std::string found = is_removed ? "missing" : std::to_string(bytes.size() / 2) + " bytes";
    EXPECT_THAT(world->Open(), StatusIs(Code::kCorruption, ::testing::HasSubstr("STAGING: " + found)));
    // What the message says to do opens it, without the commits that were in STAGING alone.
    ASSERT_OK(world->files->WriteWhole(path, std::string(bytes.size(), '\0')));
    ASSERT_OK_AND_ASSIGN(auto db, world->Open());
    ModelDb::Pairs shown;
    ASSERT_OK(ReadAll(*db, &shown));
    EXPECT_TRUE(model_.FindPrefix(shown, durable_, model_.commits()).has_value());
  }
}

TEST_P(DamageTest, NoticesDirectoriesInTheirPlace) {
  for (const std::string& path : Files()) {
    SCOPED_TRACE(path + " is a directory");
    auto world = Copy();
    ASSERT_OK(world->files->Remove(path));
    ASSERT_OK(world->files->CreateDirectory(path));
    Check(*world, path);
  }
}

TEST_P(DamageTest, NoticesSwappedFiles) {
  const std::vector<std::string> files = Files();
  for (size_t i = 0; i < files.size(); ++i) {
    for (size_t j = i + 1; j < files.size(); ++j) {
      SCOPED_TRACE(files[i] + " and " + files[j]);
      const std::string a = Bytes(files[i]), b = Bytes(files[j]);
      const bool are_kin = files[i].substr(files[i].size() - 4) == files[j].substr(files[j].size() - 4);
      if (!are_kin) continue;
      auto world = Copy();
      ASSERT_OK(world->files->WriteWhole(files[i], b));
      ASSERT_OK(world->files->WriteWhole(files[j], a));
      const bool showed = Check(*world, EndsWith(files[i], ".tbl") ? "tbl" : "");
      if (EndsWith(files[i], ".tbl")) {
        EXPECT_TRUE(showed);
      }
    }
  }
}

TEST_P(DamageTest, NoticesFilesOfAnotherTime) {
  World other({.seed = 77});
  auto opened = other.Open();
  ASSERT_OK(opened.status());
  for (int i = 0; i < 400; ++i) ASSERT_OK((*opened)->Put({}, "k" + std::to_string(i % 80), std::string(300, 'o')));
  ASSERT_OK((*opened)->Flush());
  ASSERT_OK((*opened)->Close());
  const auto foreign = other.files->Files();
  for (const std::string& path : Files()) {
    for (const std::string& source : foreign) {
      if (path.substr(path.size() - 4) != source.substr(source.size() - 4)) continue;
      if (!is_closed() && BaseName(path) == "STAGING") continue;
      SCOPED_TRACE(path + " replaced by another database's " + source);
      auto world = Copy();
      ASSERT_OK(world->files->WriteWhole(path, *other.files->ReadWhole(source)));
      Check(*world, EndsWith(path, ".tbl") ? path : "");
    }
  }
}

TEST_P(DamageTest, LeavesForeignFilesAlone) {
  World other({.seed = 78});
  { auto opened = other.Open(); ASSERT_OK(opened.status()); ASSERT_OK((*opened)->Put({.durability = Durability::kSynced}, "o", "o")); }
  std::string segment;
  for (const std::string& path : other.files->Files()) {
    if (EndsWith(path, ".seg")) segment = *other.files->ReadWhole(path);
  }
  ASSERT_NE(segment, "");
  auto world = Copy();
  const std::map<std::string, std::string> foreign = {
      {"/notes.txt", "mine"}, {"/CURRENT.bak", "x"},    {"/000001.sst", "s"},      {"/MANIFEST-", "m"},
      {"/1.tbl", "t"},        {"/000099.tbl.old", "o"}, {"/000900.seg", segment}, {"/LOCK.old", ""}};
  for (const auto& [name, bytes] : foreign) ASSERT_OK(world->files->WriteWhole(World::kPath + name, bytes));
  EXPECT_FALSE(Check(*world, ""));
  EXPECT_FALSE(Check(*world, ""));
  for (const auto& [name, bytes] : foreign) EXPECT_THAT(world->files->ReadWhole(World::kPath + name), IsOkAndHolds(bytes)) << name;
}

TEST_P(DamageTest, RefusesAFutureFormat) {
  for (const std::string& path : Files()) {
    if (path.find("MANIFEST") == std::string::npos) continue;
    std::string bytes = Bytes(path);
    for (const size_t at : {size_t{0}, size_t{32} << 10}) {  // both copies of the header
      base::StoreFixed32(bytes.data() + at + 16, 2);
      base::StoreFixed32(bytes.data() + at + 32, base::Crc32c(std::string_view(bytes).substr(at, 32)));
    }
    auto world = Copy();
    ASSERT_OK(world->files->WriteWhole(path, bytes));
    const uint64_t before = world->files->Fingerprint();
    EXPECT_THAT(world->Open(), StatusIs(Code::kNotSupported));
    EXPECT_EQ(world->files->Fingerprint(), before);
  }
}

// A long log is flushed piece by piece while it is replayed; that its end is damaged shows only then.
TEST(LongLog, LeavesNothingBehindWhenItsEndIsDamaged) {
  World world({.seed = 5});
  ASSERT_OK_AND_ASSIGN(auto db, world.Open());
  for (int i = 0; i < 300; ++i) ASSERT_OK(db->Put({}, "k" + std::to_string(i), std::string(1000, 'v')));
  ASSERT_OK(db->Put({.durability = Durability::kSynced}, "last", std::string(100, 'l')));
  ASSERT_OK(db->Close());
  int flips = 0;
  for (const std::string& path : world.files->Files()) {
    const std::string bytes = *world.files->ReadWhole(path);
    const size_t at = bytes.find("llllllll");
    if (at == std::string::npos || EndsWith(path, ".tbl")) continue;
    ASSERT_OK(world.files->FlipBit(path, at, 0));
    ++flips;
  }
  ASSERT_GT(flips, 0);
  const uint64_t before = world.files->Fingerprint();
  EXPECT_THAT(world.Open(), StatusIs(Code::kCorruption));
  EXPECT_EQ(world.files->Fingerprint(), before);
}

class OtherComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
  std::string_view Name() const override { return "test.other"; }
};

TEST_P(DamageTest, RefusesAnotherComparator) {
  OtherComparator other;
  auto world = Copy();
  Options options = world->SmallOptions();
  options.comparator = &other;
  const uint64_t before = world->files->Fingerprint();
  EXPECT_THAT(DB::Open(options, World::kPath), StatusIs(Code::kInvalidArgument));
  EXPECT_EQ(world->files->Fingerprint(), before);
}

INSTANTIATE_TEST_SUITE_P(Image, DamageTest, ::testing::Values(true, false),
                         [](const auto& each) { return each.param ? "Closed" : "Killed"; });

}  // namespace
}  // namespace mergedb::testing
