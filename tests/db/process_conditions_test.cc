// Goal: no answer of a database depends on the process that has it open: its descriptors, limits, user, working
// directory, and what others do to the name of the directory. What a limit makes impossible is an error with a name; it
// ends no process. Method: each condition is made in a child process, which then runs a list of random operations on
// real files beside a model (testing/op_runner.h), through the C++ and the C interface.
//
// Another seed: MERGEDB_SEED or --gtest_random_seed.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <new>
#include <ostream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "mergedb/c.h"
#include "mergedb/checkpoint.h"
#include "mergedb/event_listener.h"
#include "testing/apart.h"
#include "testing/c_interface_db.h"
#include "testing/op_runner.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

namespace fs = std::filesystem;

// The sanitizers need a pthread_create of their own.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MERGEDB_LIMITS_THREADS
// Threads that this program's pthread_create starts before it fails. WHY not RLIMIT_NPROC: the super-user, as whom
// containers run tests, has no such limit, and of another user it counts all processes.
std::atomic<int> g_threads_left{1'000'000};
#endif

}  // namespace
}  // namespace mergedb::testing

#ifdef MERGEDB_LIMITS_THREADS
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) noexcept {
  static const auto real = reinterpret_cast<decltype(::pthread_create)*>(dlsym(RTLD_NEXT, "pthread_create"));
  if (mergedb::testing::g_threads_left.fetch_sub(1) <= 0) return EAGAIN;
  return real(thread, attributes, run, argument);
}
#endif

namespace mergedb::testing {
namespace {

constexpr char kName[] = "db";

std::map<std::string, std::string> FilesOf(const fs::path& directory) {
  std::map<std::string, std::string> files;
  if (!fs::exists(directory)) return files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::ostringstream bytes;
    if (entry.is_regular_file()) bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    files[entry.path().filename()] = bytes.str();
  }
  return files;
}

// What happens to the directory around each open.
enum class Fate { kStays, kIsRenamed, kIsReplaced, kIsReplacedByDatabase, kIsRelative, kHasSecondLinks };

class ConditionHome final : public OpHome {
 public:
  ConditionHome(const OptionSet& set, fs::path root, Fate fate) : set_(set), root_(std::move(root)), fate_(fate) {}
  ~ConditionHome() override {
    Return();
    CheckLinks();
  }

  Result<std::unique_ptr<DB>> Open(OpenMode mode) override {
    Return();
    if (mode != OpenMode::kReadOnly && mode != OpenMode::kMustExist) TakeLinks();
    Options options;
    options.mode = mode;
    Choose(set_, &options);
    if (fate_ == Fate::kIsRelative) fs::current_path(root_);
    const std::string path = fate_ == Fate::kIsRelative ? fs::path(kName) : root_ / kName;
    auto db = set_.place == Place::kCInterface ? OpenThroughC(options, path) : DB::Open(options, path);
    if (fate_ == Fate::kIsRelative) fs::current_path("/");
    Leave();
    return db;
  }
  Status Destroy() override {
    Return();
    const std::string path = root_ / kName;
    const Status status = set_.place == Place::kCInterface ? DestroyThroughC(path) : DB::Destroy({}, path);
    Leave();
    return status;
  }
  std::unique_ptr<OpHome> AfterKill(uint64_t) override { return nullptr; }
  bool RunOne() override { return false; }
  void PassSeconds(uint64_t) override {}
  FileSystem* files() override { return DefaultEnv().file_system; }
  std::string PathBeside(const std::string& name) override { return root_ / name; }
  uint64_t Fingerprint() override {
    uint64_t sum = 0;
    for (const auto& [name, bytes] : FilesOf(is_away_ ? Away() : root_ / kName)) {
      sum += std::hash<std::string>{}(name + '\0' + bytes);
    }
    return sum;
  }
  // Empty if nothing outside of the database's directory was touched.
  std::string problem() const { return problem_; }

 private:
  fs::path Away() const { return root_ / "away"; }
  void Leave() {
    const bool leaves = fate_ == Fate::kIsRenamed || fate_ == Fate::kIsReplaced || fate_ == Fate::kIsReplacedByDatabase;
    if (!leaves || !fs::exists(root_ / kName)) return;
    fs::rename(root_ / kName, Away());
    is_away_ = true;
    if (fate_ == Fate::kIsRenamed) return;
    fs::create_directory(root_ / kName);
    if (fate_ == Fate::kIsReplacedByDatabase) {
      auto db = DB::Open({.memory_bytes = size_t{1} << 20, .write_buffer_bytes = size_t{64} << 10}, root_ / kName);
      if (!db || !(*db)->Put({}, "other", "database").ok() || !(*db)->Close().ok()) problem_ = "the other database";
    }
    others_ = FilesOf(root_ / kName);
  }
  void Return() {
    if (!is_away_) return;
    if (fate_ != Fate::kIsRenamed && FilesOf(root_ / kName) != others_) problem_ = "the other directory changed";
    fs::remove_all(root_ / kName);
    fs::rename(Away(), root_ / kName);
    is_away_ = false;
  }
  // A copy of the closed database by hard links (`cp -al`).
  void TakeLinks() {
    if (fate_ != Fate::kHasSecondLinks || !fs::exists(root_ / kName)) return;
    CheckLinks();
    fs::remove_all(root_ / "links");
    fs::copy(root_ / kName, root_ / "links", fs::copy_options::recursive | fs::copy_options::create_hard_links);
    others_ = FilesOf(root_ / "links");
  }
  void CheckLinks() {
    if (fate_ == Fate::kHasSecondLinks && FilesOf(root_ / "links") != others_) problem_ = "the copy by links changed";
  }

  const OptionSet& set_;
  const fs::path root_;
  const Fate fate_;
  bool is_away_ = false;
  std::map<std::string, std::string> others_;
  std::string problem_;
};

// ---- conditions ---------------------------------------------------------------------------------------------

std::string Limit(int resource, rlim_t value) {
  rlimit limit{};
  if (getrlimit(static_cast<__rlimit_resource>(resource), &limit) != 0) return "getrlimit";
  limit.rlim_cur = value;
  return setrlimit(static_cast<__rlimit_resource>(resource), &limit) == 0 ? "" : "setrlimit";
}

rlim_t MappedBytes() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}

// How often one of the descriptors 0, 1 and 2, which the condition closed, was a file: one of the library. WHY not how
// often it could be written to: a sanitizer has pipes of its own.
std::atomic<uint64_t> g_files_of_streams{0};

std::string FilesOfStreams() {
  const uint64_t files = g_files_of_streams.exchange(0);
  return files == 0 ? "" : "a closed stream was a file " + std::to_string(files) + " times; ";
}

// Closes the streams; a thread of the program goes on to print.
std::string CloseStandardStreams() {
  for (const int fd : {0, 1, 2}) close(fd);
  std::thread([] {
    for (int fd = 0;; fd = (fd + 1) % 3) {
      struct stat found {};
      g_files_of_streams += fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
      if (write(fd, "printed", 7) < 0) continue;
    }
  }).detach();
  return "";
}

constexpr uid_t kAnotherUser = 54'321;

struct Condition {
  const char* name;
  // Makes it; a text that is not empty: the condition cannot be made here.
  std::function<std::string()> make = [] { return std::string(); };
  Fate fate = Fate::kStays;
  std::function<std::string()> check = [] { return std::string(); };  // after each open and at the end
};

void PrintTo(const Condition& condition, std::ostream* out) { *out << condition.name; }

std::vector<Condition> Conditions() {
  return {
      {.name = "none"},
      {.name = "descriptors_0_to_2_closed", .make = CloseStandardStreams, .check = FilesOfStreams},
      {.name = "few_descriptors", .make = [] { return Limit(RLIMIT_NOFILE, 192); }},
      {.name = "little_memory", .make = [] { return Limit(RLIMIT_AS, MappedBytes() + (rlim_t{900} << 20)); }},
      {.name = "small_files", .make = [] { return Limit(RLIMIT_FSIZE, 3 << 20); }},
      {.name = "smaller_files", .make = [] { return Limit(RLIMIT_FSIZE, 1 << 20); }},
#ifdef MERGEDB_LIMITS_THREADS
      {.name = "one_thread", .make = [] { return g_threads_left = 1, std::string(); }},
#endif
      {.name = "another_user", .make = [] { return setuid(kAnotherUser) == 0 ? "" : "not the super-user"; }},
      {.name = "another_working_directory", .fate = Fate::kIsRelative},
      {.name = "directory_renamed", .fate = Fate::kIsRenamed},
      {.name = "directory_replaced", .fate = Fate::kIsReplaced},
      {.name = "directory_replaced_by_a_database", .fate = Fate::kIsReplacedByDatabase},
      {.name = "second_hard_links", .fate = Fate::kHasSecondLinks},
  };
}

// In the child process.
std::string RunUnder(const Condition& condition, const OptionSet& set, const OpList& list, const fs::path& root) {
  if (const std::string refused = condition.make(); !refused.empty()) return "skipped: " + refused;
  std::string problem;
  ConditionHome* home = nullptr;
  const Verdict verdict = RunOps(list, set,
                                 {.make_home =
                                      [&] {
                                        auto made = std::make_unique<ConditionHome>(set, root, condition.fate);
                                        home = made.get();
                                        return made;
                                      },
                                  .wrap =
                                      [&](std::unique_ptr<DB> db) {
                                        problem += condition.check() + home->problem();
                                        return db;
                                      }});
  problem += condition.check();
  return verdict.problem.empty() ? problem : verdict.problem;
}

class ProcessConditions : public ::testing::TestWithParam<Condition> {};

TEST_P(ProcessConditions, AnswersAreTheModels) {
  const Condition& condition = GetParam();
  base::Random random(SeedOr(20'261'128));
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(SeedOr(20'261'128)));
  const OpList list =
      DrawOps(ModelOpTable(), {.favourites = {"flush", "reopen", "compact"}}, random, Sized(300, 3000, 40));
  for (const char* const name : {"RealFiles", "RealFilesCascadeUnmapped", "CInterface"}) {
    SCOPED_TRACE(name);
    const TempDirectory root;
    ASSERT_EQ(chmod(root.path().c_str(), 0777), 0);
    const auto set = FindOptionSet(name);
    const Outcome outcome = RunApart([&] { return RunUnder(condition, *set, list, root.path()); }, {.seconds = 60});
    EXPECT_EQ(outcome.trouble, "");
    if (outcome.answer.starts_with("skipped: ")) GTEST_SKIP() << outcome.answer;
    EXPECT_EQ(outcome.answer, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Each, ProcessConditions, ::testing::ValuesIn(Conditions()),
                         [](const auto& test) { return std::string(test.param.name); });

#ifdef MERGEDB_LIMITS_THREADS
// ---- no threads ---------------------------------------------------------------------------------------------

class Silent final : public EventListener {
 public:
  void OnEvent(const Event&) override {}
};

// Symptom: DB::Open threw std::system_error, or std::bad_alloc, in a process that might start no thread.
TEST(NoThreads, AnOpenSaysSoAndTheNextOneWorks) {
  const TempDirectory root;
  const Outcome outcome = RunApart(
      [&]() -> std::string {
        Options options{.memory_bytes = size_t{1} << 20};
        g_threads_left = 0;
        const auto refused = DB::Open(options, root / "db");
        if (!refused.status().IsBusy()) return "without threads: " + refused.status().ToString();
        if (refused.status().message().find("cannot start a thread: ") == std::string_view::npos) return "the text";
        if (fs::exists(root / "db")) return "the directory was made";
        mergedb_options c_options = {};
        c_options.struct_size = sizeof c_options;
        mergedb_db c_db = 0;
        mergedb_error error;
        if (mergedb_open((root / "db").c_str(), &c_options, &c_db, &error) != MERGEDB_BUSY) return error.message;
        // Threads for the pool, none for the listener.
        g_threads_left = 1000;
        if (const auto open = DB::Open(options, root / "db"); !open) return open.status().ToString();
        g_threads_left = 0;
        options.listener = std::make_shared<Silent>();
        const auto without_listener = DB::Open(options, root / "db");
        if (!without_listener.status().IsBusy()) return "a listener: " + without_listener.status().ToString();
        options.listener = nullptr;
        const auto db = DB::Open(options, root / "db");
        if (!db) return db.status().ToString();
        if (Status put = (*db)->Put({.durability = Durability::kSynced}, "k", "v"); !put.ok()) return put.ToString();
        return (*db)->Flush().ToString();
      },
      {});
  EXPECT_EQ(outcome.trouble, "");
  EXPECT_EQ(outcome.answer, "OK");
}
#endif

// ---- limits of the size of a file -----------------------------------------------------------------------------

// Symptom: SIGXFSZ in Open, because the WAL buffer has 64 MiB.
TEST(SmallFiles, WhatPassesTheLimitIsNoSpaceAndTheRestWorks) {
  for (const bool is_mapped : {true, false}) {
    for (const rlim_t limit : {rlim_t{256} << 10, rlim_t{3} << 20, rlim_t{60} << 20}) {
      SCOPED_TRACE(std::to_string(limit) + (is_mapped ? ", mapped" : ", written"));
      const TempDirectory root;
      const Outcome outcome = RunApart(
          [&]() -> std::string {
            if (const std::string refused = Limit(RLIMIT_FSIZE, limit); !refused.empty()) return refused;
            const Options options{.memory_bytes = size_t{limit < (rlim_t{4} << 20) ? 64u : 256u} << 20,
                                  .compression = {Compression::kNone, Compression::kNone},
                                  .blob_value_bytes_min = 0,
                                  .use_mapped_wal_buffer = is_mapped};
            auto db = DB::Open(options, root / "db");
            if (!db) return db.status().ToString();
            if (Status put = (*db)->Put({.durability = Durability::kSynced}, "k", "v"); !put.ok())
              return put.ToString();
            if (limit > (rlim_t{4} << 20)) return (*db)->Close().ToString();
            // A table with all of it is larger than the limit.
            Status status;
            const std::string value(50'000, 'x');
            for (int i = 0; i < 200 && status.ok(); ++i) status = (*db)->Put({}, "large" + std::to_string(i), value);
            if (status.ok()) status = (*db)->Flush();
            if (!status.IsNoSpace()) return "beyond the limit: " + status.ToString();
            if (status.message().find("RLIMIT_FSIZE") == std::string_view::npos) return std::string(status.message());
            std::string found;
            return (*db)->Get({}, "k", &found).ToString();
          },
          {});
      EXPECT_EQ(outcome.trouble, "");
      EXPECT_EQ(outcome.answer, "OK");
      ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, root / "db"));
      std::string found;
      EXPECT_OK(db->Get({}, "k", &found));
    }
  }
}

// ---- limits of memory -----------------------------------------------------------------------------------------

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Symptom: with the default options and RLIMIT_AS of 400 MiB, the process ended after 8 MB of writes, and stderr named
// neither mergedb nor an option. A write without memory for a memtable returns Busy. Where background work finds no
// memory, the process stops (docs/decisions/0017-out-of-memory.md), says what to lower, and nothing acknowledged is
// lost.
TEST(LittleMemory, AWriteIsBusyOrTheProcessSaysWhatToLower) {
  void* const shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* const written = new (shared) std::atomic<int>(0);
  for (const rlim_t megabytes : {300, 400}) {
    SCOPED_TRACE(megabytes);
    const TempDirectory root;
    *written = 0;
    const Outcome outcome = RunApart(
        [&]() -> std::string {
          if (freopen((root / "stderr").c_str(), "w", stderr) == nullptr) return "stderr";
          if (const std::string refused = Limit(RLIMIT_AS, megabytes << 20); !refused.empty()) return refused;
          auto db = DB::Open({}, root / "db");
          if (!db) return db.status().ToString();
          const std::string value(1000, 'x');
          Status status;
          while (*written < 40'000) {
            status = (*db)->Put({}, std::to_string(*written), value);
            if (!status.ok()) break;
            ++*written;
          }
          return status.ok() || (status.IsBusy() && status.message().find("memory_bytes") != std::string_view::npos)
                     ? "OK"
                     : status.ToString();
        },
        {});
    std::ostringstream told;
    told << std::ifstream(root / "stderr").rdbuf();
    if (outcome.trouble.empty()) {
      EXPECT_EQ(outcome.answer, "OK");
    } else {
      EXPECT_EQ(outcome.trouble, "signal 6 (Aborted)");
      EXPECT_THAT(told.str(), ::testing::StartsWith("mergedb: out of memory"));
      EXPECT_THAT(told.str(), ::testing::HasSubstr("Lower Options::memory_bytes"));
    }
    EXPECT_GT(*written, 0);
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, root / "db"));
    std::string found;
    for (int i = 0; i < *written; ++i) ASSERT_OK(db->Get({}, std::to_string(i), &found)) << i;
  }
  munmap(shared, 4096);
}
#endif

}  // namespace
}  // namespace mergedb::testing
