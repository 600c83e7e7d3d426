// Goal: Rebuild shows from tables alone what the tree showed: the newest version of each key, and no deleted
// or overwritten version. Obsolete inputs of compactions lie beside the outputs, and the WAL beside the
// tables that were flushed from it. Each operand counts once. Method: cases by hand; then random histories of
// flushes and compactions of any key range. After each history all tables ever written are rebuilt and
// compared with a map.
#include "repair/rebuild.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "compaction/compaction_job.h"
#include "compaction/flush_job.h"
#include "format/file_name.h"
#include "kv/fold.h"
#include "mergedb/merge.h"
#include "table/salvage.h"
#include "testing/manual_clock.h"
#include "testing/seed.h"
#include "tests/unit/compaction/tables.h"
#include "version/version_builder.h"

namespace mergedb::repair {
namespace {

using testing::DeleteEntry;
using testing::OwnedEntry;
using testing::PutEntry;
using Shown = std::map<std::string, std::string>;

// Returns the table as repair finds it; without meta if the file is missing or empty.
LooseTable Found(testing::Tables& tables, kv::FileNumber number) {
  auto salvaged = table::Salvage(
      {.file_system = &tables.files, .path = format::TablePath("dir", number), .number = number, .order = tables.order},
      nullptr);
  if (!salvaged || (salvaged->found.entries == 0 && salvaged->range_tombstones.empty())) return {};
  EXPECT_TRUE(salvaged->flaws.empty()) << salvaged->flaws.front().what;
  return {.meta = std::make_shared<const format::FileMeta>(salvaged->found),
          .compacted_ranges = salvaged->compacted_ranges};
}

// Returns the entries that a reader of the rebuilt tables sees. The tables are disjoint.
Shown ShowOf(testing::Tables& tables, const Rebuilt& rebuilt) {
  Shown shown;
  std::set<std::string> met;
  for (const auto* metas : {&rebuilt.kept, &rebuilt.made}) {
    for (const auto& meta : *metas) {
      const auto entries = tables.Read(meta);
      const auto reader = tables.cache->Open(meta);
      EXPECT_OK(reader.status());
      for (size_t i = 0; i < entries.size();) {
        const std::string& key = entries[i].key;
        EXPECT_TRUE(met.insert(key).second) << key << " lies in two tables";
        const kv::Sequence covered = (*reader)->range_tombstones().MaskingSequence(tables.order, key, kv::kSequenceMax);
        kv::Chain chain(nullptr);
        kv::Base base;
        bool is_open = true;
        for (; i < entries.size() && entries[i].key == key; ++i) {
          is_open = is_open && kv::SequenceOf(entries[i].tag) >= covered;
          if (!is_open) continue;
          is_open = kv::KindOf(entries[i].tag) == kv::Kind::kMerge;
          if (is_open) {
            chain.AddOlder(key, entries[i].tag, entries[i].value);
          } else {
            base = {kv::KindOf(entries[i].tag), entries[i].value};
          }
        }
        std::string value;
        if (chain.empty() && base.kind == kv::Kind::kDelete) continue;
        EXPECT_OK(kv::FoldAndShow(key, base, chain, &value));
        shown[key] = value;
      }
    }
  }
  return shown;
}

class RebuildTest : public ::testing::Test {
 protected:
  LooseTable Write(const std::vector<OwnedEntry>& entries, std::vector<format::CompactedRange> compacted_ranges = {}) {
    return {.meta = tables_.Write(entries), .compacted_ranges = std::move(compacted_ranges)};
  }
  LooseTable WriteRanges(const std::vector<kv::RangeTombstone>& tombstones) {
    compaction::Outputs outputs(
        tables_.factory, {.range_tombstones = kv::RangeTombstones::Fragment(tables_.order, tombstones, {},
                                                                            kv::RangeTombstones::Keys::kCopies)});
    EXPECT_OK(outputs.Finish());
    return {.meta = outputs.Take().at(0)};
  }
  static OwnedEntry AppendEntry(std::string key, kv::Sequence sequence, std::string_view more) {
    return {std::move(key), kv::MakeTag(sequence, kv::Kind::kMerge), merge::Append(more)};
  }
  // A compacted range of all keys, or of `bounds`, up to `sequence`.
  static std::vector<format::CompactedRange> UpTo(kv::Sequence sequence, format::Bounds bounds = {},
                                                  kv::Sequence from = 0) {
    return {{.from = from, .sequence = sequence, .bounds = std::move(bounds)}};
  }

  Rebuilt Run(const std::vector<LooseTable>& loose) {
    auto rebuilt = Rebuild(tables_.factory, loose, Compression::kNone, [] { return Status(); });
    EXPECT_OK(rebuilt.status());
    return rebuilt ? std::move(*rebuilt) : Rebuilt();
  }
  Shown Show(const std::vector<LooseTable>& loose) { return ShowOf(tables_, Run(loose)); }

  testing::Tables tables_;
};

TEST_F(RebuildTest, LeavesTablesWithoutCommonKeysAlone) {
  const std::vector<LooseTable> loose = {Write({PutEntry("a", 3, "1"), PutEntry("c", 4, "2")}),
                                         Write({PutEntry("d", 1, "3")})};
  const Rebuilt rebuilt = Run(loose);
  EXPECT_EQ(rebuilt.kept.size(), 2u);
  EXPECT_TRUE(rebuilt.made.empty());
}

TEST_F(RebuildTest, TheLargestSequenceWins) {
  EXPECT_EQ(Show({Write({PutEntry("a", 7, "new"), DeleteEntry("b", 9)}),
                  Write({PutEntry("a", 5, "old"), PutEntry("b", 6, "gone"), PutEntry("c", 1, "c")})}),
            (Shown{{"a", "new"}, {"c", "c"}}));
}

TEST_F(RebuildTest, TheSameChangeTwiceIsOne) {
  const LooseTable table = Write({PutEntry("a", 7, "1"), PutEntry("a", 3, "0")}),
                   copy = Write({PutEntry("a", 7, "1"), PutEntry("a", 3, "0")});
  const Rebuilt rebuilt = Run({table, copy});
  ASSERT_EQ(rebuilt.made.size(), 1u);
  EXPECT_EQ(rebuilt.made[0]->entries, 1u) << "no snapshot lives that needs the older version";
}

TEST_F(RebuildTest, OfChangesWithoutSequenceTheYoungestTableWins) {
  EXPECT_EQ(Show({Write({PutEntry("a", 0, "older")}), Write({PutEntry("a", 0, "newer")})}), (Shown{{"a", "newer"}}));
}

TEST_F(RebuildTest, TheInputsOfABottommostCompactionAreObsolete) {
  const LooseTable merged_away =
      Write({PutEntry("a", 5, "stale"), PutEntry("b", 6, "deleted since"), PutEntry("z", 4, "alive")});
  const LooseTable bottom = Write({PutEntry("a", 0, "right")}, UpTo(9, {.upper = "m"}));
  EXPECT_EQ(Show({merged_away, bottom}), (Shown{{"a", "right"}, {"z", "alive"}}));
}

TEST_F(RebuildTest, AnObsoleteTableIsDroppedAlthoughNothingOverlapsIt) {
  const LooseTable merged_away = Write({PutEntry("b", 6, "deleted since")});
  const LooseTable left = Write({PutEntry("a", 0, "l")}, UpTo(9, {.upper = "m"})),
                   right = Write({PutEntry("n", 0, "r")}, UpTo(9, {.lower = "m"}));
  EXPECT_EQ(Show({merged_away, left, right}), (Shown{{"a", "l"}, {"n", "r"}}));
}

TEST_F(RebuildTest, OfTwoBottomsTheYoungerOneHoldsInItsShare) {
  const LooseTable older =
      Write({PutEntry("a", 0, "stale"), PutEntry("b", 0, "deleted since"), PutEntry("x", 0, "alive")}, UpTo(50));
  const LooseTable younger = Write({PutEntry("a", 0, "right")}, UpTo(40, {.upper = "m"}));
  EXPECT_EQ(Show({older, younger}), (Shown{{"a", "right"}, {"x", "alive"}}));
}

TEST_F(RebuildTest, NewerThanTheBottomIsAlive) {
  const LooseTable bottom = Write({PutEntry("a", 0, "old"), PutEntry("b", 0, "old")}, UpTo(9));
  EXPECT_EQ(Show({bottom, Write({PutEntry("a", 10, "new"), DeleteEntry("b", 11)})}), (Shown{{"a", "new"}}));
}

TEST_F(RebuildTest, TheInputsOfOtherCompactionsAreObsoleteToo) {
  const LooseTable inputs[] = {Write({AppendEntry("a", 6, "6")}, UpTo(6, {}, 6)),
                               Write({AppendEntry("a", 5, "5")}, UpTo(5, {}, 5))};
  const LooseTable output = Write({AppendEntry("a", 6, "56")}, UpTo(6, {}, 5));
  const LooseTable base = Write({PutEntry("a", 2, "base")}, UpTo(4, {}, 1));
  EXPECT_EQ(Show({inputs[0], output, base}), (Shown{{"a", "base56"}}));
  EXPECT_EQ(Show({inputs[1], output, base}), (Shown{{"a", "base56"}}));
  EXPECT_EQ(Show({inputs[0], inputs[1], output, base}), (Shown{{"a", "base56"}}));
  EXPECT_EQ(Show({inputs[0], inputs[1], base}), (Shown{{"a", "base56"}}));
}

TEST_F(RebuildTest, AnOperandOfTheLogCountsOnce) {
  const LooseTable flushed = Write({AppendEntry("a", 6, "56"), PutEntry("b", 7, "b")}, UpTo(7, {}, 5));
  LooseTable log = Write({AppendEntry("a", 8, "8"), AppendEntry("a", 6, "6"), AppendEntry("a", 5, "5")});
  log.made_as = kv::FileNumber{0};
  EXPECT_EQ(Show({flushed, log}), (Shown{{"a", "568"}, {"b", "b"}}));
}

TEST_F(RebuildTest, ABaseThatTookInAnOperandOfItsSequenceCounts) {
  EXPECT_EQ(Show({Write({AppendEntry("a", 6, "6")}), Write({PutEntry("a", 6, "base6")})}), (Shown{{"a", "base6"}}));
}

TEST_F(RebuildTest, OperandsWithoutTheirOperatorStay) {
  const std::string operand = merge::Named("test.unknown", "x");
  const Rebuilt rebuilt = Run({Write({{"a", kv::MakeTag(6, kv::Kind::kMerge), operand}}),
                               Write({{"a", kv::MakeTag(5, kv::Kind::kMerge), operand}, PutEntry("b", 1, "b")})});
  ASSERT_EQ(rebuilt.made.size(), 1u);
  EXPECT_EQ(rebuilt.made[0]->entries, 3u);
}

TEST_F(RebuildTest, WhatARangeTombstoneHidesGoesWithIt) {
  const LooseTable values = Write({PutEntry("a", 3, "a"), PutEntry("b", 4, "gone"), PutEntry("c", 9, "newer")});
  const Rebuilt rebuilt = Run({values, WriteRanges({{"b", "z", 7}})});
  ASSERT_EQ(rebuilt.made.size(), 1u);
  EXPECT_EQ(rebuilt.made[0]->range_tombstones, 0u);
  EXPECT_EQ(rebuilt.entries_dropped, 1u);
  EXPECT_EQ(ShowOf(tables_, rebuilt), (Shown{{"a", "a"}, {"c", "newer"}}));
}

TEST_F(RebuildTest, ATableWithRangeTombstonesAndNoNeighbourStays) {
  const Rebuilt rebuilt = Run({WriteRanges({{"b", "d", 7}}), Write({PutEntry("d", 3, "beyond its end")})});
  EXPECT_EQ(rebuilt.kept.size(), 2u);
}

TEST_F(RebuildTest, ARangeTombstoneHidesWhatTheBottomHolds) {
  const LooseTable bottom = Write({PutEntry("a", 0, "a"), PutEntry("b", 0, "gone")}, UpTo(6));
  EXPECT_EQ(Show({bottom, WriteRanges({{"b", "z", 7}})}), (Shown{{"a", "a"}}));
}

// The obsolete tombstone lies beside the table that compacted it. A later entry, written at 7, has lost its
// sequence.
TEST_F(RebuildTest, ARangeTombstoneThatTheBottomTookInHidesNothing) {
  const LooseTable left_over = WriteRanges({{"a", "z", 5}});
  LooseTable bottom = Write({PutEntry("b", 0, "written at 7"), PutEntry("p", 0, "below")}, UpTo(9, {.upper = "m"}));
  EXPECT_EQ(Show({left_over, bottom}), (Shown{{"b", "written at 7"}})) << "p is not in the bounds";
  bottom.lost_ranges = {{.smallest = "c", .largest = "d"}};
  EXPECT_EQ(Show({left_over, bottom}), (Shown{{"b", "written at 7"}}));
}

TEST_F(RebuildTest, WhereEntriesAreLostNothingIsClaimed) {
  const LooseTable merged_away =
      Write({PutEntry("a", 3, "stale"), PutEntry("d", 4, "all that is left"), PutEntry("x", 5, "stale")});
  LooseTable bottom = Write({PutEntry("a", 0, "right"), PutEntry("x", 0, "right")}, UpTo(9));
  bottom.lost_ranges = {{.smallest = "c", .largest = "e"}};
  EXPECT_EQ(Show({merged_away, bottom}), (Shown{{"a", "right"}, {"d", "all that is left"}, {"x", "right"}}));
}

// A rewritten copy of a damaged table keeps the age of the original.
TEST_F(RebuildTest, ACopyIsAsOldAsWhatItCopies) {
  const LooseTable later = Write({PutEntry("a", 0, "right")}, UpTo(9));
  LooseTable copy = Write({PutEntry("a", 0, "stale")}, UpTo(5));
  copy.made_as = kv::FileNumber{0};
  EXPECT_EQ(Show({later, copy}), (Shown{{"a", "right"}}));
}

// As after an interrupted repair: the new tables lie beside their inputs.
TEST_F(RebuildTest, DoneAgainItShowsTheSame) {
  std::vector<LooseTable> loose = {Write({AppendEntry("a", 6, "6"), AppendEntry("b", 7, "7")}),
                                   Write({AppendEntry("a", 5, "5"), DeleteEntry("c", 8)}),
                                   Write({PutEntry("c", 3, "gone")}), WriteRanges({{"b", "bb", 4}})};
  const Rebuilt first = Run(loose);
  const Shown expected = {{"a", "56"}, {"b", "7"}};
  EXPECT_EQ(ShowOf(tables_, first), expected);
  for (const auto& meta : first.made) loose.push_back(Found(tables_, meta->number));
  EXPECT_EQ(Show(loose), expected);
}

// ---- histories ----

class History : private compaction::CompactedTree {
 public:
  History(testing::Tables* tables, uint64_t seed) : tables_(*tables), random_(seed) { NewMemtable(); }

  void Write() {
    for (uint64_t left = 1 + random_.Uniform(12); left > 0; --left) {
      const std::string key = Key();
      switch (random_.Uniform(8)) {
        case 0:
        case 1:
          Add(key, kv::Kind::kDelete, "");
          model_.erase(key);
          break;
        case 2:
        case 3: {
          const std::string more = "+" + std::to_string(sequence_ + 1);
          Add(key, kv::Kind::kMerge, merge::Append(more));
          model_[key] += more;
          break;
        }
        case 4: {
          const std::string end = "k" + std::to_string(100 + random_.Uniform(40));
          if (!random_.OneIn(3) || end <= key) continue;
          Add(key, kv::Kind::kRangeDelete, end);
          model_.erase(model_.lower_bound(key), model_.lower_bound(end));
          break;
        }
        default: {
          const std::string value = std::to_string(sequence_ + 1);
          Add(key, kv::Kind::kPut, value);
          model_[key] = value;
        }
      }
    }
  }

  void Flush() {
    Write();
    iterator::CompactionIteratorCounts counts;
    ASSERT_OK_AND_ASSIGN(const auto flushed,
                         compaction::Flush(tables_.factory, *memtable_, LiveSequences(), Compression::kNone, &counts));
    const format::FileMetaPtr& table = flushed.table;
    NewMemtable();
    if (table == nullptr) return;
    format::VersionEdit edit;
    edit.adds.push_back({.position = kv::Position{++position_}, .level = 0, .file = table, .bounds = {}});
    ASSERT_OK(Install(edit));
    flushed_ = changes_.size();
  }

  // Compacts any consecutive runs, all keys or a range.
  void Merge() {
    const auto& runs = version_->runs();
    if (runs.empty()) return;
    const size_t newest = random_.Uniform(runs.size());
    const size_t oldest = newest + random_.Uniform(runs.size() - newest);
    picker::CompactionPick plan;
    for (size_t i = newest; i <= oldest; ++i) plan.sources.push_back(runs[i]->position());
    if (random_.OneIn(2)) plan.bounds.lower = Key();
    if (random_.OneIn(2)) plan.bounds.upper = Key();
    if (plan.bounds.lower && plan.bounds.upper && *plan.bounds.lower >= *plan.bounds.upper) return;
    plan.is_bottommost = oldest + 1 == runs.size();
    plan.output_file_bytes = 300;
    // The job runs to its end, or stops early: its releases stay.
    compaction::CompactionJob job(Context(), plan, version_);
    for (int steps = random_.OneIn(5) ? 1 : 1000; steps > 0; --steps) {
      auto step = job.Step(0);
      ASSERT_OK(step.status());
      if (*step) return;
    }
  }

  // Returns in random order the live tables, each obsolete table with a chance of `kept_percent`, and the
  // WAL: all changes that are in no table, and some earlier ones.
  std::vector<LooseTable> Tables(uint64_t kept_percent) {
    std::vector<LooseTable> loose;
    const auto live = version_->files();
    const uint64_t last = tables_.last_number;
    for (uint64_t number = 1; number <= last; ++number) {
      if (!live.contains(kv::FileNumber{number}) && random_.Uniform(100) >= kept_percent) continue;
      LooseTable found = Found(tables_, kv::FileNumber{number});
      if (found.meta != nullptr) loose.push_back(std::move(found));
    }
    if (auto log = WriteLog(random_.Uniform(flushed_ + 1)))
      loose.push_back({.meta = log, .made_as = kv::FileNumber{0}});
    for (size_t i = loose.size(); i > 1; --i) std::swap(loose[i - 1], loose[random_.Uniform(i)]);
    return loose;
  }
  const Shown& model() const { return model_; }

 private:
  struct Change {
    std::string key;
    kv::Tag tag;
    std::string value;
  };

  void NewMemtable() { memtable_ = std::make_unique<memtable::Memtable>(tables_.order, memtable::NewMemory(1 << 16)); }
  void Add(const std::string& key, kv::Kind kind, const std::string& value) {
    const Change& change = changes_.emplace_back(Change{key, kv::MakeTag(++sequence_, kind), value});
    memtable_->Add(change.key, change.tag, change.value);
  }
  // Returns a table with each change from index `first` on; null if there is no change.
  format::FileMetaPtr WriteLog(size_t first) {
    memtable::Memtable all(tables_.order, memtable::NewMemory(1 << 20));
    for (size_t i = first; i < changes_.size(); ++i) all.Add(changes_[i].key, changes_[i].tag, changes_[i].value);
    compaction::Outputs outputs(
        tables_.factory, {.range_tombstones = kv::RangeTombstones::Fragment(tables_.order, all.range_deletes().All(),
                                                                            {}, kv::RangeTombstones::Keys::kViews)});
    const auto it = all.NewFlushIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) EXPECT_OK(outputs.Add(it->entry()));
    EXPECT_OK(outputs.Finish());
    const auto made = outputs.Take();
    return made.empty() ? nullptr : made[0];
  }
  // The newest sequence, and sometimes another one.
  std::vector<kv::Sequence> LiveSequences() override {
    if (random_.OneIn(3)) return {random_.Uniform(sequence_ + 1), sequence_};
    return {sequence_};
  }
  std::string Key() { return "k" + std::to_string(100 + random_.Uniform(40)); }
  Status Install(const format::VersionEdit& edit) override {
    ASSIGN_OR_RETURN(version_, version::ApplyEdit(tables_.order, *version_, edit));
    return {};
  }
  format::BlobFilePtr FindBlobFile(kv::FileNumber) override { return nullptr; }  // there are none
  compaction::CompactionJobContext Context() {
    return {.factory = tables_.factory,
            .tree = *this,
            .tables = *tables_.cache,
            .clock = &clock_,
            .compression = {Compression::kNone, Compression::kNone},
            .publication_bytes = 200,
            .flushed_sequence = flushed_ == 0 ? 0 : kv::SequenceOf(changes_[flushed_ - 1].tag)};
  }

  testing::Tables& tables_;
  base::Random random_;
  testing::ManualClock clock_;
  version::VersionPtr version_ = std::make_shared<const version::Version>();
  std::unique_ptr<memtable::Memtable> memtable_;
  kv::Sequence sequence_ = 0;
  uint64_t position_ = 0;
  std::deque<Change> changes_;
  size_t flushed_ = 0;  // number of changes that are in tables
  Shown model_;
};

uint64_t Differences(const Shown& a, const Shown& b) {
  uint64_t differences = 0;
  for (const auto& [key, value] : a) differences += !b.contains(key) || b.at(key) != value;
  for (const auto& [key, value] : b) differences += !a.contains(key);
  return differences;
}

// A few keys may be wrong: compacted ranges end at the bounds of other tables, so an entry of an obsolete
// table may count twice at such a key. Without compacted ranges, older versions come back, operands count
// twice, and range tombstones mask newer entries.
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
      history.Write();
      std::vector<LooseTable> loose = history.Tables(kept_percent);
      keys += history.model().size();
      const auto rebuild = [&] {
        auto rebuilt = Rebuild(tables.factory, loose, Compression::kNone, [] { return Status(); });
        EXPECT_OK(rebuilt.status());
        return rebuilt ? ShowOf(tables, *rebuilt) : Shown();
      };
      wrong += Differences(rebuild(), history.model());
      for (LooseTable& table : loose) table.compacted_ranges.clear();
      wrong_without_claims += Differences(rebuild(), history.model());
    }
    std::printf("             %3u %% of merged tables left: of %u keys %u wrong, %u without claims\n",
                unsigned(kept_percent), unsigned(keys), unsigned(wrong), unsigned(wrong_without_claims));
    EXPECT_LE(wrong, keys / 2000);
    EXPECT_LT(wrong * 20, wrong_without_claims);
  }
}

}  // namespace
}  // namespace mergedb::repair
