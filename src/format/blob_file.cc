#include "format/blob_file.h"

#include "base/bytes.h"
#include "base/coding.h"
#include "base/crc32c.h"
#include "format/compression.h"

namespace mergedb::format {
namespace {

static_assert(kBlobFileMagic.size() == 16);

constexpr size_t kCrcBytes = 4;

// Offsets within the footer.
constexpr size_t kUniqueIdAt = 0, kFileBytesAt = 8, kNumberAt = 16, kRecordsAt = 24, kRecordBytesAt = 32;
static_assert(kRecordBytesAt + 8 + kFooterEndBytes == kBlobFooterBytes);
constexpr FooterFormat kBlobFooter = {
    .name = "blob file format", .magic = kBlobFileMagic, .bytes = kBlobFooterBytes, .version_max = kBlobFileVersion};

Status Damaged(const char* what, uint64_t expected, uint64_t found) {
  return Status::Corruption(std::string(what) + ": expected " + std::to_string(expected) + ", found " +
                            std::to_string(found));
}

struct RecordHead {
  uint8_t codec = 0;
  uint32_t key_bytes = 0;
  uint32_t stored_bytes = 0;
  size_t bytes = 0;  // of the head

  uint64_t record_bytes() const { return bytes + uint64_t{key_bytes} + stored_bytes; }
};

bool ParseHead(std::string_view bytes, RecordHead* head) {
  std::string_view rest = bytes;
  if (rest.size() < kRecordBytesMin) return false;
  head->codec = static_cast<uint8_t>(rest[kCrcBytes]);
  rest.remove_prefix(kCrcBytes + 1);
  if (!base::TakeVarint32(&rest, &head->key_bytes) || !base::TakeVarint32(&rest, &head->stored_bytes)) return false;
  head->bytes = bytes.size() - rest.size();
  return true;
}

// Stores the head except for its checksum. Returns the size of the head.
size_t StoreSizes(char* out, Compression codec, size_t key_bytes, size_t stored_bytes) {
  out[kCrcBytes] = static_cast<char>(codec);
  char* end = base::StoreVarint32(out + kCrcBytes + 1, static_cast<uint32_t>(key_bytes));
  end = base::StoreVarint32(end, static_cast<uint32_t>(stored_bytes));
  return static_cast<size_t>(end - out);
}

Status NoHead(std::string_view bytes) {
  return Status::Corruption("expected the header of a blob record, found " +
                            base::ToHex(bytes.substr(0, kRecordHeadBytesMax)));
}

}  // namespace

size_t EncodeBlobIndex(char* out, const BlobIndex& reference) {
  char* end = base::StoreVarint64(out, ToInt(reference.file));
  end = base::StoreVarint64(end, reference.offset);
  end = base::StoreVarint32(end, reference.bytes);
  return static_cast<size_t>(end - out);
}

Status DecodeBlobIndex(std::string_view bytes, BlobIndex* reference) {
  std::string_view rest = bytes;
  uint64_t number = 0;
  if (base::TakeVarint64(&rest, &number) && base::TakeVarint64(&rest, &reference->offset) &&
      base::TakeVarint32(&rest, &reference->bytes) && rest.empty() && reference->bytes >= kRecordBytesMin) [[likely]] {
    reference->file = kv::FileNumber{number};
    return {};
  }
  return Status::Corruption("expected a blob index, found " + base::ToHex(bytes.substr(0, kBlobIndexBytesMax)));
}

size_t StoreRecordHead(char* out, std::string_view key, std::string_view stored, Compression codec,
                       const Place& place) {
  const size_t bytes = StoreSizes(out, codec, key.size(), stored.size());
  uint32_t crc = base::Crc32cExtend(0, out + kCrcBytes, bytes - kCrcBytes);
  crc = base::Crc32cExtend(crc, key.data(), key.size());
  crc = base::Crc32cExtend(crc, stored.data(), stored.size());
  base::StoreFixed32(out, Salted(crc, place));
  return bytes;
}

size_t StoreUncheckedHead(char* out, size_t key_bytes, size_t value_bytes) {
  base::StoreFixed32(out, 0);
  return StoreSizes(out, Compression::kNone, key_bytes, value_bytes);
}

Status OpenRecord(std::string_view bytes, const Place& place, bool verify, BlobRecord* record) {
  RecordHead head;
  if (!ParseHead(bytes, &head)) return NoHead(bytes);
  if (head.record_bytes() != bytes.size()) return Damaged("record's size", bytes.size(), head.record_bytes());
  if (verify) {
    const uint32_t expected = base::LoadFixed32(bytes.data());
    const uint32_t found = Salted(base::Crc32c(bytes.substr(kCrcBytes)), place);
    if (expected != found) [[unlikely]]
      return Damaged("checksum", expected, found);
  }
  if (!IsKnownCompression(head.codec)) {
    return Status::NotSupported("codec " + std::to_string(head.codec) + ": written by a newer version of mergedb");
  }
  record->codec = static_cast<Compression>(head.codec);
  record->key = bytes.substr(head.bytes, head.key_bytes);
  record->stored = bytes.substr(head.bytes + head.key_bytes);
  return {};
}

Status ReadRecordBytes(std::string_view bytes, uint64_t* record_bytes) {
  RecordHead head;
  if (!ParseHead(bytes, &head)) return NoHead(bytes);
  *record_bytes = head.record_bytes();
  return {};
}

std::string EncodeBlobFooter(const BlobFileMeta& file) {
  std::string out(kBlobFooterBytes, '\0');
  base::StoreFixed64(out.data() + kUniqueIdAt, file.unique_id);
  base::StoreFixed64(out.data() + kFileBytesAt, file.bytes);
  base::StoreFixed64(out.data() + kNumberAt, ToInt(file.number));
  base::StoreFixed64(out.data() + kRecordsAt, file.records);
  base::StoreFixed64(out.data() + kRecordBytesAt, file.record_bytes);
  StoreFooterEnd(kBlobFooter, kBlobFileVersion, &out);
  return out;
}

Status DecodeBlobFooter(std::string_view bytes, uint64_t file_bytes, BlobFileMeta* file) {
  uint32_t version = 0;
  RETURN_IF_ERROR(CheckFooterEnd(kBlobFooter, bytes, &version));
  const char* in = bytes.data();
  *file = {.number = kv::FileNumber{base::LoadFixed64(in + kNumberAt)},
           .bytes = base::LoadFixed64(in + kFileBytesAt),
           .unique_id = base::LoadFixed64(in + kUniqueIdAt),
           .records = base::LoadFixed64(in + kRecordsAt),
           .record_bytes = base::LoadFixed64(in + kRecordBytesAt)};
  if (file->bytes != file_bytes) return Damaged("file size", file->bytes, file_bytes);
  if (file->record_bytes > file_bytes || BlobFileBytes(file->record_bytes) != file_bytes) {
    return Damaged("maximum bytes of records", file_bytes - kBlobFooterBytes, file->record_bytes);
  }
  return {};
}

uint64_t BlobFileBytes(uint64_t record_bytes) {
  return (record_bytes + kBlobFooterBytes + kTableAlign - 1) / kTableAlign * kTableAlign;
}

}  // namespace mergedb::format
