// Goal: a page of a mapped file that the system cannot read never ends the process and never gives a wrong answer, in
// any read: the read returns the right answer, which it reads by calls, or an error. The same for the mapped WAL
// buffer: an error, and the next writes work. Method: real page faults (SIGBUS). Each mapping of a table or a blob file
// is one of a copy in memory that the test cuts, so that the file itself stays whole and can be read by calls, unless
// the test makes these reads fail, too.
#include "base/mapped_faults.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/random.h"
#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "mergedb/repair.h"
#include "testing/counters.h"
#include "testing/seed.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "testing/watched_file_system.h"

namespace mergedb::testing {
namespace {

using ::testing::HasSubstr;

constexpr size_t kPageBytes = 4096;

// Mappings of copies in memory. THREADS: any.
class CutMappings {
 public:
  Result<std::unique_ptr<ReadMapping>> Map(File& file, size_t bytes) {
    std::string content(bytes, '\0');
    size_t got = 0;
    RETURN_IF_ERROR(file.ReadAt(0, bytes, content.data(), &got));
    const int fd = memfd_create("copy", MFD_CLOEXEC);
    if (fd < 0 || got != bytes || write(fd, content.data(), bytes) != static_cast<ssize_t>(bytes))
      return Status::IOError("the copy of a file");
    void* const data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED) return Status::IOError("the mapping of a copy");
    auto mapping = std::make_unique<CutMapping>(*this, fd, static_cast<const char*>(data), bytes);
    const std::scoped_lock lock(mutex_);
    mappings_[mapping.get()] = bytes;
    return std::unique_ptr<ReadMapping>(std::move(mapping));
  }
  // Cuts one mapping, or all. Within a page, the kernel puts zeros behind the cut and raises no signal.
  enum class Where { kAnywhere, kBetweenPages };
  void Cut(base::Random& random, bool all, Where where = Where::kAnywhere) {
    const std::scoped_lock lock(mutex_);
    if (mappings_.empty()) return;
    size_t chosen = random.Uniform(mappings_.size());
    for (auto& [mapping, bytes] : mappings_) {
      if (!all && chosen-- != 0) continue;
      const bool is_within = where == Where::kAnywhere && random.OneIn(2);
      bytes = is_within ? random.Uniform(bytes + 1) : random.Uniform(bytes / kPageBytes + 1) * kPageBytes;
      if (ftruncate(mapping->fd(), static_cast<off_t>(bytes)) != 0) ADD_FAILURE() << "ftruncate";
    }
  }
  // Makes one page of one mapping unreadable, as a bad sector does. The pages behind it stay.
  void LosePage(base::Random& random) {
    const std::scoped_lock lock(mutex_);
    if (mappings_.empty()) return;
    const CutMapping& mapping =
        *std::next(mappings_.begin(), static_cast<long>(random.Uniform(mappings_.size())))->first;
    const size_t page = random.Uniform((mapping.size() + kPageBytes - 1) / kPageBytes);
    const int empty = memfd_create("empty", MFD_CLOEXEC);
    void* const at = const_cast<char*>(mapping.data()) + page * kPageBytes;
    if (mmap(at, kPageBytes, PROT_READ, MAP_SHARED | MAP_FIXED, empty, 0) != at) ADD_FAILURE() << "mmap";
    close(empty);
  }

 private:
  class CutMapping final : public ReadMapping {
   public:
    CutMapping(CutMappings& all, int fd, const char* data, size_t size)
        : all_(all), fd_(fd), data_(data), size_(size) {}
    ~CutMapping() override {
      const std::scoped_lock lock(all_.mutex_);
      all_.mappings_.erase(this);
      munmap(const_cast<char*>(data_), size_);
      close(fd_);
    }
    const char* data() const override { return data_; }
    size_t size() const override { return size_; }
    int fd() const { return fd_; }

   private:
    CutMappings& all_;
    const int fd_;
    const char* const data_;
    const size_t size_;
  };

  std::mutex mutex_;
  std::map<const CutMapping*, size_t> mappings_;  // and the bytes that are left
};

class MappedFaultsTest : public ::testing::TestWithParam<Compression> {
 protected:
  static constexpr int kKeys = 400;
  static constexpr size_t kBlobBytes = 768;

  MappedFaultsTest()
      : files_(DefaultEnv().file_system,
               {.before = [this](const FileCall& call, size_t*) -> Status {
                  const bool is_data = call.path.ends_with(".tbl") || call.path.ends_with(".val");
                  if (call.op == FileOp::kRead && is_data && reads_fail_) return Status::IOError("no sector");
                  return {};
                },
                .map_to_read = [this](File& file, size_t bytes) { return mappings_.Map(file, bytes); }}) {
    options_.compression = {GetParam(), GetParam()};
    options_.env.file_system = &files_;
  }
  static std::string Key(int i) { return "key" + std::to_string(1000 + i); }
  std::string path() const { return directory_.path() + "/db"; }

  ~MappedFaultsTest() override {
    if (db_ != nullptr) faults_ += Counter(*db_, "mapped_read_faults");
    RecordProperty("faults", std::to_string(faults_));
    std::printf("%llu pages could not be read\n", static_cast<unsigned long long>(faults_));
  }

  void Open() {
    if (db_ != nullptr) faults_ += Counter(*db_, "mapped_read_faults");
    db_ = nullptr;
    auto db = DB::Open(options_, path());
    ASSERT_OK(db.status());
    db_ = std::move(*db);
  }
  // Values in tables and in blob files, operands over several runs, deletes, a range delete, a named keyspace.
  void Fill() {
    Open();
    ASSERT_OK(db_->CreateKeyspace("named"));
    for (int round = 0; round < 4; ++round) {
      for (int i = round; i < kKeys; i += round + 1) {
        const std::string key = Key(i);
        if (i % 7 == 0) {
          ASSERT_OK(db_->Merge({}, key, merge::AddU64(1)));
          std::string& number = expected_[key];  // little-endian
          number.resize(8);
          ++number[0];
        } else {
          std::string value = std::to_string(round) + "/" + key + "/";
          value.append(i % 3 == 0 ? 1500 : 100, static_cast<char>('a' + random_.Uniform(26)));
          ASSERT_OK(db_->Put({}, key, value));
          expected_[key] = value;
        }
      }
      ASSERT_OK(db_->Flush());
    }
    ASSERT_OK(db_->DeleteRange({}, Key(50), Key(60)));
    expected_.erase(expected_.lower_bound(Key(50)), expected_.lower_bound(Key(60)));
    ASSERT_OK(db_->Flush());
    ASSERT_OK(db_->WaitForCompaction());
  }

  // ---- reads: each gives the right answer or an error, and returns the number of errors

  int Get(base::Random& random) {
    const std::string key = Key(static_cast<int>(random.Uniform(kKeys)));
    std::string value;
    return Judge(key, db_->Get({}, key, &value), value);
  }
  int MultiGet(base::Random& random) {
    std::vector<std::string> keys;
    for (int i = 0; i < 8; ++i) keys.push_back(Key(static_cast<int>(random.Uniform(kKeys))));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    std::vector<std::string> values;
    const std::vector<Status> statuses = db_->MultiGet({}, views, &values);
    int errors = 0;
    for (size_t i = 0; i < keys.size(); ++i) errors += Judge(keys[i], statuses[i], values[i]);
    return errors;
  }
  int Judge(const std::string& key, const Status& status, const std::string& value) {
    const auto expected = expected_.find(key);
    if (status.ok()) {
      EXPECT_TRUE(expected != expected_.end() && value == expected->second) << key << ": a wrong value";
      return 0;
    }
    if (status.IsNotFound()) {
      EXPECT_EQ(expected, expected_.end()) << key << " is gone";
      return 0;
    }
    return JudgeError(status);
  }
  int JudgeError(const Status& error) {
    EXPECT_TRUE(error.IsIOError()) << error.ToString();
    EXPECT_THAT(error.ToString(), HasSubstr(path())) << "the file";
    return 1;
  }
  // A value in a blob file that is shown already can become zeros without an error (docs/PROMISES.md).
  bool IsRight(const std::pair<const std::string, std::string>& entry, std::string_view value) const {
    return value == entry.second || (cuts_under_iterators_ && entry.second.size() >= kBlobBytes);
  }
  int Iterate(base::Random& random) {
    const auto it = db_->NewIterator({});
    auto at = expected_.end();  // what the iterator should show
    const auto seek = [&] {
      const std::string key = Key(static_cast<int>(random.Uniform(kKeys)));
      switch (random.Uniform(4)) {
        case 0: it->SeekToFirst(); return expected_.begin();
        case 1: it->SeekToLast(); return std::prev(expected_.end());
        case 2: it->Seek(key); return expected_.lower_bound(key);
        default: {
          it->SeekForPrev(key);
          const auto after = expected_.upper_bound(key);
          return after == expected_.begin() ? expected_.end() : std::prev(after);
        }
      }
    };
    at = seek();
    const bool is_forward = random.OneIn(2);
    for (int moves = static_cast<int>(random.Uniform(60)); moves > 0 && it->Valid(); --moves) {
      if (cuts_under_iterators_ && random.OneIn(40)) mappings_.Cut(random, false);
      const bool is_right = at != expected_.end() && it->key() == at->first && IsRight(*at, it->value());
      if (!is_right && it->status().ok()) {
        // Cut after the move that showed it. The error comes with a later move.
        while (it->Valid()) is_forward ? it->Next() : it->Prev();
        EXPECT_FALSE(it->status().ok()) << "a wrong entry at " << (at == expected_.end() ? "the end" : at->first);
        return 1;
      }
      is_forward ? it->Next() : it->Prev();
      if (!is_forward && at == expected_.begin()) {
        at = expected_.end();
      } else {
        at = is_forward ? std::next(at) : std::prev(at);
      }
    }
    if (!it->status().ok()) return JudgeError(it->status());
    if (!it->Valid()) { EXPECT_EQ(at, expected_.end()) << "the iterator ends early"; }
    return 0;
  }
  int ReadOne(base::Random& random) {
    switch (random.Uniform(4)) {
      case 0: return MultiGet(random);
      case 1:
      case 2: return Iterate(random);
      default: return Get(random);
    }
  }

  const TempDirectory directory_;
  CutMappings mappings_;
  std::atomic<bool> reads_fail_{false};
  bool cuts_under_iterators_ = false;
  WatchedFileSystem files_;
  Options options_{.memory_bytes = size_t{1} << 20,
                   .write_buffer_bytes = size_t{64} << 10,
                   .block_bytes = 1024,
                   .blob_value_bytes_min = kBlobBytes,
                   .mapped_read_bytes_max = UINT64_MAX};
  base::Random random_{SeedOr(20'261'130)};
  std::map<std::string, std::string> expected_;
  std::unique_ptr<DB> db_;
  uint64_t faults_ = 0;
};

TEST_P(MappedFaultsTest, EachReadIsRightOrAnError) {
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(SeedOr(20'261'130)));
  Fill();
  int errors = 0;
  for (uint64_t life = 0; life < Sized(60, 4000, 4) && !HasFailure(); ++life) {
    reads_fail_ = false;
    cuts_under_iterators_ = false;
    Open();
    for (int i = 0; i < 60; ++i) EXPECT_EQ(ReadOne(random_), 0) << "nothing is cut yet";
    reads_fail_ = random_.OneIn(2);  // else each read is right, or an iterator's error
    cuts_under_iterators_ = random_.OneIn(2);
    for (int i = 0; i < 60 && !HasFailure(); ++i) {
      if (random_.OneIn(6)) mappings_.Cut(random_, random_.OneIn(4));
      if (random_.OneIn(3)) mappings_.LosePage(random_);
      errors += ReadOne(random_);
    }
  }
  EXPECT_GT(errors, 20);
}

// The cut comes in the middle of a read. WHY between pages: docs/PROMISES.md.
TEST_P(MappedFaultsTest, ThreadsReadWhileFilesAreCut) {
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(SeedOr(20'261'130)));
  Fill();
  std::atomic<int> errors{0};
  for (uint64_t life = 0; life < Sized(30, 2000, 3) && !HasFailure(); ++life) {
    reads_fail_ = false;
    Open();
    for (int i = 0; i < 20; ++i) (void)ReadOne(random_);
    reads_fail_ = random_.OneIn(2);
    std::vector<std::thread> readers;
    for (uint64_t t = 0; t < 3; ++t) {
      readers.emplace_back([&, seed = random_.Next() + t] {
        base::Random random(seed);
        for (int i = 0; i < 60 && !HasFailure(); ++i) errors += ReadOne(random);
      });
    }
    for (int i = 0; i < 6; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(random_.Uniform(2000)));
      for (int page = 0; page < 5; ++page) mappings_.LosePage(random_);
      mappings_.Cut(random_, i == 5, CutMappings::Where::kBetweenPages);
    }
    for (std::thread& reader : readers) reader.join();
    for (int i = 0; i < 20; ++i) errors += ReadOne(random_);
  }
  EXPECT_GT(errors, 3);
}

// What a fault turned into zeros enters no cache.
TEST_P(MappedFaultsTest, WhatIsReadAfterwardsIsRight) {
  Fill();
  Open();
  for (int i = 0; i < 100; ++i) (void)ReadOne(random_);
  for (int round = 0; round < 4; ++round) {
    mappings_.Cut(random_, true);
    for (int i = 0; i < 100; ++i) (void)ReadOne(random_);
  }
  std::string value;
  for (int i = 0; i < kKeys; ++i) EXPECT_EQ(Judge(Key(i), db_->Get({}, Key(i), &value), value), 0);
  const auto it = db_->NewIterator({});
  auto at = expected_.begin();
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++at) {
    ASSERT_NE(at, expected_.end());
    ASSERT_EQ(it->key(), at->first);
    ASSERT_EQ(it->value(), at->second);
  }
  EXPECT_OK(it->status());
  EXPECT_EQ(at, expected_.end());
}

INSTANTIATE_TEST_SUITE_P(Each, MappedFaultsTest, ::testing::Values(Compression::kNone, Compression::kLz4));

// ---- the WAL buffer -------------------------------------------------------------------------------------------------

// Symptom: the kernel killed a process that stored to a page of STAGING that it could not read.
TEST(MappedWalFaults, AWriteFailsAndTheNextOnesWork) {
  for (const bool is_synced : {false, true}) {
    const TempDirectory directory;
    Options options{.memory_bytes = size_t{4} << 20, .write_buffer_bytes = size_t{1} << 20};
    std::map<std::string, std::string> stored;
    {
      ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, directory / "db"));
      const auto put = [&](int i) {
        const std::string key = std::to_string(i);
        const Status status =
            db->Put({.durability = is_synced ? Durability::kSynced : Durability::kProcessCrash}, key, key + "'s value");
        if (status.ok()) stored[key] = key + "'s value";
        return status;
      };
      for (int i = 0; i < 100; ++i) ASSERT_OK(put(i));
      std::filesystem::resize_file(directory / "db/STAGING", 0);
      int failed = 0;
      for (int i = 100; i < 300; ++i) {
        const Status status = put(i);
        if (status.ok()) continue;
        ++failed;
        EXPECT_TRUE(status.IsIOError()) << status.ToString();
        EXPECT_THAT(status.ToString(), HasSubstr("STAGING"));
      }
      EXPECT_GE(failed, 1);
      EXPECT_LT(failed, 10) << "a new epoch of the WAL takes the writes";
      std::string value;
      for (const auto& [key, expected] : stored) {
        ASSERT_OK(db->Get({}, key, &value));
        ASSERT_EQ(value, expected);
      }
    }
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, directory / "db"));
    std::string value;
    for (const auto& [key, expected] : stored) {
      ASSERT_OK(db->Get({}, key, &value)) << key;
      ASSERT_EQ(value, expected);
    }
  }
}

// Symptom: SyncWal returned OK after another program had cut STAGING within the page of the newest frames: the zeros
// behind the cut went to a segment, and a kill lost synced writes; also those of an earlier sync in the same block.
TEST(MappedWalFaults, ASyncOfWhatWasCutFails) {
  constexpr int kPuts = 500;
  constexpr int kSynced = 490;
  int failed = 0;
  for (uint64_t bytes = 64'100; bytes < 70'000; bytes += 450) {
    SCOPED_TRACE(bytes);
    const TempDirectory directory;
    const std::string value(100, 'v');
    const auto expect = [&](const std::string& path, int puts) {
      auto db_or = DB::Open({}, path);
      if (db_or.status().IsCorruption()) {  // STAGING is too short
        ASSERT_OK(Repair({}, path).status());
        db_or = DB::Open({}, path);
      }
      ASSERT_OK_AND_ASSIGN(const auto db, std::move(db_or));
      std::string found;
      for (int i = 0; i < puts; ++i) {
        ASSERT_OK(db->Get({}, std::to_string(i), &found)) << i;
        ASSERT_EQ(found, value) << i;
      }
    };
    {
      ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, directory / "db"));
      for (int i = 0; i < kPuts; ++i) {
        ASSERT_OK(db->Put({}, std::to_string(i), value));
        if (i == kSynced - 1) { ASSERT_OK(db->SyncWal()); }
      }
      std::filesystem::resize_file(directory / "db/STAGING", bytes);
      const Status put = db->Put({}, std::to_string(kPuts), value);
      const Status synced = db->SyncWal();
      failed += !put.ok() || !synced.ok();
      if (!put.ok()) { ASSERT_OK(db->Put({}, std::to_string(kPuts), value)); }
      std::filesystem::copy(directory / "db", directory / "killed", std::filesystem::copy_options::recursive);
      expect(directory / "killed", synced.ok() ? kPuts + 1 : kSynced);
      (void)db->Close();  // the WAL has failed; the flush of its writes has not
    }
    expect(directory / "db", kPuts + 1);
  }
  EXPECT_GT(failed, 0);
}

}  // namespace
}  // namespace mergedb::testing
