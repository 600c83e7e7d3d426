// Goal: the mergedb command as a shell sees it: output, messages, exit codes. Method: run the built program
// on a database in a temporary directory and compare.
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "db/observe/live_heat.h"
#include "env/latencies.h"
#include "env/process.h"
#include "format/live_state.h"
#include "mergedb/c.h"
#include "mergedb/checkpoint.h"
#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "picker/picker.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"

namespace mergedb {
namespace {

struct Outcome {
  int exit = -1;
  std::string out, err;
};

class CommandTest : public ::testing::Test {
 protected:
  // `line` is a shell command line; $M is the program and $D the database.
  Outcome Run(const std::string& line) const {
    const std::string script = "M='" MERGEDB_COMMAND "'; D='" + database_ + "'; H='" + home_ + "'; " + line;
    const std::string command = "(" + script + ") > " + home_ + "/out 2> " + home_ + "/err";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Slurp("out"), Slurp("err")};
  }
  std::string Slurp(const std::string& name) const {
    std::ifstream in(home_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
  const std::string database_ = home_ + "/db";
};

TEST_F(CommandTest, PutsGetsAndDeletes) {
  EXPECT_EQ(Run("$M put $D apple green").exit, 0);
  EXPECT_EQ(Run("$M put --db $D pear yellow --sync").exit, 0);
  EXPECT_EQ(Run("$M get $D apple").out, "green\n");
  EXPECT_EQ(Run("$M --db $D get pear").out, "yellow\n");
  EXPECT_EQ(Run("$M delete $D apple nothing").exit, 0);
  const Outcome missing = Run("$M get $D apple");
  EXPECT_EQ(missing.exit, 1);
  EXPECT_EQ(missing.out, "");
  EXPECT_NE(missing.err.find("no such key"), std::string::npos);
}

TEST_F(CommandTest, DeletesRangesAndPrefixes) {
  const auto keys = [this] {
    std::string out = Run("$M scan $D --keys-only").out;
    for (char& c : out) c = c == '\n' ? ' ' : c;
    return out;
  };
  for (const char* key : {"a", "b", "c", "d", "user:1", "user:2"})
    EXPECT_EQ(Run(std::string("$M put $D ") + key + " v").exit, 0);
  EXPECT_EQ(Run("$M delete $D --range b d").exit, 0);
  EXPECT_EQ(keys(), "a d user:1 user:2 ");
  EXPECT_EQ(Run("$M delete $D --prefix user:").exit, 0);
  EXPECT_EQ(keys(), "a d ");
  EXPECT_EQ(Run("$M delete $D d --range 61 62 --hex").exit, 2) << "d is not hex";
  EXPECT_EQ(Run("$M delete $D 64 --range 61 62 --hex").exit, 0);
  EXPECT_EQ(keys(), "");
  EXPECT_EQ(Run("$M delete $D").exit, 2);
  EXPECT_EQ(Run("$M delete $D --range b").exit, 2);
  EXPECT_EQ(Run("$M delete $D a --prefix b").exit, 2);
  const Outcome backward = Run("$M delete $D --range d b");
  EXPECT_EQ(backward.exit, 3);
  EXPECT_NE(backward.err.find("after its end"), std::string::npos) << backward.err;
}

TEST_F(CommandTest, KeepsKeyspacesApart) {
  EXPECT_EQ(Run("$M put $D a default").exit, 0);
  EXPECT_EQ(Run("$M keyspaces $D").out, "");
  EXPECT_EQ(Run("$M get $D a --keyspace users").exit, 3);
  EXPECT_EQ(Run("$M put $D a in-users --keyspace users").exit, 0);
  EXPECT_EQ(Run("$M keyspaces $D --create items").exit, 0);
  EXPECT_EQ(Run("$M keyspaces $D --create items").exit, 3);
  EXPECT_EQ(Run("$M keyspaces $D").out, "items\t65\nusers\t1\n")
      << "an open skips the ids that the one before had set aside";
  EXPECT_EQ(Run("$M keyspaces $D --json").out, "{\"name\":\"items\",\"id\":65}\n{\"name\":\"users\",\"id\":1}\n");
  EXPECT_EQ(Run("$M get $D a").out, "default\n");
  EXPECT_EQ(Run("$M get $D a --keyspace users").out, "in-users\n");
  EXPECT_EQ(Run("$M scan $D --keyspace users").out, "a\tin-users\n");
  EXPECT_EQ(Run("$M scan $D").out, "a\tdefault\n");
  EXPECT_EQ(Run("$M merge $D n 2 --type add-u64 --keyspace counts").exit, 0) << "makes it, as put does";
  EXPECT_EQ(Run("$M merge $D n 3 --type add-u64 --keyspace counts").exit, 0);
  EXPECT_EQ(Run("$M get $D n --as u64 --keyspace counts").out, "5\n");
  EXPECT_EQ(Run("$M get $D n").exit, 1);
  EXPECT_EQ(Run("$M compact $D --keyspace counts").exit, 0);
  EXPECT_EQ(Run("$M compact $D --keyspace absent").exit, 3);
  EXPECT_EQ(Run("$M get $D n --as u64 --keyspace counts").out, "5\n");
  EXPECT_EQ(Run("$M keyspaces $D --drop counts").exit, 0);
  EXPECT_EQ(Run("$M scan $D --keyspace users > $H/lines && $M load $D --keyspace items < $H/lines").exit, 0);
  EXPECT_EQ(Run("$M scan $D --keyspace items").out, "a\tin-users\n");
  EXPECT_EQ(
      Run("$M scan $D --hex --keyspace 7573657273 > $H/lines && $M load $D --hex --keyspace 6974656d73 < $H/lines")
          .exit,
      0);
  EXPECT_EQ(Run("$M scan $D --keyspace items --count").out, "1\n");
  EXPECT_EQ(Run("$M dump $D --keyspace items -p | grep -c in-users").out, "1\n");
  EXPECT_EQ(Run("$M drop $D --keyspace items").exit, 0);
  EXPECT_EQ(Run("$M scan $D --keyspace items --count").out, "0\n");
  EXPECT_EQ(Run("$M delete $D --keyspace users --prefix b").exit, 0);
  EXPECT_EQ(Run("$M scan $D --keyspace users --count").out, "1\n");
  EXPECT_EQ(Run("$M delete $D --keyspace users --range a b").exit, 0);
  EXPECT_EQ(Run("$M scan $D --keyspace users --count").out, "0\n");
  EXPECT_EQ(Run("$M keyspaces $D --drop users").exit, 0);
  for (const char* line : {"get $D a --keyspace", "scan $D --keyspace", "delete $D a --keyspace",
                           "compact $D --keyspace", "dump $D --keyspace", "stat $D --keyspace", "drop $D --keyspace",
                           "drop $D -d --keyspace", "keyspaces $D --drop", "export-leveldb $D $H/target --keyspace"}) {
    SCOPED_TRACE(line);
    const Outcome unknown = Run("$M " + std::string(line) + " users");
    EXPECT_EQ(unknown.exit, 3);
    EXPECT_NE(unknown.err.find("users"), std::string::npos) << unknown.err;
  }
  EXPECT_EQ(Run("$M check $D").exit, 0);
  EXPECT_EQ(Run("$M verify $D").exit, 0);
}

// Values that other programs wrote: printing them neither crashes nor reaches the terminal as control characters.
TEST_F(CommandTest, ShowsHostileJson) {
  {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, database_));
    ASSERT_OK(db->Put({}, "deep", std::string(100'000, '[') + std::string(100'000, ']')));
    ASSERT_OK(db->Put({}, "edge", std::string(512, '[') + std::string(512, ']')));
    ASSERT_OK(db->Put({}, "over", std::string(513, '[') + std::string(513, ']')));
    ASSERT_OK(db->Put({}, "shown",
                      "{\"a\":\"\xc2\x9b"
                      "31m\xe2\x80\xae\"}"));
  }
  EXPECT_EQ(Run("$M get $D deep --as json").out, "?\n");
  EXPECT_EQ(Run("$M get $D over --as json").out, "?\n");
  EXPECT_EQ(Run("$M get $D edge --as json | tr -d ' \\n'").out, std::string(512, '[') + std::string(512, ']'));
  EXPECT_EQ(Run("$M get $D shown --as json").out, "{\n  \"a\": \"\\u009b31m\\u202e\"\n}\n");
  EXPECT_EQ(Run("$M scan $D --prefix s --as json").out, "shown\t{\"a\":\"\\u009b31m\\u202e\"}\n") << "a line an entry";
  EXPECT_EQ(Run("$M scan $D --as json").exit, 0);
}

TEST_F(CommandTest, MergesAndShowsTypedValues) {
  EXPECT_EQ(Run("for n in 1 2 39; do $M merge $D visits $n --type add-u64; done").exit, 0);
  EXPECT_EQ(Run("$M get $D visits --as u64").out, "42\n");
  EXPECT_EQ(Run("$M merge $D t --type add-i64 -- -5; $M get $D t --as i64").out, "-5\n");
  EXPECT_EQ(Run("$M merge $D log a --type append --delimiter , && $M merge $D log b --type append --delimiter ,").exit,
            0);
  EXPECT_EQ(Run("$M get $D log").out, "a,b\n");
  EXPECT_EQ(Run("$M merge $D j '{\"a\":1}' --type json && $M get $D j --as json").out, "{\n  \"a\": 1\n}\n");
  EXPECT_EQ(Run("$M merge $D log c --operator stringappend && $M get $D log").out, "a,b,c\n");
  EXPECT_EQ(Run("$M merge $D log 1 --type add-u64").exit, 0);
  const Outcome clash = Run("$M get $D log");
  EXPECT_EQ(clash.exit, 3);
  EXPECT_NE(clash.err.find("MergeFailed: key \"log\": add-u64 needs a value of 8 bytes"), std::string::npos)
      << clash.err;
  EXPECT_EQ(Run("$M merge $D k x --type add-u64").exit, 2);
  EXPECT_EQ(Run("$M merge $D k '{' --type json").exit, 3);
}

TEST_F(CommandTest, MergeListsExactlyTheBuiltInTypes) {
  std::string names;
  for (const merge::Type& type : merge::Types()) names.append(names.empty() ? "" : ", ").append(type.name);
  const Outcome help = Run("$M merge --help | tr '\\n' ' ' | tr -s ' '");  // help may break lines
  EXPECT_NE(help.out.find("TYPE: " + names + ". "), std::string::npos) << help.out;
  const Outcome none = Run("$M merge $D k x"), unknown = Run("$M merge $D k x --type nonsense");
  EXPECT_EQ(none.exit, 2);
  EXPECT_NE(none.err.find("--type: is required; one of: " + names + " (see mergedb --help)\n"), std::string::npos)
      << none.err;
  EXPECT_NE(unknown.err.find("--type: unknown type \"nonsense\"; one of: " + names + " (see mergedb --help)\n"),
            std::string::npos)
      << unknown.err;
  for (const merge::Type& type : merge::Types()) {
    const std::string name(type.name);
    EXPECT_EQ(Run("$M merge $D " + name + " " + (name == "json" ? "{}" : "7") + " --type " + name).exit, 0) << name;
    EXPECT_EQ(Run("$M get $D " + name).exit, 0) << name;
  }
}

// Keys whose merge operands cannot be applied.
TEST_F(CommandTest, SkipsKeysThatCannotBeReadWhenToldAndListsThem) {
  EXPECT_EQ(
      Run("for k in a b c d; do $M put $D $k 1; done; for k in b d; do $M merge $D $k 1 --type add-u64; done").exit, 0);
  const std::string b =
      "mergedb: skipped b: MergeFailed: key \"b\": add-u64 needs a value of 8 bytes; the one there has 1\n";
  const std::string d =
      "mergedb: skipped d: MergeFailed: key \"d\": add-u64 needs a value of 8 bytes; the one there has 1\n";
  const std::string both = b + d + "mergedb: 2 keys were skipped\n";
  for (const char* verb : {"scan $D", "dump $D", "export-leveldb $D $H/exported"}) {
    const Outcome plain = Run(std::string("$M ") + verb);
    EXPECT_EQ(plain.exit, 3) << verb;
    EXPECT_NE(plain.err.find("MergeFailed: key \"b\""), std::string::npos) << plain.err;
    EXPECT_NE(plain.err.find("--skip-errors leaves such keys out"), std::string::npos) << plain.err;
    const Outcome skipping = Run(std::string("$M ") + verb + " --skip-errors");
    EXPECT_EQ(skipping.exit, 4) << verb;
    EXPECT_EQ(skipping.err, both) << verb;
  }
  EXPECT_EQ(Run("$M scan $D --skip-errors").out, "a\t1\nc\t1\n");
  const Outcome reverse = Run("$M scan $D --skip-errors --reverse");
  EXPECT_EQ(reverse.out, "c\t1\na\t1\n");
  EXPECT_EQ(reverse.err, d + b + "mergedb: 2 keys were skipped\n");
  EXPECT_EQ(Run("$M scan $D --limit 1").exit, 0) << "the failed key is behind the last one asked for";
  EXPECT_EQ(Run("$M scan $D --keys-only").out, "a\nb\nc\nd\n") << "no value is read";
  EXPECT_EQ(Run("$M scan $D --count").out, "4\n");
  EXPECT_EQ(Run("$M dump $D -p --skip-errors | grep -c '^ [abcd]'").out, "2\n");
  EXPECT_EQ(Run("$M scan $H/exported --skip-errors").exit, 3) << "of LevelDB yet";
  EXPECT_EQ(Run("$M convert $H/exported --quiet && $M scan $H/exported --skip-errors").out, "a\t1\nc\t1\n");
}

TEST_F(CommandTest, EmptiesEverythingOnlyWhenToldTwice) {
  EXPECT_EQ(Run("$M put $D a 1 && $M put $D b 2 --keyspace x").exit, 0);
  const Outcome asked = Run("$M drop $D");
  EXPECT_EQ(asked.exit, 2);
  EXPECT_NE(asked.err.find("--yes"), std::string::npos) << asked.err;
  EXPECT_EQ(Run("$M scan $D --count").out, "1\n");
  EXPECT_EQ(Run("$M drop $D --yes").exit, 0);
  EXPECT_LT(std::stoi(Run("du -sk $D").out), 1000);  // one key of 8 MiB behind all keys takes 90 MB
  EXPECT_EQ(Run("$M scan $D --count").out, "0\n");
  EXPECT_EQ(Run("$M keyspaces $D").out, "");
  EXPECT_EQ(Run("$M put $D a 1 && ln -s $M $H/mdb_drop && $H/mdb_drop $D && $M scan $D --count").out, "0\n")
      << "LMDB's does not ask";
}

// Symptom: on a terminal, verify printed "99 % of 41.7 MB1 tables". The test gives the program a terminal as
// stderr.
TEST_F(CommandTest, ClearsItsProgressFromTheTerminal) {
  ASSERT_EQ(Run("$M put $D a 1 && $M compact $D").exit, 0);
  for (const std::string verb : {"verify", "repair --dry-run"}) {
    int terminal = -1, other_end = -1;
    ASSERT_EQ(openpty(&terminal, &other_end, nullptr, nullptr, nullptr), 0);
    const std::string command =
        "'" MERGEDB_COMMAND "' " + verb + " '" + database_ + "' > /dev/null 2> " + ttyname(other_end);
    EXPECT_EQ(std::system(command.c_str()), 0);
    close(other_end);
    std::string shown(4096, '\0');
    shown.resize(static_cast<size_t>(std::max<ssize_t>(::read(terminal, shown.data(), shown.size()), 0)));
    close(terminal);
    EXPECT_NE(shown.find(" % of "), std::string::npos) << verb << ": " << shown;
    EXPECT_TRUE(shown.ends_with("\r\033[K")) << verb << ": " << shown;
  }
}

TEST_F(CommandTest, CarriesAnyBytes) {
  EXPECT_EQ(Run("printf 'a\\000b\\n' | $M put $D k -").exit, 0);
  EXPECT_EQ(Run("$M get $D k --raw").out, std::string("a\0b\n", 4));
  EXPECT_EQ(Run("$M get $D k").out, "a\\x00b\\n\n");
  EXPECT_EQ(Run("$M get $D 6b --hex").out, "6100620a\n");
  EXPECT_EQ(Run("$M put $D --hex 00FF 0a && $M get $D 00ff --hex --json").out,
            "{\"key_hex\":\"00ff\",\"value_hex\":\"0a\"}\n");
  EXPECT_EQ(Run("$M put $D -- -k -v && $M get $D -- -k").out, "-v\n");
}

TEST_F(CommandTest, KeepsControlCharactersFromTheTerminal) {
  EXPECT_EQ(Run("printf '\\033]0;title\\007\\302\\233' | $M put $D k -").exit, 0);
  EXPECT_EQ(Run("$M get $D k").out, "\\x1b]0;title\\x07\\xc2\\x9b\n");
  EXPECT_EQ(Run("$M get $D k --json").out.find('\x1b'), std::string::npos);
  EXPECT_EQ(Run("$M get $D \"$(printf 'no\\033[31m')\"").err.find('\x1b'), std::string::npos);
}

TEST_F(CommandTest, ScansRanges) {
  EXPECT_EQ(Run("for k in a b1 b2 b3 c; do $M put $D $k v$k; done").exit, 0);
  EXPECT_EQ(Run("$M scan $D --limit 2").out, "a\tva\nb1\tvb1\n");
  EXPECT_EQ(Run("$M scan $D --prefix b --reverse --keys-only").out, "b3\nb2\nb1\n");
  EXPECT_EQ(Run("$M scan $D --from b2 --to c").out, "b2\tvb2\nb3\tvb3\n");
  EXPECT_EQ(Run("$M scan $D --prefix b --count").out, "3\n");
  EXPECT_EQ(Run("$M scan $D --from c --json").out, "{\"key\":\"c\",\"value\":\"vc\"}\n");
  EXPECT_EQ(Run("$M scan $D --from 63 --hex").out, "63\t7663\n");
}

// Two backup jobs of two processes overlap.
TEST_F(CommandTest, ACopyToATargetOfAnotherProcessIsRefused) {
  ASSERT_EQ(Run("$M put $D apple green").exit, 0);
  auto db = DB::Open({.mode = OpenMode::kReadOnly}, database_);
  ASSERT_OK(db.status());
  int calls = 0;
  const auto made = Checkpoint(**db, home_ + "/copy", {.progress = [&](uint64_t, uint64_t) {
    if (calls++ > 0) return true;
    const Outcome refused = Run("$M copy $D $H/copy");
    EXPECT_EQ(refused.exit, 3);
    EXPECT_NE(refused.err.find("another call makes a checkpoint with this target"), std::string::npos) << refused.err;
    return true;
  }});
  ASSERT_OK(made.status());
  EXPECT_GT(calls, 0);
  EXPECT_EQ(Run("$M get $H/copy apple").out, "green\n");
  EXPECT_EQ(Run("$M copy $D $H/copy").exit, 3) << "the target exists";
}

TEST_F(CommandTest, CopiesADatabaseThroughAPipe) {
  EXPECT_EQ(Run("printf '\\000\\t\\\\' | $M put $D 'a\tb' -; $M put $D --hex 00ff ''; $M put $D plain text").exit, 0);
  for (const std::string flags : {"", "--hex", "--json"}) {
    SCOPED_TRACE(flags);
    const std::string copy = "$D.copy" + flags;
    EXPECT_EQ(Run("$M scan $D " + flags + " | $M load " + copy + " " + flags).exit, 0);
    EXPECT_EQ(Run("$M scan " + copy + " --hex").out, Run("$M scan $D --hex").out);
  }
  const Outcome broken = Run("printf 'k\\tv\\nno tab\\n' | $M load $D");
  EXPECT_EQ(broken.exit, 3);
  EXPECT_NE(broken.err.find("line 2"), std::string::npos);
  const Outcome json = Run("$M scan $D --json | $M load $D.other");
  EXPECT_EQ(json.exit, 3);
  EXPECT_NE(json.err.find("line 1: expected key, tab, value; the line looks like JSON: pass --json"),
            std::string::npos);
  const Outcome text = Run("$M scan $D | $M load $D.other --json");
  EXPECT_EQ(text.exit, 3);
  EXPECT_NE(text.err.find("; without --json a line is key, tab, value"), std::string::npos) << text.err;
}

TEST_F(CommandTest, ReportsCompactsAndDestroys) {
  EXPECT_EQ(Run("seq 1 5000 | sed 's/$/\tvalue/' | $M load $D").exit, 0);
  EXPECT_EQ(Run("$M compact $D").exit, 0);
  EXPECT_NE(Run("$M stat $D").out.find("on disk"), std::string::npos);
  const Outcome json = Run("$M stat $D --json");
  EXPECT_EQ(json.exit, 0);
  EXPECT_NE(json.out.find("\"counters\""), std::string::npos);
  EXPECT_EQ(Run("$M check $D --json").out.find("{\"directory\""), 0u);
  EXPECT_EQ(Run("$M scan $D --count").out, "5000\n");
  EXPECT_EQ(Run("$M destroy $D").exit, 2);
  EXPECT_EQ(Run("$M destroy $D --yes").exit, 0);
  EXPECT_EQ(Run("$M scan $D").exit, 3);
}

TEST_F(CommandTest, FindsDamage) {
  EXPECT_EQ(Run("seq 1 5000 | sed 's/$/\tvalue/' | $M load $D && $M compact $D").exit, 0);
  EXPECT_EQ(Run("f=$(ls -S $D/*.tbl | head -1); printf X | dd of=$f bs=1 seek=100 conv=notrunc 2>/dev/null").exit, 0);
  const Outcome damaged = Run("$M check $D");
  EXPECT_EQ(damaged.exit, 1);
  EXPECT_NE(damaged.err.find("Corruption"), std::string::npos) << damaged.err;
  EXPECT_NE(damaged.err.find(".tbl"), std::string::npos) << damaged.err;
}

TEST_F(CommandTest, VerifiesAndRepairs) {
  EXPECT_EQ(Run("seq 1 5000 | sed 's/$/\tvalue/' | $M load $D && $M compact $D").exit, 0);
  EXPECT_EQ(Run("$M verify $D").exit, 0);
  EXPECT_EQ(Run("$M repair $D").out, "no damage: nothing to repair\n");
  EXPECT_EQ(
      Run("f=$(ls -S $D/*.tbl | head -1); printf X | dd of=$f bs=1 seek=100 conv=notrunc 2>/dev/null; rm $D/CURRENT")
          .exit,
      0);
  EXPECT_EQ(Run("$M scan $D --count").exit, 3);
  const Outcome found = Run("$M verify $D");
  EXPECT_EQ(found.exit, 1);
  EXPECT_NE(found.out.find(" read: 2 damages\n"), std::string::npos) << found.out;
  EXPECT_NE(found.out.find("CURRENT: missing"), std::string::npos) << found.out;
  EXPECT_NE(found.out.find(".tbl: offset 0, "), std::string::npos) << found.out;
  EXPECT_NE(Run("$M verify $D --json").out.find("\"smallest_key\": \"1\""), std::string::npos);
  const Outcome planned = Run("$M repair $D --dry-run");
  EXPECT_EQ(planned.exit, 1);
  EXPECT_NE(planned.out.find("nothing was changed"), std::string::npos) << planned.out;
  EXPECT_EQ(Run("$M scan $D --count").exit, 3);
  const Outcome repaired = Run("$M repair $D");
  EXPECT_EQ(repaired.exit, 1) << repaired.err;
  EXPECT_NE(repaired.out.find("lost:\n"), std::string::npos) << repaired.out;
  EXPECT_EQ(Run("$M verify $D").exit, 0);
  const Outcome left = Run("$M scan $D --count");
  EXPECT_EQ(left.exit, 0);
  EXPECT_GT(std::stoi(left.out), 4000);
  EXPECT_LT(std::stoi(left.out), 5000);
  EXPECT_EQ(Run("ls $D/lost | grep -c -e '[.]tbl' -e report.txt").out, "2\n");
  EXPECT_EQ(Run("$M verify $H").exit, 3);
}

TEST_F(CommandTest, ExplainsItselfAndRefusesNonsense) {
  EXPECT_EQ(Run("$M --help").exit, 0);
  EXPECT_EQ(Run("$M scan --help").out.find("Print keys"), 0u);
  EXPECT_EQ(Run("$M --version").out, std::string("mergedb ") + mergedb_version() + "\n");
  for (const char* line : {"$M", "$M bogus", "$M get", "$M get $D", "$M get $D a b", "$M get $D zz --hex",
                           "$M scan $D --limit many", "$M scan $D --bogus"}) {
    SCOPED_TRACE(line);
    const Outcome outcome = Run(line);
    EXPECT_EQ(outcome.exit, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err, "");
  }
  EXPECT_EQ(Run("$M get $D k").exit, 3);
  EXPECT_FALSE(std::filesystem::exists(database_)) << "an inspector made a directory";
}

TEST_F(CommandTest, TakesOnlyIntegersInRangeAsNumbers) {
  for (const char* option : {"scan $D --limit", "merge $D k b --type append --cap", "merge $D k b --type first --at",
                             "estimate $D --entries", "trace dump $D --limit", "trace analyse $D --top",
                             "sst $D --scan --limit", "manifest $D --scan --limit", "doctor --pid",
                             "torture --device $D --seconds", "serve-metrics $D --listen 127.0.0.1:0 --timeout"}) {
    for (const char* number : {"-3", "18446744073709551616", "010", "0x10", "1.5", "'1 '", "''"}) {
      const std::string line = std::string("$M ") + option + " " + number;
      SCOPED_TRACE(line);
      const Outcome outcome = Run(line);
      EXPECT_EQ(outcome.exit, 2);
      EXPECT_EQ(outcome.out, "");
      EXPECT_NE(outcome.err.find("expected an integer from "), std::string::npos) << outcome.err;
    }
  }
  EXPECT_EQ(Run("$M doctor --pid 2147483648").err,
            "mergedb: --pid: expected an integer from 1 to 2147483647, found \"2147483648\" (see mergedb --help)\n");
  EXPECT_EQ(Run("$M put $D k v").exit, 0);
  EXPECT_EQ(Run("$M scan $D --limit 0").out, "");
  EXPECT_EQ(Run("$M scan $D --limit 18446744073709551615").out, "k\tv\n");
}

TEST_F(CommandTest, RefusesOptionsWithoutAnEffect) {
  ASSERT_EQ(Run("$M put $D k v").exit, 0);
  for (const char* line : {"get $D k --json --raw",
                           "get $D k --json --as u64",
                           "get $D k --raw --as u64",
                           "scan $D --json --as u64",
                           "scan $D --keys-only --as u64",
                           "scan $D --count --as u64",
                           "scan $D --from z --to a",
                           "compact $D --from z --to a",
                           "compact $D --hex --from 62 --to 61",
                           "merge $D k 1 --type add-u64 --operator uint64add",
                           "merge $D k 1 --type add-u64 --delimiter ,",
                           "merge $D k 1 --type add-u64 --cap 5",
                           "merge $D k 1 --type append --at 5",
                           "merge $D k 1 --type append --keep-oldest",
                           "merge $D k 1 --operator stringappend --delimiter ,",
                           "merge $D k 1 --operator stringappend --at 5",
                           "stat $D --json --property mergedb.runs",
                           "stat $D --json -e",
                           "stat $D --property mergedb.runs -a",
                           "stat $D --json -s name",
                           "dump $D -l -s name",
                           "dump $D -l --default-alone",
                           "dump $D -l --skip-errors",
                           "dump $D -l --flavour bdb",
                           "load $D -T --json",
                           "load $D -T --hex",
                           "keyspaces $D --create a --json",
                           "keyspaces $D --drop a --json",
                           "export-leveldb $D $H/target --default-alone --keyspace a",
                           "sst $D/x --check --scan",
                           "sst $D/x --check --blocks",
                           "sst $D/x --from a",
                           "sst $D/x --to a",
                           "sst $D/x --keys-only",
                           "sst $D/x --limit 1",
                           "sst $D/x --scan --from z --to a",
                           "blob $D/x --check --scan",
                           "blob $D/x --keys-only",
                           "wal $D/x --check --scan",
                           "wal $D/x --check --frames",
                           "wal $D/x --frames --limit 5",
                           "manifest $D/x --check --scan",
                           "manifest $D/x --limit 5",
                           "top $D --once --interval 5",
                           "top $D --json --interval 5",
                           "trace analyse $D/x --limit 5",
                           "trace dump $D/x --top 5",
                           "trace scrub $D/x $H/y --top 5",
                           "trace scrub $D/x $H/y --limit 5",
                           "trace scrub $D/x $H/y --json",
                           "trace scrub $D/x $H/y --hex",
                           "torture --device $D --json",
                           "torture --device $D --verify $D/x --seconds 1",
                           "--db $D trace dump $D/x",
                           "--db $D doctor"}) {
    SCOPED_TRACE(line);
    const Outcome outcome = Run(std::string("$M ") + line + " < /dev/null");
    EXPECT_EQ(outcome.exit, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(outcome.err.find("mergedb: "), 0u) << outcome.err;
  }
  EXPECT_EQ(Run("$M scan $D").out, "k\tv\n");
  EXPECT_EQ(Run("$M keyspaces $D").out, "");
  EXPECT_EQ(Run("$M merge $D log abc --type append --cap 2 --keep-oldest && $M get $D log").out, "ab\n");
}

TEST_F(CommandTest, ChecksAllWordsBeforeItMakesAnything) {
  const std::string long_name(300, 'n');
  for (const auto& [line, exit] : {std::pair<std::string, int>("put $D 61 62 --hex --keyspace zz", 2),
                                   {"put $D zz 62 --hex --keyspace 6e", 2},
                                   {"put $D 61 zz --hex --keyspace 6e", 2},
                                   {"put $D a b --keyspace " + std::string(70'000, 'n'), 3},
                                   {"merge $D zz 62 --hex --keyspace 6e --type append", 2},
                                   {"merge $D 61 62 --hex --keyspace 6e --type append --delimiter zz", 2},
                                   {"merge $D a b --keyspace n --type add-u64", 2},
                                   {"merge $D a 010 --keyspace n --type add-u64", 2},
                                   {"merge $D a b --keyspace n --operator " + long_name, 3},
                                   {"load $D --keyspace zz --hex < /proc/version", 2}}) {
    SCOPED_TRACE(line.substr(0, 80));
    const Outcome outcome = Run("$M " + line);
    EXPECT_EQ(outcome.exit, exit) << outcome.err;
    EXPECT_FALSE(std::filesystem::exists(database_));
  }
  ASSERT_EQ(Run("$M put $D k v && $M keyspaces $D --create kept").exit, 0);
  for (const auto& [line, exit] : {std::pair<std::string, int>("keyspaces $D --create new --drop nosuch", 3),
                                   {"keyspaces $D --create 6e --drop zz --hex", 2},
                                   {"keyspaces $D --create kept --drop kept", 3},
                                   {"merge $D a b --keyspace new --operator " + long_name, 3},
                                   {"delete $D --prefix zz --hex --keyspace 6b657074", 2}}) {
    SCOPED_TRACE(line.substr(0, 80));
    EXPECT_EQ(Run("$M " + line).exit, exit);
    EXPECT_EQ(Run("$M keyspaces $D | cut -f 1").out, "kept\n");
  }
  EXPECT_EQ(Run("$M keyspaces $D --create new --drop kept && $M keyspaces $D | cut -f 1").out, "new\n");
}

TEST_F(CommandTest, CountsOneThingInTheSingular) {
  EXPECT_EQ(Run("printf 'k\\tv\\n' | $M load $D").err, "mergedb: loaded 1 entry\n");
  EXPECT_EQ(Run("$M compact $D && $M export-leveldb $D $H/leveldb").out.find("1 key in 1 table, "), 0u);
  EXPECT_EQ(Run("rm $D/CURRENT; $M verify $D --quiet | tail -1").out.find("1 table with 1 entry, 0 WAL frames, "), 0u)
      << Slurp("out");
  EXPECT_NE(Slurp("out").find(" read: 1 damage\n"), std::string::npos) << Slurp("out");
}

// The entry is in the WAL buffer; the close cannot write it into a segment.
TEST_F(CommandTest, SaysThatTheWorkIsDoneIfTheCloseFails) {
  const Outcome outcome = Run("prlimit --fsize=65536 $M put $D k v");
  EXPECT_EQ(outcome.exit, 3);
  EXPECT_NE(outcome.err.find("NoSpace: all was done, but the database could not be closed: "), std::string::npos)
      << outcome.err;
  EXPECT_EQ(Run("$M get $D k").out, "v\n");
}

TEST_F(CommandTest, SaysWhenItsOutputIsLost) {
  EXPECT_EQ(
      Run("$M put $D k v && $M compact $D && $M export-leveldb $D $H/leveldb && cp -r $H/leveldb $H/salvaged").exit, 0);
  format::LiveState state;
  state.update = 1;
  std::ofstream(database_ + "/LIVE", std::ios::binary) << format::EncodeLiveSlot(state);
  std::vector<std::string> lines = {"--help",
                                    "--version",
                                    "dump -V",
                                    "get $D k",
                                    "scan $D",
                                    "dump $D",
                                    "dump $D -f -",
                                    "stat $D",
                                    "stat $D -e",
                                    "check $D",
                                    "verify $D --quiet",
                                    "repair $D --quiet --dry-run",
                                    "metrics $D",
                                    "inspect $D --html -",
                                    "estimate $D",
                                    "top $D --once",
                                    "why $D",
                                    "why $D --json",
                                    "doctor",
                                    "manifest $(ls $D/MANIFEST-*)",
                                    "sst $(ls $D/*.tbl) --scan",
                                    "export-leveldb $D $(mktemp -d $H/XXXXXX) --quiet",
                                    "convert $H/salvaged --salvage --quiet",
                                    "serve-metrics $D --listen 127.0.0.1:0"};
  std::istringstream verbs(Run("$M --help | sed '1,/^Subcommands:/d' | grep -oE '^  [a-z-]+'").out);
  for (std::string verb; verbs >> verb;) lines.push_back(verb + " --help");
  ASSERT_GT(lines.size(), 50u);
  for (const std::string& line : lines) {
    SCOPED_TRACE(line);
    const Outcome full = Run("$M " + line + " > /dev/full");
    EXPECT_EQ(full.exit, 3);
    EXPECT_NE(full.err.find("mergedb: cannot write to stdout: No space left on device\n"), std::string::npos)
        << full.err;
    EXPECT_EQ(Run("rm -rf $H/salvaged; cp -r $H/leveldb $H/salvaged; $M " + line + " >&-").exit, 3);
  }
}

TEST_F(CommandTest, TheHelpOfEachVerbEndsWithTwoExamples) {
  std::istringstream lines(Run("$M --help | sed '1,/^Subcommands:/d' | grep -oE '^  [a-z-]+'").out);
  int verbs = 0;
  for (std::string verb; lines >> verb; ++verbs) {
    SCOPED_TRACE(verb);
    const std::string help = Run("$M " + verb + " --help").out;
    const size_t at = help.rfind("Examples:\n");
    ASSERT_NE(at, std::string::npos) << help;
    std::istringstream examples(help.substr(at));
    int count = 0;
    for (std::string line; std::getline(examples, line);) {
      if (line.empty() || line == "Examples:") continue;
      ++count;
      EXPECT_EQ(line.find("  mergedb "), 0u) << line;
      EXPECT_NE(line.find("mergedb " + verb), std::string::npos) << line;
    }
    EXPECT_EQ(count, 2);
  }
  EXPECT_GE(verbs, 25);
}

// The data that a page of `mergedb inspect` draws. tests/db/inspect_page_test.py looks at the drawing.
nlohmann::json DataOf(const std::string& page) {
  const std::string begin = "<script type=\"application/json\" id=\"data\">";
  const size_t at = page.find(begin);
  if (at == std::string::npos) return nullptr;
  const std::string rest = page.substr(at + begin.size());
  return nlohmann::json::parse(rest.substr(0, rest.find("</script>")), nullptr, false);
}

TEST_F(CommandTest, InspectDrawsAPageThatNeedsNoNetwork) {
  const std::string hostile = "</script><script>alert(1)</script>";
  ASSERT_EQ(Run("$M put $D '" + hostile + "' v && $M put $D pear v && $M compact $D && $M delete $D pear").exit, 0);
  ASSERT_EQ(Run("$M inspect $D --html $H/page.html").exit, 0);
  const std::string page = Slurp("page.html");
  EXPECT_EQ(page.find("<!doctype html>"), 0u);
  EXPECT_NE(page.find("</html>"), std::string::npos);
  for (const char* outside : {"http:", "https:", "src=", "@import", "url(", "innerHTML", "alert(1)</"})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
  const nlohmann::json data = DataOf(page);
  ASSERT_TRUE(data.is_object());
  EXPECT_EQ(data["directory"], database_);
  ASSERT_EQ(data["runs"].size(), 1u);
  EXPECT_EQ(data["runs"][0]["entries"], 2);
  EXPECT_EQ(data["runs"][0]["pieces"][0]["largest"], "pear");
  EXPECT_EQ(data["keys"][0], hostile.substr(0, 28) + "...");
  EXPECT_EQ(data["picks"], nlohmann::json({nullptr, nullptr, nullptr})) << "no compaction is needed";
  for (const char* none : {"live", "heat", "history"}) EXPECT_TRUE(data[none].is_null()) << none;
  for (const char* explained : {"The files are tables", "the write-ahead log (WAL), which holds",
                                "MANIFEST, the list of", "many runs of one level gather", "Level 1000 is the bottom"}) {
    EXPECT_NE(page.find(explained), std::string::npos) << explained;
  }
  EXPECT_EQ(Run("$M inspect $D --html -").out, page);
  EXPECT_EQ(Run("$M inspect $D").exit, 2);
  EXPECT_EQ(Run("$M inspect $D --html $H/absent/page.html").exit, 3);
  EXPECT_EQ(Run("$M inspect $D/absent --html -").exit, 3);
}

TEST_F(CommandTest, InspectKeepsEachKeyWithinItsData) {
  const std::string hostile[] = {"<!--<script>", "</SCRIPT >", std::string("\0nul", 4), "\"quotes'",
                                 "\\u003c\\",    "\xff\xfe<",  "\xe2\x80\xa8",          "]]>&amp;"};
  for (const std::string& key : hostile) {
    const std::string path = home_ + "/hostile";
    {
      ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, path));
      ASSERT_OK(db->Put({}, key, "v"));
      ASSERT_OK(db->CompactRange(nullptr, nullptr));
    }
    const std::string page = Run("$M inspect $H/hostile --html -").out;
    const nlohmann::json data = DataOf(page);
    ASSERT_TRUE(data.is_object()) << page;
    EXPECT_EQ(data["largest_key"].get<std::string>() + "\n", Run("$M scan $H/hostile --keys-only").out);
    size_t ends = 0;
    for (size_t at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1)) ++ends;
    EXPECT_EQ(ends, 2u) << "the data and the script";
    EXPECT_EQ(page.find('\0'), std::string::npos);
    ASSERT_OK(DB::Destroy({}, path));
  }
}

TEST_F(CommandTest, InspectExplainsEachReasonOfACompaction) {
  ASSERT_EQ(Run("$M put $D a v").exit, 0);
  const std::string page = Run("$M inspect $D --html -").out;
  for (int i = 0; i <= static_cast<int>(picker::CompactionReason::kReads); ++i) {
    const std::string name(picker::CompactionReasonName(static_cast<picker::CompactionReason>(i)));
    EXPECT_NE(page.find("\n  " + name + ": \""), std::string::npos) << name << ": REASONS in inspect.js lacks it";
  }
}

TEST_F(CommandTest, InspectTellsTheLastDayFromLog) {
  ASSERT_EQ(Run("$M put $D apple v").exit, 0);
  EXPECT_TRUE(DataOf(Run("$M inspect $D --html -").out)["history"].is_null());
  std::ofstream(database_ + "/LOG.old")
      << R"({"time":"2026-11-24T10:00:00.000000Z","event":"flush_end","bytes":7000000,"table":1,"micros":9,"status":"OK"}
{"time":"2026-11-25T12:00:00.000000Z","event":"open","micros":1500,"runs":0,"read_only":0}
)";
  std::ofstream(database_ + "/LOG")
      << R"({"time":"2026-11-25T13:00:00.000000Z","event":"flush_end","bytes":2000000,"table":2,"micros":9,"status":"OK"}
{"time":"2026-11-25T14:00:00.000000Z","event":"compaction_begin","job":1,"reason":"tier_full","is_move":0}
{"time":"2026-11-25T14:00:01.000000Z","event":"compaction_begin","job":2,"reason":"disjoint","is_move":1}
{"time":"2026-11-25T14:00:02.000000Z","event":"compaction_end","job":2,"reason":"disjoint","bytes_read":0,"bytes_written":0,"status":"OK"}
{"time":"2026-11-25T14:01:00.000000Z","event":"compaction_end","job":1,"reason":"tier_full","bytes_read":5000000,"bytes_written":4000000,"entries_in":90000,"entries_out":78766,"micros":60000000,"status":"OK"}
no event
{"time":"yesterday","event":"flush_end","bytes":1}
{"time":"2026-11-25T15:00:1e300Z","event":"flush_end","bytes":1}
{"time":"2026-11-25T15:00:00Z","event":"flush_end","bytes":1}
{"time":"2026-11-31T15:00:00.000000Z","event":"flush_end","bytes":1}
{"time":"2026-11-25T24:00:00.000000Z","event":"flush_end","bytes":1}
{"time":"2026-11-25T15:00:00.000000Z and more","event":"flush_end","bytes":1}
{"time":"2026-11-25T15:00: 1.00000Z","event":"flush_end","bytes":1}
{"time":"2026-11-25T15:00:00.000000Z","event":"stall_end","cause":"memory","micros":2500000}
{"time":"2026-11-25T16:00:00.000000Z","event":"slow_call","call":"get","micros":120000}
{"time":"2026-11-26T11:00:00.000000Z","event":"error","work":"flush","status":"IOError: <full>"}
{"time":"2026-11-26T11:30:00.000000Z","event":"flu)";
  const nlohmann::json history = DataOf(Run("$M inspect $D --html -").out)["history"];
  EXPECT_EQ(history["to"].get<double>() - history["from"].get<double>(), 23 * 3600.0)
      << "not the event of the day before";
  EXPECT_EQ(history["flushes"], 1);
  EXPECT_EQ(history["flushed_bytes"], 2'000'000);
  EXPECT_EQ(history["stall_causes"], nlohmann::json({{"memory", 2.5}}));
  EXPECT_EQ(history["slow_calls"], 1);
  EXPECT_EQ(history["longest_call_seconds"], 0.12);
  ASSERT_EQ(history["compactions"].size(), 2u);
  const auto& moved = history["compactions"][0];
  EXPECT_EQ(moved["reason"], "disjoint");
  EXPECT_EQ(moved["rewrites"], 0);
  EXPECT_EQ(moved["moves"], 1);
  EXPECT_EQ(history["compactions"][1], nlohmann::json({{"reason", "tier_full"},
                                                       {"rewrites", 1},
                                                       {"moves", 0},
                                                       {"bytes_read", 5'000'000},
                                                       {"bytes_written", 4'000'000},
                                                       {"entries_dropped", 11'234},
                                                       {"seconds", 60.0},
                                                       {"failed", 0}}));
  ASSERT_EQ(history["notes"].size(), 2u);
  EXPECT_EQ(history["notes"][0]["text"], "opened in 1.5 ms");
  EXPECT_EQ(history["notes"][1]["text"], "ERROR of flush: IOError: <full>");
}

TEST_F(CommandTest, InspectShowsHotAndColdKeysOfTheFileLive) {
  ASSERT_EQ(Run("$M put $D a v && $M put $D p v && $M compact $D").exit, 0);
  format::LiveState state;
  state.update = 1;
  state.heat = {{.from = "", .reads = 64, .writes = 64},
                {.from = "b<", .reads = 640, .writes = 64},
                {.from = "bb", .reads = 64, .writes = 64}};
  state.heat_ages = {.reads_nanos = 61'000'000'000, .writes_nanos = 5'000'000'000};
  const auto data_of = [&] {
    std::ofstream(database_ + "/LIVE") << format::EncodeLiveSlot(state);
    return DataOf(Run("$M inspect $D --html -").out);
  };
  nlohmann::json data = data_of();
  EXPECT_TRUE(data["live"].is_object());
  const nlohmann::json reads = data["heat"]["reads"];
  EXPECT_EQ(reads["calls"], 768);
  EXPECT_EQ(reads["age_seconds"], 61.0);
  EXPECT_EQ(reads["hottest"]["from"], "b<");
  EXPECT_EQ(reads["hottest"]["to"], "bb");
  EXPECT_NEAR(reads["hottest"]["share"].get<double>(), 0.83, 0.005);
  EXPECT_EQ(data["heat"]["writes"]["calls"], 192);
  EXPECT_EQ(data["heat"]["writes"]["age_seconds"], 5.0);
  state.heat = {{.from = "", .reads = 0, .writes = 64}};
  data = data_of();
  EXPECT_EQ(data["heat"]["reads"]["calls"], 0);
  EXPECT_TRUE(data["heat"]["writes"]["hottest"].is_null()) << "they go evenly to all keys";
  state.heat = {};
  EXPECT_TRUE(data_of()["heat"].is_null());
}

// `samples` calls on keys of `pick`, as db/observe/live_heat.h counts them in LIVE.
std::string LiveSlotOf(size_t samples, const std::function<std::string(base::Random*)>& pick, uint64_t seed) {
  base::Random random(seed);
  std::vector<read::Heat::Sample> reads;
  for (size_t i = 0; i < samples; ++i) reads.push_back({.key = pick(&random), .calls = 1, .nanos = 1});
  format::LiveState state;
  state.update = 1;
  state.heat = db::HeatRanges(
      {.version = version::Version(), .order = kv::Order(BytewiseComparator()), .reads = reads, .writes = {}});
  for (format::LiveHeat& range : state.heat) range.reads *= env::Latencies::kSampleInterval;
  state.heat_ages = {.reads_nanos = 1'000'000'000, .writes_nanos = 1'000'000'000};
  return format::EncodeLiveSlot(state);
}

// What a process that was killed leaves, with damage in a frame of the WAL.
TEST_F(CommandTest, AWriteTellsOfWhatTheOpenDropped) {
  {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, database_));
    for (const char* key : {"first", "second", "third"}) ASSERT_OK(db->Put({}, key, "value"));
    ASSERT_EQ(Run("cp -r $D $H/killed").exit, 0);
  }
  ASSERT_EQ(
      Run("o=$(grep -abo second $H/killed/STAGING | head -1 | cut -d: -f1); printf X | dd of=$H/killed/STAGING bs=1 "
          "seek=$o conv=notrunc 2>/dev/null")
          .exit,
      0);
  const Outcome put = Run("$M put $H/killed key value");
  EXPECT_EQ(put.exit, 0);
  EXPECT_NE(put.err.find("mergedb: recovery: "), std::string::npos) << put.err;
  EXPECT_EQ(Run("$M put $H/killed key value").err, "");
  EXPECT_EQ(Run("$M scan $H/killed --keys-only").out, "first\nkey\n");
}

TEST_F(CommandTest, BusyNamesTheProcess) {
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, database_));
  const env::ProcessIdentity self = env::ThisProcess();
  format::LiveState state;
  state.update = 1;
  state.process = {
      .pid = self.pid, .pid_namespace = self.pid_namespace, .start_ticks = self.start_ticks, .boot_id = self.boot_id};
  std::ofstream(database_ + "/LIVE", std::ios::binary) << format::EncodeLiveSlot(state);
  for (const char* verb : {"put $D a b", "destroy $D --yes", "verify $D"}) {
    const Outcome busy = Run("$M " + std::string(verb));
    EXPECT_EQ(busy.exit, 3) << verb;
    EXPECT_NE(busy.err.find("process " + std::to_string(getpid()) + " ("), std::string::npos) << busy.err;
    const bool is_verify = std::string(verb).starts_with("verify");
    EXPECT_EQ(busy.err.find("`mergedb check " + database_ + "` reads") != std::string::npos, is_verify) << busy.err;
  }
  const Status within = DB::Open({}, database_).status();
  EXPECT_TRUE(within.IsBusy());
  EXPECT_NE(within.message().find("this process has the database open"), std::string::npos) << within.ToString();
}

TEST_F(CommandTest, WhyGivesProgramsNumbersUnderNamesThatStay) {
  ASSERT_EQ(Run("$M put $D a v").exit, 0);
  format::LiveState state;
  state.update = 1;
  state.times.window_nanos = 10'100'000'000;
  const auto metric = [&](const char* name, uint64_t value, uint64_t before) {
    state.metrics.push_back({.kind = format::LiveKind::kCounter,
                             .name = name,
                             .unit = "count",
                             .value = value,
                             .value_before = before,
                             .buckets = {}});
  };
  metric("disk_is_full", 1, 1);
  metric("errors_no_space", 12, 5);
  metric("wal_bytes_on_disk", 12'600'000, 0);
  std::ofstream(database_ + "/LIVE", std::ios::binary) << format::EncodeLiveSlot(state);
  const auto json = nlohmann::json::parse(Run("$M why $D --json").out);
  ASSERT_EQ(json.at("limits").size(), 1u);
  EXPECT_EQ(json["limits"][0]["cause"], "full_disk");
  const auto& figures = json["limits"][0]["figures"];
  EXPECT_EQ(figures.at("disk_is_full"), 1);
  EXPECT_EQ(figures.at("errors_no_space"), 7) << "the growth in the window";
  EXPECT_EQ(figures.at("wal_bytes_on_disk"), 12'600'000);
}

// Many tables that span all keys: their bounds lie at the two ends.
TEST_F(CommandTest, InspectFindsHotKeysAndNoneInNoise) {
  constexpr uint64_t kKeys = 20'000;
  const auto key = [](uint64_t n) { return "user:" + std::to_string(1'000'000 + n).substr(1); };
  {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({.write_buffer_bytes = 1 << 20}, database_));
    base::Random random(1);
    for (int run = 0; run < 6; ++run) {
      for (uint64_t i = 0; i < 2'000; ++i) ASSERT_OK(db->Put({}, key(random.Uniform(kKeys)), std::string(100, 'v')));
      ASSERT_OK(db->Flush());
    }
  }
  const auto hottest_of = [&](const std::string& live) {
    std::ofstream(database_ + "/LIVE", std::ios::binary) << live;
    return DataOf(Run("$M inspect $D --html -").out).at("heat").at("reads").at("hottest");
  };
  const auto even = [&](base::Random* random) { return key(random->Uniform(kKeys)); };
  for (const size_t samples : {3, 20, 100, 512}) {
    for (uint64_t seed = 1; seed <= 8; ++seed) {
      EXPECT_TRUE(hottest_of(LiveSlotOf(samples, even, seed)).is_null()) << samples << " samples, seed " << seed;
    }
  }
  // Half of the calls go to a 50th of the keys, from user:010000 on.
  const auto hot = [&](base::Random* random) {
    return random->OneIn(2) ? key(10'000 + random->Uniform(kKeys / 50)) : key(random->Uniform(kKeys));
  };
  const nlohmann::json found = hottest_of(LiveSlotOf(512, hot, 1));
  ASSERT_TRUE(found.is_object());
  const int hottest = std::stoi(found["from"].get<std::string>().substr(std::string("user:").size(), 6));
  EXPECT_GE(hottest, 10'000);
  EXPECT_LT(hottest, 10'400);
}

TEST_F(CommandTest, InspectMarksTheRunsThatAreCompactedNext) {
  constexpr size_t kRuns = 8;
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, database_));
  for (size_t i = 0; i < kRuns; ++i) {
    for (const char* key : {"b", "d"}) ASSERT_OK(db->Put({}, key, "v"));
    ASSERT_OK(db->Flush());
  }
  ASSERT_OK(db->Close());
  const nlohmann::json data = DataOf(Run("$M inspect $D --html -").out);
  ASSERT_EQ(data["runs"].size(), kRuns);
  for (const auto& run : data["runs"]) {
    EXPECT_EQ(run["is_next"], true);
    EXPECT_EQ(run["level"], 0);
    EXPECT_EQ(run["pieces"].size(), 1u);
  }
  EXPECT_EQ(*std::ranges::max_element(data["overlap"]), kRuns);
  bool is_picked = false;
  for (const auto& pick : data["picks"]) {
    if (pick.is_null()) continue;
    is_picked = true;
    EXPECT_EQ(pick["first"], 1);
    EXPECT_EQ(pick["last"], kRuns);
  }
  EXPECT_TRUE(is_picked);
}

TEST_F(CommandTest, EstimateKnowsTheSizesOfTheData) {
  ASSERT_EQ(
      Run("for i in $(seq 1000 2999); do printf 'key%d\\t%0200d\\n' $i 7; done | $M load $D && $M compact $D").exit, 0);
  for (const char* entries : {"100000", "640"}) {
    SCOPED_TRACE(entries);
    const Outcome outcome = Run(std::string("$M estimate $D --json --entries ") + entries);
    ASSERT_EQ(outcome.exit, 0) << outcome.err;
    const auto json = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(json["entries_in_tables"], 2000);
    EXPECT_EQ(json["entries_in_sample"], entries == std::string("640") ? 640 : 2000) << "of one table";
    EXPECT_EQ(json["keys"]["mean_bytes"], 7.0);
    EXPECT_EQ(json["values"]["largest_bytes"], 200);
    EXPECT_EQ(json["values"]["sizes"].size(), 1u) << "from 128 to 255 bytes";
    for (const auto& row : json["block_sizes"]) {
      EXPECT_NEAR(row["raw_bytes"].get<double>(), 2000 * 211, 5000);
      EXPECT_LT(row["zstd_bytes"].get<double>(), row["raw_bytes"].get<double>() / 5) << "zeros";
    }
    EXPECT_EQ(json["blob_thresholds"][0]["values_in_blob_files"], 2000);
    EXPECT_EQ(json["blob_thresholds"][1]["values_in_blob_files"], 0) << "256 bytes";
    EXPECT_EQ(json["bloom_filters"][3]["filter_bytes"], 2500) << "10 bits";
  }
  for (const uint64_t entries : {1, 5, 63, 64, 100, 1999})
    EXPECT_EQ(nlohmann::json::parse(Run("$M estimate $D --json --entries " + std::to_string(entries)).out)
                  .at("entries_in_sample"),
              entries);
  EXPECT_NE(Run("$M estimate $D").out.find("Bloom filters"), std::string::npos);
  EXPECT_EQ(Run("$M estimate $D --entries 0").exit, 2);
  EXPECT_EQ(Run("$M estimate $D/absent").exit, 3);
}

TEST_F(CommandTest, EstimateReadsAllKeyspaces) {
  ASSERT_EQ(
      Run("(for i in $(seq 1000 1999); do printf 'key%d\\t%010d\\n' $i 7; done) | $M load $D && "
          "$M compact $D && "
          "(for i in $(seq 1000 3999); do printf 'key%d\\t%0500d\\n' $i 7; done) | $M load $D --keyspace large && "
          "$M compact $D --keyspace large")
          .exit,
      0);
  for (const char* entries : {"100000", "1000"}) {
    SCOPED_TRACE(entries);
    const auto json = nlohmann::json::parse(Run(std::string("$M estimate $D --json --entries ") + entries).out);
    EXPECT_NEAR(json["entries_in_tables"].get<double>(), 4000, 10);
    EXPECT_EQ(json["values"]["largest_bytes"], 500);
    const auto& sizes = json["values"]["sizes"];
    EXPECT_NEAR(sizes[sizes.size() - 2]["count"].get<double>(), json["entries_in_sample"].get<double>() / 4, 100)
        << "10 bytes, of the default keyspace";
    EXPECT_NEAR(json["block_sizes"][0]["raw_bytes"].get<double>(), 1'000 * 21 + 3'000 * 520, 150'000);
    EXPECT_NEAR(json["blob_thresholds"][1]["values_in_blob_files"].get<double>(), 3'000, 300) << "256 bytes";
  }
}

TEST_F(CommandTest, EstimateLeavesOutWhatCannotBeRead) {
  ASSERT_EQ(Run("$M put $D k v && $M put $D m v && $M merge $D l x --operator of-a-program").exit, 0);
  const auto json = nlohmann::json::parse(Run("$M estimate $D --json").out);
  EXPECT_EQ(json["entries_in_sample"], 2);
  EXPECT_EQ(json["unreadable_entries"], 1);
  EXPECT_NE(Run("$M estimate $D").out.find("Left out, since the value cannot be read: 1 entry."), std::string::npos);
}

// Nearly all keys lie between two places.
TEST_F(CommandTest, EstimateReadsItsSampleOfUnevenKeys) {
  ASSERT_EQ(Run("(printf 'a\\tv\\nz\\tv\\n'; for i in $(seq 1000 2999); do printf 'b000000000%d\\tv\\n' $i; done) | "
                "$M load $D && $M compact $D")
                .exit,
            0);
  const auto json = nlohmann::json::parse(Run("$M estimate $D --json --entries 500").out);
  EXPECT_EQ(json["entries_in_sample"], 500);
  EXPECT_NEAR(json["keys"]["mean_bytes"].get<double>(), 14, 1);
}

TEST_F(CommandTest, InspectLabelsTheKeysOfOneTable) {
  ASSERT_EQ(Run("(for i in $(seq 1000 2999); do printf 'key%d\\tv\\n' $i; done) | $M load $D && $M compact $D").exit,
            0);
  const nlohmann::json data = DataOf(Run("$M inspect $D --html -").out);
  EXPECT_EQ(data["keys"][0], "key1000");
  EXPECT_EQ(data["keys"][2].get<std::string>().substr(0, 4), "key1") << data["keys"];
  EXPECT_EQ(data["largest_key"], "key2999");
  std::vector<std::string> labels = data["keys"];
  labels.push_back(data["largest_key"]);
  EXPECT_TRUE(std::ranges::is_sorted(labels));
  EXPECT_EQ(std::ranges::adjacent_find(labels), labels.end()) << data["keys"];
}

}  // namespace
}  // namespace mergedb
