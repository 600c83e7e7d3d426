#include "lmdb/archive.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "format/file_name.h"
#include "format/lmdb.h"

namespace mergedb::lmdb {

namespace {

constexpr size_t kBlockBytes = 512;
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr uint64_t kMemberBytesMax = (uint64_t{1} << 33) - 1;  // eleven octal digits
constexpr std::string_view kPrefix = format::kLmdbArchiveName;
constexpr std::string_view kMagic = std::string_view("ustar\00000", 8);

// The fields of a header. All other bytes are zero.
struct Field {
  size_t offset, bytes;
};
constexpr Field kName{0, 100}, kMode{100, 8}, kOwner{108, 8}, kGroup{116, 8}, kSize{124, 12}, kTime{136, 12},
    kChecksum{148, 8}, kType{156, 1}, kMagicField{257, 8};

using Block = std::array<char, kBlockBytes>;

void PutText(Block* block, Field field, std::string_view text) {
  std::memcpy(block->data() + field.offset, text.data(), std::min(text.size(), field.bytes));
}

// Octal digits with leading zeros, then a NUL.
void PutNumber(Block* block, Field field, uint64_t number) {
  std::string digits(field.bytes - 1, '0');
  for (size_t i = digits.size(); i > 0 && number > 0; number /= 8) digits[--i] = static_cast<char>('0' + number % 8);
  PutText(block, field, digits);
}

std::string_view TextOf(const Block& block, Field field) {
  const std::string_view all(block.data() + field.offset, field.bytes);
  return all.substr(0, all.find('\0'));
}

// The digits end at a NUL or a space.
std::optional<uint64_t> NumberOf(const Block& block, Field field) {
  uint64_t number = 0;
  size_t digits = 0;
  for (size_t i = 0; i < field.bytes; ++i) {
    const char c = block[field.offset + i];
    if (c == '\0' || c == ' ') break;
    if (c < '0' || c > '7') return std::nullopt;
    number = number * 8 + static_cast<uint64_t>(c - '0');
    ++digits;
  }
  return digits == 0 ? std::nullopt : std::optional<uint64_t>(number);
}

// The sum of all bytes. The bytes of the checksum itself count as spaces.
uint64_t ChecksumOf(Block block) {
  std::memset(block.data() + kChecksum.offset, ' ', kChecksum.bytes);
  uint64_t sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  return sum;
}

Block HeaderOf(std::string_view name, uint64_t bytes) {
  Block block{};
  PutText(&block, kName, std::string(kPrefix) + std::string(name));
  PutNumber(&block, kMode, 0600);
  PutNumber(&block, kOwner, 0);
  PutNumber(&block, kGroup, 0);
  PutNumber(&block, kSize, bytes);
  PutNumber(&block, kTime, 0);
  PutText(&block, kType, "0");
  PutText(&block, kMagicField, kMagic);
  PutNumber(&block, {kChecksum.offset, 7}, ChecksumOf(block));
  block[kChecksum.offset + 7] = ' ';
  return block;
}

size_t PaddingOf(uint64_t bytes) { return (kBlockBytes - bytes % kBlockBytes) % kBlockBytes; }

Status WriteMember(FileSystem* files, const std::string& directory, const std::string& name, const Sink& sink) {
  const std::string path = format::JoinPath(directory, name);
  ASSIGN_OR_RETURN(auto file, files->Open(path, {.access = Access::kRead}));
  ASSIGN_OR_RETURN(const uint64_t bytes, file->Size());
  if (bytes > kMemberBytesMax)
    return Status::NotSupported(path + ": of " + std::to_string(bytes) +
                                " bytes; a member of an archive has less than 8 GiB");
  const Block header = HeaderOf(name, bytes);
  RETURN_IF_ERROR(sink({header.data(), header.size()}));
  std::string piece(kPieceBytes, 0);
  for (uint64_t offset = 0; offset < bytes;) {
    size_t got = 0;
    RETURN_IF_ERROR(file->ReadAt(offset, std::min<uint64_t>(piece.size(), bytes - offset), piece.data(), &got));
    if (got == 0) return Status::IOError(path + ": the file became shorter during the read");
    RETURN_IF_ERROR(sink(std::string_view(piece).substr(0, got)));
    offset += got;
  }
  return sink(std::string(PaddingOf(bytes), '\0'));
}

struct Member {
  std::string name;
  format::FileKind kind;
  uint64_t offset = 0;  // of its bytes in the archive
  uint64_t bytes = 0;
};

class Reader {
 public:
  Reader(File& file, std::string path, uint64_t bytes) : file_(file), path_(std::move(path)), bytes_(bytes) {}

  // False at the end of the archive.
  Result<bool> Next(Member* member) {
    Block block;
    size_t got = 0;
    RETURN_IF_ERROR(file_.ReadAt(offset_, block.size(), block.data(), &got));
    if (got < block.size()) return Bad("truncated: expected a header");
    if (block == Block{}) return false;
    const auto bytes = NumberOf(block, kSize);
    if (TextOf(block, kMagicField) != "ustar" || NumberOf(block, kChecksum) != ChecksumOf(block) || !bytes)
      return Bad("not a header");
    const std::string_view name = TextOf(block, kName);
    const auto parsed = name.starts_with(kPrefix) ? format::ParseFileName(name.substr(kPrefix.size())) : std::nullopt;
    if (!parsed || block[kType.offset] != '0') return Bad("a member that is not a file of a database");
    offset_ += kBlockBytes;
    if (*bytes > bytes_ - offset_) return Bad("truncated: a member ends behind the end of the archive");
    *member = {std::string(name.substr(kPrefix.size())), parsed->kind, offset_, *bytes};
    offset_ += *bytes + PaddingOf(*bytes);
    return true;
  }

 private:
  Status Bad(std::string_view what) const {
    return Status::Corruption(path_ + ": archive at " + std::to_string(offset_) + ": " + std::string(what));
  }

  File& file_;
  const std::string path_;
  const uint64_t bytes_;
  uint64_t offset_ = 0;
};

// Writes the member as the new file at `path`. Its bytes are durable, but its name is not.
Status Extract(FileSystem* files, File& archive, const Member& member, const std::string& path) {
  if (files->SizeOf(path).has_value()) RETURN_IF_ERROR(files->Remove(path));
  ASSIGN_OR_RETURN(auto file, files->Open(path, {.access = Access::kCreate}));
  std::string piece(kPieceBytes, 0);
  for (uint64_t done = 0; done < member.bytes;) {
    size_t got = 0;
    RETURN_IF_ERROR(archive.ReadAt(member.offset + done, std::min<uint64_t>(piece.size(), member.bytes - done),
                                   piece.data(), &got));
    if (got == 0) return Status::Corruption(path + ": the archive is truncated in this member");
    RETURN_IF_ERROR(file->WriteAt(done, std::string_view(piece).substr(0, got)));
    done += got;
  }
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

}  // namespace

Status WriteArchive(FileSystem* files, const std::string& directory, const Sink& sink) {
  ASSIGN_OR_RETURN(auto names, files->List(directory));
  std::sort(names.begin(), names.end());
  std::string current;
  for (const std::string& name : names) {
    const auto parsed = format::ParseFileName(name);
    if (!parsed || parsed->kind == format::FileKind::kLock || parsed->kind == format::FileKind::kLive) continue;
    if (parsed->kind == format::FileKind::kCurrent) {
      current = name;
    } else {
      RETURN_IF_ERROR(WriteMember(files, directory, name, sink));
    }
  }
  if (current.empty()) return Status::NotFound(directory + ": no database");
  RETURN_IF_ERROR(WriteMember(files, directory, current, sink));
  return sink(std::string(2 * kBlockBytes, '\0'));
}

bool IsArchive(FileSystem* files, const std::string& path) {
  const auto file = files->Open(path, {.access = Access::kRead});
  if (!file) return false;
  const auto bytes = (*file)->Size();
  Member member;
  if (!bytes) return false;
  const auto is_member = Reader(**file, path, *bytes).Next(&member);
  return is_member && *is_member;
}

Status Unpack(FileSystem* files, const std::string& archive, const std::string& directory) {
  ASSIGN_OR_RETURN(const auto file, files->Open(archive, {.access = Access::kRead}));
  ASSIGN_OR_RETURN(const uint64_t bytes, file->Size());
  Reader reader(*file, archive, bytes);
  for (Member member;;) {
    ASSIGN_OR_RETURN(const bool has_member, reader.Next(&member));
    if (!has_member) return Status::Corruption(archive + ": archive without CURRENT");
    if (member.kind != format::FileKind::kCurrent) {
      RETURN_IF_ERROR(Extract(files, *file, member, format::JoinPath(directory, member.name)));
      continue;
    }
    const std::string temporary = format::FilePath(directory, format::FileKind::kCurrentTemporary);
    RETURN_IF_ERROR(Extract(files, *file, member, temporary));
    ASSIGN_OR_RETURN(const bool goes_on, reader.Next(&member));
    if (goes_on) return Status::Corruption(archive + ": archive has members behind CURRENT");
    RETURN_IF_ERROR(files->SyncDirectory(directory));
    RETURN_IF_ERROR(files->Rename(temporary, format::FilePath(directory, format::FileKind::kCurrent)));
    return files->SyncDirectory(directory);
  }
}

}  // namespace mergedb::lmdb
