// Goal: each rule of each style returns the compaction pick that its golden script names. Method: the scripts
// in tests/golden/picker/*.txt. One case of a script:
//
//   # A title.
//   tree
//   position 9 level 0: 000012[a..f) ...        (testing/tree_text.h)
//   ----
//   pick style=lazy pressure=writing flush=4MB snapshot=35 busy=9+8:[a..f) collecting=7
//   ----
//   9+8+7 -> L1 reason=tier_full input=120MB    or "nothing"; a second line lists the cut keys, if any
//
// `pressure` is the Urgency. `busy` and `collecting` are running compactions; a compaction of `collecting`
// collects blob garbage. `unreadable` (9:[a..f)), `unreadable_block` and `unreadable_blob` name what compactions leave
// alone; `sources` is the most of one compaction. `manual` instead of `pick` takes bounds=[a..f) and newest=9; the
// answer may also be "blocked". `tombstone_scan` instead of `pick` takes bounds and asks for the compaction that a
// tombstone-heavy scan triggers. With MERGEDB_REWRITE=1 the test writes the answers into the scripts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "picker/picker.h"
#include "testing/status_matchers.h"
#include "testing/tree_text.h"
#include "tests/unit/picker/print_pick.h"

namespace mergedb::picker {
namespace {

format::Bounds ParseBounds(const std::string& text) {  // "[a..f)"
  const size_t dots = text.find("..");
  format::Bounds bounds;
  if (const std::string lower = text.substr(1, dots - 1); !lower.empty()) bounds.lower = lower;
  if (const std::string upper = text.substr(dots + 2, text.size() - dots - 3); !upper.empty()) bounds.upper = upper;
  return bounds;
}

RunningCompaction ParseBusy(const std::string& text) {  // "9+8" or "9+8:[a..f)"
  RunningCompaction running;
  const size_t colon = text.find(':');
  std::istringstream positions(text.substr(0, colon));
  for (std::string position; std::getline(positions, position, '+');) {
    running.sources.push_back(kv::Position{std::stoull(position)});
  }
  if (colon != std::string::npos) running.bounds = ParseBounds(text.substr(colon + 1));
  return running;
}

struct Command {
  bool is_manual = false;
  bool is_tombstone_scan = false;
  Style style = Style::kLazy;
  Urgency urgency = Urgency::kWriting;
  uint64_t flush_bytes = uint64_t{4} << 20;
  kv::Sequence oldest_snapshot = kv::kSequenceMax;
  std::vector<RunningCompaction> running;
  format::Bounds bounds;
  kv::Position newest{UINT64_MAX};
  size_t sources_max = kSourcesMax;
  std::shared_ptr<Unreadable> unreadable;

  Unreadable& Unread() {
    if (unreadable == nullptr) unreadable = std::make_shared<Unreadable>();
    return *unreadable;
  }
};

Command ParseCommand(const std::string& line) {
  Command command;
  std::istringstream words(line);
  std::string word;
  words >> word;
  command.is_manual = word == "manual";
  command.is_tombstone_scan = word == "tombstone_scan";
  while (words >> word) {
    const std::string name = word.substr(0, word.find('='));
    const std::string value = word.substr(name.size() + 1);
    if (name == "style") command.style = value == "lazy" ? Style::kLazy : Style::kCascade;
    if (name == "pressure") {
      command.urgency = value == "writing" ? Urgency::kWriting : value == "quiet" ? Urgency::kQuiet : Urgency::kIdle;
    }
    if (name == "flush") command.flush_bytes = std::stoull(value) << (value.ends_with("KB") ? 10 : 20);
    if (name == "snapshot") command.oldest_snapshot = std::stoull(value);
    if (name == "busy" || name == "collecting") command.running.push_back(ParseBusy(value));
    if (name == "collecting") command.running.back().collects_blobs = true;
    if (name == "bounds") command.bounds = ParseBounds(value);
    if (name == "sources") command.sources_max = std::stoul(value);
    if (name == "unreadable" || name == "unreadable_block") {
      const RunningCompaction parsed = ParseBusy(value);
      command.Unread().keys.push_back(
          {.position = parsed.sources.front(), .bounds = parsed.bounds, .is_block = name == "unreadable_block"});
    }
    if (name == "unreadable_blob") command.Unread().blob_files.push_back(kv::FileNumber{std::stoull(value)});
    if (name == "newest") command.newest = kv::Position{std::stoull(value)};
  }
  return command;
}

std::string Answer(const std::string& tree, const std::string& line) {
  const kv::Order order(BytewiseComparator());
  const auto version = mergedb::testing::ParseTree(order, tree);
  if (!version) return version.error().ToString() + "\n";
  const Command command = ParseCommand(line);
  const PickInput input{.version = **version,
                        .running = command.running,
                        .style = command.style,
                        .urgency = command.urgency,
                        .flush_bytes = command.flush_bytes,
                        .order = order,
                        .oldest_snapshot = command.oldest_snapshot,
                        .unreadable = command.unreadable,
                        .sources_max = command.sources_max};
  ManualPick manual;
  if (command.is_manual) manual = PickManual(input, command.bounds, command.newest);
  const auto pick = command.is_manual           ? manual.pick
                    : command.is_tombstone_scan ? PickTombstoneScan(input, command.bounds)
                                                : Pick(input);
  if (!pick) return command.is_manual && !manual.is_done ? "blocked\n" : "nothing\n";
  std::string text = PrintCompactionPick(*pick) + "\n";
  if (!pick->cut_keys.empty()) {
    text += "cut at";
    for (const std::string& key : pick->cut_keys) text += " " + key;
    text += "\n";
  }
  return text;
}

// A script is a list of cases: lines up to "----", a command up to "----", an answer up to an empty line. A
// case without a tree uses the tree of the case above it.
std::string Replay(std::istream& script) {
  std::string result, tree, command, line;
  enum { kTree, kCommand, kAnswer } part = kTree;
  const auto answered = [&] {
    result += Answer(tree, command);
    part = kTree;
  };
  while (std::getline(script, line)) {
    if (part == kAnswer) {
      if (!line.empty()) continue;  // skips the answer of the script
      answered();
      result += "\n";
      continue;
    }
    result += line + "\n";
    if (line == "----") {
      part = part == kTree ? kCommand : kAnswer;
    } else if (part == kCommand) {
      command = line;
    } else if (line == "tree") {
      tree.clear();
    } else if (line.starts_with("pick") || line.starts_with("manual") || line.starts_with("tombstone_scan")) {
      command = line;
      part = kCommand;
    } else {
      tree += line + "\n";
    }
  }
  if (part == kAnswer) answered();
  return result;
}

// The picker must not divide by 0 bytes.
TEST(Picks, ATableThatIsSaidToHaveNoBytesWeighsNothing) {
  auto file = std::make_shared<format::FileMeta>();
  file->number = kv::FileNumber{1};
  file->entries = 10;
  file->smallest = file->largest = "a";
  const version::Version version(
      {std::make_shared<version::Run>(kv::Position{1}, 0, std::vector<version::VirtualTable>{{file, {}}})});
  const kv::Order order(BytewiseComparator());
  EXPECT_EQ(LiveBytesAtLeast({.version = version, .running = {}, .order = order}), 0u);
}

// The tree's runs, newest first. `shows_b` says for each run whether it has a key in [b..c). Each run also
// has x.
std::string TreeOf(const std::vector<bool>& shows_b) {
  std::string text;
  for (size_t i = 0; i < shows_b.size(); ++i) {
    const size_t position = shows_b.size() - i;
    const bool is_oldest = position == 1;
    text += "position " + std::to_string(position) + " level " + (is_oldest ? "bottom" : i < 10 ? "0" : "1") + ":";
    if (shows_b[i]) text += " " + std::to_string(100'000 + position) + "[b..b]1MB";
    text += " " + std::to_string(200'000 + position) + "[x..x]1MB\n";
  }
  return text;
}

TEST(Picks, CompactRangeMovesDownWhatIsAboveTheRunsOfOnePick) {
  const kv::Order order(BytewiseComparator());
  std::vector<bool> shows_b(200);
  for (const size_t newest : {0, 1, 2, 70, 199}) shows_b[newest] = true;
  int plans = 0;
  for (;; ++plans) {
    ASSERT_LT(plans, 5);
    ASSERT_OK_AND_ASSIGN(const auto version, mergedb::testing::ParseTree(order, TreeOf(shows_b)));
    const PickInput input{.version = *version, .running = {}, .order = order};
    const auto [pick, is_done] = PickManual(input, {.lower = "b", .upper = "c"}, kv::Position{200});
    EXPECT_EQ(is_done, !pick);
    if (!pick) break;
    ASSERT_LE(pick->sources.size(), 64u);
    const auto target = version->FindRun(pick->sources.back());
    EXPECT_EQ(pick->target_level, target->level());
    for (const kv::Position source : pick->sources) shows_b[200 - kv::ToInt(source)] = false;
    shows_b[200 - kv::ToInt(pick->sources.back())] = true;
  }
  EXPECT_EQ(plans, 4);
  EXPECT_EQ(std::count(shows_b.begin(), shows_b.end(), true), 1) << "the range lies in one run";
  EXPECT_TRUE(shows_b.back()) << "the oldest";
}

TEST(Picks, AreThoseOfTheGoldenScripts) {
  for (const auto& entry : std::filesystem::directory_iterator(MERGEDB_GOLDEN_DIRECTORY "/picker")) {
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream file(entry.path());
    std::stringstream expected;
    expected << file.rdbuf();
    const std::string found = Replay(expected);
    if (std::getenv("MERGEDB_REWRITE") != nullptr) {
      std::ofstream(entry.path()) << found;
      continue;
    }
    EXPECT_EQ(found, expected.str());
  }
}

}  // namespace
}  // namespace mergedb::picker
