// Goal: the handler of SIGBUS puts zeros in the place of guarded bytes that the system cannot read, and passes every
// other fault on to the program. Method: real page faults, each in a forked process; so this program has no threads.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mapped_faults.h"
#include "env/mapped_files.h"
#include "testing/apart.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

using ::testing::HasSubstr;

constexpr size_t kPageBytes = 4096;

// A mapping of a file of no bytes.
const char* Unreadable() {
  const int fd = memfd_create("empty", MFD_CLOEXEC);
  return static_cast<const char*>(mmap(nullptr, kPageBytes, PROT_READ, MAP_SHARED, fd, 0));
}
std::string LoadFrom(const char* address) { return std::string(1, *static_cast<const volatile char*>(address)); }

std::shared_ptr<env::FaultGuard> Guard(const char* data, env::FaultGuard::Use use) {
  return std::make_shared<env::FaultGuard>(data, kPageBytes, "/a/file", std::make_shared<base::MappedFaults>(), use);
}

extern "C" void EndWithSeven(int) { _exit(7); }

struct sigaction g_before;
extern "C" void PassOnToTheOneBefore(int number, siginfo_t* info, void* context) {
  g_before.sa_sigaction(number, info, context);
}

TEST(FaultHandler, GivesZerosForGuardedBytesOnly) {
  using Use = env::FaultGuard::Use;
  const auto apart = [](const std::function<std::string()>& code) {
    const Outcome outcome = RunApart(code, {.is_quiet = true});
    return outcome.trouble.empty() ? outcome.answer : outcome.trouble;
  };
  const std::string zero(1, '\0');
  EXPECT_EQ(apart([] {
              const char* const data = Unreadable();
              const auto guard = Guard(data, Use::kReads);
              const std::string loaded = LoadFrom(data + 100);
              return loaded + (guard->has_failed() ? " failed" : "");
            }),
            zero + " failed");
  // Another fault: the program's handler, installed before or after.
  EXPECT_EQ(apart([] {
              signal(SIGBUS, EndWithSeven);
              const auto guard = Guard(Unreadable(), Use::kReads);
              return LoadFrom(Unreadable());
            }),
            "exit 7");
  EXPECT_EQ(apart([] {
              const auto guard = Guard(Unreadable(), Use::kReads);
              signal(SIGBUS, EndWithSeven);
              const char* const data = Unreadable();
              const auto second = Guard(data, Use::kReads);  // puts the handler in front again
              return LoadFrom(data) == std::string(1, '\0') ? LoadFrom(Unreadable()) : "no zero";
            }),
            "exit 7");
  // A handler that passes on to mergedb's, which is in front of it again.
  EXPECT_THAT(apart([] {
                signal(SIGBUS, SIG_DFL);
                const auto guard = Guard(Unreadable(), Use::kReads);
                struct sigaction passing = {};
                passing.sa_flags = SA_SIGINFO;
                passing.sa_sigaction = PassOnToTheOneBefore;
                sigaction(SIGBUS, &passing, &g_before);
                const auto second = Guard(Unreadable(), Use::kReads);
                return LoadFrom(Unreadable());
              }),
              HasSubstr("signal 7"));
  // Without a handler of the program the process dies as ever, also by a signal that another process sends.
  EXPECT_THAT(apart([] {
                signal(SIGBUS, SIG_DFL);  // a sanitizer has a handler
                const auto guard = Guard(Unreadable(), Use::kReads);
                return LoadFrom(Unreadable());
              }),
              HasSubstr("signal 7"));
  EXPECT_THAT(apart([] {
                signal(SIGBUS, SIG_DFL);
                const auto guard = Guard(Unreadable(), Use::kReads);
                raise(SIGBUS);
                return std::string("alive");
              }),
              HasSubstr("signal 7"));
  // Bytes that are given out as pointers are guarded only while a read looks at the faults.
  EXPECT_THAT(apart([] {
                signal(SIGBUS, SIG_DFL);
                const char* const data = Unreadable();
                const auto guard = Guard(data, Use::kGivesPointers);
                return LoadFrom(data);
              }),
              HasSubstr("signal 7"));
  EXPECT_EQ(apart([] {
              const char* const data = Unreadable();
              const auto guard = Guard(data, Use::kGivesPointers);
              const base::MappedRead read;
              return LoadFrom(data);
            }),
            zero);
  // A store, and a load of what was stored.
  EXPECT_EQ(apart([] {
              const int fd = memfd_create("empty", MFD_CLOEXEC);
              auto* const data =
                  static_cast<char*>(mmap(nullptr, kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
              const auto guard = Guard(data, Use::kWrites);
              *static_cast<volatile char*>(data) = 'x';
              const std::string loaded = LoadFrom(data);
              return loaded + (guard->has_failed() ? " failed" : "");
            }),
            "x failed");
  // A file that is mapped twice in a row: the place is the one in the file.
  EXPECT_THAT(apart([] {
                const int fd = memfd_create("empty", MFD_CLOEXEC);
                auto* const data =
                    static_cast<char*>(mmap(nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
                const auto faults = std::make_shared<base::MappedFaults>();
                const env::FaultGuard guard(data, 2 * kPageBytes, "/a/file", faults, env::FaultGuard::Use::kWrites);
                *static_cast<volatile char*>(data + kPageBytes) = 'x';
                return faults->status(0).ToString();
              }),
              HasSubstr("/a/file: the mapped bytes at 0 could not be read"));
}

// On a small stack of its own, as the threads of Go have it.
TEST(FaultHandler, RunsOnTheSignalStack) {
  const Outcome outcome = RunApart(
      [] {
        std::vector<char> stack(SIGSTKSZ);
        const stack_t given{.ss_sp = stack.data(), .ss_flags = 0, .ss_size = stack.size()};
        if (sigaltstack(&given, nullptr) != 0) return std::string("sigaltstack");
        const char* const data = Unreadable();
        const auto guard = Guard(data, env::FaultGuard::Use::kReads);
        return LoadFrom(data) == std::string(1, '\0') ? std::string("zero") : std::string("no zero");
      },
      {});
  EXPECT_EQ(outcome.answer, "zero") << outcome.trouble;
}

TEST(MappedFaultsText, NamesTheFirstPlaces) {
  base::MappedFaults faults;
  EXPECT_EQ(faults.count(), 0u);
  faults.Note("/data/000012.tbl", 8192);
  EXPECT_EQ(faults.count(), 1u);
  EXPECT_THAT(faults.status(0).ToString(), HasSubstr("/data/000012.tbl: the mapped bytes at 8192 could not be read"));
  for (int i = 0; i < 20; ++i) faults.Note(std::string(1000, 'd') + "/000013.tbl", 0);
  EXPECT_THAT(faults.status(1).ToString(), HasSubstr("d/000013.tbl: "));
  EXPECT_TRUE(faults.status(20).IsIOError());
}

}  // namespace
}  // namespace mergedb::testing
