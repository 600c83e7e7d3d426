// Goal: salvage returns all whole blocks of a damaged table and nothing else, and names all losses. Method: a
// small table of many blocks; every byte changed, every length cut; the entries are compared with those of
// the undamaged blocks.
#include "table/salvage.h"

#include <gtest/gtest.h>

#include "format/index.h"
#include "format/table_layout.h"
#include "tests/unit/table/table_rows.h"

namespace mergedb::table::salvage_test {
namespace {

using testing::Bytewise;
using testing::MemoryFiles;
using testing::Row;

class Backwards final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "test.backwards"; }
};

class SalvageTest : public ::testing::TestWithParam<Compression> {
 protected:
  SalvageTest() {
    for (int i = 0; i < 60; ++i) {
      const std::string key = "key" + std::to_string(100 + i / 2);
      rows_.push_back({key, kv::MakeTag(static_cast<kv::Sequence>(200 - i), kv::Kind::kPut),
                       std::string(40, static_cast<char>('a' + i % 7))});
    }
    Write(Bytewise());
  }
  void Write(const kv::Order& order) {
    (void)files_.Remove("7.tbl");
    if (order.is_bytewise()) {
      ranges_ = kv::RangeTombstones::Fragment(
          order, {{"key095", "key103", 199}, {"key110", "key115", 150}, {"key120", "key200", 90}}, {},
          kv::RangeTombstones::Keys::kViews);
    } else {
      ranges_ = {};
    }
    meta_ = testing::WriteTable(&files_, "7.tbl", order, rows_,
                                {.compression = GetParam(), .block_bytes = 200, .range_tombstones = ranges_});
    whole_ = files_.bytes("7.tbl");
    ASSERT_TRUE(format::DecodeFooter(std::string_view(whole_).substr(whole_.size() - format::kFooterBytes),
                                     whole_.size(), &footer_)
                    .ok());
    format::Part part;
    const auto stored = std::string_view(whole_).substr(footer_.index_offset(), footer_.index_bytes);
    ASSERT_TRUE(format::OpenPart(stored, {footer_.unique_id, footer_.index_offset()}, true, &part).ok());
    ASSERT_TRUE(index_.Decode(part.payload, footer_.data_bytes, order).ok());
    ASSERT_GT(index_.count(), 5u);
  }

  // The indexes of the rows that salvage returns; fails on an entry that is not a row.
  Salvaged Run(std::vector<size_t>* shown, format::FileMetaPtr meta, kv::Order order = Bytewise()) {
    shown->clear();
    const auto visit = [&](const kv::Entry& entry) -> Status {
      const auto row = std::find_if(rows_.begin(), rows_.end(),
                                    [&](const Row& each) { return each.key == entry.key && each.tag == entry.tag; });
      EXPECT_TRUE(row != rows_.end() && row->value == entry.value) << entry.key;
      shown->push_back(static_cast<size_t>(row - rows_.begin()));
      return {};
    };
    auto salvaged = Salvage(
        {.file_system = &files_, .path = "7.tbl", .number = kv::FileNumber{7}, .meta = std::move(meta), .order = order},
        visit);
    EXPECT_TRUE(salvaged.has_value()) << salvaged.status().ToString();
    return salvaged ? std::move(*salvaged) : Salvaged();
  }
  size_t BlockOf(size_t offset) const {
    size_t block = 0;
    while (block < index_.count() && index_.offset(static_cast<uint32_t>(block) + 1) <= offset) ++block;
    return block;
  }
  static bool Names(const Flaw& flaw, const Row& row) {
    return flaw.loses_entries && (!flaw.smallest || *flaw.smallest <= row.key) &&
           (!flaw.largest || row.key <= *flaw.largest);
  }
  // Each missing row lies in the range of a flaw. The range tombstones are complete, or a flaw reports their
  // loss.
  void ExpectLossesNamed(const Salvaged& salvaged, const std::vector<size_t>& shown) {
    EXPECT_EQ(salvaged.found.range_tombstones, salvaged.range_tombstones.tombstones());
    if (salvaged.range_tombstones.empty()) {
      for (const char* key : {"key095", "key110", "key199"}) {
        EXPECT_TRUE(std::any_of(salvaged.flaws.begin(), salvaged.flaws.end(),
                                [&](const Flaw& flaw) { return Names(flaw, {.key = key, .value = {}}); }));
      }
    } else {
      ExpectAllRanges(salvaged);
    }
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (std::find(shown.begin(), shown.end(), i) != shown.end()) continue;
      EXPECT_TRUE(std::any_of(salvaged.flaws.begin(), salvaged.flaws.end(),
                              [&](const Flaw& flaw) { return Names(flaw, rows_[i]); }))
          << rows_[i].key << " is lost without a word";
    }
  }

  void ExpectAllRanges(const Salvaged& salvaged) {
    ASSERT_EQ(salvaged.range_tombstones.size(), ranges_.size());
    for (size_t i = 0; i < ranges_.size(); ++i) {
      EXPECT_EQ(salvaged.range_tombstones.begin(i), ranges_.begin(i));
      EXPECT_EQ(salvaged.range_tombstones.end(i), ranges_.end(i));
      EXPECT_EQ(salvaged.range_tombstones.sequences(i)[0], ranges_.sequences(i)[0]);
    }
  }
  bool IsOfRanges(size_t at) const {
    return footer_.range_tombstone_offset() <= at &&
           at < footer_.range_tombstone_offset() + footer_.range_tombstone_bytes;
  }

  std::vector<Row> rows_;
  kv::RangeTombstones ranges_;
  MemoryFiles files_;
  format::FileMetaPtr meta_;
  std::string whole_;
  format::Footer footer_;
  format::Index index_;
};

TEST_P(SalvageTest, AWholeTableHasNoFlawsAndShowsAll) {
  for (const auto& meta : {meta_, format::FileMetaPtr()}) {
    std::vector<size_t> shown;
    const Salvaged salvaged = Run(&shown, meta);
    EXPECT_TRUE(salvaged.flaws.empty()) << salvaged.flaws.front().what;
    EXPECT_EQ(shown.size(), rows_.size());
    EXPECT_EQ(salvaged.found.entries, meta_->entries);
    EXPECT_EQ(salvaged.found.smallest, meta_->smallest);
    EXPECT_EQ(salvaged.found.largest, meta_->largest);
    EXPECT_EQ(salvaged.found.largest_sequence, meta_->largest_sequence);
    EXPECT_EQ(salvaged.found.unique_id, meta_->unique_id);
    EXPECT_EQ(salvaged.found.smallest, "key095");
    EXPECT_TRUE(salvaged.found.largest_is_open);
    ExpectAllRanges(salvaged);
  }
}

TEST_P(SalvageTest, AChangedByteCostsItsBlockAndNoMore) {
  for (size_t at = 0; at < whole_.size(); ++at) {
    if (at > footer_.sections_end() && at < whole_.size() - format::kFooterBytes && at % 61 != 0) continue;
    SCOPED_TRACE(at);
    files_.bytes("7.tbl") = whole_;
    files_.bytes("7.tbl")[at] = static_cast<char>(whole_[at] ^ 1 << at % 8);
    std::vector<size_t> shown;
    const Salvaged salvaged = Run(&shown, meta_);
    ASSERT_FALSE(salvaged.flaws.empty());
    const bool is_pointed_at = std::any_of(salvaged.flaws.begin(), salvaged.flaws.end(), [&](const Flaw& flaw) {
      return flaw.offset <= at && at < flaw.offset + flaw.bytes;
    });
    EXPECT_TRUE(is_pointed_at) << salvaged.flaws.front().what;
    ExpectLossesNamed(salvaged, shown);
    EXPECT_EQ(salvaged.range_tombstones.empty(), IsOfRanges(at));
    if (at >= footer_.data_bytes) {
      EXPECT_EQ(shown.size(), rows_.size()) << salvaged.flaws.front().what;
    } else {
      EXPECT_GE(shown.size() + rows_.size() / index_.count() + 3, rows_.size());
      EXPECT_LT(shown.size(), rows_.size());
      EXPECT_EQ(salvaged.flaws.front().offset, index_.offset(static_cast<uint32_t>(BlockOf(at))));
    }
  }
}

// Symptom: no flaw names the operands that a damaged block loses. Cause: if a key continues in the next
// block, the fence between the two blocks is above the key, and the lost block begins with the key.
TEST_P(SalvageTest, AKeyThatGoesOnInALostBlockIsNamed) {
  for (const bool is_whole_key : {false, true}) {
    rows_.clear();
    for (int i = 0; i < 6; ++i)
      rows_.push_back({"a" + std::to_string(i), kv::MakeTag(1, kv::Kind::kPut), std::string(60, 'v')});
    for (kv::Sequence sequence = 40; sequence > 20; --sequence) {
      rows_.push_back(
          {"visits", kv::MakeTag(sequence, kv::Kind::kMerge), std::string(90, static_cast<char>('a' + sequence % 7))});
    }
    if (is_whole_key) rows_.push_back({"visits", kv::MakeTag(5, kv::Kind::kPut), "base"});
    for (int i = 0; i < 6; ++i)
      rows_.push_back({"w" + std::to_string(i), kv::MakeTag(1, kv::Kind::kPut), std::string(60, 'v')});
    Write(Bytewise());
    for (const auto& meta : {meta_, format::FileMetaPtr()}) {
      for (uint32_t block = 0; block < index_.count(); ++block) {
        SCOPED_TRACE(block);
        files_.bytes("7.tbl") = whole_;
        files_.bytes("7.tbl")[index_.offset(block)] ^= 1;
        std::vector<size_t> shown;
        const Salvaged salvaged = Run(&shown, meta);
        EXPECT_LT(shown.size(), rows_.size());
        ExpectLossesNamed(salvaged, shown);
      }
    }
  }
}

TEST_P(SalvageTest, ACutFileKeepsItsFirstBlocks) {
  for (size_t bytes = 0; bytes < whole_.size(); bytes += bytes < footer_.sections_end() ? 7 : 301) {
    SCOPED_TRACE(bytes);
    files_.bytes("7.tbl") = whole_.substr(0, bytes);
    std::vector<size_t> shown;
    const Salvaged salvaged = Run(&shown, meta_);
    EXPECT_FALSE(salvaged.flaws.empty());
    ExpectLossesNamed(salvaged, shown);
    size_t expected = 0;
    for (const Row& row : rows_) {
      const uint32_t block = index_.Find(Bytewise(), row.key);
      expected += block < index_.count() && index_.offset(block + 1) <= bytes;
    }
    EXPECT_GE(shown.size() + 2, expected);
  }
}

TEST_P(SalvageTest, WithoutTheManifestTheFileSpeaksForItself) {
  for (size_t at = 0; at < footer_.sections_end(); ++at) {
    SCOPED_TRACE(at);
    files_.bytes("7.tbl") = whole_;
    files_.bytes("7.tbl")[at] = static_cast<char>(whole_[at] ^ 1 << at % 8);
    std::vector<size_t> shown;
    const Salvaged salvaged = Run(&shown, nullptr);
    EXPECT_FALSE(salvaged.flaws.empty());
    ExpectLossesNamed(salvaged, shown);
    EXPECT_GE(shown.size() + rows_.size() / index_.count() + 3, rows_.size());
  }
}

TEST_P(SalvageTest, TwoDamagesCostWhatLiesBehindTheFirst) {
  std::string damaged = whole_;
  damaged[index_.offset(2) + 3] ^= 1;
  damaged[footer_.index_offset() + 3] ^= 1;
  files_.bytes("7.tbl") = damaged;
  std::vector<size_t> shown;
  const Salvaged salvaged = Run(&shown, meta_);
  EXPECT_GT(shown.size(), 4u);
  EXPECT_LT(shown.size(), rows_.size() / 2);
  ExpectLossesNamed(salvaged, shown);
}

TEST_P(SalvageTest, ATableOfRangeTombstonesAloneIsSavedToo) {
  rows_.clear();
  files_.bytes("7.tbl").clear();
  (void)files_.Remove("7.tbl");
  meta_ = testing::WriteTable(&files_, "7.tbl", Bytewise(), rows_, {.range_tombstones = ranges_});
  std::vector<size_t> shown;
  for (const auto& meta : {meta_, format::FileMetaPtr()}) {
    const Salvaged salvaged = Run(&shown, meta);
    EXPECT_TRUE(salvaged.flaws.empty());
    EXPECT_EQ(salvaged.found.largest, "key200");
    ExpectAllRanges(salvaged);
  }
  std::string& bytes = files_.bytes("7.tbl");
  bytes[bytes.size() - 20] ^= 1;
  const Salvaged salvaged = Run(&shown, meta_);
  EXPECT_EQ(salvaged.flaws.size(), 1u);
  ExpectAllRanges(salvaged);
}

// A section of range tombstones may be shorter than the shortest block.
TEST_P(SalvageTest, AShortSectionOfRangeTombstonesIsFoundWithoutAFooter) {
  rows_ = {{"a", kv::MakeTag(kv::Sequence{8}, kv::Kind::kPut), "1"}};
  ranges_ = kv::RangeTombstones::Fragment(Bytewise(), {{"b", "c", 9}}, {}, kv::RangeTombstones::Keys::kViews);
  files_.bytes("7.tbl").clear();
  (void)files_.Remove("7.tbl");
  meta_ = testing::WriteTable(&files_, "7.tbl", Bytewise(), rows_, {.range_tombstones = ranges_});
  std::string& bytes = files_.bytes("7.tbl");
  bytes[bytes.size() - 20] ^= 1;
  std::vector<size_t> shown;
  const Salvaged salvaged = Run(&shown, meta_);
  EXPECT_EQ(shown.size(), 1u);
  EXPECT_EQ(salvaged.flaws.size(), 1u) << "the footer's";
  ExpectAllRanges(salvaged);
}

// Ranges beyond the table's limits would hide keys of its neighbours. Only a forged table has them.
TEST_P(SalvageTest, RangesBeyondTheLimitsAreNotBelieved) {
  format::FileMeta narrow = *meta_;
  narrow.largest = "key150";
  std::vector<size_t> shown;
  const Salvaged salvaged = Run(&shown, std::make_shared<const format::FileMeta>(narrow));
  EXPECT_TRUE(salvaged.range_tombstones.empty());
  EXPECT_FALSE(salvaged.flaws.empty());
}

TEST_P(SalvageTest, AnotherTableInItsPlaceIsNotBelieved) {
  format::FileMeta other = *meta_;
  other.unique_id ^= 1;
  std::vector<size_t> shown;
  const Salvaged salvaged = Run(&shown, std::make_shared<const format::FileMeta>(other));
  EXPECT_TRUE(shown.empty());
  ASSERT_EQ(salvaged.flaws.size(), 1u);
  EXPECT_TRUE(salvaged.flaws[0].loses_entries);
  EXPECT_EQ(salvaged.flaws[0].smallest, meta_->smallest);
}

TEST_P(SalvageTest, OtherOrdersAreSavedToo) {
  const Backwards backwards;
  const kv::Order order(&backwards);
  std::sort(rows_.begin(), rows_.end(),
            [&](const Row& a, const Row& b) { return order.Compare(ViewOf(order, a), ViewOf(order, b)) < 0; });
  Write(order);
  std::vector<size_t> shown;
  EXPECT_TRUE(Run(&shown, meta_, order).flaws.empty());
  EXPECT_EQ(shown.size(), rows_.size());
  files_.bytes("7.tbl")[footer_.index_offset()] ^= 1;
  EXPECT_EQ(Run(&shown, meta_, order).flaws.size(), 1u);
  EXPECT_EQ(shown.size(), rows_.size());
  EXPECT_TRUE(
      Salvage({.file_system = &files_, .path = "7.tbl", .number = kv::FileNumber{7}, .order = Bytewise()}, nullptr)
          .status()
          .IsInvalidArgument());
}

TEST_P(SalvageTest, SurvivesRandomBytes) {
  base::Random random(3);
  for (int i = 0; i < 300; ++i) {
    std::string damaged = whole_.substr(0, random.OneIn(2) ? random.Uniform(whole_.size()) : whole_.size());
    for (uint64_t hits = random.Uniform(60); hits > 0 && !damaged.empty(); --hits)
      damaged[random.Uniform(damaged.size())] = static_cast<char>(random.Next());
    files_.bytes("7.tbl") = damaged;
    std::vector<size_t> shown;
    ExpectLossesNamed(Run(&shown, random.OneIn(2) ? meta_ : nullptr), shown);
  }
}

INSTANTIATE_TEST_SUITE_P(Codecs, SalvageTest,
                         ::testing::Values(Compression::kNone, Compression::kLz4, Compression::kZstd));

}  // namespace
}  // namespace mergedb::table::salvage_test
