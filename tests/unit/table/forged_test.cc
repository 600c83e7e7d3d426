// Goal: a table whose checksums are valid, but whose parts contradict each other, is refused or shows no
// wrong entry. Method: tables assembled from parts that the encoders of the format make; one part is wrong. Each
// table is opened, read in every way, checked and salvaged. The file also tests valid tables of which a read
// fails.
#include <gtest/gtest.h>

#include "base/coding.h"
#include "base/hash.h"
#include "format/block_builder.h"
#include "format/bloom.h"
#include "format/compression.h"
#include "format/index.h"
#include "format/range_tombstones.h"
#include "format/table_layout.h"
#include "iterator/masking_iterator.h"
#include "iterator/snapshot_filter.h"
#include "iterator/user_iterator.h"
#include "table/salvage.h"
#include "tests/unit/table/table_rows.h"

namespace mergedb::table {
namespace {

using testing::Bytewise;
using testing::MemoryFiles;
using testing::Row;

constexpr char kPath[] = "7.tbl";

struct StoredBlock {
  std::string payload;
  Compression codec = Compression::kNone;
};

std::string BlockOf(const std::vector<Row>& rows) {
  format::BlockBuilder builder(true);
  for (const Row& row : rows) builder.Add(row.key, row.tag, row.value);
  return std::string(builder.Finish());
}

Row RowOf(const std::string& key, kv::Sequence sequence) {
  return {key, kv::MakeTag(sequence, kv::Kind::kPut), "value of " + key};
}

// The parts of a table. The defaults are valid: a and b, c and d, and [b, c) deleted.
struct Parts {
  std::vector<StoredBlock> blocks = {{BlockOf({RowOf("a", 4), RowOf("b", 3)})},
                                     {BlockOf({RowOf("c", 2), RowOf("d", 1)})}};
  std::optional<std::string> index = {};  // absent: made from the blocks
  std::string filter =
      format::EncodeBloom({base::Hash64("a"), base::Hash64("b"), base::Hash64("c"), base::Hash64("d")}, 10);
  std::string ranges = format::EncodeRangeTombstones(
      kv::RangeTombstones::Fragment(Bytewise(), {{"b", "c", 9}}, {}, kv::RangeTombstones::Keys::kCopies));
  format::Properties properties = {.meta = {.number = kv::FileNumber{7},
                                            .unique_id = testing::kUniqueId,
                                            .entries = 4,
                                            .raw_bytes = 44,
                                            .smallest_sequence = 1,
                                            .largest_sequence = 9,
                                            .smallest = "a",
                                            .largest = "d",
                                            .range_tombstones = 1},
                                   .comparator = std::string(BytewiseComparator()->Name()),
                                   .writer = "test"};
  bool breaks_filter = false;  // the filter's checksum is wrong

  std::string Assemble() const {
    std::string file;
    format::IndexBuilder built(true);
    for (size_t i = 0; i < blocks.size(); ++i) {
      built.AddBlock(static_cast<uint32_t>(Append(&file, blocks[i].payload, blocks[i].codec)));
      const std::string_view next = "c";
      built.AddFence(i == 0 ? "b" : "d", i + 1 < blocks.size() ? &next : nullptr);
    }
    format::Footer footer{.unique_id = testing::kUniqueId, .data_bytes = file.size()};
    footer.filter_bytes = Append(&file, filter, Compression::kNone);
    if (breaks_filter) file.back() ^= 1;
    if (!ranges.empty()) footer.range_tombstone_bytes = Append(&file, ranges, Compression::kNone);
    footer.index_bytes = Append(&file, index ? *index : built.Finish("a", "d"), Compression::kNone);
    footer.properties_bytes = Append(&file, format::EncodeProperties(properties), Compression::kNone);
    footer.file_bytes = format::TableBytes(footer.sections_end());
    file.resize(footer.file_bytes - format::kFooterBytes);
    return file + format::EncodeFooter(footer);
  }

 private:
  static uint64_t Append(std::string* file, std::string_view payload, Compression codec) {
    char trailer[format::kTrailerBytes];
    format::StoreTrailer(trailer, payload, codec, {.unique_id = testing::kUniqueId, .offset = file->size()});
    file->append(payload).append(trailer, sizeof trailer);
    return payload.size() + sizeof trailer;
  }
};

MemoryFiles FilesWith(const std::string& bytes) {
  MemoryFiles files;
  EXPECT_TRUE(files.Open(kPath, {.access = Access::kCreate}).has_value());
  files.bytes(kPath) = bytes;
  return files;
}

void ExpectSays(const Status& status, Code code, std::string_view words) {
  EXPECT_EQ(status.code(), code) << status.ToString();
  EXPECT_NE(status.message().find(words), std::string_view::npos) << status.ToString() << ", expected: " << words;
}

TEST(ForgedTable, IsWholeIfNothingOfItLies) {
  MemoryFiles files = FilesWith(Parts().Assemble());
  for (const bool is_mapped : {false, true}) {
    const auto reader =
        Reader::Open(&files, kPath, nullptr, Bytewise(), nullptr, {.memory = testing::Mapping(is_mapped)});
    ASSERT_TRUE(reader.has_value()) << reader.status().ToString();
    EXPECT_TRUE((*reader)->CheckIntegrity().ok()) << (*reader)->CheckIntegrity().ToString();
  }
  const auto salvaged = Salvage(
      {.file_system = &files, .path = kPath, .number = kv::FileNumber{7}, .meta = nullptr, .order = Bytewise()}, {});
  ASSERT_TRUE(salvaged.has_value());
  EXPECT_TRUE(salvaged->flaws.empty()) << salvaged->flaws.front().what;
}

TEST(ForgedTable, IsNotOpenedIfItsSectionsContradictEachOther) {
  const struct {
    const char* words;
    void (*forge)(Parts&);
    // clang-format off
  } cases[] = {
      {"index's sum of block sizes", [](Parts& parts) {
         format::IndexBuilder index(true);
         index.AddBlock(5000);
         index.AddFence("d", nullptr);
         parts.index = index.Finish("a", "d");
       }},
      {"minimum entries for its blocks: expected 2, found 1", [](Parts& parts) { parts.properties.meta.entries = 1; }},
      {"range tombstones at", [](Parts& parts) { parts.ranges = "no ranges"; }},
      {"number: expected 5, found 1", [](Parts& parts) { parts.properties.meta.range_tombstones = 5; }},
      {"largest sequence: expected 8, found 9", [](Parts& parts) { parts.properties.meta.largest_sequence = 8; }},
  };
  // clang-format on
  for (const auto& [words, forge] : cases) {
    Parts parts;
    forge(parts);
    MemoryFiles files = FilesWith(parts.Assemble());
    ExpectSays(Reader::Open(&files, kPath, nullptr, Bytewise(), nullptr).status(), Code::kCorruption, words);
  }
}

TEST(ForgedTable, AFilterOfTheProgramsOwnIsCheckedToo) {
  Parts parts;
  parts.properties.filter_policy = "somebody's";
  parts.breaks_filter = true;
  MemoryFiles files = FilesWith(parts.Assemble());
  ExpectSays(Reader::Open(&files, kPath, nullptr, Bytewise(), nullptr).status(), Code::kCorruption, "filter at");
}

TEST(ForgedTable, WithEntriesOutOfOrderOrDeniedFailsItsCheck) {
  Parts out_of_order, denied;
  out_of_order.blocks[1].payload = BlockOf({RowOf("a", 2), RowOf("d", 1)});
  denied.filter = format::EncodeBloom({base::Hash64("another")}, 64);
  const struct {
    const char* words;
    Parts parts;
  } cases[] = {{"follows", out_of_order}, {"the filter excludes", denied}};
  for (const auto& [words, parts] : cases) {
    MemoryFiles files = FilesWith(parts.Assemble());
    const auto reader = Reader::Open(&files, kPath, nullptr, Bytewise(), nullptr);
    ASSERT_TRUE(reader.has_value()) << reader.status().ToString();
    ExpectSays((*reader)->CheckIntegrity(), Code::kCorruption, words);
  }
}

// The table is compared with each field of its description in the MANIFEST.
TEST(ForgedTable, IsNotTheOneThatTheManifestMeans) {
  MemoryFiles files = FilesWith(Parts().Assemble());
  const auto reader = Reader::Open(&files, kPath, nullptr, Bytewise(), nullptr);
  ASSERT_TRUE(reader.has_value());
  const struct {
    const char* words;
    void (*change)(format::FileMeta&);
  } cases[] = {{"file size: ", [](format::FileMeta& meta) { ++meta.bytes; }},
               {"unique id: ", [](format::FileMeta& meta) { ++meta.unique_id; }},
               {"entries: ", [](format::FileMeta& meta) { ++meta.entries; }},
               {"smallest key: ", [](format::FileMeta& meta) { meta.smallest += "x"; }},
               {"largest key: ", [](format::FileMeta& meta) { meta.largest += "x"; }},
               {"largest key is open: ", [](format::FileMeta& meta) { meta.largest_is_open = !meta.largest_is_open; }},
               {"range tombstones: ", [](format::FileMeta& meta) { ++meta.range_tombstones; }},
               {"largest sequence: ", [](format::FileMeta& meta) { ++meta.largest_sequence; }}};
  for (const auto& [words, change] : cases) {
    auto meant = std::make_shared<format::FileMeta>((*reader)->meta());
    EXPECT_TRUE(Reader::Open(&files, kPath, meant, Bytewise(), nullptr).has_value()) << words;
    change(*meant);
    ExpectSays(Reader::Open(&files, kPath, meant, Bytewise(), nullptr).status(), Code::kCorruption, words);
  }
}

TEST(ForgedTable, IsNoticedInThePlaceOfAnOpenOne) {
  MemoryFiles files = FilesWith(Parts().Assemble());
  const auto reader = Reader::Open(&files, kPath, nullptr, Bytewise(), nullptr);
  ASSERT_TRUE(reader.has_value());
  Parts other;
  other.properties.meta.entries = 5;
  files.bytes(kPath) = other.Assemble();
  ExpectSays((*reader)->CheckIntegrity(), Code::kCorruption, "entries: expected 4, found 5");
}

// The length field claims 100 bytes.
const std::string kNoLz4OrSnappyOrZstd = std::string("\x64\0\0\0", 4) + std::string(36, '\xff');

// Blocks that no builder makes: without entries, or compressed with an impossible length or impossible bytes.
const StoredBlock kNoBlocks[] = {{std::string(40, '\0'), Compression::kNone},
                                 {std::string(40, '\xff'), Compression::kLz4},
                                 {kNoLz4OrSnappyOrZstd, Compression::kLz4},
                                 {kNoLz4OrSnappyOrZstd, Compression::kSnappy},
                                 {kNoLz4OrSnappyOrZstd, Compression::kZstd}};

TEST(ForgedTable, ABlockThatIsNoneIsAnErrorOfEachWayToReadIt) {
  for (const StoredBlock& none : kNoBlocks) {
    SCOPED_TRACE(static_cast<int>(none.codec));
    Parts parts;
    parts.blocks[0] = none;
    MemoryFiles files = FilesWith(parts.Assemble());
    for (const bool is_mapped : {false, true}) {
      const auto reader =
          Reader::Open(&files, kPath, nullptr, Bytewise(), nullptr, {.memory = testing::Mapping(is_mapped)});
      ASSERT_TRUE(reader.has_value()) << reader.status().ToString();
      Found found;
      ExpectSays((*reader)->Get("a", kv::kSequenceMax, {}, &found), Code::kCorruption, "7.tbl: block at 0");
      EXPECT_TRUE((*reader)->Get("c", kv::kSequenceMax, {}, &found).ok()) << "the other is whole";
      for (const bool is_scan : {false, true}) {
        const auto it = is_scan ? (*reader)->NewScanIterator() : (*reader)->NewIterator({});
        it->SeekToFirst();
        EXPECT_FALSE(it->Valid());
        ExpectSays(it->status(), Code::kCorruption, "7.tbl: block at 0");
      }
      EXPECT_TRUE((*reader)->CheckIntegrity().IsCorruption());
    }
    std::string shown;
    const auto visit = [&](const kv::Entry& entry) {
      shown += entry.key;
      return Status();
    };
    const auto salvaged = Salvage(
        {.file_system = &files, .path = kPath, .number = kv::FileNumber{7}, .meta = nullptr, .order = Bytewise()},
        visit);
    ASSERT_TRUE(salvaged.has_value());
    EXPECT_EQ(shown, "cd");
    ASSERT_FALSE(salvaged->flaws.empty());
    EXPECT_EQ(salvaged->flaws[0].what.substr(0, 6), "block:");
    EXPECT_TRUE(salvaged->flaws[0].loses_entries);
  }
}

TEST(ForgedTable, SalvageBelievesNoneOfWhatContradictsTheRest) {
  Parts other_number, other_ranges, out_of_order;
  other_number.properties.meta.number = kv::FileNumber{8};
  other_ranges.properties.meta.range_tombstones = 5;
  out_of_order.blocks[1].payload = BlockOf({RowOf("a", 2), RowOf("d", 1)});
  const struct {
    Parts parts;
    const char* words;
    const char* shown;
  } cases[] = {{other_number, "the file has the number of table 8", ""},
               {other_ranges, "expected 5, found 1", "abcd"},
               {out_of_order, "follows", "ab"}};
  for (const auto& [parts, words, expected] : cases) {
    SCOPED_TRACE(words);
    MemoryFiles files = FilesWith(parts.Assemble());
    std::string shown;
    const auto visit = [&](const kv::Entry& entry) {
      shown += entry.key;
      return Status();
    };
    const auto salvaged = Salvage(
        {.file_system = &files, .path = kPath, .number = kv::FileNumber{7}, .meta = nullptr, .order = Bytewise()},
        visit);
    ASSERT_TRUE(salvaged.has_value()) << salvaged.status().ToString();
    EXPECT_EQ(shown, expected);
    ASSERT_FALSE(salvaged->flaws.empty());
    EXPECT_TRUE(salvaged->flaws[0].loses_entries);
    EXPECT_NE(salvaged->flaws[0].what.find(words), std::string::npos) << salvaged->flaws[0].what;
  }
}

// Bytes that end like a stored part at `offset`, and more bytes behind them.
std::string WithFit(uint64_t offset, Compression codec) {
  std::string bytes = "bytes whose checksum follows by accident";
  char trailer[format::kTrailerBytes];
  format::StoreTrailer(trailer, bytes, codec, {.unique_id = testing::kUniqueId, .offset = offset});
  return bytes.append(trailer, sizeof trailer) + "; and more bytes";
}

// Symptom: without an index, salvage loses a whole block and all blocks behind it. Cause: four bytes of the
// block are the checksum of the bytes before them, and the search takes them for the end of the block.
TEST(ForgedTable, SalvageGoesOnWhereAChecksumFitsByAccident) {
  for (const Compression codec :
       {Compression::kNone, Compression::kLz4, Compression::kZstd, static_cast<Compression>(9)}) {
    SCOPED_TRACE(static_cast<int>(codec));
    Parts parts;
    parts.index = "no index";
    parts.blocks[0].payload = BlockOf({{"a", kv::MakeTag(4, kv::Kind::kPut), WithFit(0, codec)}, RowOf("b", 3)});
    const uint64_t second = parts.blocks[0].payload.size() + format::kTrailerBytes;
    parts.blocks[1].payload = BlockOf({{"c", kv::MakeTag(2, kv::Kind::kPut), WithFit(second, codec)}, RowOf("d", 1)});
    MemoryFiles files = FilesWith(parts.Assemble());
    std::string shown;
    const auto visit = [&](const kv::Entry& entry) {
      shown += entry.key;
      return Status();
    };
    const auto salvaged = Salvage(
        {.file_system = &files, .path = kPath, .number = kv::FileNumber{7}, .meta = nullptr, .order = Bytewise()},
        visit);
    ASSERT_TRUE(salvaged.has_value()) << salvaged.status().ToString();
    EXPECT_EQ(shown, "abcd");
    ASSERT_EQ(salvaged->flaws.size(), 1u);
    EXPECT_FALSE(salvaged->flaws[0].loses_entries) << salvaged->flaws[0].what;
  }
}

TEST(ForgedTable, SalvageFindsRangeTombstonesBehindAFilterWhereAChecksumFitsByAccident) {
  Parts parts;
  uint64_t filter_at = 0;
  for (const StoredBlock& block : parts.blocks) filter_at += block.payload.size() + format::kTrailerBytes;
  parts.filter = WithFit(filter_at, static_cast<Compression>(9));
  const kv::RangeTombstone range{"b and more bytes", "c and more bytes", 9};
  parts.ranges = format::EncodeRangeTombstones(
      kv::RangeTombstones::Fragment(Bytewise(), {range}, {}, kv::RangeTombstones::Keys::kCopies));
  std::string bytes = parts.Assemble();
  parts.properties.meta.bytes = bytes.size();
  bytes.back() ^= 1;  // a byte of the footer
  MemoryFiles files = FilesWith(bytes);
  const auto meta = std::make_shared<const format::FileMeta>(parts.properties.meta);
  const auto salvaged = Salvage(
      {.file_system = &files, .path = kPath, .number = kv::FileNumber{7}, .meta = meta, .order = Bytewise()}, {});
  ASSERT_TRUE(salvaged.has_value()) << salvaged.status().ToString();
  EXPECT_EQ(salvaged->found.entries, 4u);
  EXPECT_EQ(salvaged->range_tombstones.size(), 1u);
  ASSERT_EQ(salvaged->flaws.size(), 1u) << salvaged->flaws.back().what;
  EXPECT_FALSE(salvaged->flaws[0].loses_entries) << salvaged->flaws[0].what;
}

// Salvage decodes a block at each end that fits. So a file made of such ends would cost the square of its
// size.
TEST(ForgedTable, SalvageGivesUpWhereAChecksumFitsTooOften) {
  std::string value;
  for (int i = 0; i < 100; ++i) {
    char trailer[format::kTrailerBytes];
    value.append("more");
    format::StoreTrailer(trailer, value, Compression::kNone, {.unique_id = testing::kUniqueId, .offset = 0});
    value.append(trailer, sizeof trailer);
  }
  Parts parts;
  parts.index = "no index";
  parts.blocks[0].payload = BlockOf({{"a", kv::MakeTag(4, kv::Kind::kPut), value}, RowOf("b", 3)});
  MemoryFiles files = FilesWith(parts.Assemble());
  const auto salvaged = Salvage(
      {.file_system = &files, .path = kPath, .number = kv::FileNumber{7}, .meta = nullptr, .order = Bytewise()}, {});
  ASSERT_TRUE(salvaged.has_value()) << salvaged.status().ToString();
  EXPECT_EQ(salvaged->found.entries, 0u);
  EXPECT_TRUE(salvaged->flaws.back().loses_entries);
}

// With an index and, if the index is damaged, by search.
TEST(ForgedTable, SalvageEndsWhenItsVisitorDoes) {
  Parts searched;
  searched.index = "no index";
  for (const Parts& parts : {Parts(), searched}) {
    MemoryFiles files = FilesWith(parts.Assemble());
    const auto visit = [](const kv::Entry& entry) { return entry.key == "b" ? Status::Aborted("enough") : Status(); };
    const auto salvaged = Salvage(
        {.file_system = &files, .path = kPath, .number = kv::FileNumber{7}, .meta = nullptr, .order = Bytewise()},
        visit);
    ExpectSays(salvaged.status(), Code::kAborted, "enough");
  }
}

// ---- entries out of order ---------------------------------------------------------------------------------

// Ends a scan after `kMovesMax` moves: no scan over tables of this size needs as many.
class Limited final : public kv::Iterator {
 public:
  Limited(std::unique_ptr<kv::Iterator> input, std::shared_ptr<uint64_t> moves)
      : input_(std::move(input)), moves_(std::move(moves)) {
    looks_ahead_ = input_->looks_ahead();
  }
  void SeekToFirst() override {
    Move([&] { input_->SeekToFirst(); });
  }
  void SeekToLast() override {
    Move([&] { input_->SeekToLast(); });
  }
  void Seek(std::string_view key, kv::Tag tag) override {
    Move([&] { input_->Seek(key, tag); });
  }
  void Next() override {
    Move([&] { input_->Next(); });
  }
  void Prev() override {
    Move([&] { input_->Prev(); });
  }
  size_t LookAhead(std::span<kv::Entry> ahead) override { return input_->LookAhead(ahead); }
  void Skip(size_t n) override {
    input_->Skip(n);
    entry_ = input_->entry();
  }

  static constexpr uint64_t kMovesMax = 100'000;

 private:
  template <class Function>
  void Move(Function move) {
    if (++*moves_ < kMovesMax) move();
    valid_ = input_->Valid() && *moves_ < kMovesMax;
    status_ = *moves_ < kMovesMax ? input_->status() : Status::Aborted("the walk does not end");
    if (valid_) entry_ = input_->entry();
  }
  const std::unique_ptr<kv::Iterator> input_;
  const std::shared_ptr<uint64_t> moves_;
};

class ListMasks final : public iterator::MaskSource {
 public:
  explicit ListMasks(const std::vector<kv::RangeTombstone>& tombstones)
      : list_(kv::RangeTombstones::Fragment(Bytewise(), tombstones, {}, kv::RangeTombstones::Keys::kCopies)) {}
  Status Find(std::string_view key, kv::Mask* mask) override {
    *mask = list_.Find(Bytewise(), key, kv::kSequenceMax);
    return {};
  }

 private:
  const kv::RangeTombstones list_;
};

// How to read a table whose one block holds `rows` in the given order.
struct WalkShape {
  kv::Sequence sequence = 100;
  std::vector<kv::RangeTombstone> tombstones = {};
  bool is_merged = false;  // with the same table once more
  bool is_as_of = false;
};

class OutOfOrder {
 public:
  OutOfOrder(const std::vector<Row>& rows, const WalkShape& shape) {
    Parts parts;
    format::IndexBuilder index(true);
    parts.blocks = {{BlockOf(rows)}};
    index.AddBlock(static_cast<uint32_t>(parts.blocks[0].payload.size() + format::kTrailerBytes));
    index.AddFence("d", nullptr);
    parts.index = index.Finish("a", "d");
    parts.ranges = "";
    parts.properties.meta.entries = rows.size();
    parts.properties.meta.range_tombstones = 0;
    files_ = FilesWith(parts.Assemble());
    const auto reader = Reader::Open(&files_, kPath, nullptr, Bytewise(), nullptr);
    EXPECT_TRUE(reader.has_value()) << reader.status().ToString();
    if (!reader) return;
    iterator::MaskingInput input;
    for (int i = 0; i <= (shape.is_merged ? 1 : 0); ++i) {
      std::unique_ptr<kv::Iterator> child = std::make_unique<Limited>((*reader)->NewIterator({}, *reader), moves_);
      if (shape.is_as_of) child = iterator::NewSnapshotFilter(Bytewise(), shape.sequence, std::move(child));
      input.children.push_back(std::move(child));
    }
    if (!shape.tombstones.empty()) {
      input.masks.push_back({.source = std::make_unique<ListMasks>(shape.tombstones), .first_older = 0});
    }
    cursor_ = iterator::NewUserIterator(Bytewise(), {.sequence = shape.is_as_of ? kv::kSequenceMax : shape.sequence},
                                        iterator::NewMaskingIterator(Bytewise(), std::move(input)));
  }

  // Scans from one end to the other, past each key that fails. Aborted if the scan does not end.
  Status Walk(bool is_forward) {
    *moves_ = 0;
    is_forward ? cursor_->SeekToFirst() : cursor_->SeekToLast();
    return WalkOn(is_forward);
  }
  Status WalkOn(bool is_forward) {
    for (; *moves_ < Limited::kMovesMax; ++*moves_) {
      if (cursor_->Valid()) {
        is_forward ? cursor_->Next() : cursor_->Prev();
      } else if (cursor_->failed_key()) {
        is_forward ? cursor_->NextFromFailed() : cursor_->PrevFromFailed();
      } else {
        return cursor_->status();
      }
    }
    return Status::Aborted("the walk does not end");
  }
  iterator::UserCursor& cursor() { return *cursor_; }

 private:
  MemoryFiles files_;
  const std::shared_ptr<uint64_t> moves_ = std::make_shared<uint64_t>(0);
  std::unique_ptr<iterator::UserCursor> cursor_;
};

Row RowOfKind(const std::string& key, kv::Sequence sequence, kv::Kind kind, const std::string& value = "") {
  return {key, kv::MakeTag(sequence, kind), value};
}

// Adds `count` versions of `key`, the newest first.
void AddVersions(std::vector<Row>* rows, const std::string& key, kv::Sequence newest, int count,
                 kv::Kind kind = kv::Kind::kPut) {
  for (int i = 0; i < count; ++i) rows->push_back(RowOfKind(key, newest - static_cast<kv::Sequence>(i), kind));
}

// Symptom: a scan does not return, or a loop of Next shows the same keys again and again. Cause: a seek past
// hidden versions finds an entry before them.
TEST(ForgedTable, WithEntriesOutOfOrderDoesNotHoldAScanForEver) {
  struct Case {
    const char* name;
    bool is_forward;
    std::vector<Row> rows;
    WalkShape shape;
  };
  std::vector<Case> cases;
  const auto add = [&](const char* name, bool is_forward, std::vector<Row> rows, WalkShape shape = {}) {
    for (const bool is_merged : {false, true}) {
      cases.push_back({name, is_forward, rows, shape});
      cases.back().shape.is_merged = is_merged;
    }
  };
  const auto gone = RowOfKind("d", 1, kv::Kind::kDelete);

  std::vector<Row> rows = {gone};
  AddVersions(&rows, "b", 200, 10);
  add("versions that are too new", true, rows);
  rows = {gone, RowOfKind("b", 60, kv::Kind::kDelete)};
  AddVersions(&rows, "b", 50, 10);
  add("versions of a deleted key", true, rows);
  rows = {RowOf("d", 1), RowOf("b", 201), RowOf("b", 200), RowOf("a", 1)};
  AddVersions(&rows, "b", 200, 9);
  add("entries shown in between", true, rows);
  add("entries shown in between, as of", true, rows, {.is_as_of = true});

  // Backward: d is at the end, and so many keys are before b that the search for b ends at d.
  for (const kv::Kind kind : {kv::Kind::kDelete, kv::Kind::kPut}) {
    for (const kv::Sequence newest : {50, 200}) {
      rows.clear();
      AddVersions(&rows, "b", newest, 10);
      for (char c = 'a'; c < 'u'; ++c) rows.push_back(RowOfKind(std::string("a") + c, 1, kind));
      rows.push_back(RowOf("d", 1));
      add("many versions", false, rows);
      if (newest == 50) add("a covered stretch", false, rows, {.tombstones = {{"b", "c", 90}}});
    }
  }

  // Keys that fail: their operands are invalid. From d the search goes on to c, and from b back to d.
  const Row filler = RowOf("e", 1);
  const kv::Kind merge = kv::Kind::kMerge;
  rows = {RowOfKind("d", 9, merge), filler, filler, filler, RowOfKind("b", 9, merge), filler};
  add("keys that fail", true, rows);

  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.name) + (c.is_forward ? ", forward" : ", backward") +
                 (c.shape.is_merged ? ", merged" : ""));
    OutOfOrder table(c.rows, c.shape);
    ExpectSays(table.Walk(c.is_forward), Code::kCorruption, "entries out of order");
    EXPECT_FALSE(table.cursor().Valid());
    EXPECT_FALSE(table.cursor().failed_key());
    ExpectSays(table.Walk(c.is_forward), Code::kCorruption, "entries out of order");  // a seek starts again
  }
}

// Entries in any order and of any kind: each scan ends, with a change of direction too.
TEST(ForgedTable, WithEntriesInAnyOrderHasAnEnd) {
  base::Random random(11);
  uint64_t told = 0;
  for (int round = 0; round < 20'000; ++round) {
    SCOPED_TRACE(round);
    std::vector<Row> rows;
    const uint64_t keys = 2 + random.Uniform(8);
    while (rows.size() < 2 || random.Uniform(6) > 0) {
      const std::string key(1, static_cast<char>('a' + random.Uniform(keys)));
      const kv::Kind kind = random.OneIn(8) ? kv::Kind::kMerge : random.OneIn(2) ? kv::Kind::kDelete : kv::Kind::kPut;
      const kv::Sequence sequence = random.OneIn(3) ? 200 : 20 + random.Uniform(20);
      AddVersions(&rows, key, sequence, 1 + static_cast<int>(random.Uniform(random.OneIn(2) ? 2 : 16)), kind);
    }
    rows.front().key = "a";  // the block's shared prefix is that of its first and last key
    rows.back().key = "d";
    WalkShape shape{.is_merged = random.OneIn(2), .is_as_of = random.OneIn(3)};
    if (random.OneIn(2)) shape.tombstones = {{"b", "c", 90}, {"d", "f", 30}};
    OutOfOrder table(rows, shape);
    for (const bool is_forward : {true, false}) {
      const Status status = table.Walk(is_forward);
      ASSERT_FALSE(status.code() == Code::kAborted) << status.ToString();
      told += status.IsCorruption();
      table.cursor().Seek("c", kv::kTagMax);
      if (table.cursor().Valid() && !is_forward) table.cursor().Prev();
      ASSERT_FALSE(table.WalkOn(is_forward).code() == Code::kAborted);
    }
  }
  EXPECT_GT(told, 100u);
}

// ---- valid tables, reads that fail ------------------------------------------------------------------------

TEST(TableErrors, EachReadThatFailsIsAnErrorOfItsCall) {
  MemoryFiles files;
  std::vector<Row> rows;
  for (int i = 0; i < 30'000; ++i) rows.push_back(RowOf(std::to_string(100'000 + i), 1));
  const auto meta =
      testing::WriteTable(&files, kPath, Bytewise(), rows);  // the filter alone is larger than the first read
  for (uint64_t reads = 0;; ++reads) {
    SCOPED_TRACE(reads);
    files.reads_left = reads;
    const auto reader = Reader::Open(&files, kPath, meta, Bytewise(), nullptr);
    const Status status = reader ? (*reader)->CheckIntegrity() : reader.status();
    files.reads_left = ~uint64_t{0};
    if (status.ok()) break;
    ExpectSays(status, Code::kIOError, "7.tbl");
    EXPECT_TRUE(!reader || (*reader)->CheckIntegrity().ok());
    ASSERT_LT(reads, 200u);
  }
}

// Loaded sections stay right; the check reads the file.
TEST(TableErrors, ASectionThatRotsUnderAReaderFailsItsCheck) {
  const std::string whole = Parts().Assemble();
  MemoryFiles files = FilesWith(whole);
  const auto reader = Reader::Open(&files, kPath, nullptr, Bytewise(), nullptr);
  ASSERT_TRUE(reader.has_value());
  format::Footer footer;
  ASSERT_TRUE(
      format::DecodeFooter(std::string_view(whole).substr(whole.size() - format::kFooterBytes), whole.size(), &footer)
          .ok());
  for (const uint64_t section :
       {footer.data_bytes, footer.range_tombstone_offset(), footer.index_offset(), footer.properties_offset()}) {
    SCOPED_TRACE(section);
    files.bytes(kPath)[section] ^= 1;
    ExpectSays((*reader)->CheckIntegrity(), Code::kCorruption, "7.tbl: ");
    ExpectSays((*reader)->CheckIntegrity(), Code::kCorruption, "checksum: expected");
    Found found;
    EXPECT_TRUE((*reader)->Get("a", kv::kSequenceMax, {}, &found).ok());
    files.bytes(kPath) = whole;
    EXPECT_TRUE((*reader)->CheckIntegrity().ok()) << (*reader)->CheckIntegrity().ToString();
  }
}

TEST(TableErrors, ASearchForBlocksEndsWhereTheyCannotBeRead) {
  Parts parts;
  parts.index = "no index";
  MemoryFiles files = FilesWith(parts.Assemble());
  uint64_t ended = 0;
  for (uint64_t reads = 1; reads < 30; ++reads) {
    files.reads_left = reads;
    const auto salvaged = Salvage(
        {.file_system = &files, .path = kPath, .number = kv::FileNumber{7}, .meta = nullptr, .order = Bytewise()}, {});
    files.reads_left = ~uint64_t{0};
    ASSERT_TRUE(salvaged.has_value()) << salvaged.status().ToString();
    const bool is_told = std::any_of(salvaged->flaws.begin(), salvaged->flaws.end(), [](const Flaw& flaw) {
      return flaw.loses_entries && flaw.what.find("cannot be read") != std::string::npos;
    });
    EXPECT_TRUE(is_told || salvaged->found.entries == 4) << reads;
    ended += is_told;
  }
  EXPECT_GT(ended, 3u);
}

TEST(TableErrors, AFileThatIsCutBeforeItIsMappedIsCorruption) {
  MemoryFiles files = FilesWith(Parts().Assemble());
  files.maps_too_late = true;
  ExpectSays(Reader::Open(&files, kPath, nullptr, Bytewise(), nullptr, {.memory = testing::Mapping()}).status(),
             Code::kCorruption, "too short");
  EXPECT_TRUE(Reader::Open(&files, kPath, nullptr, Bytewise(), nullptr).has_value())
      << "who does not map it does not ask";
}

}  // namespace
}  // namespace mergedb::table
