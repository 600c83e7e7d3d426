// Goal: leveldb::Status has LevelDB's layout and texts: programs were compiled against the layout and compare the
// texts. Method: the bytes of statuses of every kind.
#include "leveldb/status.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

namespace leveldb {
namespace {

// The array that the status points to.
char* StateOf(const Status& status) {
  char* state = nullptr;
  static_assert(sizeof status == sizeof state);
  std::memcpy(&state, &status, sizeof state);
  return state;
}

TEST(Status, EveryKindHasItsCodeItsPredicateAndItsText) {
  struct Kind {
    Status status;
    char code;
    bool (Status::*is)() const;
    std::string text;
  };
  const Kind kinds[] = {{Status::NotFound("k", "v"), 1, &Status::IsNotFound, "NotFound: k: v"},
                        {Status::Corruption("k", "v"), 2, &Status::IsCorruption, "Corruption: k: v"},
                        {Status::NotSupported("k", "v"), 3, &Status::IsNotSupportedError, "Not implemented: k: v"},
                        {Status::InvalidArgument("k", "v"), 4, &Status::IsInvalidArgument, "Invalid argument: k: v"},
                        {Status::IOError("k", "v"), 5, &Status::IsIOError, "IO error: k: v"}};
  for (const Kind& kind : kinds) {
    EXPECT_EQ(kind.status.ToString(), kind.text);
    EXPECT_FALSE(kind.status.ok());
    EXPECT_EQ(StateOf(kind.status)[4], kind.code);
    for (const Kind& other : kinds) EXPECT_EQ((kind.status.*other.is)(), kind.code == other.code) << kind.text;
  }
}

TEST(Status, SuccessIsANullPointer) {
  for (const Status& status : {Status(), Status::OK()}) {
    EXPECT_EQ(StateOf(status), nullptr);
    EXPECT_TRUE(status.ok());
    EXPECT_EQ(status.ToString(), "OK");
    EXPECT_FALSE(status.IsNotFound() || status.IsCorruption() || status.IsIOError());
  }
}

TEST(Status, TheMessageHasItsLengthBeforeIt) {
  const Status status = Status::IOError("file", "why");
  uint32_t bytes = 0;
  std::memcpy(&bytes, StateOf(status), sizeof bytes);
  EXPECT_EQ(std::string(StateOf(status) + 5, bytes), "file: why");
  const std::string with_zeros("a\0b", 3);
  EXPECT_EQ(Status::Corruption(with_zeros).ToString(), "Corruption: " + with_zeros);
  EXPECT_EQ(Status::Corruption("").ToString(), "Corruption: ");
  EXPECT_EQ(Status::Corruption("", "more").ToString(), "Corruption: : more");
  EXPECT_EQ(Status::Corruption("no more", "").ToString(), "Corruption: no more");
}

TEST(Status, ACodeOfALaterLevelDbHasAText) {
  const Status status = Status::IOError("what");
  StateOf(status)[4] = 9;
  EXPECT_EQ(status.ToString(), "Unknown code(9): what");
  EXPECT_FALSE(status.ok() || status.IsIOError());
}

TEST(Status, CopiesAreTheirOwnAndMovesLeaveSuccessOrTheOther) {
  Status first = Status::NotFound("first");
  Status copy = first;
  EXPECT_NE(StateOf(copy), StateOf(first));
  first = Status::Corruption("second");
  EXPECT_EQ(copy.ToString(), "NotFound: first");
  const Status& same = copy;
  copy = same;
  EXPECT_EQ(copy.ToString(), "NotFound: first");
  Status moved = std::move(copy);
  EXPECT_EQ(moved.ToString(), "NotFound: first");
  copy = Status();
  moved = copy;
  EXPECT_TRUE(moved.ok());
}

}  // namespace
}  // namespace leveldb
