// Reads a mirror file record by record, from a whole copy, through a window: memory holds one payload.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "manifest/mirror_file.h"
#include "manifest/mirror_layout.h"

namespace mergedb::manifest {
namespace {

constexpr size_t kWindowBytes = size_t{256} << 10;
constexpr uint64_t kSearchBytesMax = uint64_t{64} << 20;  // of the search after a broken record
constexpr uint64_t kSearchWorkFactor = 64;                // bytes checksummed for each byte searched, at most

std::string At(uint64_t offset) { return "at stream offset " + std::to_string(offset); }

constexpr const char* kNextStep = "; run `mergedb verify`, then `mergedb repair`";

// One copy of the stream.
class Copy {
 public:
  Copy(File& file, uint64_t stream_bytes, int copy) : file_(file), stream_bytes_(stream_bytes), copy_(copy) {}

  uint64_t stream_bytes() const { return stream_bytes_; }
  uint64_t FileOffsetOf(uint64_t offset) const { return MirrorOffset(offset, copy_); }

  // The bytes [offset, offset + bytes), or less at the end of the stream. The view lives until the next call.
  Result<std::string_view> Read(uint64_t offset, size_t bytes) {
    bytes = std::min<uint64_t>(bytes, stream_bytes_ - std::min(offset, stream_bytes_));
    const bool is_held = offset >= window_offset_ && offset + bytes <= window_offset_ + window_.size();
    if (!is_held)
      RETURN_IF_ERROR(Fill(offset, std::min<uint64_t>(std::max(bytes, kWindowBytes), stream_bytes_ - offset)));
    return std::string_view(window_).substr(offset - window_offset_, bytes);
  }

  // Calls use(offset, piece) for all bytes of [begin, end), one window at a time.
  template <typename Use>
  Status ForEachPiece(uint64_t begin, uint64_t end, const Use& use) {
    while (begin < end) {
      ASSIGN_OR_RETURN(const std::string_view piece, Read(begin, std::min<uint64_t>(end - begin, kWindowBytes)));
      use(begin, piece);
      begin += piece.size();
    }
    return {};
  }

 private:
  Status Fill(uint64_t offset, size_t bytes) {
    window_.resize(bytes);
    window_offset_ = offset;
    for (size_t done = 0; done < bytes;) {
      const uint64_t at = offset + done;
      const size_t piece = std::min<size_t>(bytes - done, kPageBytes - at % kPageBytes);
      size_t got = 0;
      Status status = file_.ReadAt(FileOffsetOf(at), piece, window_.data() + done, &got);
      if (status.ok() && got < piece) status = Status::Corruption("ends at " + std::to_string(FileOffsetOf(at) + got));
      if (!status.ok()) {
        window_.clear();
        return status;
      }
      done += piece;
    }
    return {};
  }

  File& file_;
  const uint64_t stream_bytes_;
  const int copy_;
  std::string window_;
  uint64_t window_offset_ = 0;
};

struct Header {
  Identity identity;
  uint32_t version = 0;
  uint32_t chain = 0;
  bool is_whole = false;
};

Header ParseHeader(std::string_view bytes) {
  Header header;
  if (bytes.size() < kMirrorHeaderBytes || bytes.substr(0, kMirrorMagic.size()) != kMirrorMagic) return header;
  header.chain = HeaderChain(bytes);
  header.is_whole = base::Crc32c(bytes.substr(0, 32)) == header.chain;
  header.version = base::LoadFixed32(bytes.data() + 16);
  header.identity.number = kv::FileNumber{base::LoadFixed32(bytes.data() + 20)};
  header.identity.database_id = base::LoadFixed64(bytes.data() + 24);
  return header;
}

// The header of a record, and the checksum that its payload has after the predecessor's checksum `chain`.
struct Record {
  uint32_t crc = 0;
  uint32_t length = 0;
  bool goes_on = false;
  bool has_room = false;  // the length is possible at this offset
  uint32_t found_crc = 0;
  bool is_whole() const { return has_room && crc == found_crc; }
  uint64_t bytes() const { return kRecordHeaderBytes + length; }
};

// WHY the payload is not collected here: a damaged length must not cost memory.
Result<Record> ParseRecord(Copy& copy, uint64_t offset, uint32_t chain) {
  Record record;
  if (copy.stream_bytes() - offset < kRecordHeaderBytes) return record;
  ASSIGN_OR_RETURN(const std::string_view header, copy.Read(offset, kRecordHeaderBytes));
  record.crc = base::LoadFixed32(header.data());
  const uint32_t length_field = base::LoadFixed32(header.data() + 4);
  record.length = length_field & ~kGoesOn;
  record.goes_on = (length_field & kGoesOn) != 0;
  const uint64_t begin = offset + kRecordHeaderBytes;
  if (record.length == 0 || record.length > std::min(kRecordBytesMax, copy.stream_bytes() - begin)) return record;
  record.has_room = true;
  record.found_crc = RecordSeed(chain, length_field);
  RETURN_IF_ERROR(copy.ForEachPiece(begin, begin + record.length, [&](uint64_t, std::string_view piece) {
    record.found_crc = base::Crc32cExtend(record.found_crc, piece.data(), piece.size());
  }));
  return record;
}

// Searches for whole records after a broken one, at each byte, since bytes may have been inserted or removed.
//
//     |broken|  ...  |record o|record n|
//
// Record n is whole if its checksum follows from that of o. It is also whole if its checksum follows from that of
// the broken record, either the stored checksum or the computed one.
class WholeRecordSearch {
 public:
  WholeRecordSearch(std::string_view bytes, std::vector<uint32_t> chains)
      : bytes_(bytes), chains_(std::move(chains)), work_left_(kSearchWorkFactor * bytes.size()) {}

  // Returns the offset of a whole record from the begin of the broken one.
  std::optional<uint64_t> Run() {
    for (uint64_t at = 0; at + kRecordHeaderBytes < bytes_.size(); ++at) {
      const uint32_t length = LengthAt(at);
      if (length == 0 || length > bytes_.size() - at - kRecordHeaderBytes) continue;
      for (const uint32_t chain : chains_) {
        if (at > 0 && IsWhole(at, chain)) return at;
      }
      const uint64_t next = at + kRecordHeaderBytes + length;
      if (IsWhole(next, base::LoadFixed32(bytes_.data() + at))) return next;
    }
    return std::nullopt;
  }

 private:
  uint32_t LengthAt(uint64_t at) const { return base::LoadFixed32(bytes_.data() + at + 4) & ~kGoesOn; }

  // WHY the work is limited: bytes can be forged so that each of them looks like the begin of a large record.
  bool IsWhole(uint64_t at, uint32_t chain) {
    if (at + kRecordHeaderBytes >= bytes_.size()) return false;
    const uint32_t length = LengthAt(at);
    if (length == 0 || length > bytes_.size() - at - kRecordHeaderBytes || length > work_left_) return false;
    work_left_ -= length;
    const uint32_t seed = RecordSeed(chain, base::LoadFixed32(bytes_.data() + at + 4));
    return base::Crc32cExtend(seed, bytes_.data() + at + kRecordHeaderBytes, length) ==
           base::LoadFixed32(bytes_.data() + at);
  }

  const std::string_view bytes_;
  const std::vector<uint32_t> chains_;
  uint64_t work_left_;
};

class MirrorReader {
 public:
  MirrorReader(const std::string& path, File& file, uint64_t stream_bytes, const std::optional<MirrorEnd>& reached)
      : path_(path), copies_{Copy(file, stream_bytes, 0), Copy(file, stream_bytes, 1)}, reached_(reached) {}

  Status ReadHeader();
  Status ReadRecords(const std::function<Status(std::string_view)>& apply);
  Status JudgeEnd();
  MirrorContents Take() { return std::move(contents_); }

 private:
  Status CheckNotCut();
  Status CountTail();
  Status LookBehind();
  void Note(uint64_t offset, uint64_t bytes, int copy, const char* what) {
    contents_.flaws.push_back({copies_[copy].FileOffsetOf(offset), bytes, what});
  }
  // The last record, if only one of its copies is whole. If a whole record follows it, the other copy is damaged.
  struct Doubt {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    int copy = 0;
  };
  void TakeDoubt() {
    if (!doubt_) return;
    ++contents_.repaired;
    Note(doubt_->offset, doubt_->bytes, doubt_->copy, "record: this copy is damaged, the other one is whole");
    doubt_.reset();
  }
  Status JudgeDoubt();
  bool HasReached(const MirrorEnd& end) const { return !reached_ || has_reached_ || *reached_ == end; }

  const std::string& path_;
  std::array<Copy, 2> copies_;
  const std::optional<MirrorEnd>& reached_;
  MirrorContents contents_;
  MirrorEnd end_;           // of the whole records
  uint64_t whole_end_ = 0;  // of the whole payloads
  bool has_reached_ = false;
  std::optional<Doubt> doubt_;
  uint64_t behind_ = 0;  // end of the last byte that is not zero, in either copy
};

Status MirrorReader::ReadHeader() {
  std::array<Header, 2> headers;
  for (int copy = 0; copy < 2; ++copy) {
    ASSIGN_OR_RETURN(const std::string_view bytes, copies_[copy].Read(0, kMirrorHeaderBytes));
    headers[copy] = ParseHeader(bytes);
  }
  if (!headers[0].is_whole && !headers[1].is_whole) {
    return Status::Corruption(path_ + ": header: both copies are damaged, or this is not a mergedb MANIFEST" +
                              kNextStep);
  }
  const Header& header = headers[headers[0].is_whole ? 0 : 1];
  if (header.version != kFormatVersion) {
    return Status::NotSupported(path_ + ": format version " + std::to_string(header.version) + ", this build reads " +
                                std::to_string(kFormatVersion) + "; use a newer mergedb");
  }
  contents_.identity = header.identity;
  for (int copy = 0; copy < 2; ++copy) {
    if (headers[copy].is_whole) continue;
    ++contents_.repaired;
    Note(0, kMirrorHeaderBytes, copy, "header: this copy is damaged, the other one is whole");
  }
  end_ = {.bytes = kMirrorHeaderBytes, .chain = header.chain};
  whole_end_ = end_.bytes;
  return {};
}

Status MirrorReader::ReadRecords(const std::function<Status(std::string_view)>& apply) {
  std::string payload;
  for (;;) {
    ASSIGN_OR_RETURN(const Record first, ParseRecord(copies_[0], end_.bytes, end_.chain));
    ASSIGN_OR_RETURN(const Record second, ParseRecord(copies_[1], end_.bytes, end_.chain));
    const bool in_second = second.is_whole();
    if (!first.is_whole() && !in_second) return JudgeDoubt();
    const Record& record = first.is_whole() ? first : second;
    TakeDoubt();
    if (first.is_whole() != in_second) doubt_ = Doubt{end_.bytes, record.bytes(), first.is_whole() ? 1 : 0};
    const uint64_t begin = end_.bytes + kRecordHeaderBytes;
    RETURN_IF_ERROR(copies_[first.is_whole() ? 0 : 1].ForEachPiece(
        begin, begin + record.length, [&](uint64_t, std::string_view piece) { payload.append(piece); }));
    end_ = {.bytes = end_.bytes + record.bytes(), .chain = record.crc};
    if (record.goes_on) continue;
    RETURN_IF_ERROR(apply(payload).WithContext(path_ + " " + At(whole_end_)));
    payload.clear();
    ++contents_.records;
    whole_end_ = end_.bytes;
    has_reached_ = HasReached(end_);
  }
}

// Decides whether the last record's broken copy is damaged. If a crash interrupted writing that copy, it is correct
// up to some byte and zero after it. Otherwise it is damaged.
Status MirrorReader::JudgeDoubt() {
  if (!doubt_) return {};
  bool differs = reached_ && reached_->bytes > doubt_->offset;  // if true, both copies were durable
  bool is_unwritten = !differs;
  for (uint64_t at = doubt_->offset, end = at + doubt_->bytes; at < end && is_unwritten;) {
    const size_t bytes = std::min<uint64_t>(kWindowBytes, end - at);
    ASSIGN_OR_RETURN(const std::string_view found, copies_[doubt_->copy].Read(at, bytes));
    ASSIGN_OR_RETURN(const std::string_view whole, copies_[1 - doubt_->copy].Read(at, bytes));
    for (size_t i = 0; i < bytes; ++i) {
      differs |= found[i] != whole[i];
      is_unwritten &= !differs || found[i] == 0;
    }
    at += bytes;
  }
  if (!is_unwritten) TakeDoubt();
  return {};
}

// The writer adds a page pair before the end of a record comes within kRoomBehind bytes of the end of the stream.
// So if the stream ends that early, or within the next record, the next page pair was cut off. Also limits the
// pages after the last record to the room for one record, since a sparse file with many more pages would take
// hours to read.
Status MirrorReader::CheckNotCut() {
  if (copies_[0].stream_bytes() - end_.bytes > kRecordBytesMax + 2 * kPageBytes) {
    return Status::Corruption(path_ + ": " + std::to_string(copies_[0].stream_bytes() - end_.bytes) +
                              " bytes of the stream behind the last record " + At(end_.bytes) +
                              ", expected room for one record" + kNextStep);
  }
  for (Copy& copy : copies_) {
    ASSIGN_OR_RETURN(const std::string_view rest, copy.Read(end_.bytes, kRoomBehind));
    if (rest.size() < kRoomBehind) continue;
    const uint32_t length = base::LoadFixed32(rest.data() + 4) & ~kGoesOn;
    if (length <= copy.stream_bytes() - end_.bytes - kRecordHeaderBytes) return {};
  }
  return Status::Corruption(path_ + ": the file ends at or within the record " + At(end_.bytes) + " (truncated?)" +
                            kNextStep);
}

// Finds bytes after the last whole payload that are not zero. A crash leaves one unfinished record, then zeros.
Status MirrorReader::CountTail() {
  for (int copy = 0; copy < 2; ++copy) {
    uint64_t first = UINT64_MAX, end = whole_end_;
    RETURN_IF_ERROR(
        copies_[copy].ForEachPiece(whole_end_, copies_[copy].stream_bytes(), [&](uint64_t at, std::string_view piece) {
          const size_t last = piece.find_last_not_of('\0');
          if (last == std::string_view::npos) return;
          if (first == UINT64_MAX) first = at + piece.find_first_not_of('\0');
          end = at + last + 1;
        }));
    if (end == whole_end_) continue;
    contents_.tail.push_back({copies_[copy].FileOffsetOf(first), end - first, "bytes behind the last record"});
    contents_.dropped_bytes = std::max(contents_.dropped_bytes, end - whole_end_);
    behind_ = std::max(behind_, end);
  }
  return {};
}

Status MirrorReader::LookBehind() {
  const uint64_t bytes =
      std::min(copies_[0].stream_bytes() - end_.bytes, behind_ - std::min(behind_, end_.bytes) + kRecordHeaderBytes);
  std::vector<uint32_t> chains;
  for (Copy& copy : copies_) {
    ASSIGN_OR_RETURN(const Record broken, ParseRecord(copy, end_.bytes, end_.chain));
    chains.push_back(broken.crc);
    if (broken.has_room) chains.push_back(broken.found_crc);
  }
  std::sort(chains.begin(), chains.end());
  chains.erase(std::unique(chains.begin(), chains.end()), chains.end());
  for (Copy& copy : copies_) {
    ASSIGN_OR_RETURN(const std::string_view rest, copy.Read(end_.bytes, std::min(bytes, kSearchBytesMax)));
    const auto found = WholeRecordSearch(rest, chains).Run();
    if (!found) continue;
    return Status::Corruption(path_ + ": both copies of the record " + At(end_.bytes) + " (file offsets " +
                              std::to_string(copies_[0].FileOffsetOf(end_.bytes)) + " and " +
                              std::to_string(copies_[1].FileOffsetOf(end_.bytes)) +
                              ") are damaged, and a whole record follows " + At(end_.bytes + *found) + kNextStep);
  }
  return {};
}

Status MirrorReader::JudgeEnd() {
  RETURN_IF_ERROR(CheckNotCut());
  RETURN_IF_ERROR(CountTail());
  if (contents_.records == 0) {
    // Not a crash: the first payload is synced before CURRENT names the file.
    return Status::Corruption(path_ + ": first record " + At(kMirrorHeaderBytes) + ": both copies are damaged" +
                              kNextStep);
  }
  if (!HasReached(end_)) {
    return Status::Corruption(path_ + ": its records end " + At(whole_end_) + "; CURRENT says that they reached " +
                              std::to_string(reached_->bytes) + ", through the checksum " +
                              std::to_string(reached_->chain) +
                              ": an older MANIFEST, or both copies of a record are damaged" + kNextStep);
  }
  return contents_.dropped_bytes > 0 ? LookBehind() : Status();
}

Result<uint64_t> StreamBytes(const std::string& path, File& file) {
  ASSIGN_OR_RETURN(const uint64_t bytes, file.Size());
  const uint64_t whole_bytes = bytes / (2 * kPageBytes) * (2 * kPageBytes);
  const Status wrong_size = Status::Corruption(path + ": size " + std::to_string(bytes) + ", expected a multiple of " +
                                               std::to_string(2 * kPageBytes) + " (truncated?)" + kNextStep);
  if (whole_bytes == 0) return wrong_size;
  // A part of a pair that is all zeros: a crash interrupted adding the pair, so it contains no record.
  std::string part(bytes - whole_bytes, 0);
  size_t got = 0;
  RETURN_IF_ERROR(file.ReadAt(whole_bytes, part.size(), part.data(), &got));
  if (got != part.size())
    return Status::Corruption(path + ": ends at " + std::to_string(whole_bytes + got) + kNextStep);
  if (part.find_first_not_of('\0') != std::string::npos) return wrong_size;
  return whole_bytes / 2;
}

}  // namespace

Result<MirrorContents> ReadMirror(FileSystem* file_system, const std::string& path,
                                  const std::function<Status(std::string_view)>& apply,
                                  const std::optional<MirrorEnd>& reached) {
  ASSIGN_OR_RETURN(const auto file, file_system->Open(path, {.access = Access::kRead}));
  ASSIGN_OR_RETURN(const uint64_t stream_bytes, StreamBytes(path, *file));
  MirrorReader reader(path, *file, stream_bytes, reached);
  RETURN_IF_ERROR(reader.ReadHeader());
  RETURN_IF_ERROR(reader.ReadRecords(apply));
  RETURN_IF_ERROR(reader.JudgeEnd());
  return reader.Take();
}

}  // namespace mergedb::manifest
