#include "table/reader.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "env/file_reads.h"
#include "format/block.h"
#include "format/bloom.h"
#include "format/range_tombstones.h"
#include "format/table_layout.h"
#include "table/block_source.h"
#include "table/iterator.h"
#include "table/scan_iterator.h"

namespace mergedb::table {
namespace {

constexpr size_t kTailBytes = 16 << 10;  // first read: the footer, and all sections of a small table

Status Differs(const char* what, uint64_t expected, uint64_t found) {
  return Status::Corruption(std::string(what) + ": expected " + std::to_string(expected) + ", found " +
                            std::to_string(found));
}

Status DiffersKey(const char* what, std::string_view expected, std::string_view found) {
  return Status::Corruption(std::string(what) + ": expected \"" + base::Escape(expected) + "\", found \"" +
                            base::Escape(found) + "\"");
}

// Checks that the MANIFEST and the file describe the same table.
Status CompareMeta(const format::FileMeta& expected, const format::FileMeta& found) {
  if (expected.bytes != found.bytes) return Differs("file size", expected.bytes, found.bytes);
  if (expected.unique_id != found.unique_id) return Differs("unique id", expected.unique_id, found.unique_id);
  if (expected.entries != found.entries) return Differs("entries", expected.entries, found.entries);
  if (expected.smallest != found.smallest) return DiffersKey("smallest key", expected.smallest, found.smallest);
  if (expected.largest != found.largest) return DiffersKey("largest key", expected.largest, found.largest);
  if (expected.largest_is_open != found.largest_is_open) {
    return Differs("largest key is open", expected.largest_is_open, found.largest_is_open);
  }
  if (expected.range_tombstones != found.range_tombstones) {
    return Differs("range tombstones", expected.range_tombstones, found.range_tombstones);
  }
  if (expected.largest_sequence != found.largest_sequence) {
    return Differs("largest sequence", expected.largest_sequence, found.largest_sequence);
  }
  return {};
}

}  // namespace

// Everything of a table except its blocks, as read from the file.
struct Reader::Sections {
  format::Footer footer;
  std::string bytes;  // bytes [data_bytes, sections_end) of the file
  format::Properties properties;

  Status Read(File* file);

  // The payload of a section, without its trailer.
  Status Open(uint64_t offset, uint64_t size, std::string_view* payload) const {
    const std::string_view stored(bytes.data() + (offset - footer.data_bytes), static_cast<size_t>(size));
    format::Part part;
    RETURN_IF_ERROR(format::OpenPart(stored, {.unique_id = footer.unique_id, .offset = offset}, true, &part));
    if (part.codec != Compression::kNone)
      return Status::NotSupported("compressed section: written by a newer version of mergedb");
    *payload = part.payload;
    return {};
  }
  Status OpenFilter(std::string_view* payload) const { return Open(footer.data_bytes, footer.filter_bytes, payload); }
  Status OpenRangeTombstones(std::string_view* payload) const {
    return Open(footer.range_tombstone_offset(), footer.range_tombstone_bytes, payload);
  }
  Status OpenIndex(std::string_view* payload) const { return Open(footer.index_offset(), footer.index_bytes, payload); }
  Status OpenProperties() {
    std::string_view payload;
    RETURN_IF_ERROR(Open(footer.properties_offset(), footer.properties_bytes, &payload));
    return format::DecodeProperties(payload, &properties);
  }
};

Status Reader::Sections::Read(File* file) {
  ASSIGN_OR_RETURN(const uint64_t file_bytes, file->Size());
  if (file_bytes < format::kFooterBytes) return Differs("minimum file size", format::kFooterBytes, file_bytes);
  const size_t tail_bytes = static_cast<size_t>(std::min<uint64_t>(file_bytes, kTailBytes));
  std::string tail(tail_bytes, '\0');
  RETURN_IF_ERROR(env::ReadExactly(file, file_bytes - tail_bytes, tail_bytes, tail.data()));
  const std::string_view footer_bytes(tail.data() + tail_bytes - format::kFooterBytes, format::kFooterBytes);
  RETURN_IF_ERROR(format::DecodeFooter(footer_bytes, file_bytes, &footer));
  const size_t section_bytes = static_cast<size_t>(footer.sections_end() - footer.data_bytes);
  if (footer.data_bytes >= file_bytes - tail_bytes) {
    bytes = tail.substr(static_cast<size_t>(footer.data_bytes - (file_bytes - tail_bytes)), section_bytes);
  } else {
    bytes.resize(section_bytes);
    RETURN_IF_ERROR(env::ReadExactly(file, footer.data_bytes, section_bytes, bytes.data()));
  }
  return OpenProperties().WithContext("properties at " + std::to_string(footer.properties_offset()));
}

Reader::Reader(FileSystem* file_system, const std::string& path, const kv::Order& order, base::BlockCache* cache,
               const ReaderOptions& options)
    : source_{.file_system = file_system, .path = path, .order = order, .cache = cache, .latencies = options.latencies},
      filter_policy_(options.filter_policy),
      memory_(options.memory) {}

Result<std::shared_ptr<Reader>> Reader::Open(FileSystem* file_system, const std::string& path, format::FileMetaPtr meta,
                                             const kv::Order& order, base::BlockCache* cache,
                                             const ReaderOptions& options) {
  std::shared_ptr<Reader> reader(new Reader(file_system, path, order, cache, options));
  RETURN_IF_ERROR(reader->Load(std::move(meta)));
  return reader;
}

Status Reader::Load(format::FileMetaPtr meta) {
  ASSIGN_OR_RETURN(source_.file, source_.file_system->Open(source_.path, {.access = Access::kRead}));
  return LoadChecked(std::move(meta)).WithContext(source_.path);
}

Status Reader::LoadChecked(format::FileMetaPtr meta) {
  Sections sections;
  RETURN_IF_ERROR(sections.Read(source_.file.get()));
  const format::Footer& footer = sections.footer;

  format::FileMeta& found = sections.properties.meta;
  found.bytes = footer.file_bytes;
  if (found.unique_id != footer.unique_id) return Differs("unique id", footer.unique_id, found.unique_id);
  if (meta == nullptr) meta = std::make_shared<const format::FileMeta>(found);
  RETURN_IF_ERROR(CompareMeta(*meta, found));
  const std::string_view comparator = source_.order.comparator()->Name();
  if (sections.properties.comparator != comparator) {
    return Status::InvalidArgument("comparator: the table has \"" + base::Escape(sections.properties.comparator) +
                                   "\", the database \"" + base::Escape(comparator) + "\"");
  }
  meta_ = std::move(meta);
  source_.number = kv::ToInt(meta_->number);
  source_.unique_id = footer.unique_id;

  RETURN_IF_ERROR(LoadIndex(sections).WithContext("index at " + std::to_string(footer.index_offset())));
  RETURN_IF_ERROR(MapBlocks());
  RETURN_IF_ERROR(LoadRangeTombstones(sections).WithContext("range tombstones at " +
                                                            std::to_string(footer.range_tombstone_offset())));
  return LoadFilter(sections).WithContext("filter at " + std::to_string(footer.data_bytes));
}

Status Reader::LoadIndex(const Sections& sections) {
  const format::Footer& footer = sections.footer;
  if (footer.index_bytes == 0) {
    if (footer.data_bytes != 0) return Differs("bytes of blocks without an index", 0, footer.data_bytes);
    if (meta_->entries != 0) return Differs("entries without blocks", 0, meta_->entries);
    return {};
  }
  std::string_view payload;
  RETURN_IF_ERROR(sections.OpenIndex(&payload));
  RETURN_IF_ERROR(source_.index.Decode(payload, footer.data_bytes, source_.order));
  const uint64_t block_bytes = source_.index.offset(source_.index.count());
  source_.around = memory_ == nullptr ? env::ReadAround(block_bytes) : memory_->Around(block_bytes);
  if (meta_->entries < source_.index.count()) {
    return Differs("minimum entries for its blocks", source_.index.count(), meta_->entries);
  }
  return {};
}

Status Reader::MapBlocks() {
  if (memory_ == nullptr || !has_blocks()) return {};
  ASSIGN_OR_RETURN(source_.mapping,
                   memory_->Map(source_.file.get(), source_.path, source_.index.offset(source_.index.count())));
  if (source_.mapping != nullptr) source_.checked = CheckedBlocks(source_.index.count());
  return {};
}

Status Reader::LoadRangeTombstones(const Sections& sections) {
  const kv::Order& order = source_.order;
  if (sections.footer.range_tombstone_bytes != 0) {
    std::string_view payload;
    RETURN_IF_ERROR(sections.OpenRangeTombstones(&payload));
    RETURN_IF_ERROR(format::DecodeRangeTombstones(payload, order, &range_tombstones_));
  }
  const kv::RangeTombstones& ranges = range_tombstones_;
  if (ranges.tombstones() != meta_->range_tombstones) {
    return Differs("number", meta_->range_tombstones, ranges.tombstones());
  }
  if (ranges.empty()) return {};
  // WHY checked: a range tombstone beyond the table's bounds would hide keys of other tables.
  if (order.CompareKeys(ranges.begin(0), meta_->smallest) < 0) {
    return DiffersKey("minimum begin of a range tombstone", meta_->smallest, ranges.begin(0));
  }
  const std::string_view end = ranges.end(ranges.size() - 1);
  const int beyond = order.CompareKeys(end, meta_->largest);
  if (beyond > 0 || (beyond != 0 && meta_->largest_is_open))
    return DiffersKey("maximum end of a range tombstone", meta_->largest, end);
  if (ranges.newest_sequence() > meta_->largest_sequence) {
    return Differs("largest sequence", meta_->largest_sequence, ranges.newest_sequence());
  }
  return {};
}

Status Reader::LoadFilter(const Sections& sections) {
  if (sections.footer.filter_bytes == 0) return {};
  if (!sections.properties.filter_policy.empty()) {
    std::string_view payload;
    RETURN_IF_ERROR(sections.OpenFilter(&payload));
    if (filter_policy_ == nullptr || filter_policy_->Name() != sections.properties.filter_policy) return {};
    own_filter_bytes_ = payload;
    own_filter_.emplace(*filter_policy_, own_filter_bytes_);
    return {};
  }
  if (!source_.order.is_bytewise())
    return Status::Corruption(
        "bloom filters require a comparator under which different byte strings are different keys");
  std::string_view payload;
  RETURN_IF_ERROR(sections.OpenFilter(&payload));
  return bloom_.Decode(payload);
}

env::ReadResult Reader::GetOrWait(std::string_view key, kv::Sequence sequence, const ReadControl& control,
                                  env::Deferral* deferral, Found* found) const {
  if (!has_blocks()) return Status::Make(Code::kNotFound, {});
  const kv::Tag wanted = kv::SeekTag(sequence);
  for (uint32_t block = source_.index.Find(source_.order, key); block < source_.index.count(); ++block) {
    if (own_filter_ && !own_filter_->MayContain(source_.index.offset(block), key)) break;
    base::BlockCache::Pin pin;
    std::string_view raw;
    ASSIGN_OR_RETURN(const env::Progress progress, source_.ReadOrWait(block, control, deferral, &pin, &raw));
    if (progress == env::Progress::kWaits) [[unlikely]]
      return progress;
    format::Block::Prefetch(raw);
    const format::Block entries(raw);
    const uint32_t i = entries.Seek(source_.order, key, wanted);
    const bool is_within = i < entries.count();
    const bool has_key = entries.HasKey(source_.order, is_within ? i : i - 1, key);
    if (!pin) (void)source_.StaysWhole(block, raw);
    // After a block that sorts before the wanted version as a whole, the next one can have that version only if this
    // one ends with the key.
    if (!has_key) break;
    if (is_within) {
      found->tag = entries.tag(i);
      found->value = entries.value(i);
      found->pin = std::move(pin);
      found->raw = raw;
      found->block = block;
      found->entry = i;
      return env::Progress::kDone;
    }
  }
  return Status::Make(Code::kNotFound, {});
}

Status Reader::GetOlder(std::string_view key, const ReadControl& control, Found* found) const {
  format::Block entries(found->raw);
  uint32_t i = found->entry + 1;
  if (i >= entries.count()) {
    const uint32_t block = found->block + 1;
    if (block == source_.index.count()) return Status::Make(Code::kNotFound, {});
    if (own_filter_ && !own_filter_->MayContain(source_.index.offset(block), key))
      return Status::Make(Code::kNotFound, {});
    base::BlockCache::Pin pin;
    RETURN_IF_ERROR(source_.Read(block, control, &pin, &found->raw));
    found->pin = std::move(pin);
    entries = format::Block(found->raw);
    found->block = block;
    i = 0;
  }
  if (!found->pin) (void)source_.StaysWhole(found->block, found->raw);
  if (!entries.HasKey(source_.order, i, key)) return Status::Make(Code::kNotFound, {});
  found->tag = entries.tag(i);
  found->value = entries.value(i);
  found->entry = i;
  return {};
}

std::unique_ptr<kv::Iterator> Reader::NewIterator(const ReadControl& control,
                                                  std::shared_ptr<const Reader> keep) const {
  return has_blocks() ? table::NewIterator(source_, control, std::move(keep)) : kv::NewEmptyIterator();
}

std::unique_ptr<kv::ForwardIterator> Reader::NewScanIterator(std::optional<std::string> lower,
                                                             const ScanLimit& limit) const {
  return has_blocks() ? table::NewScanIterator(source_, std::move(lower), limit) : kv::NewEmptyIterator();
}

uint64_t Reader::ApproximateOffset(std::string_view key) const {
  return has_blocks() ? source_.index.offset(source_.index.Find(source_.order, key)) : 0;
}

size_t Reader::memory_bytes() const {
  const size_t marks = source_.mapping == nullptr ? 0 : CheckedBlocks::BytesFor(source_.index.count());
  return source_.index.memory_bytes() + marks + bloom_.memory_bytes() + own_filter_bytes_.size() +
         range_tombstones_.memory_bytes();
}

void Reader::Warm() const {
  if (has_blocks()) source_.file->WillRead(0, source_.index.offset(source_.index.count()));
}

Status Reader::CheckIntegrity() const {
  RETURN_IF_ERROR(CheckSections().WithContext(source_.path));
  return CheckEntries();
}

// Reads and checks the sections again: they may have been damaged on disk since Load.
Status Reader::CheckSections() const {
  Sections sections;
  RETURN_IF_ERROR(sections.Read(source_.file.get()));
  const format::Footer& footer = sections.footer;
  std::string_view payload;
  if (footer.index_bytes != 0) RETURN_IF_ERROR(sections.OpenIndex(&payload));
  if (footer.range_tombstone_bytes != 0) RETURN_IF_ERROR(sections.OpenRangeTombstones(&payload));
  if (footer.filter_bytes != 0) RETURN_IF_ERROR(sections.OpenFilter(&payload));
  sections.properties.meta.bytes = footer.file_bytes;
  RETURN_IF_ERROR(CompareMeta(*meta_, sections.properties.meta));
  return CheckPadding(footer.sections_end(), footer.file_bytes - format::kFooterBytes);
}

// Checks that the bytes [begin, end) are zeros.
Status Reader::CheckPadding(uint64_t begin, uint64_t end) const {
  char piece[4096];
  for (uint64_t offset = begin; offset < end;) {
    const size_t bytes = static_cast<size_t>(std::min<uint64_t>(sizeof piece, end - offset));
    RETURN_IF_ERROR(env::ReadExactly(source_.file.get(), offset, bytes, piece));
    for (size_t i = 0; i < bytes; ++i) {
      if (piece[i] != 0)
        return Differs("padding", 0, static_cast<uint8_t>(piece[i])).WithContext(std::to_string(offset + i));
    }
    offset += bytes;
  }
  return {};
}

// Checks all entries: their order, their number and bounds against the properties, and that the filter contains them.
Status Reader::CheckEntries() const {
  const auto scan = NewScanIterator({}, {});
  kv::Entry before;
  std::string before_key;
  std::string first_key;
  format::FileMeta found;
  found.bytes = meta_->bytes;
  found.unique_id = meta_->unique_id;
  for (scan->SeekToFirst(); scan->Valid(); scan->Next()) {
    const kv::Entry& entry = scan->entry();
    if (found.entries == 0) {
      first_key = entry.key;
    } else if (source_.order.Compare(before, entry) >= 0) {
      return Status::Corruption(source_.path + ": " + kv::PrintKey(entry.key, entry.tag) + " follows " +
                                kv::PrintKey(before_key, before.tag));
    }
    if (source_.order.is_bytewise() && !MayContain(base::Hash64(entry.key))) {
      return Status::Corruption(source_.path + ": the filter excludes " + kv::PrintKey(entry.key, entry.tag));
    }
    ++found.entries;
    found.largest_sequence = std::max(found.largest_sequence, kv::SequenceOf(entry.tag));
    before_key = entry.key;
    before = {.prefix = entry.prefix, .key = before_key, .tag = entry.tag, .value = {}};
  }
  RETURN_IF_ERROR(scan->status());
  const kv::RangeTombstones& ranges = range_tombstones_;
  found.range_tombstones = ranges.tombstones();
  format::TableSpan span{.first_key = first_key, .last_key = before_key};
  if (!ranges.empty()) {
    found.largest_sequence = std::max(found.largest_sequence, ranges.newest_sequence());
    span.ranges_begin = ranges.begin(0);
    span.ranges_end = ranges.end(ranges.size() - 1);
  }
  format::SetLimits(source_.order, span, &found);
  return CompareMeta(*meta_, found).WithContext(source_.path);
}

}  // namespace mergedb::table
