#include "fuzz/fix_checksums.h"

#include <algorithm>
#include <cstdio>

#include "base/coding.h"
#include "base/crc32c.h"
#include "format/file_name.h"
#include "format/table_layout.h"
#include "manifest/mirror_file.h"
#include "wal/frame.h"

namespace mergedb::fuzz {
namespace {

void StoreAt(std::string* bytes, size_t at, uint32_t number) { base::StoreFixed32(bytes->data() + at, number); }

// Recomputes the trailer of a part of a table, if the file contains that part.
void FixPartChecksums(std::string* bytes, uint64_t offset, uint64_t stored_bytes, uint64_t unique_id) {
  if (stored_bytes < format::kTrailerBytes || offset > bytes->size() || stored_bytes > bytes->size() - offset) return;
  const size_t payload_bytes = stored_bytes - format::kTrailerBytes;
  char* const trailer = bytes->data() + offset + payload_bytes;
  format::StoreTrailer(trailer, {bytes->data() + offset, payload_bytes}, static_cast<Compression>(*trailer),
                       {.unique_id = unique_id, .offset = offset});
}

// docs/formats/table.md: index := count u32 | prefix bytes u32 | prefix | block bytes u32 * count | ...
void FixBlocksChecksums(std::string* bytes, const format::Footer& footer) {
  const uint64_t index_end = std::min<uint64_t>(footer.index_offset() + footer.index_bytes, bytes->size());
  if (footer.index_offset() + 8 > index_end) return;
  const uint64_t count = base::LoadFixed32(bytes->data() + footer.index_offset());
  uint64_t at = footer.index_offset() + 8 + base::LoadFixed32(bytes->data() + footer.index_offset() + 4);
  uint64_t offset = 0;
  for (uint64_t block = 0; block < count && at + 4 <= index_end; ++block, at += 4) {
    const uint64_t stored_bytes = base::LoadFixed32(bytes->data() + at);
    FixPartChecksums(bytes, offset, stored_bytes, footer.unique_id);
    offset += stored_bytes;
  }
}

}  // namespace

void FixTableChecksums(std::string* bytes) {
  if (bytes->size() < format::kFooterBytes) return;
  const size_t footer_at = bytes->size() - format::kFooterBytes;
  // docs/formats/table.md: crc at 72 over bytes 0-71 and 76-95.
  const std::string_view stored = std::string_view(*bytes).substr(footer_at);
  StoreAt(bytes, footer_at + 72,
          base::Crc32cExtend(base::Crc32c(stored.substr(0, 72)), stored.data() + 76, format::kFooterBytes - 76));
  format::Footer footer;
  if (!format::DecodeFooter(stored, bytes->size(), &footer).ok()) return;
  FixBlocksChecksums(bytes, footer);
  FixPartChecksums(bytes, footer.data_bytes, footer.filter_bytes, footer.unique_id);
  FixPartChecksums(bytes, footer.range_tombstone_offset(), footer.range_tombstone_bytes, footer.unique_id);
  FixPartChecksums(bytes, footer.index_offset(), footer.index_bytes, footer.unique_id);
  FixPartChecksums(bytes, footer.properties_offset(), footer.properties_bytes, footer.unique_id);
}

// docs/formats/manifest.md: page pairs; a header of 40 bytes with its crc at 32; records of crc, length, payload.
void FixManifestChecksums(std::string* bytes) {
  std::string stream;
  for (size_t pair = 0; pair + 2 * manifest::kPageBytes <= bytes->size(); pair += 2 * manifest::kPageBytes) {
    stream.append(*bytes, pair, manifest::kPageBytes);
  }
  if (stream.size() < 40) return;
  uint32_t chain = base::Crc32c(std::string_view(stream).substr(0, 32));
  StoreAt(&stream, 32, chain);
  for (size_t at = 40; at + 8 <= stream.size();) {
    const uint64_t length =
        base::LoadFixed32(stream.data() + at + 4) & INT32_MAX;  // the highest bit: continues in the next record
    if (length == 0 || length > stream.size() - at - 8) break;
    char before[4];
    base::StoreFixed32(before, chain);
    chain = base::Crc32cExtend(base::Crc32c({before, 4}), stream.data() + at + 4, 4 + length);
    StoreAt(&stream, at, chain);
    at += 8 + length;
  }
  for (size_t page = 0; page < stream.size(); page += manifest::kPageBytes) {
    for (const size_t copy : {size_t{0}, manifest::kPageBytes}) {
      bytes->replace(2 * page + copy, manifest::kPageBytes, stream, page, manifest::kPageBytes);
    }
  }
}

void FixCurrentChecksums(std::string* bytes) {
  if (bytes->size() < 9) return;
  bytes->resize(bytes->size() - 9);
  // Removes the field that tells how far the MANIFEST reached, because its checksum is of the original
  // MANIFEST.
  if (const size_t name_end = bytes->find(' ', bytes->find(' ') + 1); name_end != std::string::npos)
    bytes->resize(name_end);
  char crc[16];
  std::snprintf(crc, sizeof crc, " %08x", base::Crc32c(*bytes));
  *bytes += crc;
}

void FixSegmentHeadChecksums(std::string* bytes) {
  if (bytes->size() >= 64) StoreAt(bytes, 60, base::Crc32c(std::string_view(*bytes).substr(0, 60)));
}

void FixFramesChecksums(uint64_t salt, std::string* stream) {
  const uint32_t salt_crc = wal::SaltCrc(salt);
  uint32_t chain = salt_crc;
  for (uint64_t at = 0; at + wal::kFrameHeaderBytes <= stream->size();) {
    char* const frame = stream->data() + at;
    const wal::FrameHeader header = wal::LoadFrameHeader(frame);
    if (header.length > stream->size() - at - wal::kFrameHeaderBytes) return;
    const uint64_t durable = header.undurable > at ? 0 : at - header.undurable;
    wal::StoreFrameHeader(frame, wal::MakeFrameHeader(salt_crc, at, header.length, durable, header.sequence));
    chain = wal::FrameCrc(chain, frame, wal::kFrameHeaderBytes + header.length);
    base::StoreFixed32(frame, chain);
    at += wal::FrameBytes(header.length);
  }
}

void FixFileChecksums(const std::string& path, std::string* bytes) {
  const auto name = format::ParseFileName(path.substr(path.rfind('/') + 1));
  if (!name) return;
  switch (name->kind) {
    case format::FileKind::kTable: return FixTableChecksums(bytes);
    case format::FileKind::kManifest: return FixManifestChecksums(bytes);
    case format::FileKind::kCurrent: return FixCurrentChecksums(bytes);
    case format::FileKind::kSegment: return FixSegmentHeadChecksums(bytes);
    default: return;
  }
}

}  // namespace mergedb::fuzz
