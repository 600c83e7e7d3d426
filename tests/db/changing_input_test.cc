// Goal: a program whose other thread changes the bytes of a key, a value, an operand or a range during a call loses
// nothing but what it named: after a crash, all later writes are there. Method: calls with bytes that change all the
// time, a last write, and an open of a copy of the directory, which is what a killed process leaves.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "mergedb/db.h"
#include "mergedb/transaction.h"
#include "testing/changing_bytes.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

constexpr int kCalls = 300;

// Behind every range of the tests.
std::string LaterKey(int i) { return std::string(100, '\xff') + std::to_string(i); }

struct ChangingInput : ::testing::TestWithParam<bool> {
  // `call` makes one call. Its status may be an error: the bytes are not what they were when they were checked.
  void LosesNoLaterWrite(const std::function<void(DB& db)>& call) {
    const TempDirectory directory;
    const std::string path = directory / "db", copy = directory / "copy";
    const Options options{.use_mapped_wal_buffer = GetParam()};
    {
      const auto db = DB::Open(options, path);
      ASSERT_OK(db.status());
      for (int i = 0; i < kCalls; ++i) {
        call(**db);
        ASSERT_OK((*db)->Put({}, LaterKey(i), "1"));
      }
      std::filesystem::copy(path, copy, std::filesystem::copy_options::recursive);
    }
    const auto db = DB::Open(options, copy);
    ASSERT_OK(db.status());
    std::string value;
    for (int i = 0; i < kCalls; ++i) ASSERT_OK((*db)->Get({}, LaterKey(i), &value)) << i;
    ASSERT_OK((*db)->Flush());
    EXPECT_OK((*db)->CheckIntegrity());
  }
};

TEST_P(ChangingInput, Value) {
  for (const size_t bytes : {40, 1000, 20'000}) {
    const ChangingBytes value(bytes);
    LosesNoLaterWrite([&](DB& db) { EXPECT_OK(db.Put({}, "key", value.view())); });
  }
}

// The keys that a changing one passes through stay where they are, and their newest version is found: by its hash
// before the flush, by its place in key order afterwards.
TEST_P(ChangingInput, KeyHidesNoOtherKey) {
  for (const size_t bytes : {16, 300}) {
    const TempDirectory directory;
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({.use_mapped_wal_buffer = GetParam()}, directory / "db"));
    const auto key_of = [&](int byte) { return std::string(bytes, static_cast<char>(byte)); };
    for (int byte = 1; byte < 256; ++byte) ASSERT_OK(db->Put({}, key_of(byte), "1"));
    const ChangingBytes key(bytes);
    for (int i = 0; i < 20'000; ++i) ASSERT_OK(db->Put({}, key.view(), std::to_string(i)));
    std::string before[256], after[256];
    for (int byte = 1; byte < 256; ++byte) EXPECT_OK(db->Get({}, key_of(byte), &before[byte])) << byte;
    ASSERT_OK(db->Flush());
    for (int byte = 1; byte < 256; ++byte) {
      EXPECT_OK(db->Get({}, key_of(byte), &after[byte])) << byte;
      EXPECT_EQ(before[byte], after[byte]) << byte;
    }
  }
}

TEST_P(ChangingInput, Key) {
  const ChangingBytes key(300);
  LosesNoLaterWrite([&](DB& db) {
    EXPECT_OK(db.Put({}, key.view(), "1"));
    EXPECT_OK(db.Delete({}, key.view()));
  });
}

TEST_P(ChangingInput, Range) {
  const ChangingBytes begin(20), end(20);
  LosesNoLaterWrite([&](DB& db) { (void)db.DeleteRange({}, begin.view(), end.view()); });
}

TEST_P(ChangingInput, Operand) {
  const ChangingBytes operand(20);
  LosesNoLaterWrite([&](DB& db) { (void)db.Merge({}, "merged", operand.view()); });
}

TEST_P(ChangingInput, BatchAndTransaction) {
  const ChangingBytes value(1000);
  LosesNoLaterWrite([&](DB& db) {
    WriteBatch batch;
    batch.Put("batch", value.view());
    EXPECT_OK(db.Write({}, batch));
    const auto transaction = Transaction::Begin(db);
    ASSERT_OK(transaction.status());
    EXPECT_OK((*transaction)->Put("transaction", value.view()));
    EXPECT_OK((*transaction)->Commit());
  });
}

INSTANTIATE_TEST_SUITE_P(WalBuffer, ChangingInput, ::testing::Bool(),
                         [](const auto& each) { return each.param ? "Mapped" : "InMemory"; });

}  // namespace
}  // namespace mergedb::testing
