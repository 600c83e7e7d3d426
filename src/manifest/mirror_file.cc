#include "manifest/mirror_file.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "manifest/mirror_layout.h"

namespace mergedb::manifest {
namespace {

std::string EncodeHeader(const Identity& identity) {
  std::string header(kMirrorMagic);
  base::AppendFixed32(&header, kFormatVersion);
  base::AppendFixed32(&header, static_cast<uint32_t>(kv::ToInt(identity.number)));
  base::AppendFixed64(&header, identity.database_id);
  base::AppendFixed32(&header, base::Crc32c(header));
  base::AppendFixed32(&header, 0);
  ASSERT(header.size() == kMirrorHeaderBytes, "the header's size is part of the format");
  return header;
}

// `chain` is the checksum of the previous record, and on return that of this record.
std::string EncodeRecord(std::string_view part, bool goes_on, uint32_t* chain) {
  ASSERT(!part.empty() && part.size() <= kPartBytesMax, "a part of a payload has at most kPartBytesMax bytes");
  const uint32_t length_field = static_cast<uint32_t>(part.size()) | (goes_on ? kGoesOn : 0);
  *chain = base::Crc32cExtend(RecordSeed(*chain, length_field), part.data(), part.size());
  std::string record;
  record.reserve(kRecordHeaderBytes + part.size());
  base::AppendFixed32(&record, *chain);
  base::AppendFixed32(&record, length_field);
  record.append(part);
  return record;
}

// Calls use(part, goes_on) for the parts of the payload in order, until the first failure.
template <typename Use>
Status ForEachPart(std::string_view payload, uint64_t part_bytes_max, const Use& use) {
  while (payload.size() > part_bytes_max) {
    RETURN_IF_ERROR(use(payload.substr(0, part_bytes_max), true));
    payload.remove_prefix(part_bytes_max);
  }
  return use(payload, false);
}

}  // namespace

Result<std::unique_ptr<MirrorWriter>> MirrorWriter::Create(FileSystem* file_system, const std::string& path,
                                                           const Identity& identity, uint64_t part_bytes_max) {
  ASSIGN_OR_RETURN(auto file, file_system->Open(path, {.access = Access::kCreate}));
  std::unique_ptr<MirrorWriter> writer(new MirrorWriter(std::move(file), part_bytes_max));
  const std::string header = EncodeHeader(identity);
  RETURN_IF_ERROR(writer->Extend(header.size()));
  RETURN_IF_ERROR(writer->WriteStream(0, header));
  writer->end_ = header.size();
  writer->chain_ = HeaderChain(header);
  return writer;
}

// Adds page pairs until the stream has room for `stream_bytes`.
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
      RETURN_IF_ERROR(file_->WriteAt(MirrorOffset(at, copy), rest.substr(0, piece)));
      rest.remove_prefix(piece);
      at += piece;
    }
  }
  return {};
}

Result<MirrorEnd> MirrorWriter::WriteWhole(FileSystem* file_system, const std::string& path, const Identity& identity,
                                           std::string_view payload, uint64_t part_bytes_max) {
  std::string stream = EncodeHeader(identity);
  uint32_t chain = HeaderChain(stream);
  RETURN_IF_ERROR(ForEachPart(payload, part_bytes_max, [&](std::string_view part, bool goes_on) {
    stream += EncodeRecord(part, goes_on, &chain);
    return Status();
  }));
  const MirrorEnd written{.bytes = stream.size(), .chain = chain};
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
  RETURN_IF_ERROR(file->Close());
  return written;
}

// INVARIANT: a record is durable before the next record is written, also within one payload. The reader relies on it.
Status MirrorWriter::AppendPart(std::string_view part, bool goes_on) {
  uint32_t crc = chain_;
  const std::string record = EncodeRecord(part, goes_on, &crc);
  RETURN_IF_ERROR(Extend(end_ + record.size() + kRoomBehind));
  RETURN_IF_ERROR(WriteStream(end_, record));
  RETURN_IF_ERROR(file_->Sync());
  end_ += record.size();
  chain_ = crc;
  return {};
}

Status MirrorWriter::Append(std::string_view payload) {
  return ForEachPart(payload, part_bytes_max_,
                     [&](std::string_view part, bool goes_on) { return AppendPart(part, goes_on); });
}

}  // namespace mergedb::manifest
