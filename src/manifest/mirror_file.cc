#include "manifest/mirror_file.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/coding.h"
#include "base/crc32c.h"
#include "base/zoo.h"

namespace mergedb::manifest {
namespace {

constexpr std::string_view kMagic = "mergedb manifest";
constexpr size_t kHeaderBytes = 40;
constexpr size_t kRecordHeaderBytes = 8;
// So many zeros stand behind the last record at least: a file that ends earlier lost a pair of pages with records in it.
constexpr uint64_t kRoomBehind = kRecordHeaderBytes;
constexpr uint64_t kFileBytesMax = uint64_t{1} << 32;  // a MANIFEST rolls over long before
static_assert(kMagic.size() == 16);

std::string EncodeHeader(const Identity& identity) {
  std::string header(kMagic);
  base::AppendFixed32(&header, kFormatVersion);
  base::AppendFixed32(&header, static_cast<uint32_t>(kv::ToInt(identity.number)));
  base::AppendFixed64(&header, identity.database_id);
  base::AppendFixed32(&header, base::Crc32c(header));
  base::AppendFixed32(&header, 0);
  ASSERT(header.size() == kHeaderBytes, "the header's size is part of the format");
  return header;
}

uint32_t HeaderChain(std::string_view header) { return base::LoadFixed32(header.data() + 32); }

uint32_t RecordChain(uint32_t chain, std::string_view length, std::string_view payload) {
  char seed[4];
  base::StoreFixed32(seed, chain);
  uint32_t crc = base::Crc32cExtend(0, seed, sizeof seed);
  crc = base::Crc32cExtend(crc, length.data(), length.size());
  return base::Crc32cExtend(crc, payload.data(), payload.size());
}

// `chain`: the predecessor's checksum, then this one's.
std::string EncodeRecord(std::string_view payload, uint32_t* chain) {
  ASSERT(!payload.empty() && payload.size() < kFileBytesMax / 4, "a MANIFEST record is small");
  char length[4];
  base::StoreFixed32(length, static_cast<uint32_t>(payload.size()));
  *chain = RecordChain(*chain, {length, sizeof length}, payload);
  std::string record;
  record.reserve(kRecordHeaderBytes + payload.size());
  base::AppendFixed32(&record, *chain);
  record.append(length, sizeof length);
  record.append(payload);
  return record;
}

// Where byte `offset` of the stream lies in copy 0 or 1.
uint64_t FileOffset(uint64_t offset, int copy) {
  return offset / kPageBytes * (2 * kPageBytes) + static_cast<uint64_t>(copy) * kPageBytes + offset % kPageBytes;
}

std::string At(uint64_t offset) { return "at stream offset " + std::to_string(offset); }

// One copy of the stream, put together from its pages.
std::string CopyOf(std::string_view file, int copy) {
  std::string stream;
  stream.reserve(file.size() / 2);
  for (uint64_t page = 0; page < file.size(); page += 2 * kPageBytes) {
    stream.append(file.substr(page + static_cast<uint64_t>(copy) * kPageBytes, kPageBytes));
  }
  return stream;
}

struct Record {
  std::string_view payload;
  uint32_t crc;
};

// The record at `offset` of a stream if it is whole and follows `chain`.
bool ParseRecord(std::string_view stream, uint64_t offset, uint32_t chain, Record* record) {
  if (stream.size() - offset < kRecordHeaderBytes) return false;
  const uint32_t crc = base::LoadFixed32(stream.data() + offset);
  const uint32_t length = base::LoadFixed32(stream.data() + offset + 4);
  if (length == 0 || length > stream.size() - offset - kRecordHeaderBytes) return false;
  const std::string_view payload = stream.substr(offset + kRecordHeaderBytes, length);
  const bool is_whole = RecordChain(chain, stream.substr(offset + 4, 4), payload) == crc;
  if (!is_whole && !ZOO(kManifestNotChecked)) return false;
  *record = {payload, crc};
  return true;
}

bool ParseHeader(std::string_view stream, Identity* identity, uint32_t* version) {
  if (stream.substr(0, kMagic.size()) != kMagic) return false;
  if (base::Crc32c(stream.substr(0, 32)) != base::LoadFixed32(stream.data() + 32)) return false;
  *version = base::LoadFixed32(stream.data() + 16);
  identity->number = kv::FileNumber{base::LoadFixed32(stream.data() + 20)};
  identity->database_id = base::LoadFixed64(stream.data() + 24);
  return true;
}

Result<std::string> ReadWhole(FileSystem* file_system, const std::string& path) {
  ASSIGN_OR_RETURN(auto file, file_system->Open(path, {.access = Access::kRead}));
  ASSIGN_OR_RETURN(const uint64_t bytes, file->Size());
  const uint64_t whole_bytes = bytes / (2 * kPageBytes) * (2 * kPageBytes);
  const Status wrong_size = Status::Corruption(path + ": size " + std::to_string(bytes) + ", expected a multiple of " +
                                               std::to_string(2 * kPageBytes) + " (truncated?)");
  if (whole_bytes == 0 || bytes > kFileBytesMax) return wrong_size;
  std::string contents(bytes, 0);
  size_t got = 0;
  RETURN_IF_ERROR(file->ReadAt(0, bytes, contents.data(), &got));
  if (got != bytes) return Status::Corruption(path + ": ends at " + std::to_string(got));
  // A part of a pair, all zeros: a crash while the pair was made. No record is in it, and none was allowed near it.
  if (contents.find_first_not_of('\0', whole_bytes) != std::string::npos) return wrong_size;
  contents.resize(whole_bytes);
  return contents;
}

}  // namespace

Result<std::unique_ptr<MirrorWriter>> MirrorWriter::Create(FileSystem* file_system, const std::string& path,
                                                           const Identity& identity) {
  ASSIGN_OR_RETURN(auto file, file_system->Open(path, {.access = Access::kCreate}));
  std::unique_ptr<MirrorWriter> writer(new MirrorWriter(std::move(file), path));
  const std::string header = EncodeHeader(identity);
  RETURN_IF_ERROR(writer->Extend(header.size()));
  RETURN_IF_ERROR(writer->WriteStream(0, header));
  writer->end_ = header.size();
  writer->chain_ = HeaderChain(header);
  return writer;
}

// Add page pairs until the stream holds `stream_bytes`.
Status MirrorWriter::Extend(uint64_t stream_bytes) {
  if (stream_bytes <= capacity_) return {};
  const std::string zeros(2 * kPageBytes, 0);
  while (capacity_ < stream_bytes) {
    RETURN_IF_ERROR(file_->WriteAt(2 * capacity_, zeros));
    capacity_ += kPageBytes;
  }
  return file_->Sync();
}

Status MirrorWriter::WriteStream(uint64_t offset, std::string_view bytes) {
  for (int copy = 0; copy < 2; ++copy) {
    std::string_view rest = bytes;
    for (uint64_t at = offset; !rest.empty();) {
      const size_t piece = std::min<size_t>(rest.size(), kPageBytes - at % kPageBytes);
      RETURN_IF_ERROR(file_->WriteAt(FileOffset(at, copy), rest.substr(0, piece)));
      rest.remove_prefix(piece);
      at += piece;
    }
  }
  return {};
}

Status MirrorWriter::WriteWhole(FileSystem* file_system, const std::string& path, const Identity& identity,
                                std::string_view payload) {
  std::string stream = EncodeHeader(identity);
  uint32_t chain = HeaderChain(stream);
  stream += EncodeRecord(payload, &chain);
  stream.append(kRoomBehind, '\0');
  stream.resize((stream.size() + kPageBytes - 1) / kPageBytes * kPageBytes);
  ASSIGN_OR_RETURN(auto file, file_system->Open(path, {.access = Access::kCreate}));
  uint64_t end = 0;
  for (uint64_t page = 0; page < stream.size(); page += kPageBytes) {
    for (int copy = 0; copy < 2; ++copy, end += kPageBytes) {
      RETURN_IF_ERROR(file->WriteAt(end, std::string_view(stream).substr(page, kPageBytes)));
    }
  }
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

Status MirrorWriter::Append(std::string_view payload) {
  uint32_t crc = chain_;
  const std::string record = EncodeRecord(payload, &crc);
  RETURN_IF_ERROR(Extend(end_ + record.size() + kRoomBehind));
  RETURN_IF_ERROR(WriteStream(end_, record));
  if (!ZOO(kDroppedManifestSync)) RETURN_IF_ERROR(file_->Sync());
  end_ += record.size();
  chain_ = crc;
  return {};
}

Result<MirrorContents> ReadMirror(FileSystem* file_system, const std::string& path,
                                  const std::function<Status(std::string_view)>& apply) {
  ASSIGN_OR_RETURN(const std::string file, ReadWhole(file_system, path));
  const std::string copies[2] = {CopyOf(file, 0), CopyOf(file, 1)};

  MirrorContents contents;
  uint32_t version = 0;
  const bool whole_a = ParseHeader(copies[0], &contents.identity, &version);
  if (!whole_a && !ParseHeader(copies[1], &contents.identity, &version)) {
    return Status::Corruption(path + ": header: both copies are damaged, or this is not a mergedb MANIFEST");
  }
  if (version != kFormatVersion) {
    return Status::NotSupported(path + ": format version " + std::to_string(version) + ", this build reads " +
                                std::to_string(kFormatVersion) + "; use a newer mergedb");
  }
  const auto note = [&](uint64_t offset, uint64_t bytes, int copy, const std::string& what) {
    contents.flaws.push_back({FileOffset(offset, copy), bytes, what});
  };
  Identity other_identity;
  uint32_t other_version = 0;
  const bool whole_b = ParseHeader(copies[1], &other_identity, &other_version);
  if (!whole_a || !whole_b) note(0, kHeaderBytes, whole_a ? 1 : 0, "header: this copy is damaged, the other one is whole");
  if (!whole_a) ++contents.repaired;

  uint32_t chain = HeaderChain(copies[whole_a ? 0 : 1]);
  uint64_t offset = kHeaderBytes;
  for (;;) {
    Record record, other;
    const bool in_a = ParseRecord(copies[0], offset, chain, &record);
    const bool in_b = !ZOO(kManifestMirrorUnread) && ParseRecord(copies[1], offset, chain, in_a ? &other : &record);
    if (!in_a && !in_b) break;
    if (in_a != in_b) {
      ++contents.repaired;
      note(offset, kRecordHeaderBytes + record.payload.size(), in_a ? 1 : 0, "record: this copy is damaged, the other one is whole");
    }
    RETURN_IF_ERROR(apply(record.payload).WithContext(path + " " + At(offset)));
    ++contents.records;
    chain = record.crc;
    offset += kRecordHeaderBytes + record.payload.size();
  }

  // Pages are there before a record enters them, and before one ends at their edge: where the stream comes so close to the end
  // of the file, or goes on behind it, the pair after it was cut off.
  const auto is_cut = [&](std::string_view copy) {
    const std::string_view rest = copy.substr(offset);
    if (rest.size() < kRoomBehind) return true;
    return base::LoadFixed32(rest.data() + 4) > rest.size() - kRecordHeaderBytes;
  };
  if (is_cut(copies[0]) && is_cut(copies[1])) {
    return Status::Corruption(path + ": the file ends at or within the record " + At(offset) + " (truncated?)");
  }
  // Neither copy goes on. After a crash at most one record was under way; zeros follow it in the pages of both copies.
  const auto dropped = [&](const std::string& copy) -> uint64_t {
    const size_t last = copy.find_last_not_of('\0');
    return last == std::string::npos || last < offset ? 0 : last + 1 - offset;
  };
  contents.dropped_bytes = std::max(dropped(copies[0]), dropped(copies[1]));
  for (int copy = 0; copy < 2; ++copy) {
    if (const uint64_t bytes = dropped(copies[copy]); bytes > 0) {
      const uint64_t first = copies[copy].find_first_not_of('\0', offset);
      contents.tail.push_back({FileOffset(first, copy), offset + bytes - first, "bytes behind the last record"});
    }
  }
  if (contents.records == 0) {
    // The first record is synced before CURRENT names the file.
    return Status::Corruption(path + ": first record " + At(offset) + ": both copies are damaged");
  }
  return contents;
}

}  // namespace mergedb::manifest
