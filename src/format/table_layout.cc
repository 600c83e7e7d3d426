#include "format/table_layout.h"

#include <utility>

#include "base/bytes.h"
#include "base/coding.h"
#include "base/crc32c.h"
#include "format/compression.h"

namespace mergedb::format {
namespace {

static_assert(kTableMagic.size() == 16);

// Offsets within the footer.
constexpr size_t kUniqueIdAt = 0, kFileBytesAt = 8, kDataBytesAt = 16, kFilterBytesAt = 24, kIndexBytesAt = 32,
                 kPropertiesBytesAt = 40, kRangeTombstoneBytesAt = 48, kReservedAt = 56;
static_assert(kReservedAt + 16 + kFooterEndBytes == kFooterBytes);
constexpr FooterFormat kTableFooter = {
    .name = "table format", .magic = kTableMagic, .bytes = kFooterBytes, .version_max = kTableVersion};

Status Damaged(const char* what, uint64_t expected, uint64_t found) {
  return Status::Corruption(std::string(what) + ": expected " + std::to_string(expected) + ", found " +
                            std::to_string(found));
}

uint32_t FooterChecksum(std::string_view footer) {
  const std::string_view end = footer.substr(footer.size() - kFooterEndBytes);
  const uint32_t fields = base::Crc32c(footer.substr(0, footer.size() - kFooterEndBytes));
  return base::Crc32cExtend(fields, end.data() + 4, end.size() - 4);
}

}  // namespace

uint32_t Salted(uint32_t crc, const Place& place) {
  char salt[16];
  base::StoreFixed64(salt, place.unique_id);
  base::StoreFixed64(salt + 8, place.offset);
  return base::Crc32cExtend(crc, salt, sizeof salt);
}

void StoreTrailer(char* out, std::string_view payload, Compression codec, const Place& place) {
  *out = static_cast<char>(codec);
  const uint32_t crc = base::Crc32cExtend(base::Crc32c(payload), out, 1);
  base::StoreFixed32(out + 1, Salted(crc, place));
}

Status OpenPart(std::string_view stored, const Place& place, bool verify, Part* part) {
  if (stored.size() < kTrailerBytes) return Damaged("minimum size", kTrailerBytes, stored.size());
  const std::string_view covered = stored.substr(0, stored.size() - kTrailerBytes + 1);
  if (verify) {
    const uint32_t expected = base::LoadFixed32(stored.data() + covered.size());
    const uint32_t found = Salted(base::Crc32c(covered), place);
    if (expected != found) [[unlikely]]
      return Damaged("checksum", expected, found);
  }
  const uint8_t codec = static_cast<uint8_t>(covered.back());
  if (!IsKnownCompression(codec)) {
    return Status::NotSupported("codec " + std::to_string(codec) + ": written by a newer version of mergedb");
  }
  *part = {.codec = static_cast<Compression>(codec), .payload = covered.substr(0, covered.size() - 1)};
  return {};
}

void StoreFooterEnd(const FooterFormat& format, uint32_t version, std::string* footer) {
  char* const end = footer->data() + footer->size() - kFooterEndBytes;
  base::StoreFixed32(end + 4, version);
  format.magic.copy(end + 8, format.magic.size());
  base::StoreFixed32(end, FooterChecksum(*footer));
}

Status CheckFooterEnd(const FooterFormat& format, std::string_view footer, uint32_t* version) {
  if (footer.size() != format.bytes) return Damaged("footer's size", format.bytes, footer.size());
  const std::string_view end = footer.substr(footer.size() - kFooterEndBytes);
  const std::string_view magic = end.substr(8);
  if (magic != format.magic) {
    return Status::Corruption("footer's magic: expected \"" + base::Escape(format.magic) + "\", found \"" +
                              base::Escape(magic) + "\"");
  }
  *version = base::LoadFixed32(end.data() + 4);
  const uint32_t expected = base::LoadFixed32(end.data());
  const uint32_t found = FooterChecksum(footer);
  const std::string name(format.name);
  if (*version > format.version_max && expected == found) {  // else the version field is damaged
    return Status::NotSupported(name + " " + std::to_string(*version) +
                                " is newer than the newest that this library reads, " +
                                std::to_string(format.version_max));
  }
  if (*version == 0) return Damaged(("minimum " + name).c_str(), 1, 0);
  return expected == found ? Status() : Damaged("footer's checksum", expected, found);
}

std::string EncodeFooter(const Footer& footer) {
  std::string out(kFooterBytes, '\0');
  base::StoreFixed64(out.data() + kUniqueIdAt, footer.unique_id);
  base::StoreFixed64(out.data() + kFileBytesAt, footer.file_bytes);
  base::StoreFixed64(out.data() + kDataBytesAt, footer.data_bytes);
  base::StoreFixed64(out.data() + kFilterBytesAt, footer.filter_bytes);
  base::StoreFixed64(out.data() + kIndexBytesAt, footer.index_bytes);
  base::StoreFixed64(out.data() + kPropertiesBytesAt, footer.properties_bytes);
  base::StoreFixed64(out.data() + kRangeTombstoneBytesAt, footer.range_tombstone_bytes);
  StoreFooterEnd(kTableFooter, footer.range_tombstone_bytes == 0 ? 1 : 2, &out);
  return out;
}

Status DecodeFooter(std::string_view bytes, uint64_t file_bytes, Footer* footer) {
  uint32_t version = 0;
  RETURN_IF_ERROR(CheckFooterEnd(kTableFooter, bytes, &version));
  const char* in = bytes.data();
  *footer = {.unique_id = base::LoadFixed64(in + kUniqueIdAt),
             .file_bytes = base::LoadFixed64(in + kFileBytesAt),
             .data_bytes = base::LoadFixed64(in + kDataBytesAt),
             .filter_bytes = base::LoadFixed64(in + kFilterBytesAt),
             .index_bytes = base::LoadFixed64(in + kIndexBytesAt),
             .properties_bytes = base::LoadFixed64(in + kPropertiesBytesAt),
             .range_tombstone_bytes = base::LoadFixed64(in + kRangeTombstoneBytesAt)};
  if ((version == 1) != (footer->range_tombstone_bytes == 0)) return Damaged("table format", 3 - version, version);
  if (footer->file_bytes != file_bytes) return Damaged("file size", footer->file_bytes, file_bytes);
  uint64_t left = file_bytes - kFooterBytes;
  for (const uint64_t section : {footer->data_bytes, footer->filter_bytes, footer->range_tombstone_bytes,
                                 footer->index_bytes, footer->properties_bytes}) {
    if (section > left) return Damaged("maximum bytes of the section", left, section);
    left -= section;
  }
  if (TableBytes(footer->sections_end()) > file_bytes) {
    return Damaged("minimum file size for its sections", TableBytes(footer->sections_end()), file_bytes);
  }
  if (file_bytes % kTableAlign != 0) return Damaged("file size modulo 4096", 0, file_bytes % kTableAlign);
  return {};
}

uint64_t TableBytes(uint64_t sections_end) {
  return (sections_end + kFooterBytes + kTableAlign - 1) / kTableAlign * kTableAlign;
}

// -- properties

namespace {

enum class Tag : uint32_t {
  kNumber = 1,
  kUniqueId = 2,
  kEntries = 3,
  kTombstones = 4,
  kRawBytes = 5,
  kSmallestSequence = 6,
  kLargestSequence = 7,
  kSmallest = 8,
  kLargest = 9,
  kComparator = 11,
  kRangeTombstones = 12,
  kLargestIsOpen = 13,
  kFilterPolicy = 14,
  kWriter = 64,
  kCompactedRanges = 65,
};
constexpr uint32_t kFirstIgnorable = 64;

void AppendField(std::string* out, Tag tag, std::string_view payload) {
  base::AppendVarint32(out, static_cast<uint32_t>(tag));
  base::AppendLengthPrefixed(out, payload);
}

void AppendField(std::string* out, Tag tag, uint64_t value) {
  char bytes[8];
  base::StoreFixed64(bytes, value);
  AppendField(out, tag, std::string_view(bytes, sizeof bytes));
}

constexpr uint8_t kHasLower = 1, kHasUpper = 2, kHasFrom = 4;

std::string EncodeCompactedRanges(const CompactedRange& compacted_ranges) {
  std::string out;
  base::AppendFixed64(&out, compacted_ranges.sequence);
  const Bounds& bounds = compacted_ranges.bounds;
  out += static_cast<char>((bounds.lower ? kHasLower : 0) | (bounds.upper ? kHasUpper : 0) |
                           (compacted_ranges.from != 0 ? kHasFrom : 0));
  if (bounds.lower) base::AppendLengthPrefixed(&out, *bounds.lower);
  if (bounds.upper) base::AppendLengthPrefixed(&out, *bounds.upper);
  if (compacted_ranges.from != 0) base::AppendFixed64(&out, compacted_ranges.from);
  return out;
}

bool DecodeCompactedRanges(std::string_view in, CompactedRange* compacted_ranges) {
  if (!base::TakeFixed64(&in, &compacted_ranges->sequence) || compacted_ranges->sequence > kv::kSequenceMax ||
      in.empty())
    return false;
  const auto flags = static_cast<uint8_t>(in[0]);
  in.remove_prefix(1);
  for (const auto& [flag, bound] :
       {std::pair(kHasLower, &compacted_ranges->bounds.lower), std::pair(kHasUpper, &compacted_ranges->bounds.upper)}) {
    if ((flags & flag) == 0) continue;
    std::string_view key;
    if (!base::TakeLengthPrefixed(&in, &key)) return false;
    *bound = std::string(key);
  }
  const bool has_from = (flags & kHasFrom) != 0;
  if (has_from && (!base::TakeFixed64(&in, &compacted_ranges->from) || compacted_ranges->from == 0)) return false;
  return flags <= (kHasLower | kHasUpper | kHasFrom) && compacted_ranges->from <= compacted_ranges->sequence &&
         in.empty();
}

Status DecodeField(Tag tag, std::string_view payload, Properties* properties) {
  FileMeta& meta = properties->meta;
  uint64_t number = 0;
  const auto take = [&](uint64_t* value) { return base::TakeFixed64(&payload, value) && payload.empty(); };
  bool is_whole = true;
  switch (tag) {
    case Tag::kNumber:
      is_whole = take(&number);
      meta.number = kv::FileNumber{number};
      break;
    case Tag::kUniqueId: is_whole = take(&meta.unique_id); break;
    case Tag::kEntries: is_whole = take(&meta.entries); break;
    case Tag::kTombstones: is_whole = take(&meta.tombstones); break;
    case Tag::kRawBytes: is_whole = take(&meta.raw_bytes); break;
    case Tag::kSmallestSequence: is_whole = take(&meta.smallest_sequence); break;
    case Tag::kLargestSequence: is_whole = take(&meta.largest_sequence); break;
    case Tag::kSmallest: meta.smallest = payload; break;
    case Tag::kLargest: meta.largest = payload; break;
    case Tag::kComparator: properties->comparator = payload; break;
    case Tag::kRangeTombstones: is_whole = take(&meta.range_tombstones); break;
    case Tag::kLargestIsOpen:
      is_whole = take(&number) && number <= 1;
      meta.largest_is_open = number == 1;
      break;
    case Tag::kFilterPolicy: properties->filter_policy = payload; break;
    case Tag::kWriter: properties->writer = payload; break;
    case Tag::kCompactedRanges:
      if (DecodeCompactedRanges(payload, &properties->compacted_ranges.emplace_back())) break;
      return Status::Corruption("property 65: expected a sequence, bounds and a begin, found " +
                                base::ToHex(payload.substr(0, 16)));
    default:
      if (static_cast<uint32_t>(tag) < kFirstIgnorable) {
        return Status::NotSupported("property " + std::to_string(static_cast<uint32_t>(tag)) +
                                    ": written by a newer version of mergedb");
      }
  }
  if (!is_whole) return Damaged("size of property", 8, static_cast<uint32_t>(tag));
  return {};
}

}  // namespace

std::string EncodeProperties(const Properties& properties) {
  const FileMeta& meta = properties.meta;
  std::string out;
  AppendField(&out, Tag::kNumber, kv::ToInt(meta.number));
  AppendField(&out, Tag::kUniqueId, meta.unique_id);
  AppendField(&out, Tag::kEntries, meta.entries);
  AppendField(&out, Tag::kTombstones, meta.tombstones);
  AppendField(&out, Tag::kRawBytes, meta.raw_bytes);
  AppendField(&out, Tag::kSmallestSequence, meta.smallest_sequence);
  AppendField(&out, Tag::kLargestSequence, meta.largest_sequence);
  AppendField(&out, Tag::kSmallest, meta.smallest);
  AppendField(&out, Tag::kLargest, meta.largest);
  AppendField(&out, Tag::kComparator, properties.comparator);
  if (meta.range_tombstones != 0) AppendField(&out, Tag::kRangeTombstones, meta.range_tombstones);
  if (meta.largest_is_open) AppendField(&out, Tag::kLargestIsOpen, 1);
  if (!properties.filter_policy.empty()) AppendField(&out, Tag::kFilterPolicy, properties.filter_policy);
  AppendField(&out, Tag::kWriter, properties.writer);
  for (const CompactedRange& compacted_ranges : properties.compacted_ranges)
    AppendField(&out, Tag::kCompactedRanges, EncodeCompactedRanges(compacted_ranges));
  return out;
}

Status DecodeProperties(std::string_view bytes, Properties* properties) {
  *properties = {};
  while (!bytes.empty()) {
    uint32_t tag = 0;
    std::string_view payload;
    if (!base::TakeVarint32(&bytes, &tag) || !base::TakeLengthPrefixed(&bytes, &payload)) {
      return Status::Corruption("properties are cut short");
    }
    RETURN_IF_ERROR(DecodeField(static_cast<Tag>(tag), payload, properties));
  }
  return {};
}

}  // namespace mergedb::format
