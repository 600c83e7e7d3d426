// Goal: stored keys have the order of LMDB's flags and come back; keys have LMDB's sizes; a failed write leaves the
// transaction usable only where LMDB does. Method: handles without an environment; sizes on both sides of each limit.
#include <gtest/gtest.h>

#include <cstring>

#include "lmdb/handles.h"

namespace mergedb::lmdb {
namespace {

template <typename Number>
std::string Bytes(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

std::string Stored(unsigned flags, std::string_view key) {
  Slot slot;
  slot.flags = flags;
  std::string scratch;
  return std::string(StoredKey(slot, key, &scratch));
}

TEST(LmdbStoredKeys, OfIntegersAreInTheOrderOfNumbers) {
  const size_t sizes[] = {0, 1, 255, 256, 257, 65'536, size_t{1} << 40, SIZE_MAX};
  for (size_t i = 1; i < std::size(sizes); ++i)
    EXPECT_LT(Stored(MDB_INTEGERKEY, Bytes(sizes[i - 1])), Stored(MDB_INTEGERKEY, Bytes(sizes[i]))) << sizes[i];
  EXPECT_LT(Stored(MDB_INTEGERKEY, Bytes(255u)), Stored(MDB_INTEGERKEY, Bytes(256u)));
}

TEST(LmdbStoredKeys, OfReversedKeysAreComparedFromTheirEnds) {
  EXPECT_LT(Stored(MDB_REVERSEKEY, "za"), Stored(MDB_REVERSEKEY, "ab"));
  EXPECT_EQ(Stored(MDB_REVERSEKEY, "abc"), "cba");
  EXPECT_EQ(Stored(MDB_REVERSEKEY, ""), "");
}

TEST(LmdbStoredKeys, ComeBack) {
  for (const unsigned flags : {0u, unsigned{MDB_REVERSEKEY}, unsigned{MDB_INTEGERKEY}, unsigned{MDB_DUPSORT}})
    EXPECT_EQ(Stored(flags, Stored(flags, "12345678")), "12345678") << flags;
}

TEST(LmdbStoredKeys, WithoutFlagsAreTheKeysThemselves) {
  const Slot slot;
  std::string scratch;
  const std::string_view key = "key";
  EXPECT_EQ(StoredKey(slot, key, &scratch).data(), key.data());
}

TEST(LmdbKeys, HaveAtMostTheirLimitAndAreNotEmpty) {
  std::string bytes(kKeyBytesMax + 1, 'k');
  const auto check = [&](unsigned flags, size_t size) {
    Slot slot;
    slot.flags = flags;
    const MDB_val key{size, bytes.data()};
    return CheckKey(slot, &key);
  };
  EXPECT_EQ(check(0, 0), MDB_BAD_VALSIZE);
  EXPECT_EQ(check(0, 1), 0);
  EXPECT_EQ(check(0, kKeyBytesMax), 0);
  EXPECT_EQ(check(0, kKeyBytesMax + 1), MDB_BAD_VALSIZE);
  for (size_t size = 0; size < 12; ++size)
    EXPECT_EQ(check(MDB_INTEGERKEY, size), size == 4 || size == 8 ? 0 : MDB_BAD_VALSIZE) << size;
}

TEST(LmdbKeys, ThatAreSoughtMayBeOfAnySizeButNone) {
  std::string bytes(kKeyBytesMax + 1, 'k');
  MDB_val key{bytes.size(), bytes.data()};
  EXPECT_EQ(CheckWantedKey(&key), 0);
  key.mv_size = 0;
  EXPECT_EQ(CheckWantedKey(&key), MDB_BAD_VALSIZE);
  key = {1, nullptr};
  EXPECT_EQ(CheckWantedKey(&key), MDB_BAD_VALSIZE);
}

TEST(LmdbFailedWrites, EndTheTransactionUnlessTheyAreTheCallersFault) {
  const auto fail = [](const Status& status, TxnState* state) {
    MDB_txn txn;
    const int code = WriteFailed(&txn, status);
    *state = txn.state;
    return code;
  };
  TxnState state{};
  EXPECT_EQ(fail(Status::NoSpace(""), &state), MDB_TXN_FULL);
  EXPECT_EQ(state, TxnState::kOpen);
  EXPECT_EQ(fail(Status::InvalidArgument(""), &state), MDB_BAD_VALSIZE);
  EXPECT_EQ(state, TxnState::kOpen);
  EXPECT_EQ(fail(Status::IOError(""), &state), EIO);
  EXPECT_EQ(state, TxnState::kFailed);
}

TEST(LmdbComparisons, OfDataAreBytewiseAndOfNothingEqual) {
  std::string a = "a", ab = "ab";
  const MDB_val first{a.size(), a.data()}, second{ab.size(), ab.data()};
  EXPECT_LT(mdb_dcmp(nullptr, 0, &first, &second), 0);
  EXPECT_GT(mdb_dcmp(nullptr, 0, &second, &first), 0);
  EXPECT_EQ(mdb_dcmp(nullptr, 0, &first, &first), 0);
  EXPECT_EQ(mdb_dcmp(nullptr, 0, nullptr, &first), 0);
  EXPECT_EQ(mdb_cmp(nullptr, kMainDbi, &first, &second), 0);
}

}  // namespace
}  // namespace mergedb::lmdb
