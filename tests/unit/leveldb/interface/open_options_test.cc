// Goal: LevelDB's options become the right mergedb options, and errors of an open become LevelDB's. Method:
// translation, without a database.
#include "leveldb/interface/open_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstring>
#include <memory>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/filter_policy.h"
#include "leveldb/helpers/memenv.h"

namespace leveldb {
namespace {

mergedb::Options Translated(const Options& options) {
  Borrowed borrowed(options, "/nowhere");
  return ToCore(options, &borrowed);
}

// With fewer memory bytes the engine warms less of the page cache: cold gets through the LevelDB interface
// take 1.5 times as long.
TEST(OpenOptions, ACacheOfOursCountsAsMemory) {
  constexpr size_t kMiB = size_t{1} << 20;
  Options options;
  options.write_buffer_size = 4 * kMiB;
  EXPECT_EQ(Translated(options).memory_bytes, (8 + 8) * kMiB);
  const std::unique_ptr<Cache> cache(NewLRUCache(256 * kMiB));
  options.block_cache = cache.get();
  EXPECT_EQ(Translated(options).memory_bytes, (8 + 256) * kMiB);
}

TEST(OpenOptions, ACacheWithoutLimitOverflowsNothing) {
  for (const size_t capacity : {size_t{0}, ~size_t{0}}) {
    const std::unique_ptr<Cache> cache(NewLRUCache(capacity));
    Options options;
    options.write_buffer_size = ~size_t{0};
    options.block_cache = cache.get();
    const mergedb::Options core = Translated(options);
    EXPECT_GE(core.memory_bytes, 2 * core.write_buffer_bytes);
    EXPECT_LT(core.memory_bytes, size_t{1} << 50);
  }
}

TEST(OpenOptions, SizesAreLimitedAsInLevelDb) {
  struct Limit {
    size_t given, expected;
  };
  for (const auto& [given, expected] : {Limit{0, 64 << 10}, Limit{(64 << 10) + 1, (64 << 10) + 1},
                                        Limit{size_t{1} << 30, size_t{1} << 30}, Limit{~size_t{0}, size_t{1} << 30}}) {
    Options options;
    options.write_buffer_size = given;
    EXPECT_EQ(Translated(options).write_buffer_bytes, expected);
  }
  for (const auto& [given, expected] : {Limit{0, 1 << 10}, Limit{5000, 5000}, Limit{~size_t{0}, size_t{4} << 20}}) {
    Options options;
    options.block_size = given;
    EXPECT_EQ(Translated(options).block_bytes, expected);
  }
  struct Files {
    int given;
    size_t expected;
  };
  for (const auto& [given, expected] :
       {Files{INT_MIN, 64}, Files{0, 64}, Files{74, 64}, Files{1000, 990}, Files{INT_MAX, 49'990}}) {
    Options options;
    options.max_open_files = given;
    EXPECT_EQ(Translated(options).open_tables_max, expected) << given;
  }
}

TEST(OpenOptions, TheModeFollowsBothFlags) {
  const auto mode = [](bool create_if_missing, bool error_if_exists) {
    Options options;
    options.create_if_missing = create_if_missing;
    options.error_if_exists = error_if_exists;
    return Translated(options).mode;
  };
  EXPECT_EQ(mode(false, false), mergedb::OpenMode::kMustExist);
  EXPECT_EQ(mode(true, false), mergedb::OpenMode::kCreateIfMissing);
  EXPECT_EQ(mode(true, true), mergedb::OpenMode::kMustNotExist);
  EXPECT_EQ(mode(false, true), mergedb::OpenMode::kMustExist);
}

TEST(OpenOptions, TheCodecIsOfAllTiers) {
  using mergedb::Compression;
  const std::pair<CompressionType, Compression> codecs[] = {{kNoCompression, Compression::kNone},
                                                            {kSnappyCompression, Compression::kSnappy},
                                                            {kZstdCompression, Compression::kZstd}};
  for (const auto& [given, expected] : codecs) {
    Options options;
    options.compression = given;
    EXPECT_TRUE(CheckOptions(options).ok());
    EXPECT_EQ(Translated(options).compression.upper, expected);
    EXPECT_EQ(Translated(options).compression.bottom, expected);
  }
}

class OwnPolicy final : public FilterPolicy {
 public:
  const char* Name() const override { return "test.own"; }
  void CreateFilter(const Slice*, int, std::string*) const override {}
  bool KeyMayMatch(const Slice&, const Slice&) const override { return true; }
};

TEST(OpenOptions, OnlyAProgramsOwnFilterPolicyIsCalled) {
  const int usual = mergedb::Options().bloom_bits_per_key;
  Options options;
  EXPECT_EQ(Translated(options).bloom_bits_per_key, usual);
  for (const auto& [bits, expected] : {std::pair(7, 7), std::pair(0, 0), std::pair(1000, 64)}) {
    const std::unique_ptr<const FilterPolicy> policy(NewBloomFilterPolicy(bits));
    options.filter_policy = policy.get();
    Borrowed borrowed(options, "/nowhere");
    EXPECT_EQ(borrowed.filters, nullptr);
    EXPECT_EQ(ToCore(options, &borrowed).bloom_bits_per_key, expected) << bits;
  }
  const OwnPolicy own;
  options.filter_policy = &own;
  Borrowed borrowed(options, "/nowhere");
  EXPECT_NE(borrowed.filters, nullptr);
  EXPECT_EQ(ToCore(options, &borrowed).bloom_bits_per_key, usual);
}

class NamedOrder final : public Comparator {
 public:
  explicit NamedOrder(const char* name) : name_(name) {}
  int Compare(const Slice& a, const Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return name_; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}

 private:
  const char* const name_;
};

// A database names its comparator. One made by LevelDB's bytewise comparator opens with a program's own of that name.
TEST(OpenOptions, TheComparatorKeepsItsNameAndItsOrder) {
  Options options;
  EXPECT_EQ(Translated(options).comparator, mergedb::BytewiseComparator());
  const NamedOrder own("test.own");
  options.comparator = &own;
  Borrowed borrowed(options, "/nowhere");
  const mergedb::Comparator* const core = ToCore(options, &borrowed).comparator;
  EXPECT_EQ(core->Name(), "test.own");
  EXPECT_GT(core->Compare("a", "b"), 0);
  const NamedOrder bytewise("leveldb.BytewiseComparator");
  options.comparator = &bytewise;
  Borrowed renamed(options, "/nowhere");
  EXPECT_EQ(ToCore(options, &renamed).comparator->Name(), mergedb::BytewiseComparator()->Name());
}

// LevelDB has no blob files, so a program's Env knows no names for them.
TEST(OpenOptions, AProgramsOwnEnvGetsNoBlobFiles) {
  Options options;
  EXPECT_EQ(Translated(options).env.file_system, mergedb::DefaultEnv().file_system);
  EXPECT_GT(Translated(options).blob_value_bytes_min, 0u);
  const std::unique_ptr<Env> env(NewMemEnv(Env::Default()));
  options.env = env.get();
  Borrowed borrowed(options, "/nowhere");
  EXPECT_EQ(ToCore(options, &borrowed).env.file_system, borrowed.files.get());
  EXPECT_EQ(ToCore(options, &borrowed).blob_value_bytes_min, 0u);
}

TEST(CheckOptions, RefusesWhatLevelDbWouldDereferenceAndUnknownCodecs) {
  Options options;
  EXPECT_TRUE(CheckOptions(options).ok());
  options.comparator = nullptr;
  EXPECT_EQ(CheckOptions(options).ToString(), "Invalid argument: options.comparator is null");
  options = Options();
  options.env = nullptr;
  EXPECT_EQ(CheckOptions(options).ToString(), "Invalid argument: options.env is null");
  for (const int32_t codec : {-1, 3, 1000}) {
    options = Options();
    std::memcpy(static_cast<void*>(&options.compression), &codec, sizeof codec);
    EXPECT_EQ(CheckOptions(options).ToString(), "Invalid argument: options.compression: " + std::to_string(codec));
  }
}

TEST(OpenError, HasLevelDbsTexts) {
  using Core = mergedb::Status;
  Options options;
  const auto text = [&](const Core& status) { return OpenError(options, "/db", status).ToString(); };
  EXPECT_EQ(text(Core::NotFound("x")), "Invalid argument: /db: does not exist (create_if_missing is false)");
  options.create_if_missing = true;
  EXPECT_EQ(text(Core::NotFound("x")), "NotFound: x");
  EXPECT_EQ(text(Core::InvalidArgument("/db: a database exists already")),
            "Invalid argument: /db: exists (error_if_exists is true)");
  EXPECT_EQ(text(Core::InvalidArgument("block_bytes is 3")), "Invalid argument: block_bytes is 3");
  EXPECT_EQ(text(Core::Busy("/db/LOCK: lock: held by this process; this process has the database open")),
            "IO error: lock /db/LOCK: already held by process");
  EXPECT_EQ(text(Core::Busy("/db/LOCK: lock: held by another process; process 7 (x) has the database open")),
            "IO error: lock /db/LOCK: Resource temporarily unavailable");
  EXPECT_EQ(text(Core::InvalidArgument("/db: the database is ordered by \"mergedb.bytewise\", the options by \"own\"")),
            "Invalid argument: leveldb.BytewiseComparator does not match existing comparator : own");
  EXPECT_EQ(text(Core::Corruption("x")), "Corruption: x");
}

// ---- LOG ------------------------------------------------------------------------------------------------------

class LogOfDatabaseTest : public ::testing::Test {
 protected:
  LogOfDatabaseTest() {
    options_.env = env_.get();
    EXPECT_TRUE(env_->CreateDir("/db").ok());
    EXPECT_TRUE(WriteStringToFile(env_.get(), "of the last time", "/db/LOG").ok());
  }
  std::string Read(const std::string& name) {
    std::string text;
    return ReadFileToString(env_.get(), "/db/" + name, &text).ok() ? text : "missing";
  }

  const std::unique_ptr<Env> env_{NewMemEnv(Env::Default())};
  Options options_;
};

TEST_F(LogOfDatabaseTest, AFailedOpenLeavesLogAsItIs) {
  {
    LogOfDatabase log(options_);
    log.Log("lost");
  }
  EXPECT_EQ(Read("LOG"), "of the last time");
  EXPECT_EQ(Read("LOG.old"), "missing");
}

class Lines final : public Logger {
 public:
  void Logv(const char* format, std::va_list arguments) override {
    char line[256];
    const int bytes = std::vsnprintf(line, sizeof line, format, arguments);
    lines.emplace_back(line, static_cast<size_t>(bytes));
  }
  std::vector<std::string> lines;
};

TEST_F(LogOfDatabaseTest, LinesFromBeforeTheOpenComeFirst) {
  Lines lines;
  options_.info_log = &lines;
  {
    LogOfDatabase log(options_);
    log.Log("first");
    log.Log("100 %s");
    EXPECT_TRUE(lines.lines.empty());
    log.Begin(env_.get(), "/db");
    log.Log("third");
  }
  EXPECT_THAT(lines.lines, ::testing::ElementsAre("first", "100 %s", "third"));
  EXPECT_EQ(Read("LOG"), "of the last time") << "the program has a logger of its own";
}

TEST_F(LogOfDatabaseTest, ANewLogReplacesTheOneBefore) {
  LogOfDatabase log(options_);
  log.Log("line");
  log.Begin(env_.get(), "/db");
  EXPECT_EQ(Read("LOG.old"), "of the last time");
  EXPECT_NE(Read("LOG"), "of the last time");
}

}  // namespace
}  // namespace leveldb
