// Goal: the real file system keeps the contract of env.h, also in the difficult cases. Method: a temporary
// directory, and each difficult case made real: a FIFO, a symlink, a full descriptor table, a second process.
// This program's own fstatat, linked in front of the C library's, removes a file just before it is examined.
#include "env/posix_file_system.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "env/descriptors.h"
#include "env/posix_directory.h"
#include "gtest/gtest.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace {
int g_removals = 0;  // the next examinations of a file itself (not of what a link leads to) that find it removed
}  // namespace

extern "C" int fstatat(int directory, const char* path, struct stat* out, int flags) noexcept {
  static const auto real = reinterpret_cast<decltype(::fstatat)*>(dlsym(RTLD_NEXT, "fstatat"));
  if (g_removals > 0 && (flags & AT_SYMLINK_NOFOLLOW) != 0) {
    --g_removals;
    unlinkat(directory, path, 0);
  }
  return real(directory, path, out, flags);
}

namespace mergedb::env {
namespace {

using mergedb::testing::IsOkAndHolds;
using mergedb::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class PosixFileSystemTest : public ::testing::Test {
 protected:
  std::unique_ptr<File> Open(const std::string& name, const FileOptions& options) {
    auto file = fs_.Open(directory_ / name, options);
    EXPECT_OK(file);
    return std::move(file).value();
  }
  std::unique_ptr<File> Create(const std::string& name, std::string_view bytes = "") {
    auto file = Open(name, {.access = Access::kCreate});
    EXPECT_OK(file->WriteAt(0, bytes));
    return file;
  }
  std::string Read(File& file, uint64_t offset, size_t bytes) {
    std::string out(bytes, '\0');
    size_t got = 0;
    EXPECT_OK(file.ReadAt(offset, bytes, out.data(), &got));
    out.resize(got);
    return out;
  }

  mergedb::testing::TempDirectory directory_;
  FileSystem& fs_ = *PosixFileSystem();
};

TEST_F(PosixFileSystemTest, ReadsBackWhatWasWritten) {
  const auto file = Create("a", "hello");
  ASSERT_OK(file->WriteAt(10, "world"));
  EXPECT_EQ(Read(*file, 0, 100), std::string("hello\0\0\0\0\0world", 15));
  EXPECT_EQ(Read(*file, 12, 2), "rl");
  EXPECT_EQ(Read(*file, 15, 2), "");
  ASSERT_OK(file->Truncate(4));
  EXPECT_THAT(file->Size(), IsOkAndHolds(4u));
  EXPECT_OK(file->Sync());
  EXPECT_OK(file->Close());
  EXPECT_THAT(fs_.SizeOf(directory_ / "a"), IsOkAndHolds(4u));
}

TEST_F(PosixFileSystemTest, CreatedFilesAreNewAndPrivate) {
  Create("a");
  EXPECT_THAT(fs_.Open(directory_ / "a", {.access = Access::kCreate}), StatusIs(Code::kInvalidArgument));
  struct stat found {};
  ASSERT_EQ(stat((directory_ / "a").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  ASSERT_OK(fs_.CreateDirectory(directory_ / "d"));
  ASSERT_EQ(stat((directory_ / "d").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
}

TEST_F(PosixFileSystemTest, WritesAgainOnlyWhatHasOneName) {
  Create("a");
  EXPECT_OK(fs_.Open(directory_ / "a", {.access = Access::kReuse}).status());
  ASSERT_EQ(link((directory_ / "a").c_str(), (directory_ / "backup").c_str()), 0);
  EXPECT_THAT(fs_.Open(directory_ / "a", {.access = Access::kReuse}),
              StatusIs(Code::kInvalidArgument, HasSubstr("expected 1 name, found 2")));
}

TEST_F(PosixFileSystemTest, ErrorsSayPathActAndPlace) {
  const std::string path = directory_ / "a";
  EXPECT_THAT(fs_.Open(path, {}), StatusIs(Code::kNotFound, HasSubstr(path + ": open: No such file")));
  Create("a");
  const auto file = Open("a", {});
  EXPECT_THAT(file->WriteAt(8192, "1234"),
              StatusIs(Code::kIOError, path + ": pwrite 4 bytes at 8192: Bad file descriptor"));
  EXPECT_THAT(file->WriteAt(~uint64_t{0}, "1234"), StatusIs(Code::kNoSpace)) << "beyond any file";
}

TEST_F(PosixFileSystemTest, WhatTheSystemRefusesIsAnErrorOfTheCall) {
  Create("a", "one");
  Create("b", "two");
  const std::string too_long = directory_ / std::string(300, 'n');
  EXPECT_THAT(Open("a", {})->Truncate(1), StatusIs(Code::kIOError, HasSubstr("ftruncate to 1 bytes")))
      << "opened for reading";
  EXPECT_THAT(fs_.Link(directory_ / "a", directory_ / "b"),
              StatusIs(Code::kInvalidArgument, HasSubstr("link as " + directory_ / "b")));
  EXPECT_THAT(fs_.IsDirectory(too_long), StatusIs(Code::kIOError, HasSubstr("stat")));
  EXPECT_EQ(Read(*Open("b", {}), 0, 10), "two");
}

TEST_F(PosixFileSystemTest, OpensNothingButRegularFilesAndAtOnce) {
  ASSERT_EQ(mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  ASSERT_EQ(symlink("a", (directory_ / "link").c_str()), 0);
  ASSERT_OK(fs_.CreateDirectory(directory_ / "directory"));
  Create("a");
  for (const char* name : {"fifo", "link", "directory"}) {
    for (const Access access : {Access::kRead, Access::kReadWrite}) {
      EXPECT_THAT(fs_.Open(directory_ / name, {.access = access}), StatusIs(Code::kIOError)) << name;
    }
    EXPECT_THAT(fs_.SizeOf(directory_ / name), StatusIs(Code::kInvalidArgument)) << name;
  }
}

TEST_F(PosixFileSystemTest, DirectIoReadsAndWritesWholeBlocks) {
  alignas(kDirectIoAlign) static char block[2 * kDirectIoAlign];
  std::memset(block, 'd', sizeof block);
  const auto file = Open("a", {.access = Access::kCreate, .direct = true});
  ASSERT_OK(file->WriteAt(0, {block, sizeof block}));
  ASSERT_OK(file->Truncate(kDirectIoAlign + 100));
  std::memset(block, 0, sizeof block);
  size_t got = 0;
  ASSERT_OK(file->ReadAt(0, sizeof block, block, &got));
  EXPECT_EQ(got, kDirectIoAlign + 100) << "short at the end of the file";
  EXPECT_EQ(block[got - 1], 'd');
}

TEST_F(PosixFileSystemTest, NamesComeGoAndMove) {
  Create("a", "one");
  Create("b", "two");
  ASSERT_OK(fs_.Rename(directory_ / "a", directory_ / "b"));
  EXPECT_THAT(fs_.Rename(directory_ / "a", directory_ / "b"), StatusIs(Code::kNotFound));
  EXPECT_EQ(Read(*Open("b", {}), 0, 10), "one");
  ASSERT_OK(fs_.CreateDirectory(directory_ / "d"));
  EXPECT_OK(fs_.CreateDirectory(directory_ / "d"));
  EXPECT_THAT(fs_.CreateDirectory(directory_ / "b"), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(fs_.List(directory_.path()), IsOkAndHolds(UnorderedElementsAre("b", "d")));
  EXPECT_THAT(fs_.List(directory_ / "no"), StatusIs(Code::kNotFound));
  EXPECT_THAT(fs_.IsDirectory(directory_ / "d"), IsOkAndHolds(true));
  EXPECT_THAT(fs_.IsDirectory(directory_ / "b"), IsOkAndHolds(false));
  EXPECT_THAT(fs_.IsDirectory(directory_ / "no"), IsOkAndHolds(false));
  EXPECT_OK(fs_.SyncDirectory(directory_.path()));
  EXPECT_THAT(fs_.SyncDirectory(directory_ / "no"), StatusIs(Code::kNotFound));
  EXPECT_THAT(fs_.RemoveDirectory(directory_.path()), StatusIs(Code::kIOError)) << "not empty";
  EXPECT_OK(fs_.RemoveDirectory(directory_ / "d"));
  EXPECT_OK(fs_.Remove(directory_ / "b"));
  EXPECT_THAT(fs_.Remove(directory_ / "b"), StatusIs(Code::kNotFound));
}

TEST_F(PosixFileSystemTest, OutOfDescriptorsIsBusy) {
  Create("a");
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Status status = fs_.Open(directory_ / "a", {}).status();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_THAT(status, StatusIs(Code::kBusy));
}

// Each call runs when no descriptor is free, while an idle file holds one.
TEST_F(PosixFileSystemTest, AnOpenWithoutDescriptorsClosesIdleFilesAndTriesOnceMore) {
  Create("a");
  std::vector<std::function<Status()>> acts = {
      [&] { return fs_.Open(directory_ / "a", {}).status(); },
      [&] { return fs_.Open(directory_ / "b", {.access = Access::kCreate}).status(); },
      [&] { return fs_.List(directory_.path()).status(); },
      [&] { return fs_.SyncDirectory(directory_.path()); },
      [&] { return fs_.Lock(directory_ / "LOCK").status(); },
  };
  // The undefined-behaviour sanitizer checks a new object with virtual functions through a pipe. No descriptor
  // is free for the pipe.
  if (testing::kInstrumentedFactor > 1) acts.pop_back();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  for (const auto& act : acts) {
    int idle = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(idle, 0);
    int calls = 0;
    std::optional<IdleFiles> offer(std::in_place, [&] {
      ++calls;
      if (idle >= 0) close(std::exchange(idle, -1));
    });
    const rlimit none_left = {.rlim_cur = static_cast<rlim_t>(idle) + 1, .rlim_max = limit.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
    const Status status = act();
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    EXPECT_OK(status);
    EXPECT_EQ(calls, 1);
    offer.reset();
    CloseIdleFiles();
    EXPECT_EQ(calls, 1) << "the offer is gone";
  }
}

// A limit on the file size stands in for a full disk: same code, same short write before the error.
TEST_F(PosixFileSystemTest, OutOfSpaceIsNoSpaceAfterWritingWhatFits) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto file = Create("a");
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit small = {.rlim_cur = 4096, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    _exit(file->WriteAt(0, std::string(10'000, 'x')).code() == Code::kNoSpace ? 0 : 1);
  }
  int outcome = 0;
  ASSERT_EQ(waitpid(child, &outcome, 0), child);
  EXPECT_EQ(outcome, 0);
  EXPECT_THAT(file->Size(), IsOkAndHolds(4096u));
}

// ---- locks ----

TEST_F(PosixFileSystemTest, LockIsBusyWithinTheProcess) {
  const std::string path = directory_ / "LOCK";
  ASSERT_OK_AND_ASSIGN(auto lock, fs_.Lock(path));
  EXPECT_THAT(fs_.Lock(path), StatusIs(Code::kBusy, HasSubstr("held by this process")));
  const std::string last_name = directory_.path().substr(directory_.path().rfind('/') + 1);
  EXPECT_THAT(fs_.Lock(directory_ / "../" + last_name + "/LOCK"), StatusIs(Code::kBusy)) << "by another way";
  ASSERT_OK(fs_.Remove(path));
  EXPECT_THAT(fs_.Lock(path), StatusIs(Code::kBusy)) << "still ours";
  lock.reset();
  EXPECT_OK(fs_.Lock(path));
}

TEST_F(PosixFileSystemTest, LockIsBusyForAnotherProcess) {
  const std::string path = directory_ / "LOCK";
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(done[1]);
    const auto lock = fs_.Lock(path);
    char byte = lock.has_value() ? 'y' : 'n';
    (void)!write(ready[1], &byte, 1);
    (void)!read(done[0], &byte, 1);  // blocks until the parent closes its end
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_EQ(byte, 'y');
  EXPECT_THAT(fs_.Lock(path), StatusIs(Code::kBusy, HasSubstr("another process")));
  close(done[0]);
  close(done[1]);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_OK(fs_.Lock(path)) << "a dead process holds nothing";
  close(ready[0]);
  close(ready[1]);
}

TEST_F(PosixFileSystemTest, LockCollidesWithTheClassicOneOfLevelDb) {
  const std::string path = directory_ / "LOCK";
  ASSERT_OK_AND_ASSIGN(const auto lock, fs_.Lock(path));
  const int fd = open(path.c_str(), O_RDWR);
  struct flock classic {};
  classic.l_type = F_WRLCK;
  classic.l_whence = SEEK_SET;
  EXPECT_EQ(fcntl(fd, F_SETLK, &classic), -1);
  close(fd);
}

TEST_F(PosixFileSystemTest, LockRefusesWhatIsNoFile) {
  ASSERT_OK(fs_.CreateDirectory(directory_ / "LOCK"));
  EXPECT_FALSE(fs_.Lock(directory_ / "LOCK").has_value());
  EXPECT_THAT(fs_.Lock(directory_ / "no" + "/LOCK"), StatusIs(Code::kNotFound));
}

// Another program removes the database while this one opens it. A lock on a file without a name would exclude no
// other process.
TEST_F(PosixFileSystemTest, LockIsOnTheFileOfItsNameOrBusy) {
  const std::string path = directory_ / "LOCK";
  for (const int removals : {1, 9}) {
    g_removals = removals;
    const auto lock = fs_.Lock(path);
    EXPECT_OK(lock);
    EXPECT_THAT(fs_.SizeOf(path), IsOkAndHolds(0u)) << removals;
  }
  g_removals = 10;
  EXPECT_THAT(fs_.Lock(path),
              StatusIs(Code::kBusy, HasSubstr(path + ": lock: the file was removed after each attempt to lock it")));
  EXPECT_EQ(g_removals, 0);
  EXPECT_OK(fs_.Lock(path));
}

// ---- a bound directory ----

class BoundDirectoryTest : public PosixFileSystemTest {
 protected:
  void SetUp() override {
    ASSERT_OK(fs_.CreateDirectory(path_));
    ASSERT_OK_AND_ASSIGN(bound_, fs_.Bind(path_));
    ASSERT_NE(bound_, nullptr);
  }
  std::string In(const std::string& name) const { return path_ + "/" + name; }
  Status Write(const std::string& path, std::string_view bytes) {
    ASSIGN_OR_RETURN(const auto file, bound_->Open(path, {.access = Access::kCreate}));
    return file->WriteAt(0, bytes);
  }

  const std::string path_ = directory_ / "db";
  const std::string moved_ = directory_ / "moved";
  std::unique_ptr<FileSystem> bound_;
};

TEST_F(BoundDirectoryTest, EachCallStaysInTheDirectoryThatWasRenamed) {
  ASSERT_OK(Write(In("a"), "old"));
  ASSERT_EQ(rename(path_.c_str(), moved_.c_str()), 0);
  ASSERT_OK(fs_.CreateDirectory(path_));

  EXPECT_OK(bound_->Open(In("a"), {}));
  EXPECT_THAT(bound_->SizeOf(In("a")), IsOkAndHolds(3u));
  EXPECT_THAT(bound_->IsDirectory(path_), IsOkAndHolds(true));
  EXPECT_THAT(bound_->List(path_), IsOkAndHolds(UnorderedElementsAre("a")));
  EXPECT_THAT(bound_->List(path_ + "/"), IsOkAndHolds(UnorderedElementsAre("a")));
  EXPECT_OK(bound_->Rename(In("a"), In("b")));
  EXPECT_OK(bound_->Link(In("b"), In("c")));
  EXPECT_OK(bound_->CreateDirectory(In("lost")));
  EXPECT_OK(Write(In("lost/d"), "lost"));
  EXPECT_THAT(bound_->List(In("lost")), IsOkAndHolds(UnorderedElementsAre("d")));
  EXPECT_THAT(bound_->IsDirectory(In("lost")), IsOkAndHolds(true));
  EXPECT_OK(bound_->SyncDirectory(In("lost")));
  EXPECT_OK(bound_->Rename(In("lost/d"), In("e")));
  EXPECT_OK(bound_->RemoveDirectory(In("lost")));
  EXPECT_OK(bound_->Remove(In("b")));
  EXPECT_OK(bound_->SyncDirectory(path_));
  ASSERT_OK_AND_ASSIGN(auto lock, bound_->Lock(In("LOCK")));

  EXPECT_THAT(fs_.List(moved_), IsOkAndHolds(UnorderedElementsAre("c", "e", "LOCK")));
  EXPECT_THAT(fs_.List(path_), IsOkAndHolds(UnorderedElementsAre()));
  EXPECT_THAT(fs_.Lock(moved_ + "/LOCK"), StatusIs(Code::kBusy));
  EXPECT_OK(fs_.Lock(path_ + "/LOCK")) << "the lock of another directory";
}

TEST_F(BoundDirectoryTest, OtherPathsLeadWhereTheyAlwaysDo) {
  ASSERT_OK(fs_.CreateDirectory(path_ + "2"));
  ASSERT_OK(Write(path_ + "2/a", "beside"));
  ASSERT_OK(Write(In("../up"), "up"));
  ASSERT_OK(Write(In("a..b"), "a name"));
  ASSERT_OK(Write(In("/twice"), "two slashes"));
  EXPECT_OK(bound_->Rename(In("twice"), path_ + "2/twice"));
  EXPECT_OK(bound_->Link(In("a..b"), directory_ / "linked"));
  EXPECT_THAT(bound_->List(directory_.path()), IsOkAndHolds(UnorderedElementsAre("db", "db2", "up", "linked")));
  EXPECT_THAT(fs_.List(path_ + "2"), IsOkAndHolds(UnorderedElementsAre("a", "twice")));
  EXPECT_THAT(fs_.List(path_), IsOkAndHolds(UnorderedElementsAre("a..b")));
  EXPECT_THAT(bound_->RemoveDirectory(path_), StatusIs(Code::kIOError)) << "not empty";
  EXPECT_OK(bound_->Remove(In("a..b")));
  EXPECT_OK(bound_->RemoveDirectory(path_));
  EXPECT_THAT(fs_.Bind(path_), StatusIs(Code::kNotFound));
  EXPECT_THAT(fs_.Bind(path_ + "2/a"), StatusIs(Code::kIOError)) << "not a directory";
}

// Each way to change a file ends when another file has the name of the lock, and so it stays.
TEST_F(BoundDirectoryTest, ALockThatIsNoLongerThereEndsAllChanges) {
  const auto changes = [&](File& file) {
    return std::vector<Status>{bound_->Open(In("b"), {.access = Access::kCreate}).status(),
                               bound_->Open(In("a"), {.access = Access::kReadWrite}).status(),
                               bound_->Open(In("a"), {.access = Access::kReuse}).status(),
                               bound_->Remove(In("a")),
                               bound_->Rename(In("a"), In("b")),
                               bound_->Rename(directory_ / "outside", In("b")),
                               bound_->Link(In("a"), In("b")),
                               bound_->CreateDirectory(In("lost")),
                               bound_->RemoveDirectory(In("sub")),
                               bound_->SyncDirectory(path_),
                               file.WriteAt(0, "new"),
                               file.Truncate(1),
                               file.Sync(),
                               file.Allocate(0, kDirectIoAlign),
                               file.Deallocate(0, kDirectIoAlign)};
  };
  for (const bool is_replaced : {false, true}) {
    SCOPED_TRACE(is_replaced ? "replaced" : "removed");
    ASSERT_OK_AND_ASSIGN(bound_, fs_.Bind(path_));
    ASSERT_OK_AND_ASSIGN(auto lock, bound_->Lock(In("LOCK")));
    (void)fs_.Remove(In("a"));
    ASSERT_OK(Write(In("a"), "old"));
    ASSERT_OK_AND_ASSIGN(const auto file, bound_->Open(In("a"), {.access = Access::kReadWrite}));
    ASSERT_OK(bound_->CreateDirectory(In("sub")));
    ASSERT_OK(file->Sync());
    ASSERT_OK(fs_.Rename(In("LOCK"), In("LOCK.kept")));
    if (is_replaced) (void)fs_.Open(In("LOCK"), {.access = Access::kCreate});
    ASSERT_EQ(usleep(2 * PosixDirectory::kCheckNanos / 1000), 0);
    for (const Status& each : changes(*file)) {
      EXPECT_THAT(each, StatusIs(Code::kIOError, HasSubstr(In("LOCK") + ": removed or replaced")));
    }
    EXPECT_EQ(Read(*file, 0, 3), "old") << "reads go on";
    ASSERT_OK(fs_.Rename(In("LOCK.kept"), In("LOCK")));
    for (const Status& each : changes(*file)) EXPECT_THAT(each, StatusIs(Code::kIOError)) << "it was away";
    lock.reset();
    EXPECT_OK(fs_.Lock(In("LOCK")));
  }
}

TEST_F(BoundDirectoryTest, ChangesEndWithTheLock) {
  ASSERT_OK_AND_ASSIGN(auto lock, bound_->Lock(In("LOCK")));
  ASSERT_OK(Write(In("a"), "old"));
  ASSERT_OK_AND_ASSIGN(const auto file, bound_->Open(In("a"), {.access = Access::kReadWrite}));
  lock.reset();
  EXPECT_THAT(file->WriteAt(0, "new"), StatusIs(Code::kShuttingDown));
  EXPECT_THAT(bound_->Remove(In("a")), StatusIs(Code::kShuttingDown));
  EXPECT_OK(bound_->Open(In("a"), {}));
}

TEST_F(PosixFileSystemTest, NoFileGetsADescriptorOfAStandardStream) {
  Create("a");
  const pid_t child = fork();
  if (child == 0) {
    bool is_inherited[16];  // such as a log of the program that runs the tests
    for (int fd = 0; fd < 16; ++fd) is_inherited[fd] = fcntl(fd, F_GETFD) >= 0;
    for (const int stream : {0, 1, 2}) close(stream);
    std::vector<std::unique_ptr<File>> files;
    for (const char* name : {"b", "c", "d"}) {
      auto file = fs_.Open(directory_ / name, {.access = Access::kCreate});
      if (!file) _exit(2);
      files.push_back(std::move(*file));
    }
    const auto bound = fs_.Bind(directory_.path());
    const auto lock = fs_.Lock(directory_ / "LOCK");
    if (!bound || !lock || !fs_.List(directory_.path()) || !fs_.SyncDirectory(directory_.path()).ok()) _exit(3);
    for (const int stream : {0, 1, 2}) {
      char byte = 0;
      if (read(stream, &byte, 1) != -1 || errno != EBADF || write(stream, &byte, 1) != -1 || errno != EBADF) _exit(4);
      if (fcntl(stream, F_GETFD) != FD_CLOEXEC) _exit(6);
    }
    for (int fd = 3; fd < 16; ++fd) {
      const int flags = fcntl(fd, F_GETFD);
      struct stat found {};
      if (!is_inherited[fd] && flags >= 0 && fstat(fd, &found) == 0 && S_ISREG(found.st_mode) &&
          (flags & FD_CLOEXEC) == 0)
        _exit(5);
    }
    _exit(files.size() == 3 ? 0 : 1);
  }
  int outcome = 0;
  ASSERT_EQ(waitpid(child, &outcome, 0), child);
  EXPECT_EQ(outcome, 0);
}

// ---- mappings ----

class PosixMappingTest : public PosixFileSystemTest {
 protected:
  static constexpr size_t kBytes = 256 * 1024;
  void SetUp() override {
    file_ = Create("ring");
    for (size_t offset = 0; offset < kBytes; offset += 4096) ASSERT_OK(file_->WriteAt(offset, std::string(4096, '.')));
    auto mapping = file_->Map(kBytes);
    if (mapping.status().IsNotSupported()) GTEST_SKIP() << mapping.status().ToString();
    ASSERT_OK(mapping);
    mapping_ = std::move(mapping).value();
  }
  std::unique_ptr<File> file_;
  std::unique_ptr<Mapping> mapping_;
};

TEST_F(PosixMappingTest, IsTheFileTwice) {
  ASSERT_EQ(mapping_->size(), kBytes);
  std::memcpy(mapping_->data() + kBytes - 2, "wrap", 4);
  EXPECT_EQ(std::string(mapping_->data(), 2), "ap");
  EXPECT_EQ(Read(*file_, kBytes - 2, 2), "wr");
  EXPECT_EQ(Read(*file_, 0, 2), "ap");
  ASSERT_OK(file_->WriteAt(100, "!"));
  EXPECT_EQ(mapping_->data()[kBytes + 100], '!');
}

TEST_F(PosixMappingTest, StoresSurviveAKilledProcess) {
  const std::string path = directory_ / "ring";
  mapping_.reset();
  file_.reset();
  const pid_t child = fork();
  if (child == 0) {
    auto file = fs_.Open(path, {.access = Access::kReadWrite});
    auto mapping = file.value()->Map(kBytes);
    std::memcpy(mapping.value()->data() + 1000, "survives", 8);
    kill(getpid(), SIGKILL);
  }
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_EQ(Read(*Open("ring", {}), 1000, 8), "survives");
}

TEST_F(PosixMappingTest, OutlivesItsFile) {
  file_.reset();
  std::memcpy(mapping_->data(), "x", 1);
  mapping_.reset();
  EXPECT_EQ(Read(*Open("ring", {}), 0, 1), "x");
}

TEST_F(PosixMappingTest, IsNotInheritedByFork) {
  const pid_t child = fork();
  if (child == 0) {
    unsigned char resident[1];
    const bool is_there = mincore(mapping_->data(), 1, resident) == 0;
    _exit(is_there ? 1 : 0);
  }
  int outcome = 0;
  ASSERT_EQ(waitpid(child, &outcome, 0), child);
  EXPECT_EQ(outcome, 0);
}

TEST_F(PosixMappingTest, MustBeWhole) {
  EXPECT_THAT(file_->Map(kBytes / 2), StatusIs(Code::kInvalidArgument));
  EXPECT_THAT(file_->Map(0), StatusIs(Code::kInvalidArgument, HasSubstr("map: 0 bytes")));
  EXPECT_THAT(file_->Map(kBytes - 1), StatusIs(Code::kNotSupported)) << "not whole pages";
}

TEST_F(PosixMappingTest, GetsBlocksInPiecesAndGivesThemBack) {
  const auto sparse = Create("sparse");
  const auto blocks = [&] {
    struct stat file {};
    EXPECT_EQ(stat((directory_ / "sparse").c_str(), &file), 0);
    return static_cast<uint64_t>(file.st_blocks) * 512;
  };
  ASSERT_OK(sparse->Truncate(kBytes));
  auto mapping = sparse->Map(kBytes);
  ASSERT_OK(mapping);
  EXPECT_EQ(blocks(), 0u);
  ASSERT_OK(sparse->Allocate(kBytes / 2, kBytes / 2));
  EXPECT_GE(blocks(), kBytes / 2);
  (*mapping)->Prefault(kBytes / 2, kBytes / 2);
  std::memcpy((*mapping)->data() + kBytes - 2, "xyz", 2);
  EXPECT_EQ(Read(*sparse, kBytes - 2, 2), "xy");
  ASSERT_OK(sparse->Deallocate(0, kBytes));
  EXPECT_EQ(blocks(), 0u);
  EXPECT_EQ((*mapping)->data()[kBytes - 2], '\0');
}

// A mapped WAL buffer would lose data if the kernel generates the file's contents, as in /proc.
TEST_F(PosixFileSystemTest, MapsNothingOfAFileSystemItDoesNotKnow) {
  const auto file = fs_.Open("/proc/self/status", {.access = Access::kRead});
  ASSERT_OK(file);
  EXPECT_THAT((*file)->Map(256 * 1024),
              StatusIs(Code::kNotSupported, HasSubstr("/proc/self/status: map: not on this file system")));
}

TEST_F(PosixFileSystemTest, MapsForReadingWhatOutlivesFileAndName) {
  const std::string bytes(10'000, 'm');
  (void)Create("table", bytes);
  auto file = Open("table", {.access = Access::kRead});
  auto mapping = file->MapForReading(9'000);
  ASSERT_OK(mapping);
  EXPECT_OK(file->Close());
  EXPECT_OK(fs_.Remove(directory_ / "table"));
  EXPECT_EQ(std::string_view((*mapping)->data(), (*mapping)->size()), std::string_view(bytes).substr(0, 9'000));
}

// Reading a mapping beyond the end of its file kills the process, so MapForReading checks the size.
TEST_F(PosixFileSystemTest, MapsForReadingOnlyWhatIsThere) {
  (void)Create("table", std::string(8192, 'm'));
  auto file = Open("table", {.access = Access::kRead});
  EXPECT_THAT(file->MapForReading(8193), StatusIs(Code::kCorruption, HasSubstr("expected 8193 bytes, found 8192")));
  EXPECT_THAT(file->MapForReading(0), StatusIs(Code::kInvalidArgument));
  EXPECT_OK(file->MapForReading(8192));
}

TEST(DefaultEnv, HasAllButALogger) {
  const Env env = DefaultEnv();
  EXPECT_EQ(env.file_system, PosixFileSystem());
  EXPECT_NE(env.clock, nullptr);
  EXPECT_GE(env.executor->Parallelism(), 2);
  EXPECT_NE(env.entropy(), env.entropy());
}

// As LevelDB's Env promises: the descriptor stays with the file, also without descriptors.
TEST_F(PosixFileSystemTest, AFileOutsideOfAHeldDirectoryIsReadAfterItsNameIsGone) {
  Create("removed", "bytes");
  const auto file = Open("removed", {});
  ASSERT_OK(fs_.Remove(directory_ / "removed"));
  (void)TakeBack(1'000'000);
  EXPECT_EQ(Read(*file, 0, 5), "bytes");
}

}  // namespace
}  // namespace mergedb::env
