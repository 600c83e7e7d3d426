// Versions made from text, and the input that asks the picker about them: for the tests of picker/.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "picker/picker.h"
#include "picker/survey.h"
#include "testing/status_matchers.h"
#include "testing/tree_text.h"
#include "tests/unit/picker/print_pick.h"

namespace mergedb::picker {

inline const kv::Order& BytewiseOrder() {
  static const kv::Order order(BytewiseComparator());
  return order;
}

class Tree {
 public:
  explicit Tree(const std::string& text) {
    auto parsed = mergedb::testing::ParseTree(BytewiseOrder(), text);
    EXPECT_OK(parsed.status()) << text;
    version_ = parsed ? *parsed : std::make_shared<version::Version>();
  }

  const version::Version& version() const { return *version_; }
  const version::Run& run(size_t index) const { return *version_->runs()[index]; }
  // The input refers to this object.
  PickInput Input(Urgency urgency = Urgency::kWriting, Style style = Style::kLazy) const {
    return {.version = *version_,
            .running = running,
            .style = style,
            .urgency = urgency,
            .flush_bytes = 4 * kMebibyte,
            .order = BytewiseOrder()};
  }

  std::vector<RunningCompaction> running;

 private:
  version::VersionPtr version_;
};

inline RunningCompaction Running(const std::vector<uint64_t>& sources, format::Bounds bounds = {}) {
  RunningCompaction running;
  for (const uint64_t source : sources) running.sources.push_back(kv::Position{source});
  running.bounds = std::move(bounds);
  return running;
}

// The text of `count` runs with one table of the keys a to z each, from position `newest` down.
inline std::string Runs(uint64_t newest, size_t count, const std::string& level, const std::string& bytes) {
  std::string text;
  for (uint64_t position = newest; position > newest - count; --position) {
    text += "position " + std::to_string(position) + " level " + level + ": " + std::to_string(position) + "[a..z]" +
            bytes + "\n";
  }
  return text;
}

inline std::string Print(const std::optional<CompactionPick>& pick) {
  return pick ? PrintCompactionPick(*pick) : "nothing";
}

}  // namespace mergedb::picker
