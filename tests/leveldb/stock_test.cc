// Goal: Debian's LevelDB and mergedb agree on each other's files. LevelDB's databases of every form show the
// same contents after the conversion; exports show the same in LevelDB; after an interrupted conversion the
// directory is LevelDB's database as before; LevelDB, and its repair, cannot destroy a mergedb database.
// Method: LevelDB in a process of its own (tests/leveldb/stock_leveldb.cc), on real files.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "base/bytes.h"
#include "base/random.h"
#include "mergedb/leveldb.h"
#include "testing/seed.h"
#include "testing/simulated_env.h"
#include "testing/temp_directory.h"
#include "tests/leveldb/leveldb_directory.h"

namespace mergedb::testing {
namespace {

using ::testing::HasSubstr;

class Backwards final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return base::CompareBytes(b, a); }
  std::string_view Name() const override { return "test.reverse"; }
};

class StockTest : public ::testing::Test {
 protected:
  struct Outcome {
    int exit = -1;
    std::string out, err;
  };
  Outcome Stock(const std::string& arguments, const std::string& script = "") const {
    std::ofstream(home_ + "/script") << script;
    const std::string command =
        "'" STOCK_LEVELDB "' " + arguments + " <" + home_ + "/script >" + home_ + "/out 2>" + home_ + "/err";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Slurp(home_ + "/out"), Slurp(home_ + "/err")};
  }
  static std::string Slurp(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  static std::string Hex(std::string_view bytes) { return bytes.empty() ? "-" : base::ToHex(bytes); }

  // The same text as `stock_leveldb dump`.
  static std::string Dump(const Options& options, const std::string& path) {
    auto db = DB::Open(options, path);
    EXPECT_OK(db.status());
    if (!db) return "";
    std::string lines;
    const auto it = (*db)->NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) lines += Hex(it->key()) + " " + Hex(it->value()) + "\n";
    EXPECT_OK(it->status());
    EXPECT_OK((*db)->Close());
    return lines;
  }
  std::string DumpCopyByStock(const std::string& flags, const std::string& path) const {
    const std::string copy = home_ + "/copy";
    std::filesystem::remove_all(copy);
    std::filesystem::copy(path, copy);
    const Outcome outcome = Stock(flags + " dump " + copy);
    EXPECT_EQ(outcome.exit, 0) << outcome.err;
    return outcome.out;
  }

  const TempDirectory directory_;
  const std::string home_ = directory_.path();
  const std::string path_ = home_ + "/db";
  Options options_{.memory_bytes = size_t{16} << 20};
};

std::string RandomScript(base::Random* random, int lines) {
  std::string script;
  for (int i = 0; i < lines; ++i) {
    const std::string key = base::ToHex("key" + std::to_string(random->Uniform(400)));
    switch (random->Uniform(12)) {
      case 0:
        script += "many " + std::to_string(random->Uniform(3000)) + " " + std::to_string(random->Uniform(800)) + " " +
                  std::to_string(random->Uniform(300)) + "\n";
        break;
      case 1:
      case 2: script += "del " + key + "\n"; break;
      case 3: script += random->Uniform(6) == 0 ? "compact\n" : "reopen\n"; break;
      case 4: script += "put - " + key + "\n"; break;
      case 5: script += "put " + key + " -\n"; break;
      case 6: script += "put " + key + " " + base::ToHex(std::string(random->Uniform(60'000), 'L')) + "\n"; break;
      default: script += "put " + key + " " + base::ToHex(std::to_string(random->Next())) + "\n";
    }
  }
  return script;
}

TEST_F(StockTest, ShowsWhatLevelDbShowsAndGivesItBack) {
  const uint64_t seed = SeedOr(1);
  const char* const shapes[] = {"",
                                "--raw",
                                "--bloom --block=1024",
                                "--buffer=65536",
                                "--buffer=65536 --bloom --raw --file=1048576",
                                "--reverse --buffer=65536"};
  const Backwards backwards;
  for (uint64_t round = 0; round < Sized(12, 120); ++round) {
    base::Random random(seed * 1000 + round);
    const std::string flags = shapes[round % std::size(shapes)];
    SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed) + " round " + std::to_string(round) + " " + flags);
    std::filesystem::remove_all(path_);
    std::filesystem::remove_all(home_ + "/back");
    const Outcome written = Stock(flags + " write " + path_, RandomScript(&random, 150));
    ASSERT_EQ(written.exit, 0) << written.err;
    const std::string expected = DumpCopyByStock(flags, path_);
    Options options = options_;
    if (flags.find("--reverse") != std::string::npos) options.comparator = &backwards;
    ASSERT_EQ(Dump(options, path_), expected);
    auto db = DB::Open(options, path_);
    ASSERT_OK(db);
    ASSERT_OK((*db)->CheckIntegrity());
    ASSERT_OK(ExportToLevelDb(**db, options, home_ + "/back", {.table_bytes = 50'000}));
    const Outcome back = Stock(flags + " dump " + home_ + "/back");
    EXPECT_EQ(back.exit, 0) << back.err;
    EXPECT_EQ(back.out, expected);
    // LevelDB can write to it.
    ASSERT_EQ(Stock(flags + " write " + home_ + "/back", "put 7a7a7a 31\ncompact\nreopen\n").exit, 0);
  }
}

TEST_F(StockTest, OpensWhatLevelDbRepaired) {
  base::Random random(SeedOr(2));
  ASSERT_EQ(Stock("--buffer=65536 write " + path_, RandomScript(&random, 300)).exit, 0);
  ASSERT_EQ(Stock("repair " + path_).exit, 0);
  const std::string expected = DumpCopyByStock("", path_);
  EXPECT_EQ(Dump(options_, path_), expected);
}

// At every operation of a conversion, a kill or a power cut leaves a LevelDB database or a mergedb database.
TEST_F(StockTest, LevelDbOpensWhatAnInterruptedConversionLeaves) {
  ASSERT_EQ(Stock("--buffer=65536 write " + path_, "many 0 300 40\ncompact\nmany 100 20 10\ndel 6b6579\n").exit, 0);
  const std::string expected = DumpCopyByStock("", path_);
  Files files;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    files[entry.path().filename()] = Slurp(entry.path());
  SimulatedEnv sim;
  WriteFiles(sim.files.get(), SimulatedEnv::kPath, files);
  std::set<uint64_t> seen;
  uint64_t opened = 0, refused = 0;
  sim.files->SetOpHook([&](uint64_t op, const char* what, const std::string& path) {
    for (const CrashMode mode :
         {CrashMode::kKill, CrashMode::kMin, CrashMode::kNamesFull, CrashMode::kNamesMinDataFull}) {
      const auto image = SimulatedEnv::After(sim, mode, CrashModel::kStrict, op);
      const Files left = ReadFiles(*image->files, SimulatedEnv::kPath);
      if (!seen.insert(image->files->Fingerprint()).second) continue;
      if (left.at("CURRENT").back() != '\n' && refused > 0) continue;  // already mergedb's
      SCOPED_TRACE("before operation " + std::to_string(op) + " " + what + " " + path + " " + CrashModeName(mode));
      const std::string copy = home_ + "/image";
      std::filesystem::remove_all(copy);
      std::filesystem::create_directory(copy);
      for (const auto& [name, bytes] : left) std::ofstream(copy + "/" + name, std::ios::binary) << bytes;
      const Outcome outcome = Stock("dump " + copy);
      if (left.at("CURRENT").back() == '\n') {
        ++opened;
        EXPECT_EQ(outcome.exit, 0) << outcome.err;
        EXPECT_EQ(outcome.out, expected);
        EXPECT_EQ(Dump(options_, copy), expected) << "LevelDB has been at it, and mergedb takes it up again";
      } else {
        ++refused;
        EXPECT_THAT(outcome.err, HasSubstr("CURRENT file does not end with newline"));
        EXPECT_EQ(Dump(options_, copy), expected);
      }
    }
  });
  { ASSERT_OK(sim.Open()); }
  sim.files->SetOpHook(nullptr);
  EXPECT_GT(opened, 3u);
  EXPECT_EQ(refused, 1u);
}

TEST_F(StockTest, LevelDbRefusesADatabaseOfMergedbAndDeletesNothing) {
  {
    auto db = DB::Open(options_, path_);
    ASSERT_OK(db);
    for (int i = 0; i < 1000; ++i) ASSERT_OK((*db)->Put({}, "key" + std::to_string(i), std::string(100, 'v')));
    ASSERT_OK((*db)->Flush());
    ASSERT_OK((*db)->Put({}, "late", "1"));
    ASSERT_OK((*db)->Close());
  }
  const std::string expected = Dump(options_, path_);
  for (const char* verb : {"dump", "--create dump", "write"}) {
    const Outcome outcome = Stock(std::string(verb) + " " + path_);
    EXPECT_EQ(outcome.exit, 3);
    EXPECT_THAT(outcome.err, HasSubstr("CURRENT file does not end with newline"));
  }
  EXPECT_EQ(Dump(options_, path_), expected);

  // LevelDB's repair treats the directory as an empty database. All files that mergedb needs are still there.
  ASSERT_EQ(Stock("repair " + path_).exit, 0);
  EXPECT_EQ(DumpCopyByStock("", path_), "");
  EXPECT_THAT(DB::Open(options_, path_), StatusIs(Code::kCorruption, HasSubstr("run `mergedb repair /")));
  ASSERT_OK(Repair(options_, path_));
  EXPECT_EQ(Dump(options_, path_), expected);
}

TEST_F(StockTest, TheLockExcludesEachOther) {
  ASSERT_EQ(Stock("write " + path_, "put 61 62\n").exit, 0);
  auto db = DB::Open(options_, path_);
  ASSERT_OK(db);
  const Outcome outcome = Stock("dump " + path_);
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_THAT(outcome.err, HasSubstr("lock"));
}

}  // namespace
}  // namespace mergedb::testing
