// Goal: tables alone show what the tree showed: the newest of each key, nothing that was deleted or overwritten, although tables
// that were merged away long ago lie beside the ones that took them in. Method: cases by hand; then random histories of flushes
// and merges of any key range, after which every table that ever was is rebuilt and compared with a map.
#include "care/rebuild.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "compaction/job.h"
#include "format/file_name.h"
#include "table/salvage.h"
#include "testing/manual_clock.h"
#include "testing/seed.h"
#include "tests/unit/compaction/tables.h"
#include "tree/version_builder.h"

namespace mergedb::care {
namespace {

using testing::DeleteEntry;
using testing::OwnedEntry;
using testing::PutEntry;
using Shown = std::map<std::string, std::string>;

class RebuildTest : public ::testing::Test {
 protected:
  LooseTable Write(const std::vector<OwnedEntry>& entries, std::optional<format::Settled> settled = {}) {
    return {tables_.Write(entries), std::move(settled)};
  }
  // Everything: claims to all keys up to `sequence`.
  static format::Settled UpTo(kv::Sequence sequence, format::Bounds bounds = {}) { return {.sequence = sequence, .bounds = std::move(bounds)}; }

  Rebuilt Run(const std::vector<LooseTable>& loose) {
    auto rebuilt = Rebuild(tables_.factory, loose, Compression::kNone, [] { return Status(); });
    EXPECT_OK(rebuilt.status());
    return rebuilt ? std::move(*rebuilt) : Rebuilt();
  }
  // What the rebuilt tables show; they are disjoint.
  Shown Show(const std::vector<LooseTable>& loose) {
    const Rebuilt rebuilt = Run(loose);
    Shown shown;
    std::set<std::string> met;
    for (const auto* metas : {&rebuilt.kept, &rebuilt.made}) {
      for (const auto& meta : *metas) {
        std::string last;
        for (const OwnedEntry& entry : tables_.Read(meta)) {
          EXPECT_TRUE(entry.key == last || !met.contains(entry.key)) << entry.key << " lies in two tables";
          last = entry.key;
          if (met.insert(entry.key).second && kv::KindOf(entry.tag) == kv::Kind::kPut) shown[entry.key] = entry.value;
        }
      }
    }
    return shown;
  }

  testing::Tables tables_;
};

TEST_F(RebuildTest, LeavesTablesWithoutCommonKeysAlone) {
  const std::vector<LooseTable> loose = {Write({PutEntry("a", 3, "1"), PutEntry("c", 4, "2")}), Write({PutEntry("d", 1, "3")})};
  const Rebuilt rebuilt = Run(loose);
  EXPECT_EQ(rebuilt.kept.size(), 2u);
  EXPECT_TRUE(rebuilt.made.empty());
}

TEST_F(RebuildTest, TheLargestSequenceWins) {
  EXPECT_EQ(Show({Write({PutEntry("a", 7, "new"), DeleteEntry("b", 9)}), Write({PutEntry("a", 5, "old"), PutEntry("b", 6, "gone"), PutEntry("c", 1, "c")})}),
            (Shown{{"a", "new"}, {"c", "c"}}));
}

TEST_F(RebuildTest, TheSameChangeTwiceIsOne) {
  const LooseTable table = Write({PutEntry("a", 7, "1"), PutEntry("a", 3, "0")}), copy = Write({PutEntry("a", 7, "1"), PutEntry("a", 3, "0")});
  const Rebuilt rebuilt = Run({table, copy});
  ASSERT_EQ(rebuilt.made.size(), 1u);
  EXPECT_EQ(rebuilt.made[0]->entries, 2u) << "versions stay: snapshots are gone, but operands may not be";
}

TEST_F(RebuildTest, OfChangesWithoutSequenceTheYoungestTableWins) {
  EXPECT_EQ(Show({Write({PutEntry("a", 0, "older")}), Write({PutEntry("a", 0, "newer")})}), (Shown{{"a", "newer"}}));
}

TEST_F(RebuildTest, WhatTheBottomTookInIsDead) {
  const LooseTable merged_away = Write({PutEntry("a", 5, "stale"), PutEntry("b", 6, "deleted since"), PutEntry("z", 4, "alive")});
  const LooseTable bottom = Write({PutEntry("a", 0, "right")}, UpTo(9, {.upper = "m"}));
  EXPECT_EQ(Show({merged_away, bottom}), (Shown{{"a", "right"}, {"z", "alive"}}));
}

TEST_F(RebuildTest, ATableThatIsAllDeadGoesAlthoughNothingOverlapsIt) {
  const LooseTable merged_away = Write({PutEntry("b", 6, "deleted since")});
  const LooseTable left = Write({PutEntry("a", 0, "l")}, UpTo(9, {.upper = "m"})), right = Write({PutEntry("n", 0, "r")}, UpTo(9, {.lower = "m"}));
  EXPECT_EQ(Show({merged_away, left, right}), (Shown{{"a", "l"}, {"n", "r"}}));
}

TEST_F(RebuildTest, OfTwoBottomsTheYoungerOneHoldsInItsShare) {
  const LooseTable older = Write({PutEntry("a", 0, "stale"), PutEntry("b", 0, "deleted since"), PutEntry("x", 0, "alive")}, UpTo(50));
  const LooseTable younger = Write({PutEntry("a", 0, "right")}, UpTo(40, {.upper = "m"}));
  EXPECT_EQ(Show({older, younger}), (Shown{{"a", "right"}, {"x", "alive"}}));
}

TEST_F(RebuildTest, NewerThanTheBottomIsAlive) {
  const LooseTable bottom = Write({PutEntry("a", 0, "old"), PutEntry("b", 0, "old")}, UpTo(9));
  EXPECT_EQ(Show({bottom, Write({PutEntry("a", 10, "new"), DeleteEntry("b", 11)})}), (Shown{{"a", "new"}}));
}

// ---- histories ----

class History {
 public:
  History(testing::Tables* tables, uint64_t seed) : tables_(*tables), random_(seed) {}

  void Flush() {
    std::map<std::string, OwnedEntry> batch;
    for (uint64_t left = 1 + random_.Uniform(12); left > 0; --left) {
      const std::string key = Key();
      ++sequence_;
      if (random_.OneIn(3)) {
        batch[key] = DeleteEntry(key, sequence_);
        model_.erase(key);
      } else {
        const std::string value = std::to_string(sequence_);
        batch[key] = PutEntry(key, sequence_, value);
        model_[key] = value;
      }
    }
    std::vector<OwnedEntry> entries;
    for (auto& [key, entry] : batch) entries.push_back(entry);
    format::Edit edit;
    edit.adds.push_back({.position = kv::Position{++position_}, .level = 0, .file = tables_.Write(entries), .bounds = {}});
    Install(edit);
  }

  // Any consecutive runs, all keys or some.
  void Merge() {
    const auto& runs = version_->runs();
    if (runs.empty()) return;
    const size_t newest = random_.Uniform(runs.size());
    const size_t oldest = newest + random_.Uniform(runs.size() - newest);
    policy::Plan plan;
    for (size_t i = newest; i <= oldest; ++i) plan.sources.push_back(runs[i]->position());
    if (random_.OneIn(2)) plan.bounds.lower = Key();
    if (random_.OneIn(2)) plan.bounds.upper = Key();
    if (plan.bounds.lower && plan.bounds.upper && *plan.bounds.lower >= *plan.bounds.upper) return;
    plan.is_bottom = oldest + 1 == runs.size();
    plan.output_file_bytes = 300;
    // All of it, or up to some point where it is given up: what it released stays.
    compaction::Job job(Context(), plan, version_);
    for (int steps = random_.OneIn(5) ? 1 : 1000; steps > 0; --steps) {
      auto step = job.Step(0);
      ASSERT_OK(step.status());
      if (*step) return;
    }
  }

  // The tables of the tree, and of those that were merged away each with this chance; in any order.
  std::vector<LooseTable> Tables(uint64_t kept_percent) {
    std::vector<LooseTable> loose;
    const auto live = version_->files();
    for (uint64_t number = 1; number <= tables_.last_number; ++number) {
      if (!live.contains(kv::FileNumber{number}) && random_.Uniform(100) >= kept_percent) continue;
      auto salvaged = table::Salvage({.file_system = &tables_.files, .path = format::TablePath("dir", kv::FileNumber{number}),
                                      .number = kv::FileNumber{number}, .order = tables_.order}, nullptr);
      if (!salvaged || salvaged->found.entries == 0) continue;
      loose.push_back({std::make_shared<const format::FileMeta>(salvaged->found), salvaged->settled});
    }
    for (size_t i = loose.size(); i > 1; --i) std::swap(loose[i - 1], loose[random_.Uniform(i)]);
    return loose;
  }
  const Shown& model() const { return model_; }

 private:
  std::string Key() { return "k" + std::to_string(100 + random_.Uniform(40)); }
  void Install(const format::Edit& edit) {
    ASSERT_OK_AND_ASSIGN(version_, tree::ApplyEdit(tables_.order, *version_, edit));
  }
  compaction::JobContext Context() {
    return {.factory = tables_.factory, .tables = *tables_.cache, .clock = &clock_, .compression = {Compression::kNone, Compression::kNone},
            .snapshots = [this] { return std::vector<kv::Sequence>{sequence_}; },
            .install = [this](const format::Edit& edit) { Install(edit); return Status(); },
            .release_bytes = 200};
  }

  testing::Tables& tables_;
  base::Random random_;
  testing::ManualClock clock_;
  tree::VersionPtr version_ = std::make_shared<const tree::Version>();
  kv::Sequence sequence_ = 0;
  uint64_t position_ = 0;
  Shown model_;
};

Shown ShowOf(testing::Tables& tables, const std::vector<LooseTable>& loose) {
  Shown shown;
  auto rebuilt = Rebuild(tables.factory, loose, Compression::kNone, [] { return Status(); });
  EXPECT_OK(rebuilt.status());
  if (!rebuilt) return shown;
  std::set<std::string> met;
  for (const auto* metas : {&rebuilt->kept, &rebuilt->made}) {
    for (const auto& meta : *metas) {
      for (const OwnedEntry& entry : tables.Read(meta)) {
        if (met.insert(entry.key).second && kv::KindOf(entry.tag) == kv::Kind::kPut) shown[entry.key] = entry.value;
      }
    }
  }
  return shown;
}

uint64_t Differences(const Shown& a, const Shown& b) {
  uint64_t differences = 0;
  for (const auto& [key, value] : a) differences += !b.contains(key) || b.at(key) != value;
  for (const auto& [key, value] : b) differences += !a.contains(key);
  return differences;
}

// With every table that ever was the answer is exact. With some of them gone it cannot be, for whoever overwrote or deleted an
// entry may be among those; the claims of the tables at the bottom make up for nearly all of that.
TEST_F(RebuildTest, ShowsWhatTheTreeShowed) {
  const uint64_t seed = testing::SeedOr(1);
  SCOPED_TRACE("MERGEDB_SEED=" + std::to_string(seed));
  for (const uint64_t kept_percent : {100, 0, 50, 10}) {
    uint64_t keys = 0, wrong = 0, wrong_without_claims = 0;
    for (uint64_t round = 0; round < (testing::IsFullSize() ? 3000u : 150u); ++round) {
      testing::Tables tables;
      History history(&tables, seed * 1000 + round);
      base::Random random(round);
      for (uint64_t steps = 3 + random.Uniform(40); steps > 0; --steps) {
        if (random.OneIn(2)) {
          history.Flush();
        } else {
          history.Merge();
        }
      }
      std::vector<LooseTable> loose = history.Tables(kept_percent);
      keys += history.model().size();
      wrong += Differences(ShowOf(tables, loose), history.model());
      for (LooseTable& table : loose) table.settled = std::nullopt;
      wrong_without_claims += Differences(ShowOf(tables, loose), history.model());
    }
    std::printf("             %3u %% of merged tables left: of %u keys %u wrong, %u without claims\n", unsigned(kept_percent),
                unsigned(keys), unsigned(wrong), unsigned(wrong_without_claims));
    if (kept_percent == 100) {
      EXPECT_EQ(wrong, 0u);
    } else {
      EXPECT_LE(wrong, keys / 500);
      EXPECT_LT(wrong * 5, wrong_without_claims);
    }
  }
}

}  // namespace
}  // namespace mergedb::care
