// Matchers and macros for a Status or a Result. A failure prints the whole message:
//
//     ASSERT_OK(db->Put({}, "k", "v"));
//     EXPECT_THAT(db->Get({}, "k"), IsOkAndHolds("v"));
//     EXPECT_THAT(file->Sync(), StatusIs(Code::kIOError));
//     EXPECT_THAT(Open(path), StatusIs(Code::kCorruption, HasSubstr("000012")));
//     ASSERT_OK_AND_ASSIGN(auto file, fs.Open(path, {}));
#pragma once

#include <ostream>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mergedb/result.h"
#include "mergedb/status.h"

namespace mergedb {

// GoogleTest finds these functions by argument-dependent lookup.
inline void PrintTo(const Status& status, std::ostream* out) { *out << status.ToString(); }
inline void PrintTo(Code code, std::ostream* out) { *out << CodeName(code); }
template <typename T>
void PrintTo(const Result<T>& result, std::ostream* out) {
  if (result.has_value()) {
    *out << "OK: " << ::testing::PrintToString(result.value());
  } else {
    *out << result.error().ToString();
  }
}

}  // namespace mergedb

namespace mergedb::testing {

inline const Status& StatusOf(const Status& status) { return status; }
template <typename T>
Status StatusOf(const Result<T>& result) {
  return result.status();
}

MATCHER(IsOk, negation ? "is not OK" : "is OK") { return StatusOf(arg).ok(); }

MATCHER_P(StatusIs, code, "is " + std::string(CodeName(code))) { return StatusOf(arg).code() == code; }

MATCHER_P2(StatusIs, code, message, "is " + std::string(CodeName(code)) + " with such a message") {
  const Status& status = StatusOf(arg);
  if (status.code() != code) return false;
  return ::testing::ExplainMatchResult(message, std::string(status.message()), result_listener);
}

MATCHER_P(IsOkAndHolds, value, "is OK and holds a value that " + ::testing::PrintToString(value)) {
  return arg.has_value() && ::testing::ExplainMatchResult(value, arg.value(), result_listener);
}

}  // namespace mergedb::testing

#define EXPECT_OK(expr) EXPECT_THAT((expr), ::mergedb::testing::IsOk())
#define ASSERT_OK(expr) ASSERT_THAT((expr), ::mergedb::testing::IsOk())

// Unwraps a Result or fails the test. For functions that return void.
#define ASSERT_OK_AND_ASSIGN(target, expr) ASSERT_OK_AND_ASSIGN_INNER(MERGEDB_CONCAT(outcome_, __LINE__), target, expr)
#define ASSERT_OK_AND_ASSIGN_INNER(outcome, target, expr) \
  auto outcome = (expr);                                  \
  ASSERT_OK(outcome);                                     \
  target = std::move(outcome).value()
