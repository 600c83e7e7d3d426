#include "leveldb/format/sealed.h"

#include <snappy.h>
#include <zstd.h>

#include "base/coding.h"
#include "base/crc32c.h"
#include "leveldb/format/log.h"

namespace mergedb::leveldb_format {
namespace {

enum Codec : uint8_t { kStoredRaw = 0, kStoredSnappy = 1, kStoredZstd = 2 };
constexpr uint64_t kMagic = 0xdb4775248b80fb57u;
constexpr size_t kMagicBytes = 8;
// The largest compression ratios: snappy makes 64 bytes from a copy of 3, zstd 128 KiB from a block of 4.
constexpr uint64_t kSnappyRatioMax = 22;
constexpr uint64_t kZstdRatioMax = 32768;

bool TakeHandle(std::string_view* in, Handle* handle) {
  return base::TakeVarint64(in, &handle->offset) && base::TakeVarint64(in, &handle->bytes);
}

// Both functions return an empty string if compression fails.
std::string CompressSnappy(std::string_view block) {
  std::string out;
  snappy::Compress(block.data(), block.size(), &out);
  return out;
}
std::string CompressZstd(std::string_view block, int level) {
  std::string out(ZSTD_compressBound(block.size()), '\0');
  const size_t bytes = ZSTD_compress(out.data(), out.size(), block.data(), block.size(), level);
  out.resize(ZSTD_isError(bytes) ? 0 : bytes);
  return out;
}

Status BadContents(std::string_view codec) {
  return Status::Corruption("a stored block: damaged " + std::string(codec) + " contents");
}

// Checks the stated uncompressed size against the largest possible ratio before it allocates memory.
Result<std::string> UncompressSnappy(std::string_view contents) {
  size_t bytes = 0;
  if (!snappy::GetUncompressedLength(contents.data(), contents.size(), &bytes) || bytes > kBlockBytesMax ||
      bytes > contents.size() * kSnappyRatioMax) {
    return BadContents("snappy");
  }
  std::string out(bytes, '\0');
  if (!snappy::RawUncompress(contents.data(), contents.size(), out.data())) return BadContents("snappy");
  return out;
}

Result<std::string> UncompressZstd(std::string_view contents) {
  const unsigned long long bytes = ZSTD_getFrameContentSize(contents.data(), contents.size());
  if (bytes > kBlockBytesMax || bytes > contents.size() * kZstdRatioMax) return BadContents("zstd");
  std::string out(bytes, '\0');
  if (ZSTD_decompress(out.data(), out.size(), contents.data(), contents.size()) != bytes) return BadContents("zstd");
  return out;
}

}  // namespace

void AppendHandle(std::string* out, const Handle& handle) {
  base::AppendVarint64(out, handle.offset);
  base::AppendVarint64(out, handle.bytes);
}

Result<Handle> DecodeHandle(std::string_view bytes) {
  Handle handle;
  if (!TakeHandle(&bytes, &handle)) return Status::Corruption("a table: bad block handle");
  return handle;
}

Status CheckHandle(const Handle& handle, uint64_t file_bytes) {
  const uint64_t end = file_bytes < kTableFooterBytes ? 0 : file_bytes - kTableFooterBytes;
  if (end < kBlockTrailerBytes || handle.offset > end - kBlockTrailerBytes ||
      handle.bytes > end - kBlockTrailerBytes - handle.offset) {
    return Status::Corruption("a table of " + std::to_string(file_bytes) + " bytes: a block of " +
                              std::to_string(handle.bytes) + " at offset " + std::to_string(handle.offset));
  }
  if (handle.bytes > kBlockBytesMax)
    return Status::NotSupported("a table: a block of " + std::to_string(handle.bytes) + " bytes");
  return {};
}

std::string EncodeTableFooter(const TableFooter& footer) {
  std::string out;
  AppendHandle(&out, footer.metaindex);
  AppendHandle(&out, footer.index);
  out.resize(kTableFooterBytes - kMagicBytes, '\0');
  base::AppendFixed64(&out, kMagic);
  return out;
}

Result<TableFooter> DecodeTableFooter(std::string_view bytes) {
  if (bytes.size() < kTableFooterBytes) return Status::Corruption("file is too short to be an sstable");
  bytes = bytes.substr(bytes.size() - kTableFooterBytes);
  if (base::LoadFixed64(bytes.data() + kTableFooterBytes - kMagicBytes) != kMagic) {
    return Status::Corruption("not an sstable (bad magic number)");
  }
  TableFooter footer;
  if (!TakeHandle(&bytes, &footer.metaindex) || !TakeHandle(&bytes, &footer.index))
    return Status::Corruption("a table: bad block handle");
  return footer;
}

size_t SealBlock(std::string_view block, const BlockCodec& codec, std::string* out) {
  std::string compressed;
  uint8_t stored_as = kStoredRaw;
  if (codec.compression == Compression::kSnappy && block.size() <= UINT32_MAX) {
    compressed = CompressSnappy(block);
    stored_as = kStoredSnappy;
  } else if (codec.compression == Compression::kZstd) {
    compressed = CompressZstd(block, codec.zstd_level);
    stored_as = kStoredZstd;
  }
  if (compressed.empty() || compressed.size() >= block.size() - block.size() / 8) {
    stored_as = kStoredRaw;
  } else {
    block = compressed;
  }
  const char type = static_cast<char>(stored_as);
  const uint32_t crc = base::Crc32cExtend(base::Crc32c(block), &type, 1);
  out->append(block).push_back(type);
  base::AppendFixed32(out, MaskCrc(crc));
  return block.size();
}

Result<std::string> OpenBlock(std::string stored, bool verify_checksum) {
  if (stored.size() < kBlockTrailerBytes) return Status::Corruption("a stored block: cut short");
  const std::string_view contents(stored.data(), stored.size() - kBlockTrailerBytes);
  const auto codec = static_cast<uint8_t>(stored[contents.size()]);
  if (verify_checksum) {
    const uint32_t expected = UnmaskCrc(base::LoadFixed32(stored.data() + contents.size() + 1));
    if (base::Crc32c({stored.data(), contents.size() + 1}) != expected)
      return Status::Corruption("block checksum mismatch");
  }
  switch (codec) {
    case kStoredRaw: stored.resize(contents.size()); return stored;
    case kStoredSnappy: return UncompressSnappy(contents);
    case kStoredZstd: return UncompressZstd(contents);
    default: return Status::Corruption("bad block type");
  }
}

}  // namespace mergedb::leveldb_format
