// What can never work is refused, by a code that says so, before anything is read, written or handed out: NULL where something is needed,
// fields out of range, structures of unknown size, keys and values beyond the limits, calls to a closed or read-only database.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>

#include "mergedb/c.h"
#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "testing/reverse_comparator.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

class Arguments : public ::testing::Test {
 protected:
  std::string path() const { return directory_ / "db"; }

  void Refuse(mergedb_code code, const char* what) {
    EXPECT_EQ(code, MERGEDB_INVALID_ARGUMENT) << what << ": " << error_.message;
    EXPECT_NE(error_.message[0], '\0') << what;
    EXPECT_EQ(error_.outcome_unknown, 0) << what;
  }

  const TempDirectory directory_;
  mergedb_error error_ = {};
};
#define REFUSED(call) Refuse(call, #call)

TEST_F(Arguments, OfCFunctionsMayNotBeNullWhereSomethingIsNeeded) {
  mergedb_db db = 0;
  REFUSED(mergedb_open(nullptr, nullptr, &db, &error_));
  REFUSED(mergedb_open(path().c_str(), nullptr, nullptr, &error_));
  ASSERT_EQ(mergedb_open(path().c_str(), nullptr, &db, &error_), MERGEDB_OK) << error_.message;

  REFUSED(mergedb_put(db, nullptr, nullptr, 3, "v", 1, &error_));
  REFUSED(mergedb_put(db, nullptr, "k", 1, nullptr, 3, &error_));
  REFUSED(mergedb_delete(db, nullptr, nullptr, 3, &error_));
  mergedb_batch batch = 0;
  REFUSED(mergedb_batch_create(nullptr, &error_));
  ASSERT_EQ(mergedb_batch_create(&batch, &error_), MERGEDB_OK);
  REFUSED(mergedb_batch_put(batch, nullptr, 3, "v", 1, &error_));
  REFUSED(mergedb_batch_put(batch, "k", 1, nullptr, 3, &error_));
  REFUSED(mergedb_batch_delete(batch, nullptr, 3, &error_));
  EXPECT_EQ(mergedb_batch_close(batch, &error_), MERGEDB_OK);

  void* value = nullptr;
  size_t size = 0;
  int32_t code = 0;
  char buffer[4];
  const mergedb_slice bad = {nullptr, 3}, good = {"k", 1};
  REFUSED(mergedb_get(db, nullptr, nullptr, 3, &value, &size, &error_));
  REFUSED(mergedb_get(db, nullptr, "k", 1, nullptr, &size, &error_));
  REFUSED(mergedb_get(db, nullptr, "k", 1, &value, nullptr, &error_));
  REFUSED(mergedb_get_into(db, nullptr, nullptr, 3, buffer, 4, &size, &error_));
  REFUSED(mergedb_get_into(db, nullptr, "k", 1, nullptr, 4, &size, &error_));
  REFUSED(mergedb_get_into(db, nullptr, "k", 1, buffer, 4, nullptr, &error_));
  REFUSED(mergedb_multi_get(db, nullptr, nullptr, 1, &value, &size, &code, &error_));
  REFUSED(mergedb_multi_get(db, nullptr, &bad, 1, &value, &size, &code, &error_));
  REFUSED(mergedb_multi_get(db, nullptr, &good, 1, nullptr, &size, &code, &error_));
  REFUSED(mergedb_multi_get(db, nullptr, &good, 1, &value, nullptr, &code, &error_));
  REFUSED(mergedb_multi_get(db, nullptr, &good, 1, &value, &size, nullptr, &error_));

  mergedb_snapshot snapshot = 0;
  REFUSED(mergedb_snapshot_create(db, nullptr, &error_));
  ASSERT_EQ(mergedb_snapshot_create(db, &snapshot, &error_), MERGEDB_OK);
  REFUSED(mergedb_snapshot_sequence(snapshot, nullptr, &error_));
  EXPECT_EQ(mergedb_snapshot_close(snapshot, &error_), MERGEDB_OK);
  mergedb_iterator it = 0;
  REFUSED(mergedb_iterator_create(db, nullptr, nullptr, &error_));
  ASSERT_EQ(mergedb_iterator_create(db, nullptr, &it, &error_), MERGEDB_OK);
  REFUSED(mergedb_iterator_seek(it, nullptr, 3, &error_));
  REFUSED(mergedb_iterator_seek_for_prev(it, nullptr, 3, &error_));
  EXPECT_EQ(mergedb_iterator_close(it, &error_), MERGEDB_OK);

  uint64_t bytes = 0;
  char* text = nullptr;
  REFUSED(mergedb_compact_range(db, &bad, nullptr, &error_));
  REFUSED(mergedb_compact_range(db, nullptr, &bad, &error_));
  REFUSED(mergedb_approximate_sizes(db, nullptr, &good, 1, &bytes, &error_));
  REFUSED(mergedb_approximate_sizes(db, &good, nullptr, 1, &bytes, &error_));
  REFUSED(mergedb_approximate_sizes(db, &good, &good, 1, nullptr, &error_));
  REFUSED(mergedb_approximate_sizes(db, &bad, &good, 1, &bytes, &error_));
  REFUSED(mergedb_approximate_sizes(db, &good, &bad, 1, &bytes, &error_));
  REFUSED(mergedb_get_property(db, nullptr, &text, &error_));
  REFUSED(mergedb_get_property(db, "mergedb.stats", nullptr, &error_));
  EXPECT_EQ(mergedb_close(db, &error_), MERGEDB_OK);
  REFUSED(mergedb_destroy(nullptr, &error_));
}

TEST_F(Arguments, OfOptionsMayNotBeOutOfRange) {
  mergedb_db db = 0;
  mergedb_options plain = {};
  plain.struct_size = sizeof plain;
  mergedb_comparator nameless = {};
  nameless.struct_size = sizeof nameless;
  mergedb_comparator sizeless = {};
  const std::vector<std::function<void(mergedb_options*)>> mistakes = {
      [](mergedb_options* o) { o->struct_size = 3; },          [](mergedb_options* o) { o->struct_size = size_t{1} << 40; },
      [](mergedb_options* o) { o->mode = 99; },                [](mergedb_options* o) { o->style = -1; },
      [](mergedb_options* o) { o->compression_upper = 99; },   [](mergedb_options* o) { o->compression_bottom = -7; },
      [](mergedb_options* o) { o->bloom_bits_per_key = 999; }, [](mergedb_options* o) { o->open_tables_max = -1; },
      [](mergedb_options* o) { o->block_bytes = 7; },          [](mergedb_options* o) { o->finish_merges_on_close = 9; },
      [](mergedb_options* o) { o->use_mapped_staging = -3; },  [](mergedb_options* o) { o->write_buffer_bytes = 1; },
      [&](mergedb_options* o) { o->comparator = &nameless; },  [&](mergedb_options* o) { o->comparator = &sizeless; },
  };
  for (size_t i = 0; i < mistakes.size(); ++i) {
    mergedb_options options = plain;
    mistakes[i](&options);
    EXPECT_EQ(mergedb_open(path().c_str(), &options, &db, &error_), MERGEDB_INVALID_ARGUMENT) << "mistake " << i << ": " << error_.message;
    EXPECT_EQ(db, 0u);
  }
  EXPECT_FALSE(std::filesystem::exists(path()));

  ASSERT_EQ(mergedb_open(path().c_str(), &plain, &db, &error_), MERGEDB_OK) << error_.message;
  mergedb_write_options write = {};
  REFUSED(mergedb_put(db, &write, "k", 1, "v", 1, &error_));
  write.struct_size = sizeof write;
  write.durability = 17;
  REFUSED(mergedb_put(db, &write, "k", 1, "v", 1, &error_));
  write.durability = 0;
  write.keyspace = 77;  // there is none
  REFUSED(mergedb_delete(db, &write, "k", 1, &error_));
  void* value = nullptr;
  size_t size = 0;
  mergedb_read_options read = {};
  REFUSED(mergedb_get(db, &read, "k", 1, &value, &size, &error_));
  read.struct_size = sizeof read;
  read.verify_checksums = 9;
  REFUSED(mergedb_get(db, &read, "k", 1, &value, &size, &error_));
  read.verify_checksums = 0;
  read.fill_cache = 9;
  REFUSED(mergedb_get(db, &read, "k", 1, &value, &size, &error_));
  read.fill_cache = 0;

  mergedb_iterator it = 0;
  const mergedb_slice bad = {nullptr, 3};
  mergedb_iterator_options walk = {};
  REFUSED(mergedb_iterator_create(db, &walk, &it, &error_));
  walk.struct_size = sizeof walk;
  walk.prefix = bad;
  REFUSED(mergedb_iterator_create(db, &walk, &it, &error_));
  walk.prefix = {};
  walk.lower = &bad;
  REFUSED(mergedb_iterator_create(db, &walk, &it, &error_));
  walk.lower = nullptr;
  walk.upper = &bad;
  REFUSED(mergedb_iterator_create(db, &walk, &it, &error_));
  EXPECT_EQ(mergedb_close(db, &error_), MERGEDB_OK);
}

// The bytes behind these views are never looked at: the size alone decides.
TEST_F(Arguments, BeyondTheLimitsAreRefusedBeforeAByteIsWritten) {
  auto opened = DB::Open({}, path());
  ASSERT_OK(opened.status());
  DB& db = **opened;
  const std::string_view long_key("k", kKeyBytesMax + 1), long_value("v", kValueBytesMax + 1);
  EXPECT_TRUE(db.Put({}, long_key, "v").IsInvalidArgument());
  EXPECT_TRUE(db.Put({}, "k", long_value).IsInvalidArgument());
  EXPECT_TRUE(db.Delete({}, long_key).IsInvalidArgument());
  EXPECT_TRUE(db.DeleteRange({}, long_key, long_key).IsInvalidArgument());
  EXPECT_TRUE(db.DeleteRange({}, "k", long_key).IsInvalidArgument());
  EXPECT_TRUE(db.Merge({}, long_key, merge::AddU64(1)).IsInvalidArgument());
  EXPECT_TRUE(db.Merge({}, "k", long_value).IsInvalidArgument());
  WriteBatch batch;
  batch.Put(std::string(kKeyBytesMax + 1, 'k'), "v");
  EXPECT_TRUE(db.Write({}, batch).IsInvalidArgument());
  EXPECT_OK(db.Put({}, std::string(kKeyBytesMax, 'k'), "v"));
  std::string value;
  EXPECT_OK(db.Get({}, std::string(kKeyBytesMax, 'k'), &value));
}

TEST_F(Arguments, MeetAClosedOrReadOnlyDatabase) {
  WriteBatch batch;
  batch.Put("k", "v");
  {
    auto db = DB::Open({}, path());
    ASSERT_OK(db.status());
    EXPECT_OK((*db)->Write({}, batch));
    EXPECT_OK((*db)->Close());
    EXPECT_OK((*db)->Close());
    std::string value;
    EXPECT_EQ((*db)->Put({}, "k", "v").code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->Delete({}, "k").code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->Merge({}, "k", merge::AddU64(1)).code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->Write({}, batch).code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->Get({}, "k", &value).code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->Flush().code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->SyncLog().code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->CheckIntegrity().code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->WaitForCompaction().code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->CompactRange(nullptr, nullptr).code(), Code::kShuttingDown);
    EXPECT_EQ((*db)->NewIterator()->status().code(), Code::kShuttingDown);
  }
  auto db = DB::Open({.mode = OpenMode::kReadOnly}, path());
  ASSERT_OK(db.status());
  EXPECT_EQ((*db)->Put({}, "k", "w").code(), Code::kNotSupported);
  EXPECT_EQ((*db)->Delete({}, "k").code(), Code::kNotSupported);
  EXPECT_EQ((*db)->Merge({}, "k", merge::AddU64(1)).code(), Code::kNotSupported);
  EXPECT_EQ((*db)->Write({}, batch).code(), Code::kNotSupported);
  EXPECT_EQ((*db)->Flush().code(), Code::kNotSupported);
  EXPECT_EQ((*db)->SyncLog().code(), Code::kNotSupported);
  std::string value;
  EXPECT_OK((*db)->Get({}, "k", &value));
  EXPECT_OK((*db)->Close());
}

TEST_F(Arguments, APrefixNeedsTheBytewiseComparator) {
  const ReverseComparator backwards;
  auto db = DB::Open({.comparator = &backwards}, path());
  ASSERT_OK(db.status());
  const auto it = (*db)->NewIterator({.prefix = "a"});
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(it->status().IsInvalidArgument()) << it->status().ToString();
}

TEST_F(Arguments, OfADestroyOrAnOpenMayNameNoDatabase) {
  Options bad;
  bad.block_bytes = 1;
  EXPECT_TRUE(DB::Destroy(bad, path()).IsInvalidArgument());
  EXPECT_TRUE(DB::Open(bad, path()).error().IsInvalidArgument());
  EXPECT_TRUE(DB::Destroy({}, path()).IsNotFound());
  EXPECT_TRUE(DB::Open({.mode = OpenMode::kMustExist}, path()).error().IsNotFound());
  EXPECT_TRUE(DB::Open({.mode = OpenMode::kReadOnly}, path()).error().IsNotFound());
}

}  // namespace
}  // namespace mergedb::testing
