// Goal: `dump | load` makes an equal database of whatever the interfaces can make, and if LMDB's mdb_load accepts a
// dump, LMDB has the same entries, databases and orders of keys. Method: random databases through the LMDB interface,
// the C++ interface and keyspaces, with names and values that imitate headers and name items. All keyspaces are
// compared byte by byte as they are stored. Debian's mdb_load and mdb_dump (lmdb-utils) take part if they are
// installed.
#include <gtest/gtest.h>
#include <lmdb.h>
#include <sys/wait.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "format/lmdb.h"
#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "testing/seed.h"
#include "testing/temp_directory.h"

namespace mergedb::dump_random_test {
namespace {

using Pairs = std::map<std::string, std::string>;
using Everything = std::map<std::string, Pairs>;  // by keyspace; "": the default keyspace

class DumpRandom : public ::testing::Test {
 protected:
  // $M is the program; the shell runs in the test's own directory.
  int Run(const std::string& line) const {
    const std::string script = "cd " + home_ + "; M='" MERGEDB_COMMAND "'; set -o pipefail; " + line;
    std::ofstream(home_ + "/script", std::ios::binary | std::ios::trunc) << script;
    const int status = std::system(("bash " + home_ + "/script > " + home_ + "/out 2> " + home_ + "/err").c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string Slurp(const std::string& name) const {
    std::ifstream in(home_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  std::string Path(const std::string& name) const { return home_ + "/" + name; }

  std::unique_ptr<DB> Open(const std::string& name, OpenMode mode = OpenMode::kCreateIfMissing) const {
    auto db = DB::Open({.mode = mode, .memory_bytes = size_t{8} << 20}, Path(name));
    EXPECT_TRUE(db) << name << ": " << db.error().ToString();
    return db ? std::move(*db) : nullptr;
  }
  Everything ReadAll(const std::string& name) const {
    Everything all;
    const auto db = Open(name, OpenMode::kReadOnly);
    if (db == nullptr) return all;
    auto keyspaces = db->ListKeyspaces();
    EXPECT_TRUE(keyspaces);
    keyspaces->push_back({"", Keyspace()});
    for (const KeyspaceEntry& each : *keyspaces) {
      Pairs& pairs = all[each.name];
      const auto it = db->NewIterator({.keyspace = each.keyspace});
      for (it->SeekToFirst(); it->Valid(); it->Next()) pairs.emplace(it->key(), it->value());
      EXPECT_TRUE(it->status().ok()) << it->status().ToString();
    }
    return all;
  }

  // Runs `act` in a write transaction of the LMDB interface.
  void InLmdb(const std::string& name, const std::function<void(MDB_txn*)>& act) const {
    std::filesystem::create_directory(Path(name));
    MDB_env* env = nullptr;
    MDB_txn* txn = nullptr;
    ASSERT_EQ(mdb_env_create(&env), 0);
    ASSERT_EQ(mdb_env_set_maxdbs(env, 64), 0);
    ASSERT_EQ(mdb_env_set_mapsize(env, size_t{1} << 30), 0);
    ASSERT_EQ(mdb_env_open(env, Path(name).c_str(), MDB_NOSYNC, 0600), 0);
    ASSERT_EQ(mdb_txn_begin(env, nullptr, 0, &txn), 0);
    act(txn);
    ASSERT_EQ(mdb_txn_commit(txn), 0);
    mdb_env_close(env);
  }
  static MDB_val Val(const std::string& bytes) { return {bytes.size(), const_cast<char*>(bytes.data())}; }
  static void Put(MDB_txn* txn, MDB_dbi dbi, const std::string& key, const std::string& value) {
    MDB_val k = Val(key), v = Val(value);
    ASSERT_EQ(mdb_put(txn, dbi, &k, &v, 0), 0);
  }
  static std::string Integer(uint64_t number, size_t bytes = sizeof(size_t)) {
    return {reinterpret_cast<const char*>(&number), bytes};
  }

  // A difference as text: a failed comparison of maps of random bytes would print megabytes.
  static std::string Difference(const Everything& wanted, const Everything& found) {
    for (const auto& [name, pairs] : wanted) {
      const auto there = found.find(name);
      if (there == found.end()) return "keyspace <" + name + "> is missing";
      for (const auto& [key, value] : pairs) {
        const auto entry = there->second.find(key);
        if (entry == there->second.end()) return "keyspace <" + name + ">: key <" + key + "> is missing";
        if (entry->second != value) return "keyspace <" + name + ">: key <" + key + "> has another value";
      }
      if (pairs.size() != there->second.size()) return "keyspace <" + name + "> has more keys";
    }
    return wanted.size() == found.size() ? "" : "there are more keyspaces";
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
};

// ---- The known cases

TEST_F(DumpRandom, IntegerAndReversedKeysKeepTheirBytesOrderAndFlags) {
  const std::vector<uint64_t> numbers = {1, 2, 255, 256, 70'000};
  InLmdb("A", [&](MDB_txn* txn) {
    MDB_dbi dbi = 0;
    ASSERT_EQ(mdb_dbi_open(txn, "numbers", MDB_CREATE | MDB_INTEGERKEY, &dbi), 0);
    for (const uint64_t number : numbers) Put(txn, dbi, Integer(number), "n" + std::to_string(number));
    ASSERT_EQ(mdb_dbi_open(txn, "reversed", MDB_CREATE | MDB_REVERSEKEY, &dbi), 0);
    for (const char* key : {"az", "by", "cx"}) Put(txn, dbi, key, key);
    ASSERT_EQ(mdb_dbi_open(txn, "empty", MDB_CREATE, &dbi), 0);
  });
  ASSERT_EQ(Run("$M dump A > dump && $M load B < dump && $M dump -a A | cmp - dump"), 0) << Slurp("err");
  const std::string dump = Slurp("dump");
  EXPECT_NE(dump.find("database=numbers\ntype=btree\n"), std::string::npos) << dump;
  EXPECT_NE(dump.find("integerkey=1\n"), std::string::npos) << dump;
  EXPECT_NE(dump.find("reversekey=1\n"), std::string::npos) << dump;
  EXPECT_NE(dump.find(" 617a\n 617a\n"), std::string::npos) << "the program's bytes, not the stored ones: " << dump;
  EXPECT_EQ(Difference(ReadAll("A"), ReadAll("B")), "");
  InLmdb("B", [&](MDB_txn* txn) {
    MDB_dbi dbi = 0;
    ASSERT_EQ(mdb_dbi_open(txn, "numbers", MDB_INTEGERKEY, &dbi), 0);
    const std::string key = Integer(256);
    MDB_val k = Val(key), v{};
    ASSERT_EQ(mdb_get(txn, dbi, &k, &v), 0);
    EXPECT_EQ(std::string(static_cast<char*>(v.mv_data), v.mv_size), "n256");
    MDB_cursor* cursor = nullptr;
    ASSERT_EQ(mdb_cursor_open(txn, dbi, &cursor), 0);
    std::vector<uint64_t> found;
    while (mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0) {
      uint64_t number = 0;
      ASSERT_EQ(k.mv_size, sizeof number);
      std::memcpy(&number, k.mv_data, sizeof number);
      found.push_back(number);
    }
    mdb_cursor_close(cursor);
    EXPECT_EQ(found, numbers);
    // A cursor over the main database lists the names.
    MDB_dbi main = 0;
    ASSERT_EQ(mdb_dbi_open(txn, nullptr, 0, &main), 0);
    ASSERT_EQ(mdb_cursor_open(txn, main, &cursor), 0);
    std::string names;
    while (mdb_cursor_get(cursor, &k, &v, MDB_NEXT) == 0)
      names += std::string(static_cast<char*>(k.mv_data), k.mv_size) + " ";
    mdb_cursor_close(cursor);
    EXPECT_EQ(names, "empty numbers reversed ");
  });
  EXPECT_EQ(Run("$M dump A --flavour bdb"), 3) << "Berkeley DB has no such orders";
}

TEST_F(DumpRandom, LoadRefusesOrdersThatTheDatabaseCannotKeep) {
  const auto header = [](const std::string& lines) {
    return "printf 'VERSION=3\\nformat=print\\n" + lines + "type=btree\\nmaxreaders=126\\n";
  };
  const std::string pair = "HEADER=END\\n aa\\n v\\nDATA=END\\n' | $M load D";
  const auto refused = [&](const std::string& line, const std::string& reason) {
    EXPECT_EQ(Run(line), 3) << line;
    EXPECT_NE(Slurp("err").find(reason), std::string::npos) << line << ": " << Slurp("err");
  };
  refused(header("") + "reversekey=1\\n" + pair, "of the main database");
  EXPECT_EQ(Run(header("") + "reversekey=1\\n" + pair + " --keyspace r && $M scan D --keyspace r"), 0) << Slurp("err");
  EXPECT_EQ(Run(header("database=n\\n") + "reversekey=1\\n" + pair), 0) << Slurp("err");
  refused(header("database=n\\n") + pair, "has other flags");
  refused(header("database=n\\n") + "integerkey=1\\n" + pair, "has other flags");
  ASSERT_EQ(Run("$M put D k v --keyspace plain && $M put D taken v"), 0);
  refused(header("database=plain\\n") + "integerkey=1\\n" + pair, "the keyspace has entries");
  refused(header("database=taken\\n") + pair, "has an entry of this name");
  // Plain text goes in the order that the database has.
  EXPECT_EQ(Run("printf 'xy\\nplain\\n' | $M load -T -s n D && $M scan D --keyspace n"), 0) << Slurp("err");
  EXPECT_EQ(Slurp("out"), "aa\tv\nyx\tplain\n");
}

TEST_F(DumpRandom, EntriesThatLookLikeNameItemsAreData) {
  const std::string value(48, 'v');
  {
    const auto db = Open("A");
    const auto users = db->CreateKeyspace("users"), kept = db->CreateKeyspace("kept");
    ASSERT_TRUE(users && kept);
    ASSERT_TRUE(db->Put({}, "users", value).ok());
    ASSERT_TRUE(db->Put({}, "kept", value).ok());
    ASSERT_TRUE(db->Put({}, *users, "k", "v").ok());
    ASSERT_TRUE(db->Close().ok());
  }
  ASSERT_EQ(Run("$M dump A | $M load B"), 0) << Slurp("err");
  EXPECT_EQ(Difference(ReadAll("A"), ReadAll("B")), "");
  ASSERT_EQ(Run("$M drop B --keyspace users -d && $M keyspaces B --drop kept"), 0) << Slurp("err");
  EXPECT_EQ(ReadAll("B"), (Everything{{"", {{"users", value}, {"kept", value}}}}));
}

TEST_F(DumpRandom, DroppedLmdbDatabasesCanBeCreatedAgain) {
  const auto create = [&](unsigned flags) {
    InLmdb("A", [&](MDB_txn* txn) {
      MDB_dbi dbi = 0;
      for (const char* name : {"one", "two", "three"}) {
        ASSERT_EQ(mdb_dbi_open(txn, name, MDB_CREATE | flags, &dbi), 0) << name;
        unsigned found = 0;
        ASSERT_EQ(mdb_dbi_flags(txn, dbi, &found), 0);
        ASSERT_EQ(found, flags);
        Put(txn, dbi, "12345678", name);
      }
    });
  };
  create(0);
  ASSERT_EQ(Run("$M keyspaces A --drop one && $M drop -d -s two A && $M drop -s three -d A"), 0) << Slurp("err");
  EXPECT_EQ(ReadAll("A"), (Everything{{"", {}}}));
  create(MDB_INTEGERKEY);
}

TEST_F(DumpRandom, NamesCannotForgeHeaders) {
  const std::vector<std::string> names = {"a\nb",
                                          "x\nformat=print",
                                          std::string("nul\0name", 8),
                                          "\n",
                                          " ",
                                          "database=y",
                                          "x\nHEADER=END\n 61646d696e\n 726f6f74\nDATA=END\ndatabase=y",
                                          "HEADER=END"};
  {
    const auto db = Open("A");
    for (const std::string& name : names) {
      const auto keyspace = db->CreateKeyspace(name);
      ASSERT_TRUE(keyspace);
      ASSERT_TRUE(db->Put({}, *keyspace, "k", "v").ok());
    }
    ASSERT_TRUE(db->Close().ok());
  }
  ASSERT_EQ(Run("$M dump A > dump && $M load B < dump && $M dump -p A | $M load C"), 0) << Slurp("err");
  EXPECT_EQ(Difference(ReadAll("A"), ReadAll("B")), "");
  EXPECT_EQ(Difference(ReadAll("A"), ReadAll("C")), "");
  if (Run("command -v mdb_load") == 0) { EXPECT_NE(Run("mkdir env; mdb_load -f dump env"), 0); }
  if (Run("command -v db5.3_load") == 0) { EXPECT_NE(Run("$M dump --flavour bdb A | db5.3_load file"), 0); }
}

TEST_F(DumpRandom, DumpTakesAllKeyspacesUnlessAsked) {
  ASSERT_EQ(Run("$M put A --keyspace users alice 1 && $M put A --keyspace orders o1 2"), 0);
  ASSERT_EQ(Run("$M dump A | $M load B && $M scan B --keyspace users"), 0) << Slurp("err");
  EXPECT_EQ(Slurp("out"), "alice\t1\n");
  EXPECT_EQ(Difference(ReadAll("A"), ReadAll("B")), "");
  ASSERT_EQ(Run("$M dump A --default-alone | $M load C && ln -s $M mdb_dump && ./mdb_dump A | $M load D"), 0);
  EXPECT_EQ(ReadAll("C"), (Everything{{"", {}}}));
  EXPECT_EQ(ReadAll("D"), (Everything{{"", {}}}));
  EXPECT_EQ(Run("$M dump A --default-alone -a"), 2);
  // What a read of the empty default keyspace leaves out is named.
  for (const char* line : {"$M scan A", "$M scan A --count", "$M get A alice", "$M scan A --json --reverse"}) {
    Run(line);
    EXPECT_NE(Slurp("err").find(
                  "the default keyspace is empty; pass --keyspace NAME for one of the others: \"orders\", \"users\""),
              std::string::npos)
        << line << ": " << Slurp("err");
  }
  for (const char* line : {"$M scan A --keyspace users", "$M put A k v; $M scan A --prefix x; $M get A alice"}) {
    Run(line);
    EXPECT_EQ(Slurp("err").find("keyspace"), std::string::npos) << line << ": " << Slurp("err");
  }
}

// ---- Random databases

struct Maker {
  base::Random& random;

  std::string Bytes(size_t bytes) {
    std::string text(bytes, 0);
    for (char& c : text) c = static_cast<char>(random.Next());
    return text;
  }
  const std::string& OneOf(const std::vector<std::string>& list) { return list[random.Uniform(list.size())]; }
  std::string Value() {
    switch (random.Uniform(8)) {
      case 0: return format::EncodeNameItem(static_cast<unsigned>(random.Uniform(16)));
      case 1: return Bytes(format::kNameItemBytes);
      case 2: return Bytes(5000);
      case 3: return OneOf({"", " ", "DATA=END", "\\", "\n", "HEADER=END\n"});
      default: return Bytes(random.Uniform(60));
    }
  }
  std::string LmdbName() {
    return OneOf({"users", "numbers", "a b", "x=y", "\xff", "database=z", "HEADER=END", "a\nb", std::string(511, 'n')});
  }
  std::string Name() {
    switch (random.Uniform(4)) {
      case 0: return Bytes(1 + random.Uniform(8));
      case 1:
        return OneOf({std::string("a\0b", 3), "x\nformat=print", std::string(1024, 'N'), "\n",
                      "z\nHEADER=END\n 61\n 62\nDATA=END"});
      default: return LmdbName();
    }
  }
  std::string Key() {
    switch (random.Uniform(12)) {
      case 0: return Name();
      case 1: return "";
      case 2: return Bytes(600);
      default: return Bytes(1 + random.Uniform(20));
    }
  }
  std::string LmdbKey(unsigned flags, size_t integer_bytes) {
    return (flags & MDB_INTEGERKEY) != 0 ? Bytes(integer_bytes) : Bytes(1 + random.Uniform(20));
  }
};

// As the LMDB interface leaves it: databases with items and flags, and entries of the main database.
void FillLmdb(Maker& maker, MDB_txn* txn) {
  constexpr unsigned kFlags[] = {0, MDB_INTEGERKEY, MDB_REVERSEKEY, MDB_INTEGERKEY | MDB_REVERSEKEY};
  const auto put = [&](MDB_dbi dbi, const std::string& key) {
    const std::string value = maker.Value();
    MDB_val k{key.size(), const_cast<char*>(key.data())}, v{value.size(), const_cast<char*>(value.data())};
    (void)mdb_put(txn, dbi, &k, &v, 0);  // refused for the name of a database
  };
  MDB_dbi dbi = 0;
  ASSERT_EQ(mdb_dbi_open(txn, nullptr, 0, &dbi), 0);
  for (uint64_t i = maker.random.Uniform(30); i > 0; --i) put(dbi, maker.LmdbKey(0, 0));
  for (uint64_t databases = maker.random.Uniform(6); databases > 0; --databases) {
    if (mdb_dbi_open(txn, maker.LmdbName().c_str(), MDB_CREATE | kFlags[maker.random.Uniform(4)], &dbi) != 0) continue;
    unsigned flags = 0;
    ASSERT_EQ(mdb_dbi_flags(txn, dbi, &flags), 0);
    const size_t integer_bytes = maker.random.Uniform(2) == 0 ? sizeof(unsigned) : sizeof(size_t);
    for (uint64_t i = maker.random.Uniform(30); i > 0; --i) put(dbi, maker.LmdbKey(flags, integer_bytes));
  }
}

// What the C++ interface adds: any names and keys, merges, entries in LMDB's keyspaces, and items without a database.
void FillCpp(Maker& maker, DB& db) {
  for (uint64_t i = maker.random.Uniform(5); i > 0; --i)
    ASSERT_TRUE(db.CreateKeyspace(maker.Name(), {.may_exist = true}));
  auto keyspaces = db.ListKeyspaces();
  ASSERT_TRUE(keyspaces);
  keyspaces->push_back({"", Keyspace()});
  for (const KeyspaceEntry& each : *keyspaces) {
    if (each.name.empty() || maker.random.Uniform(3) > 0) {
      for (uint64_t i = maker.random.Uniform(10); i > 0; --i)
        ASSERT_TRUE(db.Put({}, each.keyspace, maker.Key(), maker.Value()).ok());
      ASSERT_TRUE(db.Merge({}, each.keyspace, "count", merge::AddU64(7)).ok());
    }
    if (!each.name.empty() && maker.random.Uniform(8) == 0) { ASSERT_TRUE(db.DropKeyspace({}, each.keyspace).ok()); }
  }
}

// The named databases, each with an item. mdb_dump -a prints only them.
Everything NamedOf(Everything all) {
  Pairs items;
  for (const auto& [name, pairs] : all) {
    if (name.empty()) continue;
    const auto entry = all[""].find(name);
    items[name] = entry == all[""].end() ? format::EncodeNameItem(0) : entry->second;
  }
  all[""] = items;
  return all;
}

// The entries of the main database, without the items of `names`.
Pairs MainOf(const Everything& all, const Everything& names) {
  Pairs pairs = all.at("");
  for (const auto& [name, unused] : names) {
    if (!name.empty()) pairs.erase(name);
  }
  return pairs;
}

TEST_F(DumpRandom, DumpsOfAnythingAreLoadedExactly) {
  const bool has_lmdb = Run("command -v mdb_load && command -v mdb_dump") == 0;
  if (!has_lmdb) std::printf("mdb_load and mdb_dump (lmdb-utils) are missing: LMDB itself takes no part\n");
  const uint64_t seed = testing::SeedOr(1);
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  base::Random random(seed);
  uint64_t taken_by_lmdb = 0;
  const uint64_t rounds = testing::Sized(25, 1000, 8);
  for (uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    ASSERT_EQ(Run("rm -rf A B C env L M"), 0);
    Maker maker{random};
    const uint64_t interfaces = 1 + random.Uniform(3);
    if (interfaces & 1) InLmdb("A", [&](MDB_txn* txn) { FillLmdb(maker, txn); });
    if (interfaces & 2) {
      const auto db = Open("A");
      ASSERT_NE(db, nullptr);
      FillCpp(maker, *db);
      ASSERT_TRUE(db->Close().ok());
    }
    ASSERT_FALSE(HasFatalFailure());
    const Everything all = ReadAll("A");
    ASSERT_EQ(Run("$M dump A > dump && $M load B < dump && $M dump -p -f printed A && $M load C -f printed"), 0)
        << Slurp("err");
    ASSERT_EQ(Difference(all, ReadAll("B")), "");
    ASSERT_EQ(Difference(all, ReadAll("C")), "");
    ASSERT_EQ(Run("$M dump B | cmp - dump"), 0) << Slurp("out");
    if (!has_lmdb || Run("mkdir env && mdb_load -f dump env") != 0) continue;
    ++taken_by_lmdb;
    // WHY the exit code of mdb_dump -a is ignored: it is that of its last cursor call.
    ASSERT_EQ(Run("mdb_dump env | $M load M && { mdb_dump -a env > text || true; }"), 0) << Slurp("err");
    ASSERT_EQ(MainOf(all, all), MainOf(ReadAll("M"), all));
    if (Run("[ -s text ]") != 0) continue;  // it has no named database
    ASSERT_EQ(Run("$M load L < text"), 0) << Slurp("err");
    ASSERT_EQ(Difference(NamedOf(all), ReadAll("L")), "");
  }
  if (has_lmdb) { EXPECT_GT(taken_by_lmdb, rounds / 8); }
}

}  // namespace
}  // namespace mergedb::dump_random_test
