// Goal: if the LevelDB interface does not support a call, or finds damage, it returns the LevelDB status that
// a program expects. Method: each status code of mergedb; the calls that the files of an Env do not support;
// a table with one wrong byte or block handle, with and without a cache.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>

#include "leveldb/cache.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/interface/adapters.h"
#include "leveldb/interface/env_files.h"
#include "leveldb/options.h"
#include "leveldb/table.h"
#include "leveldb/table_builder.h"

namespace leveldb {
namespace {

using ::testing::HasSubstr;

// ---- statuses

TEST(Statuses, OfMergedbAreLevelDbsOwnKinds) {
  using Core = mergedb::Status;
  EXPECT_TRUE(ErrorFromCore(Core::NotFound("what")).IsNotFound());
  EXPECT_TRUE(ErrorFromCore(Core::Corruption("what")).IsCorruption());
  EXPECT_TRUE(ErrorFromCore(Core::MergeFailed("what")).IsCorruption());
  EXPECT_TRUE(ErrorFromCore(Core::InvalidArgument("what")).IsInvalidArgument());
  EXPECT_TRUE(ErrorFromCore(Core::NotSupported("what")).IsNotSupportedError());
  for (const Core& other : {Core::IOError("what"), Core::NoSpace("what"), Core::Busy("what"), Core::Conflict("what"),
                            Core::Aborted("what"), Core::ShuttingDown("what")}) {
    EXPECT_TRUE(ErrorFromCore(other).IsIOError()) << other.ToString();
    EXPECT_THAT(ErrorFromCore(other).ToString(), HasSubstr("what"));
  }
}

TEST(Statuses, AreWhatBecomesOfAnException) {
  const Status status = Guarded([]() -> Status { throw std::bad_alloc(); });
  EXPECT_TRUE(status.IsIOError());
  EXPECT_THAT(status.ToString(), HasSubstr("out of memory"));
}

// ---- an Env

TEST(EnvRefusals, AnEnvWithoutAppendableFilesSaysSo) {
  EnvWrapper plain(Env::Default());
  WritableFile* made = nullptr;
  const Status status = plain.Env::NewAppendableFile("/f", &made);
  EXPECT_TRUE(status.IsNotSupportedError());
  EXPECT_THAT(status.ToString(), HasSubstr("NewAppendableFile: /f"));
  EXPECT_EQ(made, nullptr);
}

class EnvFilesRefusals : public ::testing::Test {
 protected:
  void Expect(const mergedb::Status& status, const char* part) {
    EXPECT_EQ(status.code(), mergedb::Code::kNotSupported) << status.ToString();
    EXPECT_THAT(std::string(status.message()), HasSubstr(part));
    EXPECT_THAT(std::string(status.message()), HasSubstr("/dir/000007.ldb"));
  }

  const std::unique_ptr<Env> env_{NewMemEnv(Env::Default())};
  EnvFiles files_{env_.get(), "/dir"};
  const std::string path_ = "/dir/000007.tbl";
  char bytes_[4] = {};
  size_t got_ = 0;
};

TEST_F(EnvFilesRefusals, WhatAFileOpenedForAppendingCannotDo) {
  auto file = std::move(files_.Open(path_, {.access = mergedb::Access::kCreate})).value();
  ASSERT_TRUE(file->WriteAt(0, "bytes").ok());
  Expect(file->ReadAt(0, 4, bytes_, &got_), "opened for appending, cannot be read");
  Expect(file->WriteAt(2, "x"), "opened for appending, cannot be written at another place than its end");
  Expect(file->Truncate(0), "opened for appending, cannot be cut");
  Expect(file->Map(4).error(), "opened for appending, cannot be mapped");
  EXPECT_TRUE(file->WriteAt(5, "more").ok());
  EXPECT_TRUE(file->Close().ok());
  Expect(file->WriteAt(9, "x"), "cannot be written");
  Expect(file->Sync(), "cannot be synced");
  EXPECT_EQ(*files_.SizeOf(path_), 9u);
}

TEST_F(EnvFilesRefusals, WhatAFileOpenedForReadingCannotDo) {
  ASSERT_TRUE(WriteStringToFile(env_.get(), "bytes", "/dir/000007.ldb").ok());
  auto file = std::move(files_.Open(path_, {.access = mergedb::Access::kRead})).value();
  Expect(file->WriteAt(5, "x"), "opened for reading, cannot be written");
  Expect(file->Truncate(0), "opened for reading, cannot be cut");
  Expect(file->Sync(), "opened for reading, cannot be synced");
  Expect(file->Map(4).error(), "opened for reading, cannot be mapped");
  EXPECT_TRUE(file->ReadAt(1, 4, bytes_, &got_).ok());
  EXPECT_EQ(std::string(bytes_, got_), "ytes");
}

// ---- tables

class TableRefusals : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.env = env_.get();
    options_.compression = kNoCompression;
    WritableFile* out = nullptr;
    ASSERT_TRUE(env_->NewWritableFile("/table", &out).ok());
    const std::unique_ptr<WritableFile> owned(out);
    TableBuilder builder(options_, out);
    builder.Add("key", "value");
    ASSERT_TRUE(builder.Finish().ok());
    ASSERT_TRUE(out->Close().ok());
    ASSERT_TRUE(ReadFileToString(env_.get(), "/table", &bytes_).ok());
  }
  Status Open(const std::string& bytes) {
    table_ = nullptr;
    EXPECT_TRUE(WriteStringToFile(env_.get(), bytes, "/changed").ok());
    RandomAccessFile* file = nullptr;
    EXPECT_TRUE(env_->NewRandomAccessFile("/changed", &file).ok());
    file_.reset(file);
    Table* made = nullptr;
    const Status status = Table::Open(options_, file, bytes.size(), &made);
    table_.reset(made);
    return status;
  }
  // Returns the first key's value, or the error.
  std::string First(bool verify_checksums) {
    ReadOptions reading;
    reading.verify_checksums = verify_checksums;
    const std::unique_ptr<Iterator> it(table_->NewIterator(reading));
    it->SeekToFirst();
    return it->Valid() ? it->value().ToString() : it->status().ToString();
  }

  const std::unique_ptr<Env> env_{NewMemEnv(Env::Default())};
  Options options_;
  std::string bytes_;
  std::unique_ptr<RandomAccessFile> file_;
  std::unique_ptr<Table> table_;
};

TEST_F(TableRefusals, AHandleThatReachesBehindTheFile) {
  constexpr size_t kFooterBytes = 48;
  std::string footer = bytes_.substr(bytes_.size() - kFooterBytes);
  ASSERT_TRUE(Open(bytes_).ok());
  const Status status = Open(footer);  // the footer alone: its handles name missing blocks
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_EQ(table_, nullptr);
}

TEST_F(TableRefusals, ABlockThatIsNotWhatWasWritten) {
  std::string damaged = bytes_;
  damaged[damaged.find("value")] = 'V';
  for (const size_t cache_bytes : {size_t{0}, size_t{1} << 20}) {
    const std::unique_ptr<Cache> cache(cache_bytes == 0 ? nullptr : NewLRUCache(cache_bytes));
    options_.block_cache = cache.get();
    ASSERT_TRUE(Open(damaged).ok());
    for (int round = 0; round < 2; ++round)
      EXPECT_THAT(First(true), HasSubstr("Corruption")) << "a damaged block is not cached";
    EXPECT_EQ(First(false), "Value") << "who does not ask is not told";
    table_ = nullptr;
  }
}

TEST_F(TableRefusals, AnIndexThatIsNotWhatWasWritten) {
  std::string damaged = bytes_;
  const size_t index = damaged.rfind('l', damaged.size() - 48);  // "l": the separator behind "key"
  ASSERT_NE(index, std::string::npos);
  damaged[index] = 'm';
  EXPECT_TRUE(Open(damaged).ok());
  options_.paranoid_checks = true;
  const Status status = Open(damaged);
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_EQ(table_, nullptr);
}

}  // namespace
}  // namespace leveldb
