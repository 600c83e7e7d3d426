#include "format/version_edit.h"

#include <map>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/coding.h"
#include "format/file_name.h"
#include "kv/key_map.h"

namespace mergedb::format {
namespace {

// FORMAT: these numbers are stored. They never change, and a retired number is never used again.
enum class Field : uint32_t {
  kCut = 1,
  kAdd = 2,
  kSetLevel = 3,
  kDatabaseId = 4,
  kComparator = 5,
  kNextFile = 6,
  kNextPosition = 7,
  kLastSequence = 8,
  kWalStart = 9,
  kWalDurable = 10,
  kWalSegments = 11,
  kCleanWalEnd = 12,
  kAddMore = 13,          // kAdd, then facts that only some files have
  kFlushedSequence = 16,  // 14 and 15 are unused
  kAddBlobFile = 20,
  kBlobShares = 21,
  kKeyMarker = 24,
  // A version that does not know a field from kOptionalFieldMin on skips it.
  kStagingBytes = 64,
  kMergeOperators = 65,
};

enum class FileFact : uint32_t {
  kRangeTombstones = 1,
};
constexpr uint32_t kOptionalFieldMin = 64;

constexpr uint64_t kPositionMax = uint64_t{1} << 62;
constexpr uint8_t kHasLower = 1;
constexpr uint8_t kHasUpper = 2;
constexpr uint8_t kLargestIsOpen = 1;

// ---- encoding: struct -> payload ---------------------------------------------------------------------------

void AppendBounds(std::string* out, const Bounds& bounds) {
  *out += static_cast<char>((bounds.lower ? kHasLower : 0) | (bounds.upper ? kHasUpper : 0));
  if (bounds.lower) base::AppendLengthPrefixed(out, *bounds.lower);
  if (bounds.upper) base::AppendLengthPrefixed(out, *bounds.upper);
}

void AppendFileMeta(std::string* out, const FileMeta& file) {
  base::AppendVarint64(out, ToInt(file.number));
  base::AppendVarint64(out, file.bytes);
  base::AppendFixed64(out, file.unique_id);
  base::AppendVarint64(out, file.entries);
  base::AppendVarint64(out, file.tombstones);
  base::AppendVarint64(out, file.raw_bytes);
  base::AppendVarint64(out, file.smallest_sequence);
  base::AppendVarint64(out, file.largest_sequence);
  base::AppendLengthPrefixed(out, file.smallest);
  base::AppendLengthPrefixed(out, file.largest);
  base::AppendVarint32(out, 0);  // reserved
}

std::string CutPayload(const VersionEdit::Cut& cut) {
  std::string payload;
  base::AppendVarint64(&payload, ToInt(cut.position));
  AppendBounds(&payload, cut.bounds);
  return payload;
}

std::string AddPayload(const VersionEdit::Add& add) {
  ASSERT(add.file != nullptr, "an added virtual table has a file");
  std::string payload;
  base::AppendVarint64(&payload, ToInt(add.position));
  base::AppendVarint32(&payload, add.level);
  AppendBounds(&payload, add.bounds);
  AppendFileMeta(&payload, *add.file);
  return payload;
}

// The facts in an Add after AppendFileMeta. Empty for most files.
std::string FileFactsPayload(const FileMeta& file) {
  std::string facts;
  if (file.range_tombstones != 0) {
    std::string fact;
    base::AppendVarint64(&fact, file.range_tombstones);
    fact += static_cast<char>(file.largest_is_open ? kLargestIsOpen : 0);
    base::AppendVarint64(&fact, file.masked_bytes);
    base::AppendVarint32(&facts, static_cast<uint32_t>(FileFact::kRangeTombstones));
    base::AppendLengthPrefixed(&facts, fact);
  }
  return facts;
}

std::string SetLevelPayload(const VersionEdit::SetLevel& set) {
  std::string payload;
  base::AppendVarint64(&payload, ToInt(set.position));
  base::AppendVarint32(&payload, set.level);
  return payload;
}

std::string AddBlobFilePayload(const BlobFileMeta& file) {
  std::string payload;
  base::AppendVarint64(&payload, ToInt(file.number));
  base::AppendVarint64(&payload, file.bytes);
  base::AppendFixed64(&payload, file.unique_id);
  base::AppendVarint64(&payload, file.records);
  base::AppendVarint64(&payload, file.record_bytes);
  return payload;
}

// File numbers ascend, so each is stored as the difference from the one before.
std::string BlobSharesPayload(const FileMeta& table) {
  std::string payload;
  base::AppendVarint64(&payload, ToInt(table.number));
  uint64_t before = 0;
  for (const BlobShare& share : table.values) {
    ASSERT(ToInt(share.file) > before, "the blob files of a table are in ascending order, without duplicates");
    base::AppendVarint64(&payload, ToInt(share.file) - before);
    base::AppendVarint64(&payload, share.bytes);
    before = ToInt(share.file);
  }
  return payload;
}

std::string WalStartPayload(const VersionEdit::WalStart& start) {
  std::string payload;
  base::AppendVarint64(&payload, start.epoch);
  base::AppendFixed64(&payload, start.salt);
  base::AppendVarint64(&payload, start.position);
  base::AppendFixed32(&payload, start.chain);
  base::AppendVarint64(&payload, start.sequence);
  return payload;
}

std::string Fixed64Payload(uint64_t value) {
  std::string payload;
  base::AppendFixed64(&payload, value);
  return payload;
}

std::string VarintPayload(uint64_t value) {
  std::string payload;
  base::AppendVarint64(&payload, value);
  return payload;
}

std::string FileNumbersPayload(const std::vector<kv::FileNumber>& numbers) {
  std::string payload;
  for (const kv::FileNumber number : numbers) base::AppendVarint64(&payload, ToInt(number));
  return payload;
}

std::string StringsPayload(const std::vector<std::string>& strings) {
  std::string payload;
  for (const std::string& each : strings) base::AppendLengthPrefixed(&payload, each);
  return payload;
}

void AppendField(std::string* out, Field field, std::string_view payload) {
  base::AppendVarint32(out, static_cast<uint32_t>(field));
  base::AppendLengthPrefixed(out, payload);
}

void AppendAdd(std::string* out, const VersionEdit::Add& add) {
  const std::string facts = FileFactsPayload(*add.file);
  AppendField(out, facts.empty() ? Field::kAdd : Field::kAddMore, AddPayload(add) + facts);
}

// ---- decoding: payload -> struct ---------------------------------------------------------------------------

// Takes values from a payload. After the first error all values are zero or empty, and Finish() reports that error.
class PayloadReader {
 public:
  explicit PayloadReader(std::string_view payload) : rest_(payload), bytes_(payload.size()) {}

  uint64_t Varint64() { return Take<uint64_t>("a varint64", base::TakeVarint64); }
  uint32_t Varint32() { return Take<uint32_t>("a varint32", base::TakeVarint32); }
  uint64_t Fixed64() { return Take<uint64_t>("8 bytes", base::TakeFixed64); }
  uint32_t Fixed32() { return Take<uint32_t>("4 bytes", base::TakeFixed32); }
  std::string String() {
    return std::string(Take<std::string_view>("a length and as many bytes", base::TakeLengthPrefixed));
  }
  std::string Rest() { return std::string(std::exchange(rest_, {})); }
  bool AtEnd() const { return expected_ != nullptr || rest_.empty(); }

  uint64_t UpTo(uint64_t limit, const char* expected) {
    const std::string_view before = rest_;
    const uint64_t value = Varint64();
    if (value <= limit) return value;
    rest_ = before;
    Expect(expected);
    return 0;
  }
  kv::Sequence Sequence() { return UpTo(kv::kSequenceMax, "a sequence of at most 56 bits"); }
  // The limits ensure that a next number and a next position always exist.
  kv::FileNumber FileNumber() { return kv::FileNumber{UpTo(kFileNumberMax, "a file number of at most 2^62")}; }
  kv::Position Position() { return kv::Position{UpTo(kPositionMax, "a position of at most 2^62")}; }

  uint8_t Byte(uint8_t limit, const char* expected) {
    if (expected_ == nullptr && !rest_.empty() && static_cast<uint8_t>(rest_[0]) <= limit) {
      const auto byte = static_cast<uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      return byte;
    }
    Expect(expected);
    return 0;
  }

  // Reports that a newer version wrote this field.
  void ExpectNothingNew() { is_newer_ = true; }

  // Reports that the bytes here are not as expected.
  void Expect(const char* expected) {
    if (expected_ == nullptr) {
      expected_ = expected;
      expected_offset_ = bytes_ - rest_.size();
    }
  }

  Status Finish() {
    if (is_newer_) return Status::NotSupported("written by a newer version of mergedb");
    if (!rest_.empty()) Expect("the end of the field");
    if (expected_ == nullptr) return {};
    return Status::Corruption("payload offset " + std::to_string(expected_offset_) + " of " + std::to_string(bytes_) +
                              ": expected " + expected_ + ", found " +
                              (rest_.empty() ? "the end" : base::ToHex(rest_.substr(0, 16))));
  }

 private:
  template <typename Value>
  Value Take(const char* expected, bool (*take)(std::string_view*, Value*)) {
    Value value{};
    if (expected_ != nullptr || take(&rest_, &value)) return value;
    Expect(expected);
    return Value{};
  }

  std::string_view rest_;
  size_t bytes_;
  const char* expected_ = nullptr;
  size_t expected_offset_ = 0;
  bool is_newer_ = false;
};

Bounds TakeBounds(PayloadReader& in) {
  Bounds bounds;
  const uint8_t flags = in.Byte(kHasLower | kHasUpper, "bounds flags from 0 to 3");
  if (flags & kHasLower) bounds.lower = in.String();
  if (flags & kHasUpper) bounds.upper = in.String();
  return bounds;
}

void TakeRangeTombstones(PayloadReader& in, FileMeta* file) {
  file->range_tombstones = in.Varint64();
  file->largest_is_open = in.Byte(kLargestIsOpen, "range tombstone flags from 0 to 1") != 0;
  file->masked_bytes = in.Varint64();
  if (file->range_tombstones == 0) in.Expect("range tombstones");
}

// Takes the facts between a file's description and the end of the payload.
void TakeFileFacts(PayloadReader& in, FileMeta* file) {
  while (!in.AtEnd()) {
    const uint32_t tag = in.Varint32();
    const std::string payload = in.String();
    PayloadReader fact(payload);
    if (tag == static_cast<uint32_t>(FileFact::kRangeTombstones)) {
      TakeRangeTombstones(fact, file);
      if (!fact.Finish().ok()) in.Expect("no further field after the last field of the file");
    } else if (tag < kOptionalFieldMin) {
      in.ExpectNothingNew();
      return;
    }
  }
}

FileMetaPtr TakeFileMeta(PayloadReader& in, bool has_facts) {
  FileMeta file{
      .number = in.FileNumber(),
      .bytes = in.Varint64(),
      .unique_id = in.Fixed64(),
      .entries = in.Varint64(),
      .tombstones = in.Varint64(),
      .raw_bytes = in.Varint64(),
      .smallest_sequence = in.Sequence(),
      .largest_sequence = in.Sequence(),
      .smallest = in.String(),
      .largest = in.String(),
  };
  if (in.Varint32() != 0) in.ExpectNothingNew();  // reserved
  if (has_facts) TakeFileFacts(in, &file);
  if (file.tombstones > file.entries) in.Expect("at most as many tombstones as entries");
  if (file.smallest_sequence > file.largest_sequence) in.Expect("sequences in order");
  return std::make_shared<const FileMeta>(std::move(file));
}

VersionEdit::Cut TakeCut(PayloadReader& in) { return {.position = in.Position(), .bounds = TakeBounds(in)}; }

VersionEdit::Add TakeAdd(PayloadReader& in, bool has_facts) {
  VersionEdit::Add add;
  add.position = in.Position();
  add.level = in.Varint32();
  add.bounds = TakeBounds(in);
  add.file = TakeFileMeta(in, has_facts);
  return add;
}

VersionEdit::AddBlobFile TakeAddBlobFile(PayloadReader& in) {
  BlobFileMeta file{.number = in.FileNumber(),
                    .bytes = in.Varint64(),
                    .unique_id = in.Fixed64(),
                    .records = in.Varint64(),
                    .record_bytes = in.Varint64()};
  if (file.record_bytes > file.bytes) in.Expect("no more bytes of records than the file has");
  return {std::make_shared<const BlobFileMeta>(std::move(file))};
}

struct TableShares {
  kv::FileNumber table{};
  std::vector<BlobShare> values;
};

TableShares TakeBlobShares(PayloadReader& in) {
  TableShares shares{.table = in.FileNumber(), .values = {}};
  for (uint64_t before = 0; !in.AtEnd();) {
    const uint64_t step = in.Varint64();
    if (step == 0 || step > UINT64_MAX - before) in.Expect("blob files in ascending order, without duplicates");
    before += step;
    shares.values.push_back({.file = kv::FileNumber{before}, .bytes = in.Varint64()});
  }
  return shares;
}

// Collects the value shares of the tables that an edit adds. WHY Give() sets them at the end: one table may have
// many adds and many fields of shares, and the work must not be their product.
class SharesOfTables {
 public:
  // Returns null on success, else a description of the expected bytes.
  const char* Take(const VersionEdit& edit, TableShares shares) {
    for (; adds_met_ < edit.adds.size(); ++adds_met_) tables_[edit.adds[adds_met_].file->number];
    const auto found = tables_.find(shares.table);
    if (found == tables_.end()) return "a table that this VersionEdit has added before";
    std::optional<std::vector<BlobShare>>& said = found->second.values;
    if (said && *said != shares.values) return "the same blob shares for this table as before";
    said = std::move(shares.values);
    return nullptr;
  }

  // Gives all adds of a table the same FileMeta.
  Status Give(VersionEdit* edit) {
    for (VersionEdit::Add& add : edit->adds) {
      const auto found = tables_.find(add.file->number);
      if (found == tables_.end() || !found->second.values) continue;
      Table& table = found->second;
      if (table.given == nullptr) {
        FileMeta file = *add.file;
        file.values = std::move(*table.values);
        table.added = add.file;
        table.given = std::make_shared<const FileMeta>(std::move(file));
      } else if (*add.file != *table.added) {
        return Status::Corruption("VersionEdit has two descriptions of table " +
                                  std::to_string(ToInt(add.file->number)));
      }
      add.file = table.given;
    }
    return {};
  }

 private:
  struct Table {
    std::optional<std::vector<BlobShare>> values = {};
    FileMetaPtr added = nullptr;  // of the table's first add, without the shares
    FileMetaPtr given = nullptr;  // the same with the shares
  };
  std::map<kv::FileNumber, Table> tables_;  // tables with an add before the last field of shares
  size_t adds_met_ = 0;
};

VersionEdit::SetLevel TakeSetLevel(PayloadReader& in) { return {.position = in.Position(), .level = in.Varint32()}; }

VersionEdit::WalStart TakeWalStart(PayloadReader& in) {
  return {.epoch = in.Varint64(),
          .salt = in.Fixed64(),
          .position = in.Varint64(),
          .chain = in.Fixed32(),
          .sequence = in.Sequence()};
}

std::vector<kv::FileNumber> TakeFileNumbers(PayloadReader& in) {
  std::vector<kv::FileNumber> numbers;
  while (!in.AtEnd()) numbers.push_back(in.FileNumber());
  return numbers;
}

std::vector<std::string> TakeStrings(PayloadReader& in) {
  std::vector<std::string> strings;
  while (!in.AtEnd()) strings.push_back(in.String());
  return strings;
}

// Sets a fact. An edit states each fact at most once.
template <typename Value>
void SetOnce(PayloadReader& in, std::optional<Value>* fact, Value value) {
  if (fact->has_value()) in.Expect("no second value of this field");
  *fact = std::move(value);
}

std::string TakeKeyMarker(PayloadReader& in) {
  std::string marker = in.Rest();
  if (marker.empty() || marker.size() > kv::kReservedPrefixBytesMax) in.Expect("a keyspace prefix of 1 to 16 bytes");
  return marker;
}

// Returns false if this version does not know the field.
bool TakeField(Field field, PayloadReader& in, VersionEdit* edit, SharesOfTables* shares) {
  switch (field) {
    case Field::kCut: edit->cuts.push_back(TakeCut(in)); return true;
    case Field::kAdd: edit->adds.push_back(TakeAdd(in, false)); return true;
    case Field::kAddMore: edit->adds.push_back(TakeAdd(in, true)); return true;
    case Field::kSetLevel: edit->levels.push_back(TakeSetLevel(in)); return true;
    case Field::kDatabaseId: SetOnce(in, &edit->database_id, in.Fixed64()); return true;
    case Field::kComparator: SetOnce(in, &edit->comparator, in.Rest()); return true;
    case Field::kNextFile: SetOnce(in, &edit->next_file, in.FileNumber()); return true;
    case Field::kNextPosition: SetOnce(in, &edit->next_position, in.Position()); return true;
    case Field::kLastSequence: SetOnce(in, &edit->last_sequence, in.Sequence()); return true;
    case Field::kWalStart: SetOnce(in, &edit->wal_start, TakeWalStart(in)); return true;
    case Field::kWalDurable: SetOnce(in, &edit->wal_durable, in.Varint64()); return true;
    case Field::kWalSegments: SetOnce(in, &edit->wal_segments, TakeFileNumbers(in)); return true;
    case Field::kCleanWalEnd: SetOnce(in, &edit->clean_wal_end, in.Varint64()); return true;
    case Field::kFlushedSequence: SetOnce(in, &edit->flushed_sequence, in.Sequence()); return true;
    case Field::kKeyMarker: SetOnce(in, &edit->key_marker, TakeKeyMarker(in)); return true;
    case Field::kStagingBytes: SetOnce(in, &edit->staging_bytes, in.Varint64()); return true;
    case Field::kMergeOperators: SetOnce(in, &edit->merge_operators, TakeStrings(in)); return true;
    case Field::kAddBlobFile: edit->blob_files.push_back(TakeAddBlobFile(in)); return true;
    case Field::kBlobShares:
      // This field follows the adds of its table: the encoder's order of fields ensures it.
      if (const char* expected = shares->Take(*edit, TakeBlobShares(in))) in.Expect(expected);
      return true;
  }
  return false;
}

std::string Where(uint32_t tag, size_t offset) {
  return "VersionEdit field " + std::to_string(tag) + " at offset " + std::to_string(offset);
}

}  // namespace

std::string EncodeVersionEdit(const VersionEdit& edit) {
  std::string out;
  for (const auto& cut : edit.cuts) AppendField(&out, Field::kCut, CutPayload(cut));
  for (const auto& add : edit.adds) AppendAdd(&out, add);
  for (const auto& set : edit.levels) AppendField(&out, Field::kSetLevel, SetLevelPayload(set));
  for (const auto& add : edit.blob_files) AppendField(&out, Field::kAddBlobFile, AddBlobFilePayload(*add.file));
  for (size_t i = 0; i < edit.adds.size(); ++i) {
    const FileMeta& table = *edit.adds[i].file;
    // The adds of a table that has several virtual tables follow one another.
    const bool is_said = i > 0 && edit.adds[i - 1].file->number == table.number;
    if (!table.values.empty() && !is_said) AppendField(&out, Field::kBlobShares, BlobSharesPayload(table));
  }
  if (edit.database_id) AppendField(&out, Field::kDatabaseId, Fixed64Payload(*edit.database_id));
  if (edit.comparator) AppendField(&out, Field::kComparator, *edit.comparator);
  if (edit.next_file) AppendField(&out, Field::kNextFile, VarintPayload(ToInt(*edit.next_file)));
  if (edit.next_position) AppendField(&out, Field::kNextPosition, VarintPayload(ToInt(*edit.next_position)));
  if (edit.last_sequence) AppendField(&out, Field::kLastSequence, VarintPayload(*edit.last_sequence));
  if (edit.wal_start) AppendField(&out, Field::kWalStart, WalStartPayload(*edit.wal_start));
  if (edit.wal_durable) AppendField(&out, Field::kWalDurable, VarintPayload(*edit.wal_durable));
  if (edit.wal_segments) AppendField(&out, Field::kWalSegments, FileNumbersPayload(*edit.wal_segments));
  if (edit.clean_wal_end) AppendField(&out, Field::kCleanWalEnd, VarintPayload(*edit.clean_wal_end));
  if (edit.flushed_sequence) AppendField(&out, Field::kFlushedSequence, VarintPayload(*edit.flushed_sequence));
  if (edit.key_marker) AppendField(&out, Field::kKeyMarker, *edit.key_marker);
  if (edit.staging_bytes) AppendField(&out, Field::kStagingBytes, VarintPayload(*edit.staging_bytes));
  if (edit.merge_operators) AppendField(&out, Field::kMergeOperators, StringsPayload(*edit.merge_operators));
  return out;
}

Result<VersionEdit> DecodeVersionEdit(std::string_view bytes) {
  VersionEdit edit;
  SharesOfTables shares;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const size_t offset = bytes.size() - rest.size();
    uint32_t tag = 0;
    std::string_view payload;
    if (!base::TakeVarint32(&rest, &tag) || !base::TakeLengthPrefixed(&rest, &payload)) {
      return Status::Corruption("VersionEdit offset " + std::to_string(offset) + " of " + std::to_string(bytes.size()) +
                                ": expected a tag, a length and as many bytes, found " +
                                base::ToHex(bytes.substr(offset, 16)));
    }
    PayloadReader in(payload);
    if (TakeField(static_cast<Field>(tag), in, &edit, &shares)) {
      if (Status status = in.Finish(); !status.ok()) return status.WithContext(Where(tag, offset));
    } else if (tag < kOptionalFieldMin) {
      return Status::NotSupported(Where(tag, offset) + ": written by a newer version of mergedb");
    }
  }
  RETURN_IF_ERROR(shares.Give(&edit));
  return edit;
}

}  // namespace mergedb::format
