#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "torture.h"

namespace mergedb::tool::torture {
namespace {

constexpr char kAppended[] = "/appended", kOverwritten[] = "/overwritten", kReplaced[] = "/replaced";

Status Failure(const std::string& path, const char* call) {
  return Status::IOError(path + ": " + call + ": " + std::strerror(errno));
}

// The bytes at `offset`; fewer at the end of the file. nullopt: the file is not there, or cannot be read.
std::optional<std::string> ReadAt(const std::string& path, uint64_t offset, size_t bytes) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::string content(bytes, 0);
  size_t got = 0;
  for (ssize_t count = 1; got < bytes && count > 0; got += static_cast<size_t>(std::max<ssize_t>(count, 0)))
    count = pread(descriptor, content.data() + got, bytes - got, static_cast<off_t>(offset + got));
  close(descriptor);
  content.resize(got);
  return content;
}

Status WriteAll(int descriptor, const std::string& path, std::string_view content, uint64_t offset) {
  for (size_t done = 0; done < content.size();) {
    const ssize_t count =
        pwrite(descriptor, content.data() + done, content.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Failure(path, "pwrite");
    done += static_cast<size_t>(count);
  }
  return {};
}

std::string NameOf(uint64_t number) { return "/created-" + std::to_string(number); }
size_t BytesOf(uint64_t number) { return number * 977 % 9000 + 1; }

}  // namespace

PlainFiles::~PlainFiles() {
  for (const int descriptor : {appended_, overwritten_})
    if (descriptor >= 0) close(descriptor);
}

Status PlainFiles::SyncDirectory() const {
  const int descriptor = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return Failure(directory_, "open");
  const bool is_synced = fsync(descriptor) == 0;
  const Status status = is_synced ? Status() : Failure(directory_, "fsync");
  close(descriptor);
  return status;
}

Status PlainFiles::WriteNew(const std::string& name, const std::string& content) const {
  const std::string path = directory_ + name;
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return Failure(path, "open");
  Status status = WriteAll(descriptor, path, content, 0);
  if (status.ok() && fsync(descriptor) != 0) status = Failure(path, "fsync");
  close(descriptor);
  return status;
}

Status PlainFiles::Create() {
  if (mkdir(directory_.c_str(), 0700) != 0) return Failure(directory_, "mkdir");
  RETURN_IF_ERROR(WriteNew(kAppended, ""));
  RETURN_IF_ERROR(WriteNew(kOverwritten, std::string(kOverwrites * kRecordBytes, '\0')));
  RETURN_IF_ERROR(SyncDirectory());
  appended_ = open((directory_ + kAppended).c_str(), O_WRONLY | O_CLOEXEC);
  if (appended_ < 0) return Failure(directory_ + kAppended, "open");
  overwritten_ = open((directory_ + kOverwritten).c_str(), O_WRONLY | O_CLOEXEC);
  return overwritten_ < 0 ? Failure(directory_ + kOverwritten, "open") : Status();
}

Status PlainFiles::Append(uint64_t number) {
  const std::string path = directory_ + kAppended;
  RETURN_IF_ERROR(
      WriteAll(appended_, path, ContentOf(id_, "append", number, kRecordBytes), (number - 1) * kRecordBytes));
  return fdatasync(appended_) == 0 ? Status() : Failure(path, "fdatasync");
}

Status PlainFiles::Overwrite(uint64_t number) {
  const std::string path = directory_ + kOverwritten;
  RETURN_IF_ERROR(WriteAll(overwritten_, path, ContentOf(id_, "overwrite", number, kRecordBytes),
                           number % kOverwrites * kRecordBytes));
  return fdatasync(overwritten_) == 0 ? Status() : Failure(path, "fdatasync");
}

Status PlainFiles::CreateFile(uint64_t number) {
  RETURN_IF_ERROR(WriteNew(NameOf(number), ContentOf(id_, "create", number, BytesOf(number))));
  return SyncDirectory();
}

Status PlainFiles::Replace(uint64_t number) {
  RETURN_IF_ERROR(WriteNew("/replaced.new", ContentOf(id_, "replace", number, BytesOf(number))));
  const std::string source = directory_ + "/replaced.new", target = directory_ + kReplaced;
  if (rename(source.c_str(), target.c_str()) != 0) return Failure(target, "rename");
  return SyncDirectory();
}

namespace {

// `is_there` says whether an acknowledgment was kept; `where` names the place of one that was not.
template <typename IsThere, typename Where>
Kept KeptOf(Kind kind, uint64_t first, uint64_t last, const IsThere& is_there, const Where& where) {
  Kept kept{.kind = kind, .acknowledged = last};
  for (uint64_t number = first; number <= last; ++number) {
    if (is_there(number)) continue;
    if (kept.missing++ == 0)
      kept.first = where(number) + ": acknowledgment " + std::to_string(number) + " was not kept";
  }
  return kept;
}

// The replaced file holds the last acknowledged content, or the next one, as a whole.
Kept CheckReplaced(const std::string& path, const Marks& marks) {
  const uint64_t last = marks.Last(Kind::kReplace);
  Kept kept{.kind = Kind::kReplace, .acknowledged = last};
  if (last == 0) return kept;
  const auto is = [&](uint64_t number) {
    const std::string content = ContentOf(marks.id, "replace", number, BytesOf(number));
    return ReadAt(path, 0, content.size() + 1) == content;
  };
  if (is(last) || is(last + 1)) return kept;
  kept.missing = 1;
  kept.first =
      path + ": expected the content of replacement " + std::to_string(last) + " or of the next one, as a whole";
  return kept;
}

}  // namespace

std::vector<Kept> CheckPlainFiles(const std::string& directory, const Marks& marks) {
  const auto at = [&](const char* file, const char* what, uint64_t number, uint64_t index) {
    return ReadAt(directory + file, index * kRecordBytes, kRecordBytes) ==
           ContentOf(marks.id, what, number, kRecordBytes);
  };
  const uint64_t overwritten = marks.Last(Kind::kOverwrite);
  std::vector<Kept> kept;
  kept.push_back(KeptOf(
      Kind::kAppend, 1, marks.Last(Kind::kAppend), [&](uint64_t n) { return at(kAppended, "append", n, n - 1); },
      [&](uint64_t n) { return directory + kAppended + ": offset " + std::to_string((n - 1) * kRecordBytes); }));
  // The next one, or a part of it, may lie where an old one was.
  kept.push_back(KeptOf(
      Kind::kOverwrite, overwritten >= kOverwrites ? overwritten - kOverwrites + 2 : 1, overwritten,
      [&](uint64_t n) { return at(kOverwritten, "overwrite", n, n % kOverwrites); },
      [&](uint64_t n) {
        return directory + kOverwritten + ": offset " + std::to_string(n % kOverwrites * kRecordBytes);
      }));
  kept.push_back(KeptOf(
      Kind::kCreate, 1, marks.Last(Kind::kCreate),
      [&](uint64_t n) {
        const std::string content = ContentOf(marks.id, "create", n, BytesOf(n));
        return ReadAt(directory + NameOf(n), 0, content.size() + 1) == content;
      },
      [&](uint64_t n) { return directory + NameOf(n); }));
  kept.push_back(CheckReplaced(directory + kReplaced, marks));
  return kept;
}

}  // namespace mergedb::tool::torture
