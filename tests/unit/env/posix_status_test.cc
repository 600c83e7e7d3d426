// Goal: each error of the system becomes the Status that the rest of the code decides by; calls that a signal
// interrupts are repeated. Method: each errno that the header names, and some that it does not.
#include "env/posix_status.h"

#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace mergedb::env {
namespace {

using testing::StatusIs;

TEST(PosixStatus, DecidesByErrno) {
  const auto code_of = [](int error) { return PosixStatus(error, "path", "open").code(); };
  EXPECT_EQ(code_of(ENOENT), Code::kNotFound);
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) EXPECT_EQ(code_of(error), Code::kNoSpace) << error;
  for (const int error : {EMFILE, ENFILE}) EXPECT_EQ(code_of(error), Code::kBusy) << error;
  EXPECT_EQ(code_of(EEXIST), Code::kInvalidArgument);
  for (const int error : {EIO, EROFS, EACCES, ELOOP, EPERM, ENOMEM, ENOTDIR, EINTR, EINVAL, 99'999})
    EXPECT_EQ(code_of(error), Code::kIOError) << error;
}

TEST(PosixStatus, SaysPathActAndPlace) {
  EXPECT_THAT(PosixStatus(ENOSPC, "db/000012.log", "pwrite", 4096, 8192),
              StatusIs(Code::kNoSpace, "db/000012.log: pwrite 4096 bytes at 8192: No space left on device"));
  EXPECT_THAT(PosixStatus(ENOENT, "x", "open"), StatusIs(Code::kNotFound, "x: open: No such file or directory"));
}

TEST(RetryOnSignal, RepeatsACallAsLongAsASignalInterruptsIt) {
  int calls = 0;
  EXPECT_EQ(RetryOnSignal([&] {
              errno = EINTR;
              return ++calls < 4 ? -1 : 7;
            }),
            7);
  EXPECT_EQ(calls, 4);
}

TEST(RetryOnSignal, RepeatsNoOtherCall) {
  int calls = 0;
  EXPECT_EQ(RetryOnSignal([&] {
              ++calls;
              errno = EIO;
              return -1;
            }),
            -1);
  EXPECT_EQ(errno, EIO);
  errno = EINTR;  // of an earlier call
  EXPECT_EQ(RetryOnSignal([&] { return ++calls, -1; }), -1);
  EXPECT_EQ(RetryOnSignal([&] { return ++calls, 0; }), 0);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace mergedb::env
