// Inspects one file of the WAL with the code of replay (wal/replay.cc), which reads directories.
//
//   segment   replay sees a directory with this one file. It starts at the segment's mark, at the begin of the
//             epoch, or after the first frame that begins in the file:
//                 |.. end of a frame|frame|frame|frame|      the first frame's predecessor is in another file: the
//                                   unproved, proved ...     frame is unproved, but proves the next one
//   STAGING   replay starts where the MANIFEST beside it says, and reads the segments beside it, too
#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "db/recovery/recovery.h"
#include "env/file_reads.h"
#include "format/batch.h"
#include "format/file_name.h"
#include "manifest/loader.h"
#include "repair/one_file.h"
#include "repair/one_file_parts.h"
#include "wal/replay.h"

namespace mergedb::repair {
namespace {

constexpr size_t kWindowBytes = size_t{256} << 10;

// A directory that holds one WAL segment. Read-only.
class OneSegment final : public FileSystem {
 public:
  static inline const std::string kDirectory = "one";
  static inline const std::string kName = "000001.seg";
  OneSegment(FileSystem* file_system, const std::string& path) : file_system_(file_system), path_(path) {}

  Result<std::unique_ptr<File>> Open(const std::string& path, const FileOptions& options) override {
    if (path != format::JoinPath(kDirectory, kName)) return Status::NotFound(path);
    return file_system_->Open(path_, {.access = Access::kRead, .direct = options.direct});
  }
  Result<std::vector<std::string>> List(const std::string&) override { return std::vector<std::string>{kName}; }
  Result<uint64_t> SizeOf(const std::string& path) override {
    if (path != format::JoinPath(kDirectory, kName)) return Status::NotFound(path);
    return file_system_->SizeOf(path_);
  }
  Result<bool> IsDirectory(const std::string& path) override { return path == kDirectory; }
  Status Remove(const std::string& path) override { return ReadOnly(path); }
  Status Rename(const std::string& source, const std::string&) override { return ReadOnly(source); }
  Status CreateDirectory(const std::string& path) override { return ReadOnly(path); }
  Status RemoveDirectory(const std::string& path) override { return ReadOnly(path); }
  Status SyncDirectory(const std::string& path) override { return ReadOnly(path); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override { return ReadOnly(path); }

 private:
  static Status ReadOnly(const std::string& path) { return Status::NotSupported(path + ": read-only"); }

  FileSystem* const file_system_;
  const std::string& path_;
};

void Replace(std::string* text, std::string_view from, std::string_view to) {
  for (size_t at = text->find(from); at != std::string::npos; at = text->find(from, at + to.size()))
    text->replace(at, from.size(), to);
}

class WalInspector {
 public:
  // `is_open`: a program may be writing to the file.
  WalInspector(FileSystem* file_system, const std::string& path, const VisitFrame& visit, bool is_open)
      : file_system_(file_system), path_(path), visit_(visit), is_open_(is_open) {}
  Result<WalReport> Run();

 private:
  Status ReadHead();
  void CheckSize();
  Status ReadSegment();
  Status VisitFirstFrame(const wal::Origin& origin);
  Status FindFirstFrame(const wal::Origin& origin, uint64_t* position, std::string* frame);
  Result<bool> GoesOnElsewhere(uint64_t end, uint64_t dropped_bytes);
  Status ReportEnd(const wal::Salvaged& salvaged);
  Status ReadBuffer();
  Result<manifest::Loaded> LoadManifest();
  // Counts a frame and shows it. Corruption if its payload is no batch.
  Status Visit(const WalFrame& frame);
  Result<wal::Salvaged> Salvage(FileSystem* file_system, const std::string& directory, const wal::Origin& origin,
                                const wal::Expected& expected);

  uint64_t OffsetOf(uint64_t position) const { return wal::kBlockBytes + position - report_.head->base(); }
  // A message of replay about the one segment, with the file's name.
  std::string Named(std::string text) const {
    Replace(&text, OneSegment::kDirectory + "/" + OneSegment::kName + ": ", "");
    Replace(&text, OneSegment::kDirectory + ": ", "");
    Replace(&text, OneSegment::kName, report_.file.name);
    return text;
  }

  FileSystem* const file_system_;
  const std::string& path_;
  const VisitFrame& visit_;
  const bool is_open_;
  const kv::Order order_{BytewiseComparator()};
  std::unique_ptr<File> file_;
  WalReport report_;
};

Result<WalReport> WalInspector::Run() {
  ASSIGN_OR_RETURN(file_, OpenOneFile(file_system_, path_, OneFileKind::kWal, &report_.file));
  if (report_.file.name == format::PrintFileName(format::FileKind::kStaging)) {
    RETURN_IF_ERROR(ReadBuffer());
    return std::move(report_);
  }
  const Status head = ReadHead();
  if (IsFailure(head)) return head.WithContext(path_);
  if (!head.ok()) {
    Report(&report_.file, 0, wal::kBlockBytes,
           std::string(head.message()) + "; no frame of this file can be checked without it");
    return std::move(report_);
  }
  RETURN_IF_ERROR(ReadSegment());
  return std::move(report_);
}

Status WalInspector::ReadHead() {
  char block[wal::kBlockBytes];
  size_t got = 0;
  RETURN_IF_ERROR(env::OfRead(file_->ReadAt(0, sizeof block, block, &got)));
  ASSIGN_OR_RETURN(report_.head, wal::LoadSegmentHead({block, got}));
  report_.epoch = report_.head->epoch;
  return {};
}

Status WalInspector::Visit(const WalFrame& frame) {
  format::BatchReader reader(frame.payload);
  KindCounts kinds{};
  uint64_t records = 0;
  for (; reader.Next(); ++records) {
    RETURN_IF_ERROR(db::CheckRangeDelete(order_, reader, frame.sequence + records));
    ++kinds[static_cast<size_t>(reader.kind())];
  }
  RETURN_IF_ERROR(reader.status());
  for (size_t kind = 0; kind < kinds.size(); ++kind) report_.kinds[kind] += kinds[kind];
  if (report_.frames++ == 0) report_.begin_position = frame.position;
  if (records > 0 && report_.records == 0) report_.first_sequence = frame.sequence;
  if (records > 0) report_.last_sequence = frame.sequence + records - 1;
  report_.records += records;
  report_.end_position = frame.position + frame.bytes;
  return visit_ ? visit_(frame) : Status();
}

Result<wal::Salvaged> WalInspector::Salvage(FileSystem* file_system, const std::string& directory,
                                            const wal::Origin& origin, const wal::Expected& expected) {
  uint64_t position = origin.start.position;
  return wal::Salvage(file_system, directory, origin, expected, [&](kv::Sequence sequence, std::string_view payload) {
    WalFrame frame{
        .position = position, .bytes = wal::FrameBytes(payload.size()), .sequence = sequence, .payload = payload};
    if (report_.head) frame.offset = OffsetOf(position);
    position += frame.bytes;
    return Visit(frame);
  });
}

// ---- a segment --------------------------------------------------------------------------------------------------

// A segment that is not appended is written in full before its use.
void WalInspector::CheckSize() {
  const uint64_t expected = wal::kBlockBytes + report_.head->capacity;
  if (report_.head->is_appended || report_.file.bytes >= expected) return;
  Report(&report_.file, report_.file.bytes, expected - report_.file.bytes,
         "the file has " + std::to_string(report_.file.bytes) + " bytes, expected " + std::to_string(expected) +
             " (truncated?)");
}

Status WalInspector::ReadSegment() {
  if (report_.head->generation == 0) {  // it may be short: a program is filling it, or was killed meanwhile
    report_.file.notes.push_back("the segment is not in use: it holds no frame");
    return {};
  }
  CheckSize();
  OneSegment directory(file_system_, path_);
  ASSIGN_OR_RETURN(const auto origin, wal::FindOrigin(&directory, OneSegment::kDirectory));
  if (!origin) {
    report_.file.notes.push_back(
        "no frame begins in this file: the frame in the segment before it may reach beyond it");
    return {};
  }
  report_.begin_position = report_.end_position = origin->start.position;
  if (origin->unproved_bytes > 0) RETURN_IF_ERROR(VisitFirstFrame(*origin));
  ASSIGN_OR_RETURN(const auto salvaged, Salvage(&directory, OneSegment::kDirectory, *origin, {}));
  for (const Status& flaw : salvaged.flaws) {  // CheckSize has reported a cut file
    if (IsFailure(flaw)) return flaw.WithContext(path_);
  }
  return ReportEnd(salvaged);
}

// Finds the first frame whose header is whole, which ends where the origin is.
Status WalInspector::FindFirstFrame(const wal::Origin& origin, uint64_t* position, std::string* frame) {
  const uint64_t end = origin.start.position;
  std::string window(kWindowBytes, '\0');
  for (uint64_t at = wal::RoundUp(report_.head->start, 8); at < end; at += kWindowBytes - wal::kFrameHeaderBytes) {
    size_t got = 0;
    RETURN_IF_ERROR(env::OfRead(file_->ReadAt(OffsetOf(at), window.size(), window.data(), &got)));
    for (size_t i = 0; i + wal::kFrameHeaderBytes <= got && at + i < end; i += 8) {
      if (!wal::HeaderBelongs(window.data() + i, report_.head->salt_crc, at + i)) continue;
      const wal::FrameHeader header = wal::LoadFrameHeader(window.data() + i);
      const uint64_t bytes = wal::kFrameHeaderBytes + uint64_t{header.length};
      const uint64_t offset = OffsetOf(at + i);
      if (at + i + wal::FrameBytes(header.length) != end || offset + bytes > report_.file.bytes) continue;
      *position = at + i;
      frame->resize(static_cast<size_t>(bytes));
      return env::ReadExactly(file_.get(), offset, frame->size(), frame->data());
    }
  }
  return {};
}

Status WalInspector::VisitFirstFrame(const wal::Origin& origin) {
  uint64_t position = 0;
  std::string bytes;
  RETURN_IF_ERROR(FindFirstFrame(origin, &position, &bytes).WithContext(path_));
  if (position > report_.head->start) {
    report_.file.notes.push_back("the bytes from offset " + std::to_string(OffsetOf(report_.head->start)) + " to " +
                                 std::to_string(OffsetOf(position)) +
                                 " are the end of a frame of the segment before; they cannot be checked without it");
  }
  if (bytes.empty()) return {};
  report_.file.notes.push_back("the checksum of the first frame, at offset " + std::to_string(OffsetOf(position)) +
                               ", cannot be checked without the segment before");
  const WalFrame frame{.position = position,
                       .offset = OffsetOf(position),
                       .bytes = origin.start.position - position,
                       .sequence = wal::LoadFrameHeader(bytes.data()).sequence,
                       .payload = std::string_view(bytes).substr(wal::kFrameHeaderBytes),
                       .is_proved = false};
  const Status status = Visit(frame);
  if (status.IsCorruption())
    Report(&report_.file, *frame.offset, frame.bytes, "frame: " + std::string(status.message()));
  return status.IsCorruption() ? Status() : status;
}

// The WAL writer ends its writes at a block, so the last frame of a segment may be cut off until the next write. It is
// the only one from `end` on, and a replay passes it: STAGING or the next segment has its rest. Also true if no replay
// needs it.
Result<bool> WalInspector::GoesOnElsewhere(uint64_t end, uint64_t dropped_bytes) {
  const auto loaded = LoadManifest();
  if (!loaded) return false;
  if (loaded->wal_start.epoch != report_.head->epoch || loaded->wal_start.position > end) return true;
  char bytes[wal::kFrameHeaderBytes];
  size_t got = 0;
  RETURN_IF_ERROR(env::OfRead(file_->ReadAt(OffsetOf(end), sizeof bytes, bytes, &got)));
  const bool is_last = got == sizeof bytes && wal::HeaderBelongs(bytes, report_.head->salt_crc, end) &&
                       dropped_bytes <= wal::FrameBytes(wal::LoadFrameHeader(bytes).length);
  if (!is_last) return false;
  ASSIGN_OR_RETURN(
      const auto salvaged,
      wal::Salvage(file_system_, format::ParentOf(path_), wal::OriginOf(loaded->database_id, loaded->wal_start),
                   db::ExpectedOf(*loaded), [](kv::Sequence, std::string_view) { return Status(); }));
  return salvaged.replayed.end.position > end;
}

// Says why the chain of frames ends, unless nothing of this epoch follows.
Status WalInspector::ReportEnd(const wal::Salvaged& salvaged) {
  const uint64_t end = salvaged.replayed.end.position;
  const uint64_t held = std::min<uint64_t>(OffsetOf(report_.head->limit()), report_.file.bytes);
  const std::string advice =
      "; after a power cut these may be the unfinished bytes at the end of the WAL, which the next open drops";
  if (!salvaged.verdict.ok()) {
    Report(&report_.file, salvaged.break_offset, salvaged.beyond_end > end ? salvaged.beyond_end - end : 0,
           Named(std::string(salvaged.verdict.message())) + "; " + std::to_string(salvaged.frames_beyond) +
               " frames from there on cannot be checked");
    return {};
  }
  if (salvaged.replayed.report.empty()) return {};
  char bytes[wal::kFrameHeaderBytes];
  size_t got = 0;
  RETURN_IF_ERROR(env::OfRead(file_->ReadAt(OffsetOf(end), sizeof bytes, bytes, &got)));
  if (got == sizeof bytes && wal::HeaderBelongs(bytes, report_.head->salt_crc, end)) {
    const uint64_t length = wal::LoadFrameHeader(bytes).length;
    if (length <= wal::kPayloadBytesMax && OffsetOf(end) + wal::FrameBytes(length) > held) {
      report_.file.notes.push_back("the last frame, at offset " + std::to_string(OffsetOf(end)) +
                                   ", goes on in the next segment; it cannot be checked without it");
      return {};
    }
  }
  ASSIGN_OR_RETURN(const bool goes_on,
                   is_open_ ? GoesOnElsewhere(end, salvaged.replayed.dropped_bytes) : Result<bool>(false));
  if (goes_on) {
    report_.file.notes.push_back("the frame at offset " + std::to_string(OffsetOf(end)) +
                                 " is not whole: STAGING has its rest, or no replay needs it");
    return {};
  }
  Report(&report_.file, OffsetOf(end), salvaged.replayed.dropped_bytes, Named(salvaged.replayed.report) + advice);
  return {};
}

// ---- STAGING ----------------------------------------------------------------------------------------------------

Result<manifest::Loaded> WalInspector::LoadManifest() {
  const std::string directory = format::ParentOf(path_);
  const auto load = is_open_ ? manifest::LoadBesideWriter : manifest::Load;
  const auto current = manifest::ReadCurrent(file_system_, directory);
  auto loaded = current ? load(file_system_, directory, order_, nullptr) : Result<manifest::Loaded>(current.error());
  if (loaded) return loaded;
  return Status::Make(loaded.error().code(),
                      path_ +
                          ": STAGING does not say where it begins; expected CURRENT, the MANIFEST and the WAL "
                          "segments of its database in the same directory: " +
                          std::string(loaded.error().message()));
}

Status WalInspector::ReadBuffer() {
  const std::string directory = format::ParentOf(path_);
  ASSIGN_OR_RETURN(const manifest::Loaded loaded, LoadManifest());
  report_.epoch = loaded.wal_start.epoch;
  report_.begin_position = report_.end_position = loaded.wal_start.position;
  ASSIGN_OR_RETURN(
      const auto salvaged,
      Salvage(file_system_, directory, wal::OriginOf(loaded.database_id, loaded.wal_start), db::ExpectedOf(loaded)));
  for (const Status& flaw : salvaged.flaws) Report(&report_.file, 0, 0, flaw.message());
  if (!salvaged.verdict.ok()) {
    Report(&report_.file, 0, 0,
           std::string(salvaged.verdict.message()) + "; " + std::to_string(salvaged.frames_beyond) +
               " frames from there on cannot be checked");
  } else if (!salvaged.replayed.report.empty()) {
    report_.file.notes.push_back(salvaged.replayed.report);
  }
  report_.file.notes.push_back(
      "the frames are those that a replay reads: from STAGING and from the segments beside it");
  if (report_.file.damages.empty()) return {};
  // A writer may have released frames since the MANIFEST was read.
  ASSIGN_OR_RETURN(const manifest::Loaded now, LoadManifest());
  if (now.wal_start == loaded.wal_start) return {};
  return Status::Busy(path_ + ": a program wrote to the database meanwhile; run the command again");
}

// A segment: it has not been reused for other frames. STAGING is read with the MANIFEST and the segments beside it, so
// its damage has no place in a file, and its text depends on later frames: the chain of frames begins and ends where it
// did.
bool Confirm(const WalReport& again, WalReport* report) {
  if (report->epoch != again.epoch || report->head.has_value() != again.head.has_value()) return false;
  const bool is_staging = report->file.name == format::PrintFileName(format::FileKind::kStaging);
  if (is_staging) {
    return report->begin_position == again.begin_position && report->end_position == again.end_position &&
           !again.file.damages.empty();
  }
  if (report->head && report->head->base() != again.head->base()) return false;
  return KeepCommonDamage(again.file, &report->file);
}

}  // namespace

Result<WalReport> InspectWal(FileSystem* file_system, const std::string& path, const VisitFrame& visit) {
  return InspectTwice(
      file_system, path,
      [&](bool is_first, bool is_open) {
        return WalInspector(file_system, path, is_first ? visit : VisitFrame(), is_open).Run();
      },
      Confirm);
}

}  // namespace mergedb::repair
