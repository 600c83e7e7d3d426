// Recognizes the kind of a file by its content.
#include "repair/one_file.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/coding.h"
#include "env/file_reads.h"
#include "env/hold.h"
#include "format/file_name.h"
#include "manifest/loader.h"
#include "repair/one_file_parts.h"
#include "wal/frame.h"

namespace mergedb::repair {
namespace {

// The last 8 bytes of tables of LevelDB (and of old ones of RocksDB), and of RocksDB.
constexpr uint64_t kLevelDbMagic = 0xdb4775248b80fb57;
constexpr uint64_t kRocksDbMagic = 0x88e241b785f4cff7;
constexpr std::string_view kSegmentMagic = "MGDBSEG1";
constexpr std::string_view kCurrentMagic = "mergedb-1 ";

struct KindText {
  const char* verb;
  const char* what;
};
constexpr KindText kTexts[] = {
    {"sst", "a table"}, {"blob", "a blob file"}, {"wal", "a file of the WAL"}, {"manifest", "a MANIFEST"}};
const KindText& TextOf(OneFileKind kind) { return kTexts[static_cast<size_t>(kind)]; }

// A kind, or the name of something that no inspection reads. Neither: unknown.
struct Recognized {
  std::optional<OneFileKind> kind = {};
  std::string other = {};
};

Recognized ByEnd(std::string_view end) {
  if (end.ends_with(format::kTableMagic)) return {OneFileKind::kTable};
  if (end.ends_with(format::kBlobFileMagic)) return {OneFileKind::kBlobFile};
  if (end.size() < 8) return {};
  const uint64_t magic = base::LoadFixed64(end.data() + end.size() - 8);
  if (magic == kLevelDbMagic) return {.other = "a table of LevelDB; `mergedb convert DIR` imports its directory"};
  if (magic == kRocksDbMagic) return {.other = "a table of RocksDB, which mergedb does not read"};
  return {};
}

Result<Recognized> ByContent(FileSystem* file_system, const std::string& path, File* file) {
  ASSIGN_OR_RETURN(const uint64_t bytes, file->Size());
  char end[16], begin[16];
  size_t got = 0;
  RETURN_IF_ERROR(env::OfRead(file->ReadAt(bytes - std::min<uint64_t>(bytes, sizeof end), sizeof end, end, &got)));
  Recognized found = ByEnd({end, got});
  if (found.kind || !found.other.empty()) return found;
  RETURN_IF_ERROR(env::OfRead(file->ReadAt(0, sizeof begin, begin, &got)));
  if (std::string_view(begin, got).starts_with(kSegmentMagic)) return Recognized{OneFileKind::kWal};
  if (std::string_view(begin, got).starts_with(kCurrentMagic))
    return Recognized{.other = "a CURRENT: text that names the MANIFEST"};
  ASSIGN_OR_RETURN(const bool is_manifest, manifest::HoldsManifest(file_system, path));
  return is_manifest ? Recognized{OneFileKind::kManifest} : Recognized();
}

Recognized ByName(std::string_view path) {
  const auto parsed = format::ParseFileName(format::LastName(path));
  if (!parsed) return {};
  switch (parsed->kind) {
    case format::FileKind::kTable: return {OneFileKind::kTable};
    case format::FileKind::kBlobFile: return {OneFileKind::kBlobFile};
    case format::FileKind::kSegment:
    case format::FileKind::kStaging: return {OneFileKind::kWal};
    case format::FileKind::kManifest: return {OneFileKind::kManifest};
    case format::FileKind::kRecycled: return {.other = "a recycled file, which holds nothing"};
    default: return {.other = "a file that holds no records"};
  }
}

Status NotRegular(FileSystem* file_system, const std::string& path, OneFileKind kind) {
  ASSIGN_OR_RETURN(const bool is_directory, file_system->IsDirectory(path));
  return Status::InvalidArgument(path + (is_directory ? ": is a directory" : ": is a link or no regular file") +
                                 "; expected " + TextOf(kind).what +
                                 (is_directory ? "; `mergedb verify DIR` checks a whole database" : ""));
}

}  // namespace

Status CheckKind(FileSystem* file_system, const std::string& path, OneFileKind kind) {
  if (file_system->SizeOf(path).status().IsInvalidArgument()) return NotRegular(file_system, path, kind);
  ASSIGN_OR_RETURN(const auto file, file_system->Open(path, {.access = Access::kRead}));
  // STAGING has no magic: its frames may hold any bytes anywhere.
  Recognized found;
  if (format::LastName(path) != "STAGING") { ASSIGN_OR_RETURN(found, ByContent(file_system, path, file.get())); }
  if (!found.kind && found.other.empty()) found = ByName(path);
  if (found.kind == kind) return {};
  if (found.kind) {
    return Status::InvalidArgument(path + ": is " + TextOf(*found.kind).what + ", expected " + TextOf(kind).what +
                                   "; `mergedb " + TextOf(*found.kind).verb + " FILE` reads it");
  }
  return Status::InvalidArgument(path + ": is " + (found.other.empty() ? "no file of mergedb" : found.other) +
                                 "; expected " + TextOf(kind).what);
}

Result<std::unique_ptr<File>> OpenOneFile(FileSystem* file_system, const std::string& path, OneFileKind kind,
                                          OneFile* report) {
  RETURN_IF_ERROR(CheckKind(file_system, path, kind));
  ASSIGN_OR_RETURN(auto file, file_system->Open(path, {.access = Access::kRead}));
  ASSIGN_OR_RETURN(report->bytes, file->Size());
  report->name = format::LastName(path);
  const auto parsed = format::ParseFileName(report->name);
  if (parsed && kv::ToInt(parsed->number) != 0) report->number = parsed->number;
  return file;
}

Damage& Report(OneFile* report, uint64_t offset, uint64_t bytes, std::string_view what) {
  report->damages.push_back(
      {.file = report->name, .offset = offset, .bytes = bytes, .what = std::string(what), .loses_entries = true});
  return report->damages.back();
}

bool IsOpen(FileSystem* file_system, const std::string& path) {
  return env::IsHeld(*file_system, format::FilePath(format::ParentOf(path), format::FileKind::kLock));
}

namespace {

// A segment that the program began after the last commit of the MANIFEST is in no list, but a replay reads it.
Result<bool> IsReplayed(FileSystem* file_system, const std::string& directory, const format::FileName& segment,
                        const manifest::Loaded& loaded) {
  if (std::ranges::find(loaded.wal_segments, segment.number) != loaded.wal_segments.end()) return true;
  const std::string path = format::FilePath(directory, segment.kind, segment.number);
  ASSIGN_OR_RETURN(const std::string block, env::ReadBeginning(file_system, path, wal::kBlockBytes));
  const auto head = wal::LoadSegmentHead(block);
  return head && head->generation != 0 && head->database_id == loaded.database_id &&
         head->epoch == loaded.wal_start.epoch && head->limit() > loaded.wal_start.position;
}

Result<bool> IsNamed(FileSystem* file_system, const std::string& directory, const format::FileName& file) {
  if (file.kind == format::FileKind::kManifest) {
    ASSIGN_OR_RETURN(const auto current, manifest::ReadCurrent(file_system, directory));
    return current.manifest == file.number;
  }
  ASSIGN_OR_RETURN(const auto loaded,
                   manifest::LoadBesideWriter(file_system, directory, kv::Order(BytewiseComparator())));
  switch (file.kind) {
    case format::FileKind::kTable: return loaded.version->files().contains(file.number);
    case format::FileKind::kBlobFile: return loaded.version->FindBlobFile(file.number) != nullptr;
    case format::FileKind::kSegment: return IsReplayed(file_system, directory, file, loaded);
    default: return true;
  }
}

}  // namespace

Status CheckIsNamed(FileSystem* file_system, const std::string& path) {
  const std::string directory = format::ParentOf(path);
  const auto file = format::ParseFileName(format::LastName(path));
  if (!file) return {};
  const auto is_named = IsNamed(file_system, directory, *file);
  if (is_named && *is_named) return {};
  const std::string why = is_named ? "the database does not need this file now"
                                   : "it is not known whether the database needs this file (" +
                                         std::string(is_named.error().message()) + ")";
  return Status::Busy(
      path + ": " + why +
      ", and a program that has the database open may be writing to it; run the command again, or when no "
      "program has the database open");
}

void WaitForAWrite() {
  constexpr uint64_t kPauseNanos = 100'000'000;
  DefaultEnv().clock->SleepNanos(kPauseNanos);
}

Status WasWritten(const std::string& path) {
  return Status::Busy(
      path +
      ": two looks at the file found different bytes: a program wrote to it or replaced it meanwhile, or the "
      "device is at fault; run the command again if the file still exists");
}

// Where a file has no place for it, damage has offset 0; then the text decides.
bool KeepCommonDamage(const OneFile& again, OneFile* report) {
  std::erase_if(report->damages, [&](const Damage& damage) {
    return std::ranges::none_of(again.damages, [&](const Damage& each) {
      return each.offset == damage.offset && (each.offset != 0 || each.what == damage.what);
    });
  });
  return !report->damages.empty();
}

void TakeNumber(kv::FileNumber found, OneFile* report) {
  if (report->number && *report->number != found) {
    Report(report, 0, 0,
           "the file's name has number " + format::PrintFileNumber(*report->number) + ", its content " +
               format::PrintFileNumber(found) + ": it is another file, or it was renamed");
  }
  report->number = found;
}

}  // namespace mergedb::repair
