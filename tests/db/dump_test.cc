// Goal: the programs of LMDB and Berkeley DB read a dump of mergedb, and mergedb reads theirs, byte for byte.
// load, stat and copy accept the options of mdb_load, mdb_stat and mdb_copy. Method: run the built program
// beside mdb_* (lmdb-utils) and db5.3_* (db5.3-util), which deps/debian.txt names; a test is skipped if its
// program is missing.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/random.h"
#include "mergedb/db.h"
#include "testing/seed.h"
#include "testing/temp_directory.h"

namespace mergedb::dump_test {
namespace {

using Pairs = std::map<std::string, std::string>;

class DumpTest : public ::testing::Test {
 protected:
  // $M is the program; the shell runs in the test's own directory.
  int Run(const std::string& line) const {
    const std::string script = "cd " + home_ + "; M='" MERGEDB_COMMAND "'; (" + line + ") > out 2> err";
    const int status = std::system(script.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  bool Has(const std::string& program) const { return Run("command -v " + program) == 0; }
  std::string Slurp(const std::string& name) const {
    std::ifstream in(home_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  std::string Path(const std::string& name) const { return home_ + "/" + name; }

  void Fill(const std::string& name, const Pairs& pairs) const {
    auto db = DB::Open({.memory_bytes = size_t{8} << 20}, Path(name));
    ASSERT_TRUE(db) << db.error().ToString();
    for (const auto& [key, value] : pairs) ASSERT_TRUE((*db)->Put({}, key, value).ok());
    ASSERT_TRUE((*db)->Close().ok());
  }
  Pairs Read(const std::string& name) const {
    Pairs pairs;
    auto db = DB::Open({.mode = OpenMode::kReadOnly, .memory_bytes = size_t{8} << 20}, Path(name));
    EXPECT_TRUE(db) << db.error().ToString();
    if (!db) return pairs;
    const auto it = (*db)->NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) pairs.emplace(it->key(), it->value());
    EXPECT_TRUE(it->status().ok());
    return pairs;
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
};

// Keys within LMDB's limits; every byte value in keys and values; values that are empty, short, and longer
// than a page.
Pairs RandomPairs(size_t count, uint64_t standard_seed) {
  const uint64_t seed = testing::SeedOr(standard_seed);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  base::Random random(seed);
  const auto bytes = [&](size_t size) {
    std::string text(size, 0);
    for (char& c : text) c = static_cast<char>(random.Next());
    return text;
  };
  Pairs pairs = {
      {"plain", "text"}, {std::string(1, '\0'), ""}, {"\\", "\\00\\"}, {"line\nfeed", std::string(5000, '\n')}};
  while (pairs.size() < count) {
    pairs[bytes(1 + random.Uniform(30))] = bytes(random.Uniform(50) == 0 ? 5000 : random.Uniform(60));
  }
  pairs[bytes(511)] = "longest key";
  return pairs;
}

constexpr size_t kPairs = 10'000;

TEST_F(DumpTest, WritesHeaderAndHexAsLmdbDoes) {
  Fill("db", {{"k1", "v1"}, {std::string("\x00\xff\\", 3), ""}});
  ASSERT_EQ(Run("$M dump db --flavour bdb"), 0) << Slurp("err");
  EXPECT_EQ(
      Slurp("out"),
      "VERSION=3\nformat=bytevalue\ntype=btree\ndb_pagesize=4096\nHEADER=END\n 00ff5c\n \n 6b31\n 7631\nDATA=END\n");
  ASSERT_EQ(Run("$M dump -p db -f file"), 0) << Slurp("err");
  EXPECT_EQ(Slurp("out"), "");
  EXPECT_NE(Slurp("file").find("format=print\ntype=btree\nmapsize="), std::string::npos);
  EXPECT_NE(Slurp("file").find("HEADER=END\n \\00\\ff\\\\\n \n k1\n v1\nDATA=END\n"), std::string::npos);
}

TEST_F(DumpTest, LoadsItsOwnDumpsInBothFormats) {
  const Pairs pairs = RandomPairs(1000, 1);
  Fill("db", pairs);
  EXPECT_EQ(Run("$M dump db | $M load hex && $M dump -p db > text && $M load -f text printed"), 0) << Slurp("err");
  EXPECT_EQ(Read("hex"), pairs);
  EXPECT_EQ(Read("printed"), pairs);
}

TEST_F(DumpTest, GoesToLmdbAndBack) {
  if (!Has("mdb_load")) GTEST_SKIP() << "needs lmdb-utils";
  const Pairs pairs = RandomPairs(kPairs, 2);
  Fill("db", pairs);
  ASSERT_EQ(Run("mkdir lmdb && $M dump db | mdb_load lmdb && mdb_dump lmdb > text && $M load back < text"), 0)
      << Slurp("err");
  EXPECT_EQ(Read("back"), pairs);
  EXPECT_EQ(Run("$M dump back | sed 1,/HEADER=END/d > ours; sed 1,/HEADER=END/d text | cmp - ours"), 0)
      << "the data lines differ";
}

TEST_F(DumpTest, PrintedDumpsGoToLmdbAndBack) {
  if (!Has("mdb_load")) GTEST_SKIP() << "needs lmdb-utils";
  Pairs pairs = RandomPairs(1000, 3);
  std::erase_if(pairs, [](const auto& pair) {
    return (pair.first + pair.second).find('\\') != std::string::npos;
  });  // see dump_text.h
  Fill("db", pairs);
  ASSERT_EQ(Run("mkdir lmdb && $M dump -p db | mdb_load lmdb && mdb_dump -p lmdb | $M load back"), 0) << Slurp("err");
  EXPECT_EQ(Read("back"), pairs);
}

TEST_F(DumpTest, GoesToBerkeleyDbAndBack) {
  if (!Has("db5.3_load")) GTEST_SKIP() << "needs db5.3-util";
  const Pairs pairs = RandomPairs(kPairs, 4);
  Fill("db", pairs);
  for (const std::string flags : {"", "-p"}) {
    ASSERT_EQ(Run("rm -rf file back; $M dump " + flags + " --flavour bdb db | db5.3_load file && db5.3_dump " + flags +
                  " file | $M load back"),
              0)
        << Slurp("err");
    EXPECT_EQ(Read("back"), pairs);
  }
}

TEST_F(DumpTest, LoadTakesPlainTextAndKeepsWhatIsThere) {
  ASSERT_EQ(Run("printf 'a\\nfirst\\nb\\\\0a\\n\\n' | $M load -T db"), 0) << Slurp("err");
  EXPECT_EQ(Read("db"), (Pairs{{"a", "first"}, {"b\n", ""}}));
  ASSERT_EQ(Run("printf 'a\\nsecond\\nc\\n1\\nc\\n2\\n' | $M load -T -N db"), 0) << Slurp("err");
  EXPECT_EQ(Read("db"), (Pairs{{"a", "first"}, {"b\n", ""}, {"c", "1"}}));
}

TEST_F(DumpTest, LoadRefusesWhatItCannotHold) {
  const auto refused = [&](const std::string& text, const std::string& reason) {
    EXPECT_EQ(Run("printf '" + text + "' | $M load db"), 3) << text;
    EXPECT_NE(Slurp("err").find(reason), std::string::npos) << text << ": " << Slurp("err");
  };
  refused("VERSION=3\\nformat=bytevalue\\ntype=btree\\ndupsort=1\\nHEADER=END\\nDATA=END\\n", "line 4: dupsort");
  refused("VERSION=3\\nformat=bytevalue\\ntype=recno\\nHEADER=END\\nDATA=END\\n", "line 3: expected type=");
  refused("VERSION=3\\nformat=bytevalue\\ntype=btree\\n", "expected HEADER=END, found the end");
  refused("VERSION=3\\nformat=bytevalue\\ntype=btree\\nHEADER=END\\n 61\\n", "expected the value of the last key");
  refused("VERSION=3\\nformat=bytevalue\\ntype=btree\\nHEADER=END\\n 61\\n 62\\n", "expected DATA=END, found the end");
  refused("VERSION=3\\nformat=bytevalue\\ntype=btree\\nHEADER=END\\n 6\\n 62\\nDATA=END\\n",
          "line 5: expected an even number of hex digits");
  const std::string section =
      "VERSION=3\\nformat=print\\ntype=btree\\nsections=18446744073709551615\\nHEADER=END\\nDATA=END\\n";
  refused(section + section, "expected 18446744073709551615 sections, found 2");
  refused("VERSION=3\\nformat=print\\ntype=btree\\nHEADER=END\\n a\\\\\\\\\\\\q\\n 62\\nDATA=END\\n",
          "after a backslash");
}

TEST_F(DumpTest, StatSpeaksAsMdbStatDoes) {
  Fill("db", {{"a", "1"}, {"b", "2"}});
  ASSERT_EQ(Run("$M stat -efrr db"), 0) << Slurp("err");
  const std::string out = Slurp("out");
  EXPECT_EQ(out.rfind("Environment Info\n  Map address: (nil)\n", 0), 0u) << out;
  EXPECT_NE(out.find("Reader Table Status\n(no active readers)\nFreelist Status\n  Tree depth: 0\n"), std::string::npos)
      << out;
  EXPECT_NE(out.find("Status of Main DB\n  Tree depth: 1\n  Branch pages: 0\n  Leaf pages: 0\n  Overflow pages: 0\n  "
                     "Entries: 2\n"),
            std::string::npos)
      << out;
  EXPECT_EQ(Run("$M stat -s nothing db"), 3);
}

TEST_F(DumpTest, AnswersToTheNamesOfLmdbsPrograms) {
  Fill("db", {{"a", "1"}});
  ASSERT_EQ(Run("for verb in dump load stat copy; do ln -s $M mdb_$verb; done"), 0);
  EXPECT_EQ(Run("./mdb_dump -n db | ./mdb_load -n back && ./mdb_stat -e back && ./mdb_copy -n back copy"), 0)
      << Slurp("err");
  EXPECT_NE(Slurp("out").find("Status of Main DB"), std::string::npos);
  EXPECT_EQ(Slurp("err"), "");
  EXPECT_EQ(Read("copy"), (Pairs{{"a", "1"}}));
  EXPECT_EQ(Run("./mdb_dump -V"), 0);
  for (const char* failure : {"./mdb_dump -x db", "./mdb_dump -s nothing db", "./mdb_stat -s nothing db",
                              "./mdb_stat absent", "./mdb_dump db > /dev/full", "echo no dump | ./mdb_load other"})
    EXPECT_EQ(Run(failure), 1) << failure << ": LMDB's programs end with 1";
}

TEST_F(DumpTest, NamedDatabasesAreDumpedLoadedCountedAndDropped) {
  {
    auto db = DB::Open({.memory_bytes = size_t{8} << 20}, Path("db"));
    ASSERT_TRUE(db);
    ASSERT_TRUE((*db)->Put({}, "key", "main").ok());
    for (const char* name : {"one", "two"}) {
      const auto keyspace = (*db)->CreateKeyspace(name);
      ASSERT_TRUE(keyspace);
      ASSERT_TRUE((*db)->Put({}, *keyspace, "key", name).ok());
    }
    ASSERT_TRUE((*db)->Close().ok());
  }
  ASSERT_EQ(Run("$M dump -l db"), 0);
  EXPECT_EQ(Slurp("out"), "one\ntwo\n");
  ASSERT_EQ(Run("$M dump -p -s two --flavour bdb db"), 0);
  EXPECT_EQ(Slurp("out"),
            "VERSION=3\nformat=print\ndatabase=two\ntype=btree\ndb_pagesize=4096\nHEADER=END\n key\n two\nDATA=END\n");
  EXPECT_EQ(Run("$M dump -s three db"), 3);
  ASSERT_EQ(Run("$M dump -a db | tee text | $M load back && $M dump -a back | cmp - text"), 0) << Slurp("err");
  ASSERT_EQ(Run("$M stat -a back"), 0);
  EXPECT_NE(Slurp("out").find("Status of two\n"), std::string::npos);
  ASSERT_EQ(Run("$M drop -s one back && $M drop -d -s two back && $M dump -l back"), 0) << Slurp("err");
  EXPECT_EQ(Slurp("out"), "one\n");
  EXPECT_EQ(Read("back"), (Pairs{{"key", "main"}}));
  ASSERT_EQ(Run("$M drop back --yes && $M stat -a back"), 0) << Slurp("err");
  EXPECT_NE(Slurp("out").find("Entries: 0"), std::string::npos);
  EXPECT_EQ(Slurp("out").find("one"), std::string::npos);
}

TEST_F(DumpTest, NamedDatabasesGoToLmdbAndBack) {
  if (!Has("mdb_load")) GTEST_SKIP() << "needs lmdb-utils";
  ASSERT_EQ(Run("printf 'k\\nv\\n' | $M load -T -s named db && mkdir lmdb && $M dump -a db | mdb_load lmdb && mdb_dump "
                "-a lmdb | $M load back"),
            0)
      << Slurp("err");
  ASSERT_EQ(Run("$M dump -p -s named --flavour bdb back | sed 1,/HEADER=END/d"), 0);
  EXPECT_EQ(Slurp("out"), " k\n v\nDATA=END\n");
}

TEST_F(DumpTest, CopyMakesADatabaseAndRefusesWhatIsThere) {
  const Pairs pairs = RandomPairs(1000, 5);
  Fill("db", pairs);
  ASSERT_EQ(Run("mkdir empty; $M copy db empty && $M copy -c --no-links db other && $M check empty && $M verify other"),
            0)
      << Slurp("err");
  EXPECT_EQ(Read("empty"), pairs);
  EXPECT_EQ(Read("other"), pairs);
  EXPECT_EQ(Run("$M copy db other"), 3);
  EXPECT_NE(Slurp("err").find("expected no file or an empty directory"), std::string::npos);
  EXPECT_EQ(Run("$M copy db"), 2);
}

TEST_F(DumpTest, CopiesBesideAProgramThatWrites) {
  auto db = DB::Open({.memory_bytes = size_t{16} << 20, .write_buffer_bytes = size_t{1} << 20}, Path("db"));
  ASSERT_TRUE(db);
  // Each batch writes a pair of keys, larger from pair to pair: a copy holds both keys or neither, and no
  // pair before its last one is missing.
  const auto put = [&](uint64_t number) {
    WriteBatch batch;
    const std::string name = std::to_string(1'000'000 + number);
    batch.Put("a" + name, std::string(200, 'a'));
    batch.Put("b" + name, std::string(200, 'b'));
    ASSERT_TRUE((*db)->Write({}, batch).ok());
  };
  uint64_t number = 0;
  while (number < 2000) put(number++);
  ASSERT_EQ(Run("($M copy db copy; echo $? > done.tmp; mv done.tmp done) > copied 2>&1 &"), 0);
  while (!std::filesystem::exists(Path("done"))) put(number++);
  ASSERT_EQ(Slurp("done"), "0\n") << Slurp("copied");
  const Pairs copy = Read("copy");
  ASSERT_EQ(copy.size() % 2, 0u);
  const uint64_t count = copy.size() / 2;
  EXPECT_GE(count, 2000u);
  for (uint64_t i = 0; i < count; ++i) {
    ASSERT_TRUE(copy.contains("a" + std::to_string(1'000'000 + i))) << i << " of " << count;
    ASSERT_TRUE(copy.contains("b" + std::to_string(1'000'000 + i))) << i << " of " << count;
  }
}

}  // namespace
}  // namespace mergedb::dump_test
