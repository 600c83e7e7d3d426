// Goal: a key whose value cannot be read never hides another key. An iterator reports it by failed_key() and
// continues after it, in both directions, in every keyspace, also through C; an export can skip it. Method:
// by example, then random keys and moves beside a model.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "db/db_impl.h"
#include "mergedb/db.h"
#include "mergedb/leveldb.h"
#include "mergedb/merge.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::testing::failed_keys_test {
namespace {

using ::testing::HasSubstr;

// The iterator's position: "key=value", "!key" for a failed key, "end", or a Status that belongs to no single
// key.
std::string Place(const Iterator& it) {
  if (it.Valid()) {
    EXPECT_OK(it.status());
    EXPECT_FALSE(it.failed_key());
    return std::string(it.key()) + "=" + std::string(it.value());
  }
  if (const auto failed = it.failed_key()) {
    EXPECT_FALSE(it.status().ok());
    return "!" + std::string(*failed);
  }
  return it.status().ok() ? "end" : it.status().ToString();
}

std::string All(DB& db, const IteratorOptions& options = {}) {
  std::string forward, backward;
  const auto it = db.NewIterator(options);
  for (it->SeekToFirst(); it->Valid() || it->failed_key(); it->Next()) forward += Place(*it) + " ";
  EXPECT_OK(it->status());
  for (it->SeekToLast(); it->Valid() || it->failed_key(); it->Prev()) backward.insert(0, Place(*it) + " ");
  EXPECT_OK(it->status());
  EXPECT_EQ(forward, backward);
  return forward;
}

class FailedKeys : public ::testing::Test {
 protected:
  void SetUp() override {
    auto db = sim_.Open();
    ASSERT_OK(db.status());
    db_ = std::move(*db);
  }
  // Gives `key` a value to which its operand cannot be applied.
  void Spoil(std::string_view key, Keyspace keyspace = {}) {
    WriteBatch batch;
    batch.Put(keyspace, key, "no number");
    batch.Merge(keyspace, key, merge::AddU64(1));
    ASSERT_OK(db_->Write({}, batch));
  }

  SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
};

TEST_F(FailedKeys, AreNamedAndPassedInBothDirections) {
  ASSERT_OK(db_->Put({}, "b", "1"));
  for (const char* key : {"a", "c", "d", "f"}) Spoil(key);
  ASSERT_OK(db_->Put({}, "e", "2"));
  const auto check = [&] {
    EXPECT_EQ(All(*db_), "!a b=1 !c !d e=2 !f ");
    EXPECT_EQ(All(*db_, {.lower = "b", .upper = "e"}), "b=1 !c !d ");
    const auto it = db_->NewIterator();
    it->Seek("c");
    EXPECT_EQ(Place(*it), "!c");
    EXPECT_THAT(it->status(), StatusIs(Code::kMergeFailed, HasSubstr("key \"c\"")));
    it->Prev();
    EXPECT_EQ(Place(*it), "b=1");
    it->Next();
    EXPECT_EQ(Place(*it), "!c");
    it->Next();
    it->Next();
    EXPECT_EQ(Place(*it), "e=2");
    it->Prev();
    EXPECT_EQ(Place(*it), "!d");
    it->Next();
    EXPECT_EQ(Place(*it), "e=2");
    it->SeekForPrev("c~");
    EXPECT_EQ(Place(*it), "!c");
    it->Seek("e");
    EXPECT_EQ(Place(*it), "e=2");
    it->SeekToLast();
    EXPECT_EQ(Place(*it), "!f");
    it->Next();
    EXPECT_EQ(Place(*it), "end");
    it->Next();
    EXPECT_EQ(Place(*it), "end");
  };
  check();
  ASSERT_OK(db_->Flush());
  check();
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  check();
  ASSERT_OK(db_->Put({}, "c", "healed"));
  EXPECT_EQ(All(*db_), "!a b=1 c=healed !d e=2 !f ");
}

TEST_F(FailedKeys, AreWholeToAnIteratorOverKeysAlone) {
  Spoil("a");
  ASSERT_OK(db_->Put({}, "b", "1"));
  EXPECT_EQ(All(*db_, {.keys_only = true}), "a= b= ");
}

TEST_F(FailedKeys, AreThoseWhoseOperatorIsMissing) {
  ASSERT_OK(db_->Merge({}, "a", merge::Named("nobody's", "x")));
  ASSERT_OK(db_->Put({}, "b", "1"));
  EXPECT_EQ(All(*db_), "!a b=1 ");
}

// The same for values in blob files: keys whose values are in other files are readable.
TEST_F(FailedKeys, AreThoseWhoseBlobFileIsGone) {
  db_ = nullptr;
  Options options = sim_.SmallOptions();
  options.write_buffer_bytes = 256 << 10;
  ASSERT_OK_AND_ASSIGN(db_, DB::Open(options, SimulatedEnv::kPath));
  constexpr int kValues = 300;  // enough for blob files of their own
  for (int i = 0; i < kValues; ++i) ASSERT_OK(db_->Put({}, "v" + std::to_string(1000 + i), std::string(100, 'v')));
  ASSERT_OK(db_->Put({}, "a", "1"));
  ASSERT_OK(db_->Put({}, "w", "2"));
  ASSERT_OK(db_->Close());
  ASSERT_OK_AND_ASSIGN(db_, DB::Open(options, SimulatedEnv::kPath));
  ASSERT_OK(db_->Flush());
  ASSERT_OK_AND_ASSIGN(const auto names, sim_.files->List(SimulatedEnv::kPath));
  const auto is_blob_file = [](const std::string& name) { return name.ends_with(".val"); };
  const auto blob_file = std::find_if(names.begin(), names.end(), is_blob_file);
  ASSERT_NE(blob_file, names.end());
  const std::string path = SimulatedEnv::kPath + "/" + *blob_file;
  ASSERT_OK(sim_.files->Remove(path));
  const auto it = db_->NewIterator();
  int failed = 0;
  std::string whole;
  for (it->SeekToFirst(); it->Valid() || it->failed_key(); it->Next()) {
    if (it->Valid()) {
      whole += it->key();
    } else {
      ++failed;
      EXPECT_THAT(it->status(), StatusIs(Code::kIOError, HasSubstr(path)));
    }
  }
  EXPECT_OK(it->status());
  EXPECT_EQ(failed, kValues);
  EXPECT_EQ(whole, "aw");
  std::string value;
  EXPECT_THAT(db_->Get({}, "v1000", &value), StatusIs(Code::kIOError, HasSubstr(path)));
}

// Symptom: a scan of the default keyspace ended with the error of a key of a named keyspace. Cause: the scan
// passes over the region of the named keyspaces by its first or last key, and reported that key's error as
// its own.
TEST_F(FailedKeys, OfANamedKeyspaceAreNoErrorOfTheDefaultOne) {
  ASSERT_OK_AND_ASSIGN(const Keyspace x, db_->CreateKeyspace("x"));
  ASSERT_OK_AND_ASSIGN(const Keyspace y, db_->CreateKeyspace("y"));
  ASSERT_OK(db_->Put({}, "k", "1"));
  ASSERT_OK(db_->Put({}, "\xff\xff\xff\xff", "2"));
  Spoil("a", x);
  ASSERT_OK(db_->Put({}, x, "b", "3"));
  Spoil("z", y);
  EXPECT_EQ(All(*db_), "k=1 \xff\xff\xff\xff=2 ");
  EXPECT_EQ(All(*db_, {.keyspace = x}), "!a b=3 ");
  EXPECT_EQ(All(*db_, {.keyspace = y}), "!z ");
  Spoil("\xff\xff\xff\xfe");
  Spoil("l");
  EXPECT_EQ(All(*db_), "k=1 !l !\xff\xff\xff\xfe \xff\xff\xff\xff=2 ");
  // The iterator that the LevelDB interface uses.
  ASSERT_OK(db_->Delete({}, "l"));
  ASSERT_OK(db_->Delete({}, "\xff\xff\xff\xfe"));
  const auto cursor = dynamic_cast<db::DbImpl&>(*db_).NewCursor({});
  std::string walked;
  for (cursor->internal().SeekToLast(); cursor->internal().Valid(); cursor->internal().Prev())
    walked += cursor->internal().entry().key;
  EXPECT_OK(cursor->internal().status());
  EXPECT_EQ(walked, "\xff\xff\xff\xffk");
}

TEST_F(FailedKeys, GoWithTheDatabase) {
  Spoil("a");
  const auto it = db_->NewIterator();
  it->SeekToFirst();
  EXPECT_EQ(Place(*it), "!a");
  ASSERT_OK(db_->Close());
  EXPECT_FALSE(it->failed_key());
  it->Next();
  EXPECT_THAT(it->status(), StatusIs(Code::kShuttingDown));
}

TEST_F(FailedKeys, AreLeftOutOfAnExportThatTakesThem) {
  for (const char* key : {"a", "c", "e"}) Spoil(key);
  ASSERT_OK(db_->Put({}, "b", "1"));
  ASSERT_OK(db_->Put({}, "d", "2"));
  EXPECT_THAT(ExportToLevelDb(*db_, sim_.SmallOptions(), "/out"), StatusIs(Code::kMergeFailed));
  std::string failed;
  LevelDbExportOptions options;
  options.on_failed_key = [&](std::string_view key, const Status& status) {
    EXPECT_THAT(status, StatusIs(Code::kMergeFailed));
    failed += key;
  };
  ASSERT_OK_AND_ASSIGN(const LevelDbExport exported, ExportToLevelDb(*db_, sim_.SmallOptions(), "/out", options));
  EXPECT_EQ(exported.entries, 2u);
  EXPECT_EQ(failed, "ace");
  ASSERT_OK_AND_ASSIGN(const auto converted, DB::Open(sim_.SmallOptions(), "/out"));
  EXPECT_EQ(All(*converted), "b=1 d=2 ");
}

// The expected contents by key: a value, or std::nullopt for a failed key.
using Model = std::map<std::string, std::optional<std::string>>;
std::string PlaceOf(const Model& model, Model::const_iterator at) {
  if (at == model.end()) return "end";
  return at->second ? at->first + "=" + *at->second : "!" + at->first;
}

// One random move of the iterator and of the model; `at` is the model's position.
void MoveBoth(base::Random& random, const Model& model, Iterator& it, Model::const_iterator* at) {
  const std::string key = "k" + std::to_string(random.Uniform(60));
  const auto before = [&](Model::const_iterator found) {
    return found == model.begin() ? model.end() : std::prev(found);
  };
  switch (random.Uniform(8)) {
    case 0:
      it.SeekToFirst();
      *at = model.begin();
      return;
    case 1:
      it.SeekToLast();
      *at = before(model.end());
      return;
    case 2:
      it.Seek(key);
      *at = model.lower_bound(key);
      return;
    case 3:
      it.SeekForPrev(key);
      *at = before(model.upper_bound(key));
      return;
    case 4:
    case 5:
      it.Next();
      if (*at != model.end()) ++*at;
      return;
    default:
      it.Prev();
      if (*at != model.end()) *at = before(*at);
  }
}

TEST_F(FailedKeys, AreWhereAListHasThemWhateverTheMoves) {
  const uint64_t seed = SeedOr(20261123);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  ASSERT_OK_AND_ASSIGN(const Keyspace named, db_->CreateKeyspace("named"));
  std::map<uint32_t, Model> models;
  for (uint64_t round = Sized(60, 600, 10); round > 0; --round) {
    const Keyspace keyspace = random.Uniform(2) == 0 ? Keyspace() : named;
    Model& model = models[keyspace.id()];
    for (uint64_t i = random.Uniform(12); i > 0; --i) {
      const std::string key = "k" + std::to_string(random.Uniform(60));
      const std::string value(random.Uniform(2) == 0 ? 3 : 100, static_cast<char>('a' + random.Uniform(26)));
      const uint64_t what = random.Uniform(10);
      if (what < 4) {
        ASSERT_OK(db_->Put({}, keyspace, key, value));
        model[key] = value;
      } else if (what < 6) {
        ASSERT_OK(db_->Delete({}, keyspace, key));
        model.erase(key);
      } else if (what < 9) {
        Spoil(key, keyspace);
        model[key] = std::nullopt;
      } else {
        ASSERT_OK(db_->Flush());
      }
    }
    const auto it = db_->NewIterator({.keyspace = keyspace});
    auto at = model.cend();
    for (int moves = 0; moves < 40; ++moves) {
      MoveBoth(random, model, *it, &at);
      ASSERT_EQ(Place(*it), PlaceOf(model, at));
    }
  }
}

// No descriptor is left: that is no failure of the key, and a loop over intact keys must not pass it over.
TEST_F(FailedKeys, BusyIsNotOfTheKey) {
  constexpr int kValues = 300;  // enough for blob files of their own
  for (int i = 0; i < kValues; ++i) ASSERT_OK(db_->Put({}, "key" + std::to_string(100 + i), std::string(1000, 'v')));
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ASSERT_OK(db_->Close());
  db_ = nullptr;
  ASSERT_OK_AND_ASSIGN(db_, sim_.Open());
  const auto it = db_->NewIterator();
  sim_.files->AddFault(
      {.op = FileOp::kOpen, .path_contains = ".val", .sticky = true, .status = Status::Busy("no descriptor is left")});
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(it->status().IsBusy()) << it->status().ToString();
  EXPECT_FALSE(it->failed_key());
  it->Next();
  EXPECT_FALSE(it->Valid());
  sim_.files->ClearFaults();
  int found = 0;
  const auto again = db_->NewIterator();
  for (again->SeekToFirst(); again->Valid(); again->Next()) ++found;
  EXPECT_OK(again->status());
  EXPECT_EQ(found, kValues);
}

// A scan of the default keyspace passes over the keys of named keyspaces, whatever is wrong with their values.
TEST_F(FailedKeys, BusyInANamedKeyspaceDoesNotStopAScanOfTheDefaultOne) {
  ASSERT_OK_AND_ASSIGN(const Keyspace named, db_->CreateKeyspace("named"));
  constexpr int kValues = 300;
  for (int i = 0; i < kValues; ++i)
    ASSERT_OK(db_->Put({}, named, "key" + std::to_string(100 + i), std::string(1000, 'v')));
  for (const char* key : {"a", "\xff\xff"}) ASSERT_OK(db_->Put({}, key, "1"));  // on both sides of the region
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ASSERT_OK(db_->Close());
  db_ = nullptr;
  ASSERT_OK_AND_ASSIGN(db_, sim_.Open());
  sim_.files->AddFault(
      {.op = FileOp::kOpen, .path_contains = ".val", .sticky = true, .status = Status::Busy("no descriptor is left")});
  EXPECT_EQ(All(*db_), "a=1 \xff\xff=1 ");
  sim_.files->ClearFaults();
}

}  // namespace
}  // namespace mergedb::testing::failed_keys_test
