// Goal: short histories of commands give what a map would give: each exit code, each output of a verb that reads, and
// each copy. Method: testing/paths.h; each path has a directory of its own, and each call is a run of the program.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "testing/paths.h"
#include "testing/seed.h"
#include "testing/temp_directory.h"
#include "tests/paths/command.h"

namespace mergedb::testing::command_histories_test {
namespace {

using Entries = std::map<std::string, std::string>;

// The commands. DB is the database, COPY another directory.
const Words& Commands() {
  static const Words commands = {"put DB a 1",
                                 "put DB a 2 --sync",
                                 "put DB b 3 --keyspace x",
                                 "merge DB a + --type append",
                                 "merge DB a 4 --type put --keyspace x",
                                 "delete DB a",
                                 "delete DB --range a b",
                                 "delete DB --prefix b --keyspace x",
                                 "load DB -T",
                                 "load DB -T -N",
                                 "load DB -T --keyspace x",
                                 "keyspaces DB --create x",
                                 "keyspaces DB --drop x",
                                 "drop DB --yes",
                                 "drop DB --keyspace x",
                                 "drop DB --keyspace x -d",
                                 "compact DB",
                                 "repair DB --quiet",
                                 "destroy DB --yes",
                                 "get DB a",
                                 "get DB b --keyspace x",
                                 "scan DB",
                                 "scan DB --keyspace x --reverse",
                                 "dump DB",
                                 "copy DB COPY --quiet",
                                 "verify DB",
                                 "check DB"};
  return commands;
}

Words WordsOf(const std::string& text) {
  Words words(1);
  for (const char letter : text) {
    if (letter == ' ') {
      words.emplace_back();
    } else {
      words.back() += letter;
    }
  }
  return words;
}

// What `load -T` reads: a key, its value, and so on.
const std::string kLoaded = "a\n5\nc\n6\n";

struct Model {
  using Call = std::string;

  const Words& Calls() const { return Commands(); }
  static std::string TextOf(const Call& call) { return call; }
  std::string Key() const {
    std::string text = exists ? "there " : "";
    for (const auto& [name, entries] : keyspaces) text += "[" + name + "]" + Lines(entries);
    return text;
  }

  // The exit code and what a verb that reads prints; of dump and copy, what a database has that is made of them.
  std::string Do(const Call& call) {
    const Words words = WordsOf(call);
    const std::string& verb = words[0];
    const std::string keyspace = call.find("keyspace x") != std::string::npos ? "x" : "";
    const bool is_dropped = call.ends_with("-d");
    if (verb == "keyspaces") return ChangeKeyspaces(words[2] == "--create");
    if (verb == "put" || verb == "merge" || verb == "load") {
      exists = true;
      keyspaces.try_emplace(keyspace);
    }
    if (!exists) return "3";
    if (!keyspaces.contains(keyspace)) return "3";
    Entries& entries = keyspaces[keyspace];
    if (verb == "get") return entries.contains(words[2]) ? "0 " + entries[words[2]] + "\n" : "1";
    if (verb == "scan") return "0 " + Lines(entries, call.ends_with("--reverse"));
    if (verb == "dump" || verb == "copy") return "0 " + Key();
    if (verb == "destroy" || (verb == "drop" && is_dropped)) {
      if (verb == "destroy") *this = Model();
      keyspaces.erase("x");
      return "0";
    }
    if (verb == "drop" && keyspace.empty()) {
      keyspaces = {{"", {}}};  // as in LMDB, whose main database holds the named ones
    } else if (verb == "drop") {
      entries.clear();
    } else {
      Write(words, &entries);
    }
    return "0";
  }

  std::string ChangeKeyspaces(bool is_creation) {
    if (!exists || keyspaces.contains("x") == is_creation) return "3";
    if (is_creation) {
      keyspaces["x"];
    } else {
      keyspaces.erase("x");
    }
    return "0";
  }

  static void Write(const Words& words, Entries* entries) {
    const std::string& verb = words[0];
    if (verb == "put" || (verb == "merge" && words[5] == "put")) (*entries)[words[2]] = words[3];
    if (verb == "merge" && words[5] == "append") (*entries)[words[2]] += words[3];
    if (verb == "delete" && words[2] == "--prefix") {
      entries->erase(words[3]);
    } else if (verb == "delete") {
      entries->erase("a");  // alone, or in the range
    }
    if (verb != "load") return;
    for (const auto& [key, value] : Entries{{"a", "5"}, {"c", "6"}}) {
      if (words.back() == "-N") {
        entries->try_emplace(key, value);
      } else {
        (*entries)[key] = value;
      }
    }
  }

  static std::string Lines(const Entries& entries, bool is_reverse = false) {
    std::string text;
    for (const auto& [key, value] : entries) {
      const std::string line = key + "\t" + value + "\n";
      text = is_reverse ? line + text : text + line;
    }
    return text;
  }

  bool exists = false;
  std::map<std::string, Entries> keyspaces = {{"", {}}};
};

class Subject {
 public:
  Subject() { std::filesystem::create_directory(work_); }

  std::string Do(const std::string& call) {
    const Outcome outcome = Run(WordsOf(call), kLoaded);
    if (outcome.exit != 0) return std::to_string(outcome.exit) + (outcome.err.empty() ? " without a message" : "");
    if (call.starts_with("get") || call.starts_with("scan")) return "0 " + outcome.out;
    if (call.starts_with("dump")) return "0 " + MadeOf([&] { return Run({"load", "COPY"}, outcome.out).exit == 0; });
    if (call.starts_with("copy")) return "0 " + MadeOf([] { return true; });
    return "0";
  }

 private:
  Outcome Run(Words words, const std::string& input = "") const {
    for (std::string& word : words) {
      if (word == "DB" || word == "COPY") word = work_ + "/" + word;
    }
    return RunCommand(words, {.directory = work_, .input = input});
  }

  // As Model::Key, of the directory COPY, which is then removed.
  template <typename Make>
  std::string MadeOf(const Make& make) {
    if (!make()) return "load failed";
    const Outcome names = Run({"keyspaces", "COPY"});
    std::string text = "there []" + Run({"scan", "COPY"}).out;
    if (names.out.starts_with("x\t")) text += "[x]" + Run({"scan", "COPY", "--keyspace", "x"}).out;
    std::filesystem::remove_all(work_ + "/COPY");
    return text;
  }

  const TempDirectory home_;
  const std::string work_ = home_ / "work";
};

TEST(CommandHistories, ShortOnesGiveWhatAMapGives) {
  UseMemoryForTemporaryFiles();
  const auto make = [] { return Subject(); };
  const Walked paths = WalkPaths(Model(), {.calls_max = IsFullSize() ? 4u : 3u, .paths_max = Sized(600, 10'000)}, make);
  EXPECT_EQ(paths.finding, "");
  const Walked states = WalkStates(Model(), {.calls_max = 8, .paths_max = Sized(500, 20'000)}, make);
  EXPECT_EQ(states.finding, "");
  RecordProperty("paths", std::to_string(paths.paths + states.paths));
  RecordProperty("calls", std::to_string(paths.calls + states.calls));
  RecordProperty("states", std::to_string(states.states));
}

}  // namespace
}  // namespace mergedb::testing::command_histories_test
