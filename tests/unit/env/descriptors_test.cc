// Goal: an open that finds no descriptor closes the idle files of the process and is repeated once; no other error does
// that; a cache that is gone is not asked. Method: calls that fail with a chosen errno.
#include "env/descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <optional>

namespace mergedb::env {
namespace {

// Fails with the errors in turn, then returns a descriptor.
class Opening {
 public:
  explicit Opening(std::vector<int> errors) : errors_(std::move(errors)) {}
  int operator()() {
    if (calls_ >= errors_.size()) {
      ++calls_;
      return kDescriptor;
    }
    errno = errors_[calls_++];
    return -1;
  }
  size_t calls() const { return calls_; }
  static constexpr int kDescriptor = 42;

 private:
  const std::vector<int> errors_;
  size_t calls_ = 0;
};

class DescriptorsTest : public ::testing::Test {
 protected:
  int closed_ = 0;
  std::optional<IdleFiles> idle_{std::in_place, [this] { ++closed_; }};
};

TEST_F(DescriptorsTest, AnOpenThatMeetsTheLimitIsRepeatedOnce) {
  for (const int error : {EMFILE, ENFILE}) {
    Opening opening({error});
    EXPECT_EQ(OpenMakingRoom([&] { return opening(); }), Opening::kDescriptor);
    EXPECT_EQ(opening.calls(), 2u);
  }
  EXPECT_EQ(closed_, 2);
  Opening in_vain({EMFILE, EMFILE});
  EXPECT_EQ(OpenMakingRoom([&] { return in_vain(); }), -1);
  EXPECT_EQ(errno, EMFILE);
  EXPECT_EQ(in_vain.calls(), 2u);
  EXPECT_EQ(closed_, 3);
}

TEST_F(DescriptorsTest, AnyOtherErrorClosesNothing) {
  for (const int error : {ENOENT, EACCES, ENOSPC}) {
    Opening opening({error});
    EXPECT_EQ(OpenMakingRoom([&] { return opening(); }), -1);
    EXPECT_EQ(errno, error);
    EXPECT_EQ(opening.calls(), 1u);
  }
  Opening opening({});
  EXPECT_EQ(OpenMakingRoom([&] { return opening(); }), Opening::kDescriptor);
  EXPECT_EQ(closed_, 0);
}

TEST_F(DescriptorsTest, ASignalIsNoError) {
  Opening opening({EINTR, EINTR, EMFILE, EINTR});
  EXPECT_EQ(OpenMakingRoom([&] { return opening(); }), Opening::kDescriptor);
  EXPECT_EQ(opening.calls(), 5u);
  EXPECT_EQ(closed_, 1);
}

TEST_F(DescriptorsTest, AProgramClosesAStreamWhileAFileIsOpened) {
  for (const int stream : {STDIN_FILENO, STDERR_FILENO}) {
    const int kept = fcntl(stream, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int fd = OpenMakingRoom([&] {
      close(stream);
      return open("/dev/zero", O_RDONLY | O_CLOEXEC);
    });
    EXPECT_GT(fd, STDERR_FILENO);
    char byte = 1;
    EXPECT_EQ(read(fd, &byte, 1), 1);
    EXPECT_EQ(byte, 0);
    EXPECT_EQ(fcntl(stream, F_GETFD), -1);
    close(fd);
    dup2(kept, stream);
    close(kept);
  }
}

TEST_F(DescriptorsTest, ACacheThatIsGoneIsNotAsked) {
  int other = 0;
  const IdleFiles second([&] { ++other; });
  CloseIdleFiles();
  EXPECT_EQ(closed_, 1);
  EXPECT_EQ(other, 1);
  idle_.reset();
  CloseIdleFiles();
  EXPECT_EQ(closed_, 1);
  EXPECT_EQ(other, 2);
}

TEST_F(DescriptorsTest, TheMaximumIsTheLimitOfTheProcess) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit lower = {.rlim_cur = limit.rlim_cur - 1, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  EXPECT_EQ(DescriptorsMax(), limit.rlim_cur - 1);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

}  // namespace
}  // namespace mergedb::env
