// Goal: with mapped_read_bytes_max a database reads tables and blob files in place: what was read once needs no more
// read calls, damage is an error, files that are overwritten or compacted away stay whole under iterators, and the
// bound holds. Method: real files; the reads of tables and blob files are counted; bytes of files are changed under the
// mapping.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <latch>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include "base/random.h"
#include "mergedb/comparator.h"
#include "mergedb/db.h"
#include "testing/counters.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing {
namespace {

constexpr int kKeys = 3'000;

std::string Key(int i) { return "key" + std::to_string(100'000 + i); }

class MappedReads : public ::testing::TestWithParam<Compression> {
 protected:
  MappedReads()
      : files_(DefaultEnv().file_system, {.before = [this](const FileCall& call, size_t*) -> Status {
                 const bool is_data = call.path.ends_with(".tbl") || call.path.ends_with(".val");
                 if (is_data && call.op == FileOp::kRead) ++reads_;
                 if (is_data && call.op == FileOp::kMap) ++maps_;
                 return {};
               }}) {
    options_.compression = {GetParam(), GetParam()};
    options_.env.file_system = &files_;
  }
  void Open() {
    auto db = DB::Open(options_, path());
    ASSERT_OK(db.status());
    db_ = std::move(*db);
  }
  // Small values, which stay in tables, and large ones, which go to blob files.
  void Put(int i, int round) {
    std::string value = std::to_string(round) + "/" + std::to_string(i) + "/";
    for (size_t bytes = i % 3 == 0 ? 1'500 : 40; value.size() < bytes;)
      value += static_cast<char>('a' + random_.Uniform(4));
    ASSERT_OK(db_->Put({}, Key(i), value));
    expected_[Key(i)] = value;
  }
  void Fill(int round) {
    for (int i = 0; i < kKeys; ++i) Put(i * 701 % kKeys, round);
    ASSERT_OK(db_->WaitForCompaction());
  }
  void ExpectGets() {
    std::string found;
    for (const auto& [key, value] : expected_) {
      ASSERT_OK(db_->Get({}, key, &found)) << key;
      ASSERT_EQ(found, value) << key;
    }
  }
  void ExpectScan(bool is_forward) {
    auto it = db_->NewIterator({});
    is_forward ? it->SeekToFirst() : it->SeekToLast();
    const auto check = [&](const auto& entry) {
      ASSERT_TRUE(it->Valid()) << it->status().ToString();
      ASSERT_EQ(it->key(), entry.first);
      ASSERT_EQ(it->value(), entry.second);
      is_forward ? it->Next() : it->Prev();
    };
    if (is_forward) {
      for (const auto& entry : expected_) check(entry);
    } else {
      for (auto entry = expected_.rbegin(); entry != expected_.rend(); ++entry) check(*entry);
    }
    EXPECT_FALSE(it->Valid());
    EXPECT_OK(it->status());
  }
  std::string path() const { return directory_.path() + "/db"; }

  const TempDirectory directory_;
  std::atomic<uint64_t> reads_{0}, maps_{0};
  WatchedFileSystem files_;
  Options options_{.memory_bytes = size_t{1} << 20,
                   .write_buffer_bytes = size_t{64} << 10,
                   .blob_value_bytes_min = 768,
                   .mapped_read_bytes_max = UINT64_MAX};
  base::Random random_{301};
  std::map<std::string, std::string> expected_;
  std::unique_ptr<DB> db_;
};

TEST_P(MappedReads, ReadWithoutCallsWhatTheyHaveReadBefore) {
  Open();
  Fill(1);
  ExpectGets();
  ExpectScan(true);
  EXPECT_GT(maps_, 4u) << "tables and blob files";
  const uint64_t before = reads_;
  ExpectGets();
  ExpectScan(true);
  ExpectScan(false);
  if (GetParam() == Compression::kNone) {
    EXPECT_EQ(reads_, before) << "the cache of 1 MiB does not hold the data";
  } else {
    EXPECT_LT(reads_, before + kKeys * 2) << "compressed values of blob files are read";
  }
}

TEST_P(MappedReads, IteratorsKeepOverwrittenFiles) {
  Open();
  Fill(1);
  auto it = db_->NewIterator({});
  it->SeekToFirst();
  const auto before = expected_;
  for (int round = 2; round < 5; ++round) {
    Fill(round);
    ASSERT_OK(db_->CompactRange(nullptr, nullptr));
    ExpectGets();
  }
  for (const auto& [key, value] : before) {
    ASSERT_TRUE(it->Valid()) << it->status().ToString();
    ASSERT_EQ(it->key(), key);
    ASSERT_EQ(it->value(), value);
    it->Next();
  }
  EXPECT_FALSE(it->Valid());
  it = nullptr;
  ExpectScan(true);
}

TEST_P(MappedReads, ABoundLeavesTheOtherFilesToReadCalls) {
  options_.mapped_read_bytes_max = 20'000;
  Open();
  for (int round = 1; round < 4; ++round) {
    Fill(round);
    ExpectGets();
    ExpectScan(true);
  }
  const uint64_t before = reads_;
  ExpectGets();
  EXPECT_GT(reads_, before) << "most files are not mapped";
}

TEST_P(MappedReads, DamageIsAnErrorAndNeverAnotherValue) {
  Open();
  Fill(1);
  ASSERT_OK(db_->Close());
  db_ = nullptr;
  // Each 701st byte of the data of every file; its last 8 KiB have what an open reads.
  for (const auto& file : std::filesystem::directory_iterator(path())) {
    const std::string name = file.path().filename();
    if (!name.ends_with(".tbl") && !name.ends_with(".val")) continue;
    std::fstream bytes(file.path(), std::ios::in | std::ios::out | std::ios::binary);
    const auto size = static_cast<int64_t>(file.file_size());
    for (int64_t at = 350; at < size - 8192; at += 701) {
      bytes.seekg(at);
      const int byte = bytes.get();
      bytes.seekp(at);
      bytes.put(static_cast<char>(byte ^ 8));
    }
  }
  Open();
  uint64_t errors = 0;
  for (int round = 0; round < 2; ++round) {
    for (const auto& [key, value] : expected_) {
      std::string found;
      const Status status = db_->Get({}, key, &found);
      if (status.ok()) {
        EXPECT_EQ(found, value) << key;
      } else {
        EXPECT_TRUE(status.IsCorruption()) << status.ToString();
        EXPECT_NE(status.ToString().find(path()), std::string::npos) << status.ToString();
        ++errors;
      }
    }
  }
  EXPECT_GT(errors, 100u);
}

// The end of the file stands for the unreadable page: the kernel sends SIGBUS for both.
TEST_P(MappedReads, AnUnreadablePageIsAnError) {
  Open();
  Fill(1);
  db_ = nullptr;
  const std::string copy = directory_.path() + "/copy";
  std::filesystem::copy(path(), copy);
  for (const bool maps : {true, false}) {
    options_.mapped_read_bytes_max = maps ? uint64_t{1} << 30 : 0;
    const pid_t child = fork();
    if (child == 0) {
      auto db = DB::Open(options_, path());
      if (!db) _exit(1);
      std::string value;
      const auto failed_gets = [&] {
        return std::ranges::count_if(expected_,
                                     [&](const auto& each) { return !(*db)->Get({}, each.first, &value).ok(); });
      };
      // Opens all files, also those that compactions make meanwhile: a file that is first opened later is not mapped.
      for (uint64_t compactions = UINT64_MAX; compactions != Counter(**db, "compactions");) {
        compactions = Counter(**db, "compactions");
        if (failed_gets() > 0 || !(*db)->WaitForCompaction().ok()) _exit(1);
      }
      std::error_code error;
      for (const auto& each : std::filesystem::directory_iterator(path())) {
        const std::string name = each.path();
        if (name.ends_with(".tbl") || name.ends_with(".val")) std::filesystem::resize_file(name, 0, error);
      }
      _exit(failed_gets() > 0 ? 2 : 3);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << "maps " << maps << ": " << status;
    std::filesystem::remove_all(path());
    std::filesystem::copy(copy, path());
    Open();
    ExpectGets();
    db_ = nullptr;
  }
}

// A thread is in the middle of a move, as if it were preempted in the comparison, while another one closes the
// database, opens it again and overwrites all of it.
class StoppingComparator final : public Comparator {
 public:
  std::string_view Name() const override { return "stopping"; }
  int Compare(std::string_view a, std::string_view b) const override {
    ++comparisons;
    if (comparisons == stop_at) {
      stopped.count_down();
      go_on.wait();
    }
    return a.compare(b);
  }
  static inline thread_local uint64_t comparisons = 0;
  static inline thread_local uint64_t stop_at = 0;  // 0: does not stop
  mutable std::latch stopped{1}, go_on{1};
};

TEST_P(MappedReads, AMoveOutlivesCloseOpenAndOverwrites) {
  for (const uint64_t part : {1, 2, 3, 4, 5}) {  // of a move
    SCOPED_TRACE(part);
    std::filesystem::remove_all(path());
    expected_.clear();
    StoppingComparator comparator;
    options_.comparator = &comparator;
    Open();
    const auto put = [this](int i, const std::string& value) {
      ASSERT_OK(db_->Put({}, Key(i), value));
      expected_[Key(i)] = value;
    };
    for (int i = 0; i < 400; ++i) put(i, std::string(100, static_cast<char>('a' + i % 26)));
    ASSERT_OK(db_->CompactRange(nullptr, nullptr));
    ExpectGets();  // opens the tables
    const uint64_t before = StoppingComparator::comparisons;
    db_->NewIterator({})->Seek(Key(390));
    const uint64_t all = StoppingComparator::comparisons - before;
    ASSERT_GE(all, 5u);
    auto it = db_->NewIterator({});
    std::thread reader([&] {
      StoppingComparator::stop_at = all * part / 5;
      it->Seek(Key(390));
      EXPECT_FALSE(it->Valid());
      EXPECT_EQ(it->status().code(), Code::kShuttingDown);
    });
    comparator.stopped.wait();
    ASSERT_OK(db_->Close());
    db_ = nullptr;
    Open();
    for (int round = 2; round < 10; ++round) {  // tables of a tenth of the size: a recycled file becomes shorter
      for (int i = 0; i < 400; ++i) put(i, "new" + std::to_string(round));
      ASSERT_OK(db_->Flush());
      ASSERT_OK(db_->CompactRange(nullptr, nullptr));
    }
    std::string recycled;
    ASSERT_TRUE(db_->GetProperty("mergedb.counters", &recycled));
    EXPECT_EQ(recycled.find("files_recycled 0\n"), std::string::npos) << "files of this open are recycled\n"
                                                                      << recycled;
    comparator.go_on.count_down();
    reader.join();
    it = nullptr;
    ExpectGets();
    db_ = nullptr;
  }
}

// The writer beside it unlinks a file that is held, and does not overwrite it.
TEST_P(MappedReads, AReadOnlyOpenMapsTheFilesThatItHolds) {
  Open();
  Fill(1);
  ASSERT_OK(db_->Flush());
  Options reading = options_;
  reading.mode = OpenMode::kReadOnly;
  maps_ = 0;
  ASSERT_OK_AND_ASSIGN(const auto reader, DB::Open(reading, path()));
  const auto before = expected_;
  const auto expect_before = [&] {
    std::string found;
    for (const auto& [key, value] : before) {
      ASSERT_OK(reader->Get({}, key, &found)) << key;
      ASSERT_EQ(found, value) << key;
    }
  };
  expect_before();
  EXPECT_GT(maps_, 0u);
  for (int round = 2; round < 4; ++round) {
    Fill(round);
    ASSERT_OK(db_->CompactRange(nullptr, nullptr));
    expect_before();
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, MappedReads, ::testing::Values(Compression::kNone, Compression::kLz4),
                         [](const auto& codec) { return codec.param == Compression::kNone ? "Raw" : "Lz4"; });

}  // namespace
}  // namespace mergedb::testing
