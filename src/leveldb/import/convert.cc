#include "leveldb/import/convert.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "env/copy_file.h"
#include "env/file_reads.h"
#include "format/file_name.h"
#include "iterator/merging_iterator.h"
#include "leveldb/format/name.h"
#include "leveldb/import/directory.h"
#include "leveldb/import/log_walk.h"
#include "leveldb/import/table_walk.h"
#include "manifest/loader.h"
#include "manifest/manifest.h"
#include "mergedb/db.h"
#include "table/writer.h"
#include "version/version_builder.h"
#include "wal/replay.h"

namespace mergedb::leveldb_import {
namespace {

using format::FileKind;

constexpr uint64_t kTableBytes = uint64_t{64} << 20;
constexpr uint64_t kBytesWorthProgress = uint64_t{256} << 20;
constexpr uint64_t kPieceBytesMin = uint64_t{1} << 20;
constexpr kv::Position kPosition{1};
// IMPORT states what becomes of LevelDB's files after the commit.
constexpr std::string_view kSourceGoes =
    "A conversion from LevelDB is under way, or was interrupted. Open the database with mergedb to finish it.\n";
constexpr std::string_view kSourceIsKept = "A repair of a LevelDB database is under way, or was interrupted.\n";

std::string PrintMegabytes(uint64_t bytes) { return std::to_string((bytes + 999'999) / 1'000'000) + " MB"; }

// LevelDB's files that are removed after the commit. LOG is text that users may want, so it stays.
bool GoesAfterwards(leveldb_format::NameKind kind) {
  return kind == leveldb_format::NameKind::kLog || kind == leveldb_format::NameKind::kTable ||
         kind == leveldb_format::NameKind::kOldTable || kind == leveldb_format::NameKind::kTemporary;
}

Result<bool> IsKept(FileSystem* file_system, const std::string& marker) {
  ASSIGN_OR_RETURN(const std::string text, env::ReadBeginning(file_system, marker, kSourceIsKept.size()));
  return text == kSourceIsKept;
}

// WHY the sync: a power cut before it could keep a rename into lost/ and drop lost/ itself, and the file with it.
Status CreateLost(FileSystem* file_system, const std::string& directory) {
  RETURN_IF_ERROR(file_system->CreateDirectory(format::JoinPath(directory, format::kLostDirectory)));
  return file_system->SyncDirectory(directory);
}

// REQUIRES: CreateLost returned OK.
Status MoveToLost(FileSystem* file_system, const std::string& directory, const std::string& name) {
  const std::string lost = format::JoinPath(directory, format::kLostDirectory);
  ASSIGN_OR_RETURN(const auto taken, file_system->List(lost));
  std::string target = name;
  for (int i = 1; std::find(taken.begin(), taken.end(), target) != taken.end(); ++i)
    target = name + "." + std::to_string(i);
  return file_system->Rename(format::JoinPath(directory, name), format::JoinPath(lost, target));
}

// Removes LevelDB's files, then the marker. If `is_kept`, the files move to lost/ instead.
// WHY the sync comes first: if the process was killed between the rename of CURRENT and its sync, a power cut
// could keep the removals and drop the rename.
Status RemoveSourceFiles(FileSystem* file_system, const std::string& directory, bool is_kept) {
  RETURN_IF_ERROR(file_system->SyncDirectory(directory));
  ASSIGN_OR_RETURN(const manifest::Current current, manifest::ReadCurrent(file_system, directory));
  ASSIGN_OR_RETURN(const auto names, file_system->List(directory));
  const std::string lost = format::JoinPath(directory, format::kLostDirectory);
  if (is_kept) RETURN_IF_ERROR(CreateLost(file_system, directory));
  for (const std::string& name : names) {
    const auto parsed = leveldb_format::ParseName(name);
    const bool is_old_manifest =
        parsed && parsed->kind == leveldb_format::NameKind::kManifest && parsed->number < current.manifest;
    if (!parsed || (!is_old_manifest && !GoesAfterwards(parsed->kind))) continue;
    if (is_kept) {
      RETURN_IF_ERROR(MoveToLost(file_system, directory, name));
    } else {
      RETURN_IF_ERROR(file_system->Remove(format::JoinPath(directory, name)));
    }
  }
  if (is_kept) RETURN_IF_ERROR(file_system->SyncDirectory(lost));
  RETURN_IF_ERROR(
      file_system->SyncDirectory(directory));  // WHY first: without the marker the next open ignores the files
  return file_system->Remove(format::FilePath(directory, FileKind::kImport));
}

class Converter {
 public:
  explicit Converter(const Conversion& conversion)
      : conversion_(conversion),
        files_(conversion.options.env.file_system),
        walking_{.file_system = files_, .directory = conversion.directory, .order = conversion.order} {
    walking_.advance = [this](uint64_t bytes) { return Advance(bytes); };
    if (!conversion.saves_what_is_whole) return;
    walking_.on_loss = [this](const std::string& name, uint64_t offset, uint64_t bytes, std::string_view what) {
      converted_.losses.push_back({.name = name, .offset = offset, .bytes = bytes, .what = std::string(what)});
    };
  }

  Result<Converted> Run() {
    Status status = Prepare();
    if (status.ok()) status = Merge();
    if (status.ok()) status = Commit();
    if (!status.ok()) {
      if (!status.outcome_unknown()) RemoveOurs();
      return Explain(status);
    }
    Log("converted from LevelDB: " + std::to_string(converted_.entries) + " keys, " +
        PrintMegabytes(converted_.bytes_before) + " before, " + PrintMegabytes(converted_.bytes_after) + " after");
    if (!converted_.report.empty()) Log("converted from LevelDB: " + converted_.report);
    // WHY the error is ignored: the conversion is committed, and the next open removes the remaining files.
    // (After a repair without a loss that is interrupted here, the next open moves them to lost/.)
    (void)RemoveSourceFiles(files_, conversion_.directory, !converted_.losses.empty());
    return std::move(converted_);
  }

 private:
  Status Prepare();
  Status Begin();
  Status Merge();
  Status JudgeCutManifest();
  Result<kv::Sequence> NewestUnnamed();
  Status AddNewest(const kv::Entry& entry);
  Status FinishTable();
  Status Commit();
  format::VersionEdit Describe() const;
  void RemoveOurs();
  Status Explain(const Status& status) const;
  Status Advance(uint64_t bytes);

  std::string PathOf(FileKind kind) const { return format::FilePath(conversion_.directory, kind); }
  kv::FileNumber AllocateNumber() { return kv::FileNumber{next_file_++}; }
  void Log(const std::string& line) const {
    if (conversion_.options.env.logger != nullptr)
      conversion_.options.env.logger->Log(conversion_.directory + ": " + line);
  }

  const Conversion& conversion_;
  FileSystem* const files_;
  Walking walking_;
  Converted converted_;
  Source source_;
  uint64_t next_file_ = 0;
  kv::Sequence last_sequence_ = 0;
  LogWalk logs_;
  std::unique_ptr<table::Writer> writer_;
  std::vector<kv::FileNumber> made_;         // all tables begun
  std::vector<format::FileMetaPtr> tables_;  // all tables finished
  bool marker_is_ours_ = false;              // this conversion made the marker IMPORT and all unfinished tables
  uint64_t bytes_done_ = 0;
  uint64_t tenths_logged_ = 0;
};

Status Converter::Prepare() {
  auto source = ReadSource(files_, conversion_.directory, conversion_.order);
  if (!source && conversion_.saves_what_is_whole && (source.error().IsCorruption() || source.error().IsNotFound())) {
    converted_.losses.push_back(
        {.name = "MANIFEST", .offset = 0, .bytes = 0, .what = std::string(source.error().message())});
    std::string what;
    source = GuessSource(files_, conversion_.directory, conversion_.order, &what);
    converted_.report += what + "\n";
  }
  if (!source) return source.error();
  source_ = std::move(*source);
  if (!source_.missing.empty() && !conversion_.saves_what_is_whole) {
    return Status::Corruption(std::to_string(source_.missing.size()) + " missing files; e.g.: " +
                              format::JoinPath(conversion_.directory, source_.missing.front()));
  }
  for (const std::string& name : source_.missing)
    converted_.losses.push_back({.name = name, .offset = 0, .bytes = 0, .what = "missing, but the MANIFEST names it"});
  converted_.tables = source_.tables.size();
  converted_.logs = source_.logs.size();
  converted_.bytes_before = source_.bytes;
  last_sequence_ = source_.last_sequence;
  next_file_ = source_.largest_number + 1;
  Log("a LevelDB database: converting " + std::to_string(converted_.tables) + " tables and " +
      std::to_string(converted_.logs) + " logs, " + PrintMegabytes(source_.bytes));
  return Begin();
}

// Makes the marker durable before the first table, so that the files of an interrupted conversion can be
// recognised. The files of an earlier conversion are removed before its marker. They move to lost/ unless
// CURRENT is LevelDB's, which shows that the earlier conversion was not committed.
Status Converter::Begin() {
  const std::string marker = PathOf(FileKind::kImport);
  const auto earlier = files_->SizeOf(marker);
  if (!earlier && !earlier.error().IsNotFound()) return earlier.error();
  if (earlier) {
    ASSIGN_OR_RETURN(const Owner owner, OwnerOf(files_, conversion_.directory));
    const bool is_leveldbs = owner == Owner::kLevelDb;
    const std::string lost = format::JoinPath(conversion_.directory, format::kLostDirectory);
    if (!is_leveldbs) RETURN_IF_ERROR(CreateLost(files_, conversion_.directory));
    ASSIGN_OR_RETURN(const auto names, files_->List(conversion_.directory));
    for (const std::string& name : names) {
      const auto parsed = format::ParseFileName(name);
      if (!parsed || parsed->kind != FileKind::kTable) continue;
      if (is_leveldbs) {
        RETURN_IF_ERROR(files_->Remove(format::JoinPath(conversion_.directory, name)));
      } else {
        RETURN_IF_ERROR(MoveToLost(files_, conversion_.directory, name));
      }
    }
    if (!is_leveldbs) RETURN_IF_ERROR(files_->SyncDirectory(lost));
    RETURN_IF_ERROR(files_->SyncDirectory(conversion_.directory));
    RETURN_IF_ERROR(files_->Remove(marker));
  }
  marker_is_ours_ = true;
  RETURN_IF_ERROR(env::WriteNewFile(files_, marker, conversion_.saves_what_is_whole ? kSourceIsKept : kSourceGoes));
  return files_->SyncDirectory(conversion_.directory);
}

Status Converter::Advance(uint64_t bytes) {
  bytes_done_ = std::min(bytes_done_ + bytes, source_.bytes);
  const uint64_t tenths = source_.bytes == 0 ? 0 : bytes_done_ * 10 / source_.bytes;
  if (tenths > tenths_logged_ && source_.bytes >= kBytesWorthProgress) {
    tenths_logged_ = tenths;
    Log("converting: " + std::to_string(tenths * 10) + " % of " + PrintMegabytes(source_.bytes));
  }
  return conversion_.progress ? conversion_.progress(bytes_done_, source_.bytes) : Status();
}

// ---- merging the sources --------------------------------------------------------------------------------------

Status Converter::Merge() {
  const LogWalkOptions log_options{
      .piece_bytes = std::max<uint64_t>(conversion_.options.memory_bytes / 4, kPieceBytesMin),
      .allocate_number = [this] { return AllocateNumber(); },
      .entropy = conversion_.options.env.entropy};
  RETURN_IF_ERROR(WalkLogs(walking_, source_.logs, log_options, &logs_));
  if (source_.is_cut_short) RETURN_IF_ERROR(JudgeCutManifest());
  last_sequence_ = std::max(last_sequence_, logs_.last_sequence);
  converted_.report += logs_.report;
  ASSIGN_OR_RETURN(auto iterators, NewTableIterators(walking_, source_.tables));
  std::vector<std::unique_ptr<kv::ForwardIterator>> children = std::move(logs_.pieces);
  std::move(iterators.begin(), iterators.end(), std::back_inserter(children));
  const auto merged = iterator::NewMergingIterator(conversion_.order, std::move(children));
  std::string key;
  bool has_key = false;
  for (merged->SeekToFirst(); merged->Valid(); merged->Next()) {
    const kv::Entry& entry = merged->entry();
    last_sequence_ = std::max(last_sequence_, kv::SequenceOf(entry.tag));
    if (has_key && conversion_.order.SameKey(key, entry.key)) continue;
    key = entry.key;
    has_key = true;
    if (kv::KindOf(entry.tag) == kv::Kind::kPut) RETURN_IF_ERROR(AddNewest(entry));
  }
  RETURN_IF_ERROR(merged->status());
  return FinishTable();
}

// The logs hold all data of an edit that was never finished. If sequences are missing between the MANIFEST and
// the logs, more than that edit was lost. Then a repair also takes the tables that the MANIFEST does not name.
Status Converter::JudgeCutManifest() {
  std::string gap;
  if (logs_.first_sequence > source_.last_sequence + 1) {
    gap = "the logs begin at " + std::to_string(logs_.first_sequence);
  } else if (logs_.first_sequence == 0) {
    ASSIGN_OR_RETURN(const kv::Sequence newest, NewestUnnamed());
    if (newest > source_.last_sequence) {
      gap = "a table that it does not name holds " + std::to_string(newest) + ", and no log has it";
    }
  }
  if (gap.empty()) return {};
  gap = "the MANIFEST is cut short: it knows of sequence " + std::to_string(source_.last_sequence) + ", but " + gap;
  if (!conversion_.saves_what_is_whole) return Status::Corruption(gap);
  converted_.losses.push_back({.name = "MANIFEST", .offset = 0, .bytes = 0, .what = gap});
  converted_.report += "all tables are converted, and deleted or overwritten entries may be visible again\n";
  converted_.tables += source_.unnamed.size();
  for (SourceTable& table : source_.unnamed) {
    source_.bytes += table.file.bytes;
    source_.tables.push_back(std::move(table));
  }
  source_.unnamed.clear();
  return {};
}

// The largest sequence in the tables that the MANIFEST does not name. A repair passes over damage in them.
Result<kv::Sequence> Converter::NewestUnnamed() {
  Walking quiet = walking_;
  if (quiet.on_loss) quiet.on_loss = [](const std::string&, uint64_t, uint64_t, std::string_view) {};
  ASSIGN_OR_RETURN(const auto iterators, NewTableIterators(quiet, source_.unnamed));
  kv::Sequence newest = 0;
  for (const auto& run : iterators) {
    for (run->SeekToFirst(); run->Valid(); run->Next()) newest = std::max(newest, kv::SequenceOf(run->entry().tag));
    RETURN_IF_ERROR(run->status());
  }
  return newest;
}

// The output is a bottommost sorted run and no snapshot exists, so its entries have the sequence 0.
Status Converter::AddNewest(const kv::Entry& entry) {
  if (entry.key.size() > kKeyBytesMax || entry.value.size() > kValueBytesMax) {
    return Status::NotSupported("a key of " + std::to_string(entry.key.size()) + " bytes with a value of " +
                                std::to_string(entry.value.size()) + " bytes; the limits are " +
                                std::to_string(kKeyBytesMax) + " and " + std::to_string(kValueBytesMax));
  }
  if (writer_ != nullptr && writer_->bytes_written() >= kTableBytes) RETURN_IF_ERROR(FinishTable());
  if (writer_ == nullptr) {
    const Options& options = conversion_.options;
    const table::WriterOptions shape{
        .compression = options.compression.bottom,
        .bloom_bits_per_key = conversion_.order.is_bytewise() ? options.bloom_bits_per_key : 0,
        .block_bytes = options.block_bytes,
        .bytes_expected = std::min(kTableBytes, 2 * source_.bytes)};
    const kv::FileNumber number = AllocateNumber();
    made_.push_back(number);
    ASSIGN_OR_RETURN(writer_, table::Writer::Create(files_, format::TablePath(conversion_.directory, number), number,
                                                    options.env.entropy(), conversion_.order, shape));
  }
  kv::Entry bottom = entry;
  bottom.tag = kv::MakeTag(0, kv::Kind::kPut);
  ++converted_.entries;
  return writer_->Add(bottom);
}

Status Converter::FinishTable() {
  if (writer_ == nullptr) return {};
  ASSIGN_OR_RETURN(auto meta, writer_->Finish());
  RETURN_IF_ERROR(writer_->Sync());
  writer_ = nullptr;
  converted_.bytes_after += meta->bytes;
  tables_.push_back(std::move(meta));
  return {};
}

// ---- the commit -----------------------------------------------------------------------------------------------

// The new database continues LevelDB's sequences. Its WAL is new and empty.
format::VersionEdit Converter::Describe() const {
  format::VersionEdit edit;
  for (const auto& table : tables_)
    edit.adds.push_back({.position = kPosition, .level = format::kBottommostLevel, .file = table, .bounds = {}});
  const auto& entropy = conversion_.options.env.entropy;
  uint64_t database_id = 0;
  while (database_id == 0) database_id = entropy();
  const uint64_t salt = entropy();
  const wal::Mark first = wal::FirstMark(salt, std::min(last_sequence_ + 1, kv::kSequenceMax));
  edit.database_id = database_id;
  edit.comparator = std::string(conversion_.order.comparator()->Name());
  edit.next_file = kv::FileNumber{next_file_ + 1};  // the number after the MANIFEST's own
  edit.next_position = kv::Position{kv::ToInt(kPosition) + 1};
  edit.last_sequence = first.sequence - 1;
  edit.wal_start = format::VersionEdit::WalStart{
      .epoch = 1, .salt = salt, .position = first.position, .chain = first.chain, .sequence = first.sequence};
  edit.wal_durable = 0;
  edit.wal_segments.emplace();
  edit.clean_wal_end = 0;
  return edit;
}

Status Converter::Commit() {
  const format::VersionEdit edit = Describe();
  // WHY the check comes before the commit: a state that the next open would refuse must not replace an intact
  // database.
  RETURN_IF_ERROR(version::ApplyEdit(conversion_.order, version::Version(), edit).status());
  for (const kv::FileNumber number : logs_.tables)
    RETURN_IF_ERROR(files_->Remove(format::TablePath(conversion_.directory, number)));
  logs_.tables.clear();
  RETURN_IF_ERROR(files_->SyncDirectory(conversion_.directory));
  const kv::FileNumber number = AllocateNumber();
  manifest::Manifest manifest({.file_system = files_,
                               .directory = conversion_.directory,
                               .database_id = *edit.database_id,
                               .allocate_number = [number] { return number; }});
  const Status status = manifest.Commit(edit);
  if (status.ok()) return {};
  // If the rename or the sync of the directory failed, a power cut may leave either CURRENT.
  const auto owner = OwnerOf(files_, conversion_.directory);
  if (!owner || *owner != Owner::kLevelDb) return status.WithOutcomeUnknown();
  (void)files_->Remove(format::ManifestPath(conversion_.directory, number));
  return status;
}

// WHY nothing is removed before marker_is_ours_: until then the marker and the tables belong to an earlier
// conversion.
void Converter::RemoveOurs() {
  if (!marker_is_ours_) return;
  writer_ = nullptr;
  logs_.pieces.clear();
  for (const auto* numbers : {&made_, &logs_.tables}) {
    for (const kv::FileNumber number : *numbers) (void)files_->Remove(format::TablePath(conversion_.directory, number));
  }
  (void)files_->Remove(PathOf(FileKind::kCurrentTemporary));
  // WHY the sync comes first: if a power cut brought back a table but not the marker, OwnerOf would return
  // kOverwritten.
  if (files_->SyncDirectory(conversion_.directory).ok()) (void)files_->Remove(PathOf(FileKind::kImport));
}

Status Converter::Explain(const Status& status) const {
  if (!status.IsNoSpace()) return status.WithContext(conversion_.directory + ": converting from LevelDB");
  return status.WithContext(conversion_.directory +
                            ": converting from LevelDB needs about as much free space as the database has, " +
                            PrintMegabytes(source_.bytes) + "; LevelDB's files are unchanged");
}

}  // namespace

Result<Converted> Convert(const Conversion& conversion) { return Converter(conversion).Run(); }

Status RemoveSource(FileSystem* file_system, const std::string& directory) {
  ASSIGN_OR_RETURN(const bool is_kept, IsKept(file_system, format::FilePath(directory, FileKind::kImport)));
  // If a repair ran after the conversion, it may have given up entries that LevelDB's files still hold.
  const std::string lost = format::JoinPath(directory, format::kLostDirectory);
  const auto report = file_system->SizeOf(format::JoinPath(lost, "report.txt"));
  if (!report && !report.error().IsNotFound()) return report.error();
  return RemoveSourceFiles(file_system, directory, is_kept || report);
}

Status RemoveLevelDb(FileSystem* file_system, const std::string& directory) {
  ASSIGN_OR_RETURN(const auto names, file_system->List(directory));
  for (const std::string& name : names) {
    const auto parsed = leveldb_format::ParseName(name);
    const auto ours = format::ParseFileName(name);
    const bool is_half_converted = ours && (ours->kind == FileKind::kImport || ours->kind == FileKind::kTable ||
                                            ours->kind == FileKind::kCurrentTemporary);
    const bool is_late = parsed && (parsed->kind == leveldb_format::NameKind::kLock ||
                                    parsed->kind == leveldb_format::NameKind::kCurrent);
    if (is_late || (!parsed && !is_half_converted)) continue;
    RETURN_IF_ERROR(file_system->Remove(format::JoinPath(directory, name)));
  }
  return file_system->Remove(format::JoinPath(directory, "CURRENT"));
}

}  // namespace mergedb::leveldb_import
