// Goal: a Status reports its code and message, survives copies and moves, and costs nothing if it is OK.
#include "mergedb/status.h"

#include <gtest/gtest.h>

#include "mergedb/result.h"

namespace mergedb {
namespace {

static_assert(sizeof(Status) == sizeof(void*));

TEST(Status, DefaultIsOk) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), Code::kOk);
  EXPECT_EQ(status.message(), "");
  EXPECT_EQ(status.ToString(), "OK");
}

TEST(Status, SaysCodeAndMessage) {
  const Status status = Status::Corruption("000012.tbl: block at 4096");
  EXPECT_FALSE(status.ok());
  EXPECT_TRUE(status.IsCorruption());
  EXPECT_FALSE(status.IsNotFound());
  EXPECT_EQ(status.ToString(), "Corruption: 000012.tbl: block at 4096");
}

TEST(Status, EveryFactoryMakesItsOwnCode) {
  EXPECT_EQ(Status::NotFound("").code(), Code::kNotFound);
  EXPECT_EQ(Status::Corruption("").code(), Code::kCorruption);
  EXPECT_EQ(Status::InvalidArgument("").code(), Code::kInvalidArgument);
  EXPECT_EQ(Status::NotSupported("").code(), Code::kNotSupported);
  EXPECT_EQ(Status::IOError("").code(), Code::kIOError);
  EXPECT_EQ(Status::NoSpace("").code(), Code::kNoSpace);
  EXPECT_EQ(Status::Busy("").code(), Code::kBusy);
  EXPECT_EQ(Status::Conflict("").code(), Code::kConflict);
  EXPECT_EQ(Status::Aborted("").code(), Code::kAborted);
  EXPECT_EQ(Status::ShuttingDown("").code(), Code::kShuttingDown);
  EXPECT_EQ(Status::MergeFailed("").code(), Code::kMergeFailed);
}

TEST(Status, CopiesAreEqualAndIndependent) {
  Status source = Status::IOError("disk");
  Status copy = source;
  source = Status::Busy("lock");
  EXPECT_EQ(copy.ToString(), "IOError: disk");
  copy = source;
  EXPECT_EQ(copy.ToString(), "Busy: lock");
  copy = Status();
  EXPECT_TRUE(copy.ok());
  const Status& same = source;
  source = same;
  EXPECT_EQ(source.ToString(), "Busy: lock");
}

TEST(Status, ContextGoesBeforeTheMessageAndLeavesOkAlone) {
  EXPECT_EQ(Status::NotFound("gone").WithContext("CURRENT").ToString(), "NotFound: CURRENT: gone");
  EXPECT_TRUE(Status().WithContext("CURRENT").ok());
}

TEST(Status, OutcomeUnknownIsKeptByCopiesAndContext) {
  EXPECT_FALSE(Status::IOError("fsync").outcome_unknown());
  const Status status = Status::IOError("fsync").WithOutcomeUnknown().WithContext("log");
  EXPECT_TRUE(status.outcome_unknown());
  EXPECT_TRUE(Status(status).outcome_unknown());
  EXPECT_EQ(status.ToString(), "IOError: log: fsync (outcome unknown)");
  EXPECT_FALSE(Status().WithOutcomeUnknown().outcome_unknown());
}

TEST(StatusDeathTest, MakingAFailureWithoutACodeIsABug) {
  EXPECT_DEATH((void)Status::Make(Code::kOk, "fine"), "a failed status needs a code");
}

Result<std::unique_ptr<int>> Half(int value) {
  if (value % 2 != 0) return Status::InvalidArgument("odd");
  return std::make_unique<int>(value / 2);
}

Status Quarter(int value, int* quarter) {
  ASSIGN_OR_RETURN(const auto half, Half(value));
  ASSIGN_OR_RETURN(const auto result, Half(*half));
  RETURN_IF_ERROR(Status());
  *quarter = *result;
  return {};
}

TEST(Result, MacrosUnwrapOrReturnTheError) {
  int quarter = 0;
  EXPECT_TRUE(Quarter(12, &quarter).ok());
  EXPECT_EQ(quarter, 3);
  EXPECT_TRUE(Quarter(6, &quarter).IsInvalidArgument());
  EXPECT_TRUE(Half(3).status().IsInvalidArgument());
  EXPECT_TRUE(Half(4).status().ok());
}

}  // namespace
}  // namespace mergedb
