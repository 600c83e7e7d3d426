// The command lines of db_bench: LevelDB's flags, unchanged command lines of other engines, and clear
// refusals.
#include "bench/flags.h"

#include <gtest/gtest.h>

#include <sstream>

namespace mergedb::bench {
namespace {

// Parses the words of a command line; returns the first word that is not understood, or "".
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

TEST(Flags, TheHelpShowsEveryFlagWithItsDefaultAsItCanBeGiven) {
  std::istringstream lines(FlagsHelp());
  Flags flags;
  int shown = 0;
  for (std::string flag, help; std::getline(lines, flag) && std::getline(lines, help); ++shown) {
    ASSERT_EQ(flag.substr(0, 4), "  --");
    EXPECT_TRUE(ParseFlag(flag.substr(2), &flags)) << flag;
    EXPECT_GT(help.size(), 10U) << flag;
  }
  EXPECT_GT(shown, 40);
  EXPECT_TRUE(flags.ignored.empty());
  EXPECT_EQ(FlagsHelp().find("--benchmarks=" + Flags().benchmarks + "\n"), 2U);
  EXPECT_EQ(FlagConflict(flags), "");
}

TEST(Flags, TheHelpHasASentenceForEachFlagAndAUnitForEachNumber) {
  std::istringstream lines(FlagsHelp());
  for (std::string flag, help; std::getline(lines, flag) && std::getline(lines, help);) {
    EXPECT_TRUE(help.ends_with(".")) << flag << "\n" << help;
    const std::string value = flag.substr(flag.find('=') + 1);
    const bool is_number = !value.empty() && value.find_first_not_of("-.0123456789") == std::string::npos;
    EXPECT_EQ(help.find(" Unit: ") != std::string::npos, is_number) << flag << "\n" << help;
  }
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

// The two lines of RocksDB's wiki, unchanged except for the values of the shell's variables.
TEST(Flags, AcceptsTheLinesThatMergesWereOnceMeasuredWith) {
  const char* const shared[] = {"--disable_seek_compaction=1",
                                "--mmap_read=0",
                                "--statistics=1",
                                "--histogram=1",
                                "--num=50000000",
                                "--threads=10",
                                "--value_size=8",
                                "--block_size=65536",
                                "--db=/data/sdb/",
                                "--disable_wal=1",
                                "--stats_interval=1000000",
                                "--max_background_compactions=20",
                                "--level0_file_num_compaction_trigger=4",
                                "--level0_slowdown_writes_trigger=8",
                                "--level0_stop_writes_trigger=12",
                                "--num_levels=6",
                                "--delete_obsolete_files_period_micros=300000000",
                                "--min_level_to_compress=2",
                                "--max_grandparent_overlap_factor=10",
                                "--stats_per_interval=1",
                                "--max_bytes_for_level_base=10485760",
                                "--use_existing_db=0"};
  Flags flags;
  for (const char* flag : shared) EXPECT_TRUE(ParseFlag(flag, &flags)) << flag;
  EXPECT_TRUE(ParseFlag("--benchmarks=mergerandom", &flags));
  EXPECT_TRUE(ParseFlag("--merge_operator=uint64add", &flags));
  EXPECT_EQ(FlagConflict(flags), "");
  EXPECT_EQ(flags.merge_operator, "uint64add");
  EXPECT_EQ(flags.change_count(), 50'000'000);
  flags.writes = 7;
  EXPECT_EQ(flags.change_count(), 7);
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
  EXPECT_NE(conflict("--distribution=normal").find("--distribution"), std::string::npos);
  EXPECT_EQ(conflict("--distribution=latest"), "");
  EXPECT_NE(conflict("--value_size_distribution=normal").find("--value_size_distribution"), std::string::npos);
  EXPECT_NE(conflict("--value_size_min=11 --value_size_max=10").find("--value_size_min"), std::string::npos);
  EXPECT_NE(conflict("--compression=4").find("--compression"), std::string::npos);
}

}  // namespace
}  // namespace mergedb::bench
