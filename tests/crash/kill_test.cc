// kill -9 of a real process on real files: every write that returned is there when the database opens again,
// whatever its durability, and the writes of each writer are a prefix of what it wrote.
// Method: a child process runs four writers; each counts its returned writes on a shared page. The parent
// kills the child at a random moment and opens the remaining files. The directory is used in all cycles, each
// with options of its own.
// WHY a page and not a pipe: it outlives the child as well, and costs only a store, so that kills hit the
// engine, not write(2).
// Also tested: an open must not take tables for orphans that running compactions have replaced in the
// SuperVersion but not yet in the MANIFEST. The next kill would leave a MANIFEST that names missing tables (1
// in 20 runs of 10 cycles, 2 in 3 runs of 200).
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "base/random.h"
#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "testing/geometry.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"

namespace mergedb::testing {
namespace {

constexpr size_t kWriters = 4;
constexpr uint64_t kKeysPerWriter = 200;
constexpr uint64_t kKillAfterMicrosMax = 60'000;

// Shared with the child: the numbers of begun and of returned writes of each writer, over all cycles.
struct Progress {
  std::array<std::atomic<uint64_t>, kWriters> begun{};
  std::array<std::atomic<uint64_t>, kWriters> returned{};
};

class SharedProgress {
 public:
  SharedProgress()
      : progress_(new (mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                      Progress) {}
  ~SharedProgress() { munmap(progress_, sizeof(Progress)); }
  Progress* operator->() const { return progress_; }

 private:
  Progress* const progress_;
};

// A restart may change everything except the comparator. Most lives use the test parameter's kind of WAL
// buffer.
Geometry GeometryOf(bool use_mapping, uint64_t seed) {
  Geometry geometry = GeometryFor(seed, {.write_buffer_bytes_max = 4 << 20});
  if (seed % 8 != 0 && std::getenv("MERGEDB_GEOMETRY") == nullptr) geometry.use_mapping = use_mapping;
  return geometry;
}
Options OptionsFor(bool use_mapping, uint64_t seed) {
  Options options;
  Choose(GeometryOf(use_mapping, seed), &options);
  return options;
}

std::string KeyOf(size_t writer, uint64_t index) { return "w" + std::to_string(writer) + "-" + std::to_string(index); }
std::string ValueOf(uint64_t number, uint64_t seed) {
  return std::to_string(number) + ":" + std::string(number * 7919 % (seed % 2 == 0 ? 300 : 3000), 'v');
}

// After this many writes the writer deletes the range of all its notes.
constexpr uint64_t kNotesMax = 25;
std::string NotesOf(size_t writer) { return "note" + std::to_string(writer) + "-"; }

// Write number n (from 1) of a writer: its counter, one of its keys and a note, in one batch.
void WriteForEver(DB& db, size_t writer, uint64_t seed, const SharedProgress& progress) {
  base::Random random(seed * 8 + writer);
  for (uint64_t n = progress->begun[writer] + 1;; ++n) {
    progress->begun[writer] = n;
    WriteBatch batch;
    batch.Put(KeyOf(writer, n % kKeysPerWriter), ValueOf(n, seed));
    batch.Put("count" + std::to_string(writer), std::to_string(n));
    if (n % kNotesMax == 0) batch.DeleteRange(NotesOf(writer), NotesOf(writer) + "~");
    batch.Put(NotesOf(writer) + std::to_string(n), "");
    batch.Merge("sum" + std::to_string(writer), merge::AddU64(n));
    const auto durability = random.OneIn(20) ? Durability::kSynced : Durability::kProcessCrash;
    if (!db.Write({.durability = durability}, batch).ok()) _exit(3);
    progress->returned[writer] = n;
  }
}

[[noreturn]] void RunChild(const std::string& path, bool use_mapping, uint64_t seed, const SharedProgress& progress) {
  auto db = DB::Open(OptionsFor(use_mapping, seed), path);
  if (!db) {
    std::fprintf(stderr, "the child cannot open %s: %s\n", path.c_str(), db.error().ToString().c_str());
    _exit(2);
  }
  std::vector<std::thread> writers;
  for (size_t i = 0; i < kWriters; ++i) writers.emplace_back([&, i] { WriteForEver(**db, i, seed, progress); });
  for (auto& writer : writers) writer.join();
  _exit(4);
}

class KillTest : public ::testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  void SetUp() override {
    std::string pattern = std::string(std::get<0>(GetParam())) + "/mergedb_kill_XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) GTEST_SKIP() << pattern << " cannot be made here";
    path_ = pattern;
  }
  void TearDown() override {
    if (!path_.empty()) std::filesystem::remove_all(path_);
  }

  // On a busy disk an open may take longer than the child's life.
  void AwaitAWrite() {
    for (int i = 0; i < 10'000 && progress_->returned[0] == first_[0]; ++i) usleep(1'000);
  }

  // The state of writer i is the state after its write number "count": the last write that returned, or a
  // later write that has begun.
  void CheckWriter(DB& db, size_t i, uint64_t seed) {
    std::string text;
    const Status status = db.Get({}, "count" + std::to_string(i), &text);
    const uint64_t count = status.ok() ? std::stoull(text) : 0;
    ASSERT_TRUE(status.ok() || status.IsNotFound()) << status.ToString();
    ASSERT_GE(count, progress_->returned[i]) << "writer " << i << ": a write that returned is gone";
    ASSERT_LE(count, progress_->begun[i]);
    // Each operand counts once: in each life a writer continues with the number after the last one in the
    // database.
    const Status merged = db.Get({}, "sum" + std::to_string(i), &text);
    ASSERT_TRUE(count == 0 ? merged.IsNotFound() : merged.ok()) << merged.ToString();
    if (count > 0) { ASSERT_EQ(merge::ToU64(text), count * (count + 1) / 2) << "writer " << i << " of " << count; }
    for (uint64_t n = count; n > 0 && n + kKeysPerWriter > count && n > first_[i]; --n) {
      ASSERT_OK(db.Get({}, KeyOf(i, n % kKeysPerWriter), &text)) << n;
      ASSERT_EQ(text, ValueOf(n, seed)) << "writer " << i << " write " << n << " of " << count;
    }
    auto notes = db.NewIterator({.prefix = NotesOf(i)});
    uint64_t found = 0;
    for (notes->SeekToFirst(); notes->Valid(); notes->Next()) ++found;
    ASSERT_OK(notes->status());
    ASSERT_EQ(found, count < kNotesMax ? count : count % kNotesMax + 1) << "writer " << i << " of " << count;
    // Begun writes that are not there never happened: the next life continues from the database.
    progress_->begun[i] = progress_->returned[i] = first_[i] = count;
  }

  std::string path_;
  SharedProgress progress_;
  std::array<uint64_t, kWriters> first_{};  // writes of earlier cycles
};

TEST_P(KillTest, LosesNoWriteThatReturned) {
  const bool use_mapping = std::get<1>(GetParam());
  const uint64_t seed = SeedOr(42);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  base::Random random(seed);
  const int cycles = IsFullSize() ? 2500 : 40;
  for (int cycle = 0; cycle < cycles && !HasFatalFailure(); ++cycle) {
    SCOPED_TRACE("cycle " + std::to_string(cycle));
    const uint64_t cycle_seed = random.Next();
    SCOPED_TRACE("killed: " + ReplayOf(GeometryOf(use_mapping, cycle_seed)) +
                 "\n  reopened: " + ReplayOf(GeometryOf(use_mapping, cycle_seed + 1)));
    std::fflush(nullptr);  // otherwise the children print the buffered text again
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) RunChild(path_, use_mapping, cycle_seed, progress_);
    if (cycle % 2 == 1) AwaitAWrite();  // in the other cycles the kill may hit the open
    usleep(static_cast<useconds_t>(random.Uniform(kKillAfterMicrosMax)));
    ASSERT_EQ(kill(child, SIGKILL), 0);
    int outcome = 0;
    ASSERT_EQ(waitpid(child, &outcome, 0), child);
    ASSERT_TRUE(WIFSIGNALED(outcome)) << "the child ended by itself: " << outcome;

    // A separate process checks: the parent never starts threads, so that it may fork.
    const pid_t checker = fork();
    if (checker == 0) {
      {
        auto db = DB::Open(OptionsFor(use_mapping, cycle_seed + 1), path_);
        EXPECT_OK(db.status());
        for (size_t i = 0; db && i < kWriters; ++i) CheckWriter(**db, i, cycle_seed);
        if (db && cycle % 3 == 0) { EXPECT_OK((*db)->CheckIntegrity()); }
        if (db && cycle % 2 == 0) {
          EXPECT_OK((*db)->Close());
        } else if (db) {
          (void)db->release();  // ends without a close
        }
      }
      std::fflush(stdout);
      _exit(HasFailure() ? 1 : 0);
    }
    ASSERT_EQ(waitpid(checker, &outcome, 0), checker);
    ASSERT_EQ(outcome, 0);
    for (size_t i = 0; i < kWriters; ++i) first_[i] = progress_->returned[i];
  }
  for (const uint64_t writes : first_) EXPECT_GT(writes, 50u) << "killed too early to prove anything";
}

INSTANTIATE_TEST_SUITE_P(Places, KillTest,
                         ::testing::Combine(::testing::Values("/tmp", "/dev/shm"), ::testing::Bool()));

}  // namespace
}  // namespace mergedb::testing
