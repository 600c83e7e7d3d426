// Goal: whatever the words are, the command `mergedb` ends by itself with an exit code of 0 to 3, says why it failed,
// and touches nothing that its words do not name. A verb that reads leaves the database as it was. Method: run the
// program for each verb with a hostile word at each place, and with a hostile value of each option, beside a second
// database. tests/db/command_line_test.cc is about the parser alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "command_line.h"
#include "testing/seed.h"
#include "testing/temp_directory.h"
#include "tests/paths/command.h"

namespace mergedb::tool::command_words_test {
namespace {

namespace fs = std::filesystem;
using testing::Outcome;
using testing::ReadWhole;
using testing::RunCommand;
using testing::Words;

constexpr size_t kWordBytesMax = 128 * 1024 - 1;  // Linux: MAX_ARG_STRLEN, with the zero byte

const Words& Hostile() {
  static const Words words = {"[x]",
                              "[a,b]",
                              "[",
                              "{}",
                              "++",
                              "%%",
                              "%s%n",
                              "-",
                              "",
                              " ",
                              "\n",
                              "a\nb",
                              "a,b",
                              "=",
                              "'\"`",
                              "\\x",
                              "*",
                              "~",
                              "$(id)",
                              "\xff\xfe",
                              "\x01\x1b[31m",
                              "\xed\xa0\x80",
                              "18446744073709551616",
                              "-1",
                              "get",
                              "help",
                              std::string(300, 'n'),
                              std::string(5000, 'p') + "/q",
                              std::string(kWordBytesMax, '[')};
  return words;
}
// They look like options.
const Words& OptionLike() {
  static const Words words = {
      "--",        "---",    "-x", "-5",        "--hex", "--db",     "--db=", "--help", "--keyspace=", "--json",
      "--hex=[a]", "--no=x", "-=", "--version", "-[a]",  "--[a,b]=", "-\xff", "--\n",   "--limit=",    "--keyspace"};
  return words;
}

// Of a file: name, size, time of the last change and content.
using Files = std::map<std::string, std::string>;

Files StatesOf(const std::string& directory, bool with_contents) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    std::string& state = files[entry.path().string()];
    if (!entry.is_regular_file()) continue;
    state =
        std::to_string(entry.file_size()) + " " + std::to_string(entry.last_write_time().time_since_epoch().count());
    if (with_contents) state += " " + ReadWhole(entry.path());
  }
  return files;
}

struct VerbCase {
  std::string name;
  Words required;                  // options that the verb requires, with a value
  std::vector<size_t> sizes = {};  // the numbers of words that it takes, up to 4
};

bool IsAccepted(const Words& line) {
  Command command;
  try {
    ParseCommandLine(command, line);
    return true;
  } catch (const CLI::ParseError&) { return false; }
}

std::vector<VerbCase> AllVerbs() {
  const Command command;
  std::vector<VerbCase> verbs;
  for (const CLI::App* verb : command.app.get_subcommands({})) {
    VerbCase made{.name = verb->get_name(), .required = {}};
    for (const CLI::Option* option : verb->get_options()) {
      if (option->get_required()) made.required.insert(made.required.end(), {option->get_name(), "w"});
    }
    for (size_t size = 0; size <= 4; ++size) {
      Words line = {made.name};
      line.insert(line.end(), made.required.begin(), made.required.end());
      line.insert(line.end(), size, "w");
      if (IsAccepted(line)) made.sizes.push_back(size);
    }
    if (made.sizes == std::vector<size_t>{0}) made.sizes = {1, 2};  // doctor: the words of a command
    verbs.push_back(made);
  }
  return verbs;
}

bool Writes(const std::string& verb) {
  static const std::set<std::string> verbs = {"put",       "delete",  "load",    "merge",  "drop",
                                              "keyspaces", "compact", "destroy", "repair", "convert"};
  return verbs.contains(verb);
}

std::string Shown(const Words& line) {
  std::string text;
  for (const std::string& word : line) text += " <" + word.substr(0, 40) + ">";
  return text;
}

class CommandWords : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { testing::UseMemoryForTemporaryFiles(); }

  void SetUp() override {
    fs::create_directories(work_);
    for (const std::string& path : {named_, other_}) {
      for (const Words& line :
           {Words{"put", path, "w", "1"}, {"put", path, "v", "2", "--keyspace", "w"}, {"compact", path}})
        ASSERT_EQ(Run(line).exit, 0) << Shown(line);
    }
    others_ = StatesOf(other_, true);
    TakeNamed();
  }
  // Also the contents, which no time of a change tells.
  void TearDown() override { EXPECT_EQ(StatesOf(other_, true), others_); }

  Outcome Run(const Words& line) const { return RunCommand(line, {.directory = work_, .input = "w\n1\n"}); }

  void TakeNamed() { nameds_ = StatesOf(named_, false); }

  // Runs the line and checks everything that is true of each line.
  void Try(const std::string& verb, const Words& line) {
    SCOPED_TRACE(Shown(line));
    ++lines_;
    const Outcome outcome = Run(line);
    EXPECT_GE(outcome.exit, 0) << "a signal or a hang";
    EXPECT_LE(outcome.exit, 3) << outcome.Text();
    if (outcome.exit > 0) { EXPECT_FALSE(outcome.err.empty() && outcome.out.empty()); }
    if (outcome.exit > 1) { EXPECT_FALSE(outcome.err.empty()); }
    EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos) << "a word can write to the terminal: " << outcome.err;
    EXPECT_LT(outcome.err.size(), 2 * kWordBytesMax) << "a message that does not end";
    ExpectNothingElseIn(line);
    if (!Writes(verb)) {
      EXPECT_EQ(StatesOf(named_, false), nameds_);
    } else if (!fs::exists(named_ + "/CURRENT")) {
      ADD_FAILURE() << "the database is gone";
      ASSERT_EQ(Run({"put", named_, "w", "1"}).exit, 0);
    }
  }

  // What is new in the working directory begins with a word of the line, or with the value of an option.
  void ExpectNothingElseIn(const Words& line) const {
    EXPECT_EQ(StatesOf(other_, false).size(), others_.size());
    for (const auto& entry : fs::directory_iterator(work_)) {
      const std::string name = entry.path().filename();
      const bool is_named = std::ranges::any_of(line, [&name](const std::string& word) {
        const std::string value = word.starts_with("-") ? word.substr(word.find('=') + 1) : word;
        return (!word.empty() && name.starts_with(word)) || (!value.empty() && name.starts_with(value));
      });
      EXPECT_TRUE(is_named) << name;
      fs::remove_all(entry.path());
    }
    for (const auto& entry : fs::directory_iterator(home_.path())) {
      const std::string name = entry.path().filename();
      EXPECT_TRUE(std::set<std::string>({"work", "named", "other", "in", "out", "err"}).contains(name)) << name;
    }
  }

  const testing::TempDirectory home_;
  const std::string work_ = home_ / "work", named_ = home_ / "named", other_ = home_ / "other";
  Files others_, nameds_;
  uint64_t lines_ = 0;
};

TEST_F(CommandWords, EachVerbEndsWithAHostileWordAtEachPlace) {
  uint64_t index = 0;
  for (const VerbCase& verb : AllVerbs()) {
    TakeNamed();
    for (const size_t size : verb.sizes) {
      for (size_t place = 0; place < size; ++place) {
        Words all = Hostile();
        all.insert(all.end(), OptionLike().begin(), OptionLike().end());
        for (const std::string& hostile : all) {
          if ((++index * 0x9e3779b97f4a7c15u >> 40) % testing::SizedOneIn(1, 1) != 0) continue;
          Words line = {verb.name};
          line.insert(line.end(), verb.required.begin(), verb.required.end());
          if (index % 4 < 2 && hostile.starts_with("-")) line.push_back("--");
          for (size_t i = 0; i < size; ++i) line.push_back(i == place ? hostile : i == 0 ? named_ : "w");
          Try(verb.name, line);
        }
      }
    }
  }
  RecordProperty("lines", std::to_string(lines_));
  EXPECT_GT(lines_, testing::Sized(2000, 2000));
}

TEST_F(CommandWords, EachVerbEndsWithAHostileValueOfEachOption) {
  uint64_t index = 0;
  for (const VerbCase& verb : AllVerbs()) {
    TakeNamed();
    const Command command;
    for (const CLI::Option* option : command.app.get_subcommand(verb.name)->get_options()) {
      const auto count = static_cast<size_t>(option->get_items_expected_max());
      for (const std::string& hostile : Hostile()) {
        if (count == 0 || option->get_name() == "--db") continue;
        if ((++index * 0x9e3779b97f4a7c15u >> 40) % testing::SizedOneIn(1, 1) != 0) continue;
        Words line = {verb.name, option->get_name()};
        line.insert(line.end(), count, hostile);
        if (!option->get_required()) line.insert(line.end(), verb.required.begin(), verb.required.end());
        for (const CLI::Option* needed : option->get_needs()) line.push_back(needed->get_name());
        for (size_t i = 0; i < verb.sizes.back(); ++i) line.push_back(i == 0 ? named_ : "w");
        Try(verb.name, line);
      }
    }
  }
  RecordProperty("lines", std::to_string(lines_));
  EXPECT_GT(lines_, testing::Sized(1000, 1000));
}

}  // namespace
}  // namespace mergedb::tool::command_words_test
