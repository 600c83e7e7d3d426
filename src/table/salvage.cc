#include "table/salvage.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/crc32c.h"
#include "base/hash.h"
#include "env/file_reads.h"
#include "format/block.h"
#include "format/bloom.h"
#include "format/compression.h"
#include "format/index.h"
#include "format/range_tombstones.h"
#include "format/table_layout.h"
#include "table/block_source.h"

namespace mergedb::table {
namespace {

constexpr uint64_t kSearchBytesMax = uint64_t{16} << 20;  // maximum size of a block in a search for its end
constexpr uint64_t kSearchBytesFirst = uint64_t{64} << 10;
// Maximum number of candidate ends of one part with a matching checksum. More than one is hardly an accident,
// and each costs the check of a block.
constexpr int kFitsMax = 16;
// Minimum bytes under the checksum of a block (its tail and its codec), and of another part (its codec).
constexpr size_t kLeastBlock = format::kBlockTailBytes + 1;
constexpr size_t kLeastSection = 1;

// Finds the end of the part at `offset`.
class PartSearch {
 public:
  PartSearch(File* file, uint64_t unique_id, uint64_t limit) : file_(file), unique_id_(unique_id), limit_(limit) {}

  // The first stored part with at least `least` bytes under its checksum that `accept` accepts, or an empty view.
  // It is valid until the next call.
  // WHY `accept`: of all lengths that are tried, one in 2^32 has a matching checksum by accident.
  Result<std::string_view> Find(uint64_t offset, size_t least, const std::function<bool(std::string_view)>& accept) {
    char salt[16];
    base::StoreFixed64(salt, unique_id_);
    base::StoreFixed64(salt + 8, offset);
    uint32_t crc = 0;
    size_t covered = 0;
    int refused = 0;
    bytes_.clear();
    while (refused < kFitsMax && Grow(offset)) {
      RETURN_IF_ERROR(status_);
      for (; refused < kFitsMax && covered + 4 <= bytes_.size(); ++covered) {
        const bool fits = covered >= least &&
                          base::Crc32cExtend(crc, salt, sizeof salt) == base::LoadFixed32(bytes_.data() + covered);
        if (fits) [[unlikely]] {
          const std::string_view stored = std::string_view(bytes_).substr(0, covered + 4);
          if (accept(stored)) return stored;
          ++refused;
        }
        crc = base::Crc32cExtend(crc, bytes_.data() + covered, 1);
      }
    }
    return std::string_view();
  }

 private:
  // Reads more of the file, at most as many bytes as it has already. False at the end of the file or at the
  // search limit.
  bool Grow(uint64_t offset) {
    const uint64_t left = limit_ - std::min(limit_, offset);
    const uint64_t wanted = std::min({left, kSearchBytesMax, std::max(kSearchBytesFirst, 2 * uint64_t{bytes_.size()})});
    if (wanted <= bytes_.size()) return false;
    const size_t before = bytes_.size();
    bytes_.resize(static_cast<size_t>(wanted));
    size_t got = 0;
    status_ = file_->ReadAt(offset + before, bytes_.size() - before, bytes_.data() + before, &got);
    bytes_.resize(before + got);
    return !status_.ok() || got > 0;
  }

  File* const file_;
  const uint64_t unique_id_;
  const uint64_t limit_;
  std::string bytes_;
  Status status_;
};

std::string PrintTotals(const format::FileMeta& meta) {
  return std::to_string(meta.entries) + " entries and " + std::to_string(meta.range_tombstones) +
         " range tombstones from \"" + base::Escape(meta.smallest) + "\" to \"" + base::Escape(meta.largest) + "\"";
}

class Salvager {
 public:
  Salvager(const SalvageInput& input, const std::function<Status(const kv::Entry&)>& visit)
      : input_(input), visit_(visit), cursor_(input.order) {}

  Result<Salvaged> Run();

 private:
  Status OpenFile();
  Status ReadFooter();
  Status ReadProperties();
  void ReadIndex();
  void ReadFilter();
  void ReadRangeTombstones();
  void FindRangeTombstones(PartSearch* search, uint64_t offset, uint64_t limit);
  Status TakeRangeTombstones(std::string_view payload);
  Status WalkByIndex();
  std::string SmallestAfterFence(uint32_t block) const;
  Status WalkBySearch();
  Status ShowBlock(std::string_view stored, uint64_t offset, Status* flaw);
  Status CheckOrder();
  Status ShowEntries();
  void CheckPadding();
  void CountAll();
  void CheckTotals();

  // `payload` becomes a view of `stored`.
  Status ReadPart(uint64_t offset, uint64_t bytes, std::string* stored, std::string_view* payload);
  Flaw& Note(uint64_t offset, uint64_t bytes, std::string_view what) {
    result_.flaws.push_back({.offset = offset, .bytes = bytes, .what = std::string(what)});
    return result_.flaws.back();
  }
  void Lose(uint64_t offset, uint64_t bytes, std::string_view what, std::optional<std::string> smallest,
            std::optional<std::string> largest) {
    Flaw& flaw = Note(offset, bytes, what);
    flaw.loses_entries = true;
    flaw.smallest = std::move(smallest);
    flaw.largest = std::move(largest);
    has_lost_ = true;
  }
  void LoseRangeTombstones(uint64_t offset, uint64_t bytes, std::string_view what) {
    Lose(offset, bytes, "range tombstones: " + std::string(what) + "; the keys that they deleted may be visible again",
         Smallest(), Largest());
  }
  std::optional<std::string> Smallest() const { return meta_ ? std::optional(meta_->smallest) : std::nullopt; }
  std::optional<std::string> Largest() const { return meta_ ? std::optional(meta_->largest) : std::nullopt; }

  const SalvageInput& input_;
  const std::function<Status(const kv::Entry&)>& visit_;
  Salvaged result_;

  std::unique_ptr<File> file_;
  uint64_t file_bytes_ = 0;
  std::optional<format::Footer> footer_;
  uint64_t unique_id_ = 0;
  std::optional<format::FileMeta> meta_;  // from the MANIFEST, else from the file
  format::Bloom bloom_;
  std::optional<format::Index> index_;

  format::BlockCursor cursor_;
  std::string raw_;
  std::string last_key_;  // key of the last entry shown
  kv::Entry last_;
  bool has_lost_ = false;
  bool is_denied_ = false;       // the filter denies a key that the table has
  bool has_own_filter_ = false;  // the table has the program's own filter, which cannot be checked here
};

Result<Salvaged> Salvager::Run() {
  if (input_.meta) meta_ = *input_.meta;
  result_.found.number = input_.number;
  if (Status status = OpenFile(); !status.ok()) {
    if (status.IsBusy()) return status;
    Lose(0, 0, status.message(), Smallest(), Largest());
    return std::move(result_);
  }
  Status status = ReadFooter();
  if (status.ok() && footer_) status = ReadProperties();
  if (status.code() == Code::kInvalidArgument || status.code() == Code::kNotSupported)
    return status.WithContext(input_.path);
  if (!status.ok()) {  // no part of the file belongs to this table
    Lose(0, file_bytes_, status.message(), Smallest(), Largest());
    return std::move(result_);
  }
  if (footer_) {
    ReadIndex();
    ReadFilter();
    ReadRangeTombstones();
  }
  result_.found.unique_id = unique_id_;
  result_.found.smallest_sequence = kv::kSequenceMax;
  RETURN_IF_ERROR(index_ ? WalkByIndex() : WalkBySearch());
  CheckPadding();
  CheckTotals();
  return std::move(result_);
}

Status Salvager::OpenFile() {
  ASSIGN_OR_RETURN(file_, input_.file_system->Open(input_.path, {.access = Access::kRead}));
  ASSIGN_OR_RETURN(file_bytes_, file_->Size());
  result_.found.bytes = file_bytes_;
  return {};
}

// OK without a footer_: the footer is damaged, and the MANIFEST has the needed fields. Corruption: this is
// not a known table.
Status Salvager::ReadFooter() {
  std::string bytes(format::kFooterBytes, '\0');
  Status status = Status::Corruption("the file has " + std::to_string(file_bytes_) + " bytes; a table has at least " +
                                     std::to_string(format::kTableAlign));
  if (file_bytes_ >= bytes.size())
    status = env::ReadExactly(file_.get(), file_bytes_ - bytes.size(), bytes.size(), bytes.data());
  format::Footer footer;
  if (status.ok()) status = format::DecodeFooter(bytes, file_bytes_, &footer);
  if (status.ok() && meta_ && footer.unique_id != meta_->unique_id) {
    return Status::Corruption("unique id: expected " + std::to_string(meta_->unique_id) + ", found " +
                              std::to_string(footer.unique_id) +
                              ": the file is a table of another database or of another time");
  }
  if (status.ok()) {
    footer_ = footer;
    unique_id_ = footer.unique_id;
    return {};
  }
  if (status.code() == Code::kNotSupported || !meta_) return status;
  const uint64_t missing = meta_->bytes - std::min(meta_->bytes, file_bytes_);
  if (file_bytes_ != meta_->bytes) {
    Note(file_bytes_, missing,
         "the file has " + std::to_string(file_bytes_) + " bytes, expected " + std::to_string(meta_->bytes));
  } else {
    Note(file_bytes_ - bytes.size(), bytes.size(), status.message());
  }
  unique_id_ = meta_->unique_id;
  return {};
}

Status Salvager::ReadPart(uint64_t offset, uint64_t bytes, std::string* stored, std::string_view* payload) {
  stored->resize(static_cast<size_t>(bytes));
  RETURN_IF_ERROR(env::ReadExactly(file_.get(), offset, stored->size(), stored->data()));
  format::Part part;
  RETURN_IF_ERROR(format::OpenPart(*stored, {.unique_id = unique_id_, .offset = offset}, true, &part));
  *payload = part.payload;
  return {};
}

Status Salvager::ReadProperties() {
  std::string stored;
  std::string_view payload;
  Status status = ReadPart(footer_->properties_offset(), footer_->properties_bytes, &stored, &payload);
  format::Properties properties;
  if (status.ok()) status = format::DecodeProperties(payload, &properties);
  if (status.code() == Code::kNotSupported) return status;
  if (!status.ok()) {
    Note(footer_->properties_offset(), footer_->properties_bytes, "properties: " + std::string(status.message()));
    return {};
  }
  if (properties.comparator != input_.order.comparator()->Name()) {
    return Status::InvalidArgument("comparator: the table has \"" + base::Escape(properties.comparator) +
                                   "\", the database \"" + base::Escape(input_.order.comparator()->Name()) + "\"");
  }
  if (properties.meta.number != input_.number || properties.meta.unique_id != unique_id_) {
    return Status::Corruption("the file has the number of table " + std::to_string(kv::ToInt(properties.meta.number)));
  }
  has_own_filter_ = !properties.filter_policy.empty();
  properties.meta.bytes = file_bytes_;
  if (!meta_) meta_ = properties.meta;
  result_.compacted_ranges = std::move(properties.compacted_ranges);
  return {};
}

void Salvager::ReadIndex() {
  if (footer_->index_bytes == 0 && footer_->data_bytes == 0) return;  // a table of only range tombstones
  std::string stored;
  std::string_view payload;
  Status status = ReadPart(footer_->index_offset(), footer_->index_bytes, &stored, &payload);
  format::Index index;
  if (status.ok()) status = index.Decode(payload, footer_->data_bytes, input_.order);
  if (status.ok()) {
    index_ = std::move(index);
  } else {
    Note(footer_->index_offset(), footer_->index_bytes, "index: " + std::string(status.message()));
  }
}

void Salvager::ReadFilter() {
  if (footer_->filter_bytes == 0) return;
  std::string stored;
  std::string_view payload;
  Status status = ReadPart(footer_->data_bytes, footer_->filter_bytes, &stored, &payload);
  if (status.ok() && !has_own_filter_) status = bloom_.Decode(payload);
  if (!status.ok()) Note(footer_->data_bytes, footer_->filter_bytes, "filter: " + std::string(status.message()));
}

void Salvager::ReadRangeTombstones() {
  if (footer_->range_tombstone_bytes == 0) return;
  std::string stored;
  std::string_view payload;
  Status status = ReadPart(footer_->range_tombstone_offset(), footer_->range_tombstone_bytes, &stored, &payload);
  if (status.ok()) status = TakeRangeTombstones(payload);
  if (!status.ok())
    LoseRangeTombstones(footer_->range_tombstone_offset(), footer_->range_tombstone_bytes, status.message());
}

// Without a footer the range tombstones are after the blocks, which end at `offset`, or after the filter that
// follows the blocks.
void Salvager::FindRangeTombstones(PartSearch* search, uint64_t offset, uint64_t limit) {
  const uint64_t begin = offset;
  for (int sections = 0; sections < 2 && offset < limit; ++sections) {
    format::Part part;
    const auto stored = search->Find(offset, kLeastSection, [&](std::string_view bytes) {
      return format::OpenPart(bytes, {.unique_id = unique_id_, .offset = offset}, true, &part).ok() &&
             part.codec == Compression::kNone;
    });
    if (!stored || stored->empty()) break;
    if (TakeRangeTombstones(part.payload).ok()) return;
    offset += stored->size();
  }
  LoseRangeTombstones(begin, limit - begin, "cannot be found without a footer");
}

// Takes all range tombstones, or none. WHY the check of bounds: a tombstone beyond them would hide keys of
// other tables.
Status Salvager::TakeRangeTombstones(std::string_view payload) {
  kv::RangeTombstones found;
  RETURN_IF_ERROR(format::DecodeRangeTombstones(payload, input_.order, &found));
  if (meta_ && found.tombstones() != meta_->range_tombstones) {
    return Status::Corruption("expected " + std::to_string(meta_->range_tombstones) + ", found " +
                              std::to_string(found.tombstones()));
  }
  if (meta_ && !found.empty()) {
    const std::string_view begin = found.begin(0), end = found.end(found.size() - 1);
    const int beyond = input_.order.CompareKeys(end, meta_->largest);
    if (input_.order.CompareKeys(begin, meta_->smallest) < 0 || beyond > 0 || (beyond != 0 && meta_->largest_is_open)) {
      return Status::Corruption("expected keys from \"" + base::Escape(meta_->smallest) + "\" to \"" +
                                base::Escape(meta_->largest) + "\", found \"" + base::Escape(begin) + "\" to \"" +
                                base::Escape(end) + "\"");
    }
  }
  result_.range_tombstones = std::move(found);
  return {};
}

Status Salvager::WalkByIndex() {
  std::string stored;
  for (uint32_t block = 0; block < index_->count(); ++block) {
    const uint64_t offset = index_->offset(block);
    stored.resize(index_->stored_bytes(block));
    Status flaw = env::ReadExactly(file_.get(), offset, stored.size(), stored.data());
    if (flaw.ok()) RETURN_IF_ERROR(ShowBlock(stored, offset, &flaw));
    if (flaw.ok()) continue;
    const bool is_last = block + 1 == index_->count();
    Lose(offset, stored.size(), "block: " + std::string(flaw.message()),
         block == 0 ? Smallest() : std::optional(SmallestAfterFence(block - 1)),
         is_last ? Largest() : std::optional(index_->fence(block)));
  }
  return {};
}

// The smallest key that the block after fence `block` may hold.
// WHY not the fence: if a key continues in the next block, the bytewise fence is that key and a zero byte
// (format/index.h).
std::string Salvager::SmallestAfterFence(uint32_t block) const {
  std::string key = index_->fence(block);
  if (input_.order.is_bytewise() && key.ends_with('\0')) key.pop_back();
  return key;
}

Status Salvager::WalkBySearch() {
  const uint64_t limit = footer_ ? footer_->data_bytes : file_bytes_;
  PartSearch search(file_.get(), unique_id_, limit);
  const auto has_all = [&] { return meta_ && result_.found.entries == meta_->entries; };
  uint64_t offset = 0;
  Status flaw = Status::Corruption("no checksum matches the bytes from here on");
  while (offset < limit && !has_all()) {
    Status shown;
    const auto stored = search.Find(offset, kLeastBlock, [&](std::string_view bytes) {
      Status block_flaw;
      shown = ShowBlock(bytes, offset, &block_flaw);
      return !shown.ok() || block_flaw.ok();
    });
    RETURN_IF_ERROR(shown);
    if (!stored) {
      flaw = stored.error();
      break;
    }
    if (stored->empty()) break;
    offset += stored->size();
  }
  if (!footer_ && meta_ && meta_->range_tombstones > 0) FindRangeTombstones(&search, offset, limit);
  if (offset == limit || has_all()) return {};
  Lose(offset, limit - offset, "blocks: " + std::string(flaw.message()),
       result_.found.entries == 0 ? Smallest() : std::optional(last_key_), Largest());
  return {};
}

// Fails only if the visitor fails. With a flaw, no entry of the block was shown.
Status Salvager::ShowBlock(std::string_view stored, uint64_t offset, Status* flaw) {
  format::Part part;
  *flaw = format::OpenPart(stored, {.unique_id = unique_id_, .offset = offset}, true, &part);
  if (!flaw->ok()) return {};
  std::string_view raw = part.payload;
  if (part.codec != Compression::kNone) {
    size_t raw_bytes = 0;
    *flaw = format::ReadRawBytes(part.payload, &raw_bytes);
    if (!flaw->ok()) return {};
    raw_.resize(raw_bytes);
    *flaw = format::Decompress(part.codec, part.payload, raw_.data(), raw_bytes);
    if (!flaw->ok()) return {};
    raw = raw_;
  }
  *flaw = format::CheckBlock(raw);
  if (!flaw->ok()) return {};

  cursor_.Open(format::Block(raw));
  *flaw = CheckOrder();
  return flaw->ok() ? ShowEntries() : Status();
}

// Checks that the entries of the open block are in order and follow the last entry shown.
Status Salvager::CheckOrder() {
  kv::Entry before = last_, entry;
  std::string before_key = last_key_;
  for (uint32_t i = 0; i < cursor_.block().count(); ++i) {
    cursor_.Show(i, &entry);
    before.key = before_key;
    if ((i > 0 || result_.found.entries > 0) && input_.order.Compare(before, entry) >= 0) {
      return Status::Corruption(kv::PrintKey(entry.key, entry.tag) + " follows " +
                                kv::PrintKey(before_key, before.tag));
    }
    before_key = entry.key;
    before = entry;
  }
  return {};
}

Status Salvager::ShowEntries() {
  format::FileMeta& found = result_.found;
  kv::Entry entry;
  for (uint32_t i = 0; i < cursor_.block().count(); ++i) {
    cursor_.Show(i, &entry);
    is_denied_ |= input_.order.is_bytewise() && !bloom_.MayContain(base::Hash64(entry.key));
    if (visit_) RETURN_IF_ERROR(visit_(entry));
    if (found.entries++ == 0) found.smallest = entry.key;
    found.largest_sequence = std::max(found.largest_sequence, kv::SequenceOf(entry.tag));
    found.smallest_sequence = std::min(found.smallest_sequence, kv::SequenceOf(entry.tag));
    found.raw_bytes += entry.key.size() + entry.value.size();
  }
  last_key_ = entry.key;
  last_ = {.prefix = entry.prefix, .key = last_key_, .tag = entry.tag, .value = {}};
  return {};
}

// Checks the zeros between the sections and the footer.
void Salvager::CheckPadding() {
  if (!footer_) return;
  const uint64_t end = file_bytes_ - format::kFooterBytes;
  char piece[4096];
  uint64_t first = 0, last = 0;  // the bytes that are not zero: [first, last)
  for (uint64_t offset = footer_->sections_end(); offset < end; offset += sizeof piece) {
    const size_t bytes = static_cast<size_t>(std::min<uint64_t>(sizeof piece, end - offset));
    if (Status status = env::ReadExactly(file_.get(), offset, bytes, piece); !status.ok()) {
      Note(offset, bytes, status.message());
      continue;
    }
    for (size_t i = 0; i < bytes; ++i) {
      if (piece[i] == 0) continue;
      if (last == 0) first = offset + i;
      last = offset + i + 1;
    }
  }
  if (last > 0) Note(first, last - first, "padding: expected zeros");
}

// Completes the totals of the shown entries with the range tombstones.
void Salvager::CountAll() {
  format::FileMeta& found = result_.found;
  const kv::RangeTombstones& ranges = result_.range_tombstones;
  const std::string first_key = found.smallest;
  format::TableSpan span{.first_key = first_key, .last_key = last_key_};
  found.range_tombstones = ranges.tombstones();
  if (!ranges.empty()) {
    span.ranges_begin = ranges.begin(0);
    span.ranges_end = ranges.end(ranges.size() - 1);
    found.smallest_sequence = std::min(found.smallest_sequence, ranges.oldest_sequence());
    found.largest_sequence = std::max(found.largest_sequence, ranges.newest_sequence());
  } else if (found.entries == 0) {
    found.smallest_sequence = 0;
  }
  format::SetLimits(input_.order, span, &found);
}

// Checks that all parts belong to the same table, which no checksum can show.
void Salvager::CheckTotals() {
  CountAll();
  const format::FileMeta& found = result_.found;
  if (is_denied_) Note(footer_->data_bytes, footer_->filter_bytes, "filter: excludes keys that exist");
  if (!meta_ || has_lost_) return;
  const bool is_same = found.entries == meta_->entries && found.range_tombstones == meta_->range_tombstones &&
                       found.smallest == meta_->smallest && found.largest == meta_->largest &&
                       found.largest_is_open == meta_->largest_is_open &&
                       found.smallest_sequence == meta_->smallest_sequence &&
                       found.largest_sequence == meta_->largest_sequence && meta_->tombstones <= meta_->entries;
  if (is_same) {
    result_.found = *meta_;
    result_.found.bytes = file_bytes_;
    return;
  }
  Lose(0, file_bytes_, "expected " + PrintTotals(*meta_) + ", found " + PrintTotals(found), Smallest(), Largest());
}

}  // namespace

Result<Salvaged> Salvage(const SalvageInput& input, const std::function<Status(const kv::Entry&)>& visit) {
  return Salvager(input, visit).Run();
}

}  // namespace mergedb::table
