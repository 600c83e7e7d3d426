// Goal: a database and a copy of it that shares its files (`cp -al` of the closed database) do not change
// each other. Method: in memory, where testing/fault_file_system.h stops the program at a write to a file
// with two names, and on real files; with and without a mapped WAL buffer in each of the two lives; either of
// the two is written first.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "testing/simulated_env.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb::testing {
namespace {

using Pairs = std::map<std::string, std::string>;
constexpr char kDatabase[] = "/db", kCopy[] = "/copy";

void Write(DB& db, int first, int count, char filler) {
  for (int i = first; i < first + count; ++i)
    ASSERT_OK(db.Put({}, "key" + std::to_string(i), std::string(1000, filler)));
}

Pairs All(DB& db) {
  Pairs pairs;
  const auto it = db.NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) pairs.emplace(it->key(), it->value());
  EXPECT_OK(it->status());
  return pairs;
}

Pairs Read(Options options, const std::string& path) {
  options.mode = OpenMode::kMustExist;
  const auto db = DB::Open(options, path);
  EXPECT_OK(db.status());
  if (!db) return {};
  EXPECT_OK((*db)->CheckIntegrity());
  return All(**db);
}

std::map<std::string, std::string> FilesOf(const std::string& directory) {
  std::map<std::string, std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return files;
}

// The first life leaves tables, blob files, used WAL segments and recycled ones.
Pairs FirstLife(const Options& options, const std::string& path) {
  const auto db = DB::Open(options, path);
  EXPECT_OK(db.status());
  Write(**db, 0, 3000, 'a');
  EXPECT_OK((*db)->Flush());
  Write(**db, 2900, 200, 'b');
  Pairs pairs = All(**db);
  EXPECT_OK((*db)->Close());
  return pairs;
}

// Writes enough to overwrite every WAL segment and recycled file that the first life left.
void SecondLife(const Options& options, const std::string& path) {
  const auto db = DB::Open(options, path);
  ASSERT_OK(db.status());
  for (int round = 0; round < 8; ++round) Write(**db, 0, 3000, static_cast<char>('c' + round));
  ASSERT_OK((*db)->CompactRange(nullptr, nullptr));
  ASSERT_OK((*db)->Close());
}

class HardLinks : public ::testing::TestWithParam<std::tuple<bool, bool, bool>> {
 protected:
  bool is_mapped_before() const { return std::get<0>(GetParam()); }
  bool is_mapped_after() const { return std::get<1>(GetParam()); }
  std::string written() const { return std::get<2>(GetParam()) ? kCopy : kDatabase; }
  std::string kept() const { return std::get<2>(GetParam()) ? kDatabase : kCopy; }
};

TEST_P(HardLinks, OneOfTheTwoIsWrittenAndTheOtherStaysAsItWas) {
  SimulatedEnv sim;
  Options options = sim.SmallOptions();
  options.log_bytes_max = uint64_t{1} << 20;
  options.use_mapped_wal_buffer = is_mapped_before();
  const Pairs before = FirstLife(options, kDatabase);
  ASSERT_OK(sim.files->CreateDirectory(kCopy));
  for (const std::string& path : sim.files->Files()) {
    ASSERT_OK(sim.files->Link(path, kCopy + path.substr(sizeof kDatabase - 1)));
  }
  std::map<std::string, std::string> bytes_before;
  for (const std::string& path : sim.files->Files()) {
    if (path.starts_with(kept())) bytes_before[path] = *sim.files->ReadWhole(path);
  }
  options.use_mapped_wal_buffer = is_mapped_after();
  SecondLife(options, written());
  for (const auto& [path, bytes] : bytes_before) EXPECT_TRUE(*sim.files->ReadWhole(path) == bytes) << path;
  EXPECT_EQ(Read(options, kept()), before);
  SecondLife(options, kept());
}

INSTANTIATE_TEST_SUITE_P(Modes, HardLinks, ::testing::Combine(::testing::Bool(), ::testing::Bool(), ::testing::Bool()),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param) ? "Mapped" : "Written") + "Then" +
                                  (std::get<1>(test.param) ? "Mapped" : "Written") +
                                  (std::get<2>(test.param) ? "Copy" : "Original");
                         });

// A process that was killed left LIVE, the copy has it, and the next open cannot remove it.
TEST(HardLinksOfLive, ACopyOfTheStateIsNotWritten) {
  for (const bool can_remove : {true, false}) {
    SimulatedEnv first;
    ASSERT_OK_AND_ASSIGN(const auto killed, DB::Open(first.SmallOptions(), kDatabase));
    first.PassTime(2);
    SimulatedEnv sim(SimulatedEnv::Options{}, first.files->Crash(CrashMode::kKill, CrashModel::kStrict, 1));
    const std::string live = std::string(kDatabase) + "/LIVE", copy = std::string(kCopy) + "/LIVE";
    ASSERT_OK(sim.files->CreateDirectory(kCopy));
    ASSERT_OK(sim.files->Link(live, copy));
    const std::string before = *sim.files->ReadWhole(copy);
    if (!can_remove) {
      sim.files->AddFault(
          {.op = FileOp::kRemove, .path_contains = "LIVE", .sticky = true, .status = Status::IOError("injected")});
    }
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(sim.SmallOptions(), kDatabase));
    ASSERT_OK(db->Put({}, "k", "v"));
    sim.PassTime(2);
    EXPECT_TRUE(*sim.files->ReadWhole(copy) == before);
    EXPECT_EQ(*sim.files->ReadWhole(live) == before, !can_remove);
  }
}

TEST(HardLinksOfRealFiles, OneOfTheTwoIsWrittenAndTheOtherStaysAsItWas) {
  for (const bool is_mapped : {true, false}) {
    const TempDirectory home;
    const Options options{.memory_bytes = size_t{1} << 20,
                          .write_buffer_bytes = size_t{64} << 10,
                          .use_mapped_wal_buffer = is_mapped,
                          .log_bytes_max = uint64_t{1} << 20};
    const Pairs before = FirstLife(options, home / "db");
    std::filesystem::copy(home / "db", home / "copy",
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::create_hard_links);
    const auto files_before = FilesOf(home / "copy");
    EXPECT_TRUE(files_before.contains("LOG"));
    SecondLife(options, home / "db");
    EXPECT_TRUE(FilesOf(home / "copy") == files_before);
    EXPECT_EQ(Read(options, home / "copy"), before);
    const Pairs after = Read(options, home / "db");
    SecondLife(options, home / "copy");
    EXPECT_EQ(Read(options, home / "db"), after);
  }
}

}  // namespace
}  // namespace mergedb::testing
