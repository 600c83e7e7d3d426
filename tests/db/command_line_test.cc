// Goal: every word and every value of an option arrives unchanged, for each verb, and nothing that the command line
// does not name is touched. Method: in this process, parse a table of hostile words at each place of each verb that
// the command has, so that a new verb is covered by itself; then run the writing verbs on a database, and compare its
// contents.
#include "command_line.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "mergedb/db.h"
#include "mergedb/merge.h"
#include "testing/temp_directory.h"

namespace mergedb::tool::command_line_test {
namespace {

using Words = std::vector<std::string>;

// Words that a parser may take for a list, an escape, an option, a number or the end of something.
const Words& Hostile() {
  static const Words words = {"[x]",
                              "[a,b]",
                              "[",
                              "]",
                              "[]",
                              "[[a],[b]]",
                              "{}",
                              "{a}",
                              "++",
                              "+",
                              "%%",
                              "-",
                              "",
                              " ",
                              "\n",
                              "a\nb",
                              "a,b",
                              "a;b",
                              "a=b",
                              "=",
                              "'a'",
                              "\"a\"",
                              "`a`",
                              "\\",
                              "\\x41",
                              "/?",
                              "/h",
                              "@file",
                              "#a",
                              "$HOME",
                              "*",
                              "true",
                              "false",
                              "get",
                              "\xff\xfe",
                              "\x01\x1b[31m",
                              "!",
                              "~",
                              "none",
                              "NULL",
                              std::string(size_t{1} << 16, '[') + "]"};
  return words;
}
// Words that look like options: they are words only after "--", and values behind an option that takes them.
const Words& OptionLike() {
  static const Words words = {"--",     "---",       "-x",     "-5",   "--hex", "--db",     "--help",   "-h",
                              "--json", "--hex=[a]", "--no=x", "-[a]", "-=",    "--[a,b]=", "--version"};
  return words;
}

Words Both() {
  Words words = Hostile();
  words.insert(words.end(), OptionLike().begin(), OptionLike().end());
  return words;
}

// A verb that is only here, with an option of each type that holds text.
struct Texts : Line {
  std::string text;
  std::optional<std::string> optional;
  Words pair;
};
Texts arrived_texts;
int RunTexts(Texts& texts) {
  arrived_texts = texts;
  return kOk;
}

struct Parsed {
  bool is_valid = false;
  std::string error = {};
  Command* command = nullptr;

  const Line& line() const { return command->line; }
  // What the option of the verb got.
  const Words& Values(const std::string& verb, const std::string& option) const {
    return command->app.get_subcommand(verb)->get_option(option)->results();
  }
};

// WHY one command for all: to add the verbs takes far longer than to parse a line.
Parsed Parse(const Words& line) {
  static Command* const command = [] {
    auto* const made = new Command();  // WHY never deleted: it must outlive all tests
    const auto [verb, texts] = AddVerb(*made, {.usage = "texts DIR", .description = ""}, RunTexts);
    verb->add_option("--text", texts.text);
    verb->add_option("--optional", texts.optional);
    verb->add_option("--pair", texts.pair)->expected(2);
    return made;
  }();
  command->run = nullptr;
  try {
    ParseCommandLine(*command, line);
    return {.is_valid = true, .command = command};
  } catch (const CLI::ParseError& error) { return {.error = error.what(), .command = command}; }
}

// The words of a verb as they arrived: the directory or the file, then the others.
Words Arrived(const Line& line) {
  Words words = line.words;
  const std::string& first = line.path.empty() ? line.directory : line.path;
  if (!first.empty()) words.insert(words.begin(), first);
  return words;
}

struct VerbCase {
  std::string name;
  Words required;             // options that the verb requires, with a value
  std::vector<size_t> sizes;  // the numbers of words that it takes, up to 4
  bool is_of_command = false;
  bool is_of_file = false;  // the directory of --db is that of the first word
};

std::vector<VerbCase> AllVerbs() {
  const Command command;
  std::vector<VerbCase> verbs;
  for (const CLI::App* verb : command.app.get_subcommands({})) {
    VerbCase made{verb->get_name(), {}, {}};
    for (const CLI::Option* option : verb->get_options()) {
      if (option->get_required()) made.required.insert(made.required.end(), {option->get_name(), "required"});
    }
    for (size_t size = 0; size <= 4; ++size) {
      Words line = {made.name};
      line.insert(line.end(), made.required.begin(), made.required.end());
      line.insert(line.end(), size, "w");
      const Parsed parsed = Parse(line);
      if (!parsed.is_valid) continue;
      made.sizes.push_back(size);
      made.is_of_file = !parsed.line().path.empty();
    }
    Words with_command = {made.name};
    with_command.insert(with_command.end(), made.required.begin(), made.required.end());
    with_command.insert(with_command.end(), {"--", "w"});
    if (made.sizes == std::vector<size_t>{0} && Parse(with_command).is_valid) {
      made.is_of_command = true;
      made.sizes = {1, 3};
    }
    verbs.push_back(made);
  }
  return verbs;
}

// The line "VERB options -- words", or without "--", or with "--" in the middle of the words.
Words LineOf(const VerbCase& verb, const Words& words, size_t mark) {
  Words line = {verb.name};
  line.insert(line.end(), verb.required.begin(), verb.required.end());
  for (size_t i = 0; i < words.size(); ++i) {
    if (i == mark) line.push_back("--");
    line.push_back(words[i]);
  }
  return line;
}

std::string Shown(const Words& line) {
  std::string text;
  for (const std::string& word : line) text += " <" + word.substr(0, 40) + ">";
  return text;
}

TEST(CommandLine, EachWordOfEachVerbArrivesUnchanged) {
  const std::vector<VerbCase> verbs = AllVerbs();
  ASSERT_GT(verbs.size(), 25u);
  uint64_t lines = 0;
  for (const VerbCase& verb : verbs) {
    ASSERT_FALSE(verb.sizes.empty()) << verb.name;
    for (const size_t size : verb.sizes) {
      for (const std::string& hostile : Both()) {
        for (size_t place = 0; place < size; ++place) {
          const bool is_option = std::ranges::count(OptionLike(), hostile) > 0;
          for (const size_t mark : {size_t{0}, size}) {
            if (verb.is_of_command && mark > 0) continue;
            if (is_option && mark > place) continue;
            Words words(size, "w");
            words[place] = hostile;
            const Words line = LineOf(verb, words, mark);
            const Parsed parsed = Parse(line);
            ++lines;
            if (hostile.empty() && place == 0 && parsed.line().path.empty() && !parsed.is_valid) {
              EXPECT_NE(parsed.error.find("no database directory is given"), std::string::npos) << Shown(line);
              continue;
            }
            ASSERT_TRUE(parsed.is_valid) << Shown(line) << ": " << parsed.error;
            Words arrived = Arrived(parsed.line());
            // A file whose name is empty.
            if (arrived.size() + 1 == size && hostile.empty() && place == 0) arrived.insert(arrived.begin(), "");
            ASSERT_EQ(arrived, words) << Shown(line);
          }
        }
      }
    }
  }
  EXPECT_GT(lines, 4000u);
}

TEST(CommandLine, EachValueOfEachOptionArrivesUnchanged) {
  for (const VerbCase& verb : AllVerbs()) {
    const Command command;
    for (const CLI::Option* option : command.app.get_subcommand(verb.name)->get_options()) {
      const auto count = static_cast<size_t>(option->get_items_expected_max());
      if (count == 0) continue;
      std::vector<std::string> names;
      for (const std::string& name : option->get_snames()) names.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
      for (const std::string& name : names) {
        for (const std::string& value : Both()) {
          for (const bool is_joined : {false, true}) {
            const bool is_long = name.starts_with("--");
            if (is_joined && (count > 1 || (!is_long && value.empty()))) continue;
            Words line = {verb.name};
            if (!option->get_required()) line.insert(line.end(), verb.required.begin(), verb.required.end());
            if (is_joined) {
              line.push_back(name + (is_long ? "=" : "") + value);
            } else {
              line.push_back(name);
              line.insert(line.end(), count, value);
            }
            for (const CLI::Option* needed : option->get_needs()) line.push_back(needed->get_name());
            if (!verb.is_of_command)
              line.insert(line.end(), verb.sizes.back() - (name == "--db" && !verb.is_of_file ? 1 : 0), "w");
            const Parsed parsed = Parse(line);
            // A check of the value may refuse it; nothing else may.
            if (!parsed.is_valid) {
              const bool is_checked = parsed.error.find(": expected") != std::string::npos ||
                                      parsed.error.find(" not in ") != std::string::npos ||
                                      parsed.error.find("Could not convert") != std::string::npos ||
                                      parsed.error.find("Value ") != std::string::npos;
              EXPECT_TRUE(is_checked) << Shown(line) << ": " << parsed.error;
              continue;
            }
            if (name != "--db") {
              EXPECT_EQ(parsed.Values(verb.name, name), Words(count, value)) << Shown(line);
            } else if (verb.is_of_file) {
              EXPECT_EQ(parsed.line().path, value + "/w") << Shown(line);
            } else {
              EXPECT_EQ(parsed.line().directory, value) << Shown(line);
            }
          }
        }
      }
    }
  }
}

// The options of the verbs have these types.
TEST(CommandLine, AValueArrivesUnchangedInAVariableOfEachType) {
  for (const std::string& value : Both()) {
    const Parsed parsed = Parse({"texts", "d", "--text", value, "--optional", value, "--pair", value, value});
    ASSERT_TRUE(parsed.is_valid) << Shown({value}) << ": " << parsed.error;
    ASSERT_EQ(parsed.command->run(), kOk);
    EXPECT_EQ(arrived_texts.text, value);
    EXPECT_EQ(arrived_texts.optional, value);
    EXPECT_EQ(arrived_texts.pair, (Words{value, value}));
  }
  const Parsed parsed = Parse({"texts", "d", "--text", "a"});
  ASSERT_TRUE(parsed.is_valid) << parsed.error;
  ASSERT_EQ(parsed.command->run(), kOk);
  EXPECT_EQ(arrived_texts.text, "a");
  EXPECT_EQ(arrived_texts.optional, std::nullopt) << "a value of the line before";
  EXPECT_EQ(arrived_texts.pair, Words());
  ASSERT_TRUE(Parse({"texts", "d", "--optional="}).is_valid);
  ASSERT_EQ(parsed.command->run(), kOk);
  EXPECT_EQ(arrived_texts.optional, "");
  EXPECT_EQ(arrived_texts.directory, "d");
}

TEST(CommandLine, OptionsComeOnlyFromTheCommandLine) {
  const Command command;
  const auto expect = [](const CLI::App& each) {
    EXPECT_EQ(each.get_config_ptr(), nullptr) << each.get_name();
    for (const CLI::Option* option : each.get_options()) EXPECT_EQ(option->get_envname(), "") << option->get_name();
  };
  expect(command.app);
  for (const CLI::App* verb : command.app.get_subcommands({})) expect(*verb);
}

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
  const auto refused = [](const Words& line, const std::string& reason) {
    const Parsed parsed = Parse(line);
    EXPECT_FALSE(parsed.is_valid) << Shown(line);
    EXPECT_NE(parsed.error.find(reason), std::string::npos) << Shown(line) << ": " << parsed.error;
  };
  refused({"foo", "--help"}, "unknown verb \"foo\"");
  refused({"[get]", "d", "k"}, "unknown verb \"[get]\"");
  refused({"get", "d", "k", "--nope"}, "--nope: unknown option of get");
  refused({"get", "d", "k", "-x"}, "-x: unknown option of get");
  refused({"get", "d", "k", "--json=1"}, "--json: takes no value");
  refused({"delete", "d", "--range", "[a,z]"}, "--range: 2 values are required, 1 given");
  refused({"scan", "d", "--prefix"}, "--prefix: a value is required");
  refused({"scan", "d", "--prefix", "a", "--prefix", "b"}, "--prefix: is given twice");
  refused({"--db", "d", "get", "--db", "e", "k"}, "--db: is given twice");
  refused({"get", "--db", "", "d", "k"}, "--db: expected a name");
  refused({"--db=", "get", "d", "k"}, "--db: expected a name");
  for (const char* verb :
       {"put", "get", "delete", "merge", "scan", "compact", "export-leveldb", "dump", "load", "drop", "stat"})
    refused({verb, "d", "--keyspace", ""}, "--keyspace: expected a name");
  refused({"keyspaces", "d", "--drop", ""}, "--drop: expected a name");
  refused({"keyspaces", "d", "--create="}, "--create: expected a name");
}

// An option is one of numbers if it takes 5 and refuses a word.
TEST(CommandLine, EachNumberIsDecimal) {
  int numbers = 0;
  for (const VerbCase& verb : AllVerbs()) {
    const Command command;
    for (const CLI::Option* option : command.app.get_subcommand(verb.name)->get_options()) {
      if (option->get_items_expected_max() != 1) continue;
      const std::string name = option->get_name();
      const auto takes = [&](const std::string& value) {
        Words line = {verb.name};
        if (!option->get_required()) line.insert(line.end(), verb.required.begin(), verb.required.end());
        line.insert(line.end(), {name, value});
        for (const CLI::Option* needed : option->get_needs()) line.push_back(needed->get_name());
        if (!verb.is_of_command) line.insert(line.end(), verb.sizes.back() - (name == "--db" && !verb.is_of_file), "w");
        return Parse(line).is_valid;
      };
      if (!takes("5") || takes("word")) continue;
      ++numbers;
      for (const char* value : {"010", "00",  "0x5",  "0X5", " 5",  "5 ",  "+5",  "-5",
                                "",    "5x",  "5,5",  "5'0", "nan", "inf", "1e1", "18446744073709551616",
                                "\t5", "5\n", ".5e1", "0b1"})
        EXPECT_FALSE(takes(value)) << verb.name << " " << name << " <" << value << ">";
    }
  }
  EXPECT_GE(numbers, 12);
}

TEST(CommandLine, TakesOptionsInEachForm) {
  const Parsed parsed = Parse({"--db", "d", "stat", "-efrr", "-sname"});
  ASSERT_TRUE(parsed.is_valid) << parsed.error;
  const CLI::App& stat = *parsed.command->app.get_subcommand("stat");
  EXPECT_EQ(stat.count("-e"), 1u);
  EXPECT_EQ(stat.count("-r"), 2u);
  EXPECT_EQ(stat.count("-f"), 1u);
  EXPECT_EQ(parsed.Values("stat", "--keyspace"), Words{"name"});
  EXPECT_EQ(Parse({"dump", "-pf", "file", "d"}).Values("dump", "-f"), Words{"file"});
  EXPECT_EQ(Parse({"scan", "d", "--prefix="}).Values("scan", "--prefix"), Words{""});
  EXPECT_EQ(Parse({"scan", "d"}).Values("scan", "--prefix"), Words());
}

// ---- The verbs that write, on a database

class CommandWords : public ::testing::Test {
 protected:
  using Contents = std::map<std::string, std::string>;

  int Run(const Words& line) const {
    Parsed parsed = Parse(line);
    EXPECT_TRUE(parsed.is_valid) << Shown(line) << ": " << parsed.error;
    return parsed.is_valid ? parsed.command->run() : -1;
  }
  Contents Read(const std::string& path, const std::string& keyspace = "") const {
    Contents contents;
    const auto db = DB::Open({.mode = OpenMode::kReadOnly, .memory_bytes = size_t{8} << 20}, path);
    EXPECT_TRUE(db) << path << ": " << db.error().ToString();
    if (!db) return contents;
    IteratorOptions options;
    if (!keyspace.empty()) {
      const auto opened = (*db)->OpenKeyspace(keyspace);
      EXPECT_TRUE(opened) << keyspace;
      if (!opened) return contents;
      options.keyspace = *opened;
    }
    const auto it = (*db)->NewIterator(options);
    for (it->SeekToFirst(); it->Valid(); it->Next()) contents.emplace(it->key(), it->value());
    EXPECT_TRUE(it->status().ok());
    return contents;
  }

  const testing::TempDirectory directory_;
  const std::string database_ = directory_.path() + "/db";
};

TEST_F(CommandWords, PutMergeAndDeleteTouchOnlyWhatIsNamed) {
  const Contents others = {{"a", "1"}, {"b", "2"}, {"x", "3"}, {"[a", "4"}, {"b]", "5"}};
  {
    const auto db = DB::Open({.memory_bytes = size_t{8} << 20}, database_);
    ASSERT_TRUE(db);
    for (const auto& [key, value] : others) ASSERT_TRUE((*db)->Put({}, key, value).ok());
    ASSERT_TRUE((*db)->Close().ok());
  }
  Words all = Both();
  all.push_back("[" + std::string(size_t{1} << 20, ',') + "]");
  for (const std::string& word : all) {
    SCOPED_TRACE(word.substr(0, 40));
    Contents expected = others;
    const bool is_stdin = word == "-";
    if (!is_stdin) { ASSERT_EQ(Run({"put", database_, "--", word, word}), kOk); }
    ASSERT_EQ(Run({"merge", "--type", "append", "--delimiter", word, database_, "--", word, word}), kOk);
    expected[word] = is_stdin ? word : word + word + word;
    ASSERT_EQ(Read(database_), expected);
    ASSERT_EQ(Run({"delete", "--range", word, word + "\x01", database_}), kOk);
    ASSERT_EQ(Run({"put", database_, "--", word, "v"}), kOk);
    ASSERT_EQ(Run({"delete", database_, "--", word, "absent"}), kOk);
    ASSERT_EQ(Read(database_), others);
  }
}

TEST_F(CommandWords, KeyspacesAndDirectoriesAreThoseThatAreNamed) {
  for (const std::string word :
       {"[x]", "[a,b]", "[]", "{}", "++", "%%", "-", "a\nb", "--", "--hex", "-x", "\xff\xfe"}) {
    SCOPED_TRACE(word);
    ASSERT_EQ(Run({"put", "--db", database_, "k", "v", "--keyspace", word}), kOk);
    ASSERT_EQ(Read(database_, word), (Contents{{"k", "v"}}));
    ASSERT_EQ(Run({"drop", "--db", database_, "--keyspace", word}), kOk);
    ASSERT_EQ(Read(database_, word), Contents());
    ASSERT_EQ(Run({"keyspaces", database_, "--drop", word}), kOk);
    ASSERT_EQ(Run({"keyspaces", database_, "--create", word}), kOk);
    ASSERT_EQ(Run({"drop", "-d", database_, "-s", word}), kOk);
  }
  // "[old]" is not "old", in a directory of its own.
  const std::string old = directory_.path() + "/old";
  ASSERT_EQ(Run({"put", old, "precious", "1"}), kOk);
  const std::string home = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  for (const char* name : {"[old]", "[old,x]", "{old}", "++", "%%"}) {
    EXPECT_EQ(Run({"put", name, "k", "v"}), kOk);
    EXPECT_TRUE(std::filesystem::is_directory(name)) << name;
    EXPECT_EQ(Run({"compact", name}), kOk);
    EXPECT_EQ(Run({"destroy", name, "--yes"}), kOk);
    EXPECT_FALSE(std::filesystem::exists(name)) << name;
  }
  std::filesystem::current_path(home);
  EXPECT_EQ(Read(old), (Contents{{"precious", "1"}}));
}

}  // namespace
}  // namespace mergedb::tool::command_line_test
