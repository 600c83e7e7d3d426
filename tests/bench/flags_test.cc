// The command lines of db_bench: LevelDB's spelling, the seeds' lines as they stand, and clear refusals.
#include "bench/flags.h"

#include <gtest/gtest.h>

#include <sstream>

namespace mergedb::bench {
namespace {

// The words of a command line; the first that is not understood comes back.
std::string ParseAll(const std::string& line, Flags* flags) {
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (!ParseFlag(word, flags)) return word;
  }
  return {};
}

TEST(Flags, DefaultsAreLevelDbs) {
  const Flags flags;
  EXPECT_EQ(flags.num, 1000000);
  EXPECT_EQ(flags.read_count(), 1000000);
  EXPECT_EQ(flags.value_size, 100);
  EXPECT_EQ(flags.key_size, 16);
  EXPECT_EQ(flags.write_buffer_size, 4 << 20);
  EXPECT_EQ(flags.cache_bytes(), 8 << 20);
  EXPECT_EQ(FlagConflict(flags), "");
}

TEST(Flags, TakesTheSeedsLineAsItStands) {
  Flags flags;
  EXPECT_EQ(ParseAll("--benchmarks=fillrandom --num=2000000 --threads=1 --value_size=4096 --cache_size=104857600 "
                     "--bloom_bits=10 --open_files=500000 --db=ldb --compression_ratio=1 --write_buffer_size=2097152 "
                     "--use_existing_db=0",
                     &flags),
            "");
  EXPECT_EQ(flags.num, 2000000);
  EXPECT_EQ(flags.value_size, 4096);
  EXPECT_EQ(flags.write_buffer_size, 2097152);
  EXPECT_EQ(flags.open_files, 500000);
  EXPECT_FALSE(flags.use_existing_db);
  EXPECT_EQ(FlagConflict(flags), "");
}

TEST(Flags, TheLastOfTwoWins) {
  Flags flags;
  EXPECT_EQ(ParseAll("--num=6000000 --num=1000", &flags), "");
  EXPECT_EQ(flags.num, 1000);
}

TEST(Flags, KnobsOfRocksdbAreNotedOnceAndIgnored) {
  Flags flags;
  EXPECT_EQ(ParseAll("--statistics=1 --num_levels=6 --statistics=1 --disable_wal=1", &flags), "");
  EXPECT_EQ(flags.ignored, (std::vector<std::string>{"statistics", "num_levels"}));
  EXPECT_TRUE(flags.disable_wal);
}

TEST(Flags, RefusesUnknownNamesAndValuesOfAnotherType) {
  Flags flags;
  for (const char* word : {"--bogus=1", "--num", "num=1", "--num=", "--num=12x", "--num=1.5", "--histogram=2",
                           "--compression_ratio=half", "--threads=99999999999", "-num=1", ""}) {
    EXPECT_FALSE(ParseFlag(word, &flags)) << word;
  }
}

TEST(Flags, NamesTheContradiction) {
  const auto conflict = [](const std::string& line) {
    Flags flags;
    EXPECT_EQ(ParseAll(line, &flags), "");
    return FlagConflict(flags);
  };
  EXPECT_NE(conflict("--engine=sqlite").find("--engine"), std::string::npos);
  EXPECT_NE(conflict("--sync=1 --disable_wal=1").find("--disable_wal"), std::string::npos);
  EXPECT_NE(conflict("--key_size=3 --num=1001").find("--key_size"), std::string::npos);
  EXPECT_EQ(conflict("--key_size=3 --num=1000"), "");
  EXPECT_NE(conflict("--num=0").find("--num"), std::string::npos);
  EXPECT_NE(conflict("--compression=4").find("--compression"), std::string::npos);
}

}  // namespace
}  // namespace mergedb::bench
