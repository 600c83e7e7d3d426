// Goal: the inspection of one file reads all of it, finds every damage and never crashes. Method: each file of a small
// database with every kind of record; flipped bits, cut lengths, files of other kinds. The whole database says what is
// expected.
#include "repair/one_file.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>

#include "base/random.h"
#include "testing/status_matchers.h"
#include "testing/watched_file_system.h"
#include "testing/whole_database.h"

namespace mergedb::repair {
namespace {

using ::testing::HasSubstr;
using namespace mergedb::testing;

const std::string kDirectory = SimulatedEnv::kPath;

// The report of any kind.
Result<OneFile> Inspect(FileSystem* files, const std::string& path, OneFileKind kind) {
  switch (kind) {
    case OneFileKind::kTable: {
      ASSIGN_OR_RETURN(auto report, InspectTable(files, path, nullptr));
      return std::move(report.file);
    }
    case OneFileKind::kBlobFile: {
      ASSIGN_OR_RETURN(auto report, InspectBlobFile(files, path, nullptr));
      return std::move(report.file);
    }
    case OneFileKind::kWal: {
      ASSIGN_OR_RETURN(auto report, InspectWal(files, path, nullptr));
      return std::move(report.file);
    }
    case OneFileKind::kManifest: {
      ASSIGN_OR_RETURN(auto report, InspectManifest(files, path, nullptr));
      return std::move(report.file);
    }
  }
  return Status::InvalidArgument("no kind");
}

struct OneKind {
  OneFileKind kind;
  std::string ending;
  std::string verb;
};
const OneKind kKinds[] = {{OneFileKind::kTable, ".tbl", "sst"},
                          {OneFileKind::kBlobFile, ".val", "blob"},
                          {OneFileKind::kWal, ".seg", "wal"},
                          {OneFileKind::kManifest, "MANIFEST", "manifest"}};

class OneFileTest : public ::testing::Test {
 protected:
  static const WholeDatabase& Whole() {
    static const WholeDatabase database({.is_closed = false, .compression = Compression::kZstd, .separates = true});
    return database;
  }
  std::vector<std::string> FilesOf(const OneKind& kind) const {
    std::vector<std::string> files;
    for (const std::string& path : Whole().Files()) {
      if (path.find(kind.ending) != std::string::npos) files.push_back(path);
    }
    return files;
  }
  const std::unique_ptr<SimulatedEnv> sim_ = Whole().Copy();
  FaultFileSystem* const files_ = sim_->files.get();
};

TEST_F(OneFileTest, ReadsAllOfATable) {
  uint64_t references = 0, range_tombstones = 0;
  for (const std::string& path : FilesOf(kKinds[0])) {
    SCOPED_TRACE(path);
    uint64_t entries = 0;
    KindCounts kinds{};
    ASSERT_OK_AND_ASSIGN(const TableReport table, InspectTable(files_, path, [&](const kv::Entry& entry) {
                           ++entries;
                           ++kinds[static_cast<size_t>(kv::KindOf(entry.tag))];
                           return Status();
                         }));
    EXPECT_TRUE(table.file.damages.empty());
    EXPECT_EQ(table.file.bytes, Whole().Bytes(path).size());
    EXPECT_EQ(table.file.number, table.properties->meta.number);
    EXPECT_EQ(table.found.entries, entries);
    EXPECT_EQ(table.properties->meta.entries, entries);
    EXPECT_EQ(table.kinds, kinds);
    EXPECT_EQ(table.range_tombstones.tombstones(), table.properties->meta.range_tombstones);
    uint64_t bytes = 0;
    for (const TableBlock& block : table.blocks) {
      EXPECT_TRUE(block.is_whole);
      EXPECT_EQ(block.offset, bytes);
      bytes += block.bytes;
    }
    EXPECT_EQ(bytes, table.footer->data_bytes);
    for (const auto& [number, use] : table.blob_files) references += use.references;
    range_tombstones += table.range_tombstones.tombstones();
  }
  EXPECT_GT(references, 0u);
  EXPECT_GT(range_tombstones, 0u);
}

TEST_F(OneFileTest, ReadsAllOfABlobFile) {
  for (const std::string& path : FilesOf(kKinds[1])) {
    SCOPED_TRACE(path);
    uint64_t records = 0, next = 0;
    ASSERT_OK_AND_ASSIGN(const BlobFileReport blob, InspectBlobFile(files_, path, [&](const BlobValue& value) {
                           EXPECT_EQ(value.offset, next);
                           next += value.bytes;
                           ++records;
                           return Status();
                         }));
    EXPECT_TRUE(blob.file.damages.empty());
    EXPECT_EQ(blob.records, records);
    EXPECT_EQ(blob.footer->records, records);
    EXPECT_EQ(next, blob.footer->record_bytes);
    EXPECT_GT(blob.codecs.at(Compression::kZstd), 0u);
  }
}

TEST_F(OneFileTest, NeedsNoOtherFile) {
  for (const OneKind& kind : kKinds) {
    const std::string bytes = Whole().Bytes(FilesOf(kind).front());
    ASSERT_OK(files_->CreateDirectory("/elsewhere"));
    ASSERT_OK(files_->WriteWhole("/elsewhere/copy", bytes));
    ASSERT_OK_AND_ASSIGN(const OneFile file, Inspect(files_, "/elsewhere/copy", kind.kind));
    EXPECT_TRUE(file.damages.empty()) << kind.verb;
    EXPECT_EQ(file.number.has_value(), kind.kind != OneFileKind::kWal) << "from the content";
  }
}

TEST_F(OneFileTest, SaysWhatAFileOfAnotherKindIs) {
  for (const OneKind& of_file : kKinds) {
    for (const OneKind& asked : kKinds) {
      const auto result = Inspect(files_, FilesOf(of_file).front(), asked.kind);
      if (of_file.kind == asked.kind) {
        EXPECT_OK(result);
      } else {
        EXPECT_THAT(result,
                    StatusIs(Code::kInvalidArgument, HasSubstr("`mergedb " + of_file.verb + " FILE` reads it")));
      }
    }
  }
  for (const OneKind& kind : kKinds) {
    EXPECT_THAT(Inspect(files_, kDirectory, kind.kind), StatusIs(Code::kInvalidArgument, HasSubstr("is a directory")));
    EXPECT_THAT(Inspect(files_, kDirectory + "/absent", kind.kind), StatusIs(Code::kNotFound));
    EXPECT_THAT(Inspect(files_, kDirectory + "/CURRENT", kind.kind),
                StatusIs(Code::kInvalidArgument, HasSubstr("text that names the MANIFEST")));
    ASSERT_OK(files_->WriteWhole("/db/text", "some text that is long enough for a magic number"));
    EXPECT_THAT(Inspect(files_, "/db/text", kind.kind),
                StatusIs(Code::kInvalidArgument, HasSubstr("no file of mergedb")));
    ASSERT_OK(files_->WriteWhole("/db/000004.ldb", std::string(100, 'x') + "\x57\xfb\x80\x8b\x24\x75\x47\xdb"));
    EXPECT_THAT(Inspect(files_, "/db/000004.ldb", kind.kind),
                StatusIs(Code::kInvalidArgument, HasSubstr("a table of LevelDB")));
  }
}

TEST_F(OneFileTest, AFileUnderAnotherNumberIsDamage) {
  for (const OneKind& kind : {kKinds[0], kKinds[1]}) {
    const std::string path = kDirectory + "/777777" + kind.ending;
    ASSERT_OK(files_->WriteWhole(path, Whole().Bytes(FilesOf(kind).front())));
    ASSERT_OK_AND_ASSIGN(const OneFile file, Inspect(files_, path, kind.kind));
    ASSERT_FALSE(file.damages.empty());
    EXPECT_THAT(file.damages.front().what, HasSubstr("has number 777777, its content"));
  }
}

// Each byte of tables and blob files is under a checksum or must be zero.
TEST_F(OneFileTest, EveryFlippedBitIsADamageWithItsPlace) {
  for (const OneKind& kind : {kKinds[0], kKinds[1]}) {
    for (const std::string& path : FilesOf(kind)) {
      const uint64_t bytes = Whole().Bytes(path).size();
      for (uint64_t offset = 0; offset < bytes; offset += 1 + offset % 37) {
        const auto sim = Whole().Copy();
        ASSERT_OK(sim->files->FlipBit(path, offset, static_cast<int>(offset % 8)));
        const auto file = Inspect(sim->files.get(), path, kind.kind);
        if (!file) {  // the version of the footer
          EXPECT_THAT(file, StatusIs(Code::kNotSupported)) << path << " " << offset;
          continue;
        }
        ASSERT_FALSE(file->damages.empty()) << path << " " << offset;
        const Damage& damage = file->damages.front();
        EXPECT_LE(damage.offset, offset) << path << " " << ToText(damage);
        EXPECT_GT(damage.offset + damage.bytes, offset) << path << " " << ToText(damage);
      }
    }
  }
}

TEST_F(OneFileTest, ADamagedRecordHidesNoOther) {
  const std::string path = FilesOf(kKinds[1]).front();
  ASSERT_OK_AND_ASSIGN(const BlobFileReport whole, InspectBlobFile(files_, path, nullptr));
  ASSERT_GT(whole.records, 3u);
  std::vector<uint64_t> offsets;
  ASSERT_OK(InspectBlobFile(files_, path, [&](const BlobValue& value) {
    offsets.push_back(value.offset);
    return Status();
  }));
  ASSERT_OK(files_->FlipBit(path, offsets[2] - 1, 0));  // the last byte of the second value
  ASSERT_OK_AND_ASSIGN(const BlobFileReport damaged, InspectBlobFile(files_, path, nullptr));
  EXPECT_EQ(damaged.records, whole.records - 1);
  ASSERT_EQ(damaged.file.damages.size(), 1u);
  EXPECT_EQ(damaged.file.damages.front().offset, offsets[1]);
  EXPECT_EQ(damaged.file.damages.front().bytes, offsets[2] - offsets[1]);
}

TEST_F(OneFileTest, EveryCutLengthIsDamageAndNoCrash) {
  for (const OneKind& kind : {kKinds[0], kKinds[1]}) {
    const std::string path = FilesOf(kind).front();
    const std::string bytes = Whole().Bytes(path);
    for (size_t left = 0; left < bytes.size(); left += 1 + left % 97) {
      ASSERT_OK(files_->WriteWhole(path, std::string_view(bytes).substr(0, left)));
      ASSERT_OK_AND_ASSIGN(const OneFile file, Inspect(files_, path, kind.kind));
      EXPECT_FALSE(file.damages.empty()) << path << " " << left;
    }
  }
}

// ---- the WAL ----------------------------------------------------------------------------------------------------

class OneWalFileTest : public ::testing::TestWithParam<bool> {
 protected:
  OneWalFileTest() : whole_({.is_closed = false, .is_mapped = GetParam()}), sim_(whole_.Copy()) {}

  struct Place {
    uint64_t offset = 0;
    uint64_t bytes = 0;
    uint64_t payload_bytes = 0;
    bool is_proved = true;
  };
  std::vector<Place> FramesOf(const std::string& path) const {
    std::vector<Place> frames;
    EXPECT_OK(InspectWal(sim_->files.get(), path, [&](const WalFrame& frame) {
      frames.push_back({*frame.offset, frame.bytes, frame.payload.size(), frame.is_proved});
      return Status();
    }));
    return frames;
  }

  const WholeDatabase whole_;
  const std::unique_ptr<SimulatedEnv> sim_;
};
INSTANTIATE_TEST_SUITE_P(Mapped, OneWalFileTest, ::testing::Bool());

TEST_P(OneWalFileTest, ReadsEachSegmentOnItsOwn) {
  ASSERT_GT(whole_.Files(".seg").size(), 1u);
  uint64_t frames = 0;
  kv::Sequence largest = 0;
  for (const std::string& path : whole_.Files(".seg")) {
    SCOPED_TRACE(path);
    uint64_t visited = 0, end = 0;
    ASSERT_OK_AND_ASSIGN(const WalReport wal, InspectWal(sim_->files.get(), path, [&](const WalFrame& frame) {
                           ++visited;
                           EXPECT_TRUE(end == 0 || frame.position == end) << "frames follow each other";
                           end = frame.position + frame.bytes;
                           return Status();
                         }));
    EXPECT_TRUE(wal.file.damages.empty()) << ToText(wal.file.damages.front());
    EXPECT_EQ(wal.frames, visited);
    EXPECT_GE(wal.records, wal.frames);
    frames += visited;
    largest = std::max(largest, wal.last_sequence);
  }
  EXPECT_GT(frames, 10u);
  EXPECT_GT(largest, 0u);
}

// With the MANIFEST and the segments beside it.
TEST_P(OneWalFileTest, StagingIsReadAsAReplayReadsIt) {
  const std::string path = kDirectory + "/STAGING";
  if (!GetParam()) {
    EXPECT_THAT(InspectWal(sim_->files.get(), path, nullptr), StatusIs(Code::kNotFound));
    return;
  }
  ASSERT_OK_AND_ASSIGN(const WalReport wal, InspectWal(sim_->files.get(), path, nullptr));
  EXPECT_TRUE(wal.file.damages.empty());
  ASSERT_OK_AND_ASSIGN(const VerifyReport verified, Verify(whole_.OptionsFor(*sim_), kDirectory));
  EXPECT_EQ(wal.frames, verified.wal_frames);
  EXPECT_GT(wal.frames, 0u);
  ASSERT_OK(sim_->files->Remove(kDirectory + "/CURRENT"));
  EXPECT_THAT(InspectWal(sim_->files.get(), path, nullptr),
              StatusIs(Code::kNotFound, HasSubstr("expected CURRENT, the MANIFEST and the WAL segments")));
}

// The checksum of an unproved frame needs the segment before; only the checks of its header and of its batch are left.
TEST_P(OneWalFileTest, ADamagedFrameIsADamageWithItsPlace) {
  uint64_t checked = 0;
  for (const std::string& path : whole_.Files(".seg")) {
    for (const Place& frame : FramesOf(path)) {
      if (!frame.is_proved) continue;
      for (uint64_t at = 0; at < wal::kFrameHeaderBytes + frame.payload_bytes; at += 1 + at / 8) {
        const auto sim = whole_.Copy();
        ASSERT_OK(sim->files->FlipBit(path, frame.offset + at, static_cast<int>(at % 8)));
        ASSERT_OK_AND_ASSIGN(const WalReport wal, InspectWal(sim->files.get(), path, nullptr));
        ASSERT_FALSE(wal.file.damages.empty()) << path << " frame at " << frame.offset << ", byte " << at;
        EXPECT_EQ(wal.file.damages.front().offset, frame.offset) << ToText(wal.file.damages.front());
        EXPECT_THAT(wal.file.damages.front().what, HasSubstr(BaseName(path) + ": offset "));
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 100u);
}

TEST_P(OneWalFileTest, ADamagedHeadIsDamage) {
  const std::string path = whole_.Files(".seg").back();
  for (uint64_t offset = 0; offset < 64; ++offset) {
    const auto sim = whole_.Copy();
    ASSERT_OK(sim->files->FlipBit(path, offset, 1));
    ASSERT_OK_AND_ASSIGN(const WalReport wal, InspectWal(sim->files.get(), path, nullptr));
    ASSERT_FALSE(wal.file.damages.empty()) << offset;
    EXPECT_EQ(wal.file.damages.front().offset, 0u);
  }
}

TEST_P(OneWalFileTest, EveryCutLengthIsDamageAndNoCrash) {
  for (const std::string& path : whole_.Files(".seg")) {
    const std::string bytes = whole_.Bytes(path);
    for (size_t left = 0; left < bytes.size(); left += 1 + left / 3) {
      ASSERT_OK(sim_->files->WriteWhole(path, std::string_view(bytes).substr(0, left)));
      ASSERT_OK_AND_ASSIGN(const WalReport wal, InspectWal(sim_->files.get(), path, nullptr));
      // A segment that is not in use may be short: a crash interrupted its creation.
      if (wal.head && wal.head->generation == 0) continue;
      EXPECT_FALSE(wal.file.damages.empty()) << path << " " << left;
    }
  }
}

// A hostile file has right checksums: the inspection must not trust any number.
TEST_P(OneWalFileTest, AHeadWithRightChecksumsAndWrongNumbersIsNoCrash) {
  const std::string path = whole_.Files(".seg").back();
  base::Random random(7);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole_.Bytes(path);
    ASSERT_OK_AND_ASSIGN(wal::SegmentHead head, wal::LoadSegmentHead(bytes));
    const uint64_t value = random.OneIn(2) ? random.Uniform(1 << 20) : uint64_t{1} << random.Uniform(62);
    switch (random.Uniform(4)) {
      case 0: head.start = value; break;
      case 1: head.capacity = wal::RoundUp(std::min(value, uint64_t{1} << 47) + 1, wal::kBlockBytes); break;
      case 2: head.mark = wal::Mark{.position = head.start, .chain = static_cast<uint32_t>(value)}; break;
      default: head.salt_crc = static_cast<uint32_t>(value);
    }
    wal::StoreSegmentHead(bytes.data(), head);
    ASSERT_OK(sim_->files->WriteWhole(path, bytes));
    EXPECT_OK(InspectWal(sim_->files.get(), path, nullptr)) << i;
  }
}

// ---- the MANIFEST -----------------------------------------------------------------------------------------------

TEST_F(OneFileTest, ReadsAllOfAManifest) {
  const std::string path = FilesOf(kKinds[3]).back();
  uint64_t edits = 0, adds = 0;
  ASSERT_OK_AND_ASSIGN(const ManifestReport manifest,
                       InspectManifest(files_, path, [&](const format::VersionEdit& edit, uint64_t) {
                         ++edits;
                         adds += edit.adds.size();
                         return Status();
                       }));
  EXPECT_TRUE(manifest.file.damages.empty());
  EXPECT_EQ(manifest.edits, edits);
  EXPECT_GE(adds, manifest.version->file_count());
  EXPECT_EQ(manifest.facts.comparator, "mergedb.bytewise");
  for (const std::string& table : FilesOf(kKinds[0])) {
    if (!Whole().IsLiveTable(table)) continue;
    const std::string number = BaseName(table).substr(0, 6);
    EXPECT_THAT(manifest.version->ToString(), HasSubstr(number));
  }
}

// Each byte is there twice, so one flipped bit loses nothing. Zeros behind the records may be an unfinished record.
TEST_F(OneFileTest, EveryFlippedBitOfAManifestIsReported) {
  const std::string path = FilesOf(kKinds[3]).back();
  const std::string bytes = Whole().Bytes(path);
  for (uint64_t offset = 0; offset < bytes.size(); offset += bytes[offset] != 0 ? 1 + offset % 3 : 211) {
    const auto sim = Whole().Copy();
    ASSERT_OK(sim->files->FlipBit(path, offset, static_cast<int>(offset % 8)));
    ASSERT_OK_AND_ASSIGN(const OneFile file, Inspect(sim->files.get(), path, OneFileKind::kManifest));
    ASSERT_FALSE(file.damages.empty() && file.notes.empty()) << offset;
    if (file.damages.empty()) continue;
    EXPECT_LE(file.damages.front().offset, offset);
    EXPECT_GT(file.damages.front().offset + file.damages.front().bytes, offset);
    EXPECT_FALSE(file.damages.front().loses_entries);
  }
}

TEST_F(OneFileTest, DamageToBothCopiesOfARecordNamesBothPlaces) {
  const std::string path = FilesOf(kKinds[3]).back();
  for (const uint64_t offset : {60, 60 + 32768}) ASSERT_OK(files_->FlipBit(path, offset, 0));
  ASSERT_OK_AND_ASSIGN(const ManifestReport manifest, InspectManifest(files_, path, nullptr));
  ASSERT_FALSE(manifest.file.damages.empty());
  EXPECT_TRUE(manifest.file.damages.front().loses_entries);
  EXPECT_THAT(manifest.file.damages.front().what, HasSubstr("both copies"));
}

TEST_F(OneFileTest, AnOlderManifestIsDamageIfCurrentSaysMore) {
  const WholeDatabase closed({.is_closed = true});
  const auto sim = closed.Copy();
  std::string of_closed;
  for (const std::string& file : closed.Files())
    if (file.find("MANIFEST") != std::string::npos) of_closed = file;
  const auto contents = closed.EarlierContents(of_closed);
  ASSERT_FALSE(contents.empty());
  ASSERT_OK(sim->files->WriteWhole(of_closed, contents.front()));
  ASSERT_OK_AND_ASSIGN(const OneFile file, Inspect(sim->files.get(), of_closed, OneFileKind::kManifest));
  ASSERT_FALSE(file.damages.empty());
  EXPECT_THAT(file.damages.front().what, HasSubstr("CURRENT says that they reached"));
  ASSERT_OK(sim->files->Remove(kDirectory + "/CURRENT"));
  ASSERT_OK_AND_ASSIGN(const OneFile alone, Inspect(sim->files.get(), of_closed, OneFileKind::kManifest));
  EXPECT_TRUE(alone.damages.empty());
}

// ---- beside a writer

// The kind by the name; tables, blob files and files of the WAL and the MANIFEST.
std::optional<OneFileKind> KindOf(const std::string& path) {
  if (path.ends_with("STAGING")) return OneFileKind::kWal;
  for (const OneKind& kind : kKinds) {
    if (path.find(kind.ending) != std::string::npos) return kind.kind;
  }
  return std::nullopt;
}

// A database that is open, and whose program writes during the calls of an inspection.
class BesideAWriter {
 public:
  explicit BesideAWriter(bool is_mapped) : sim_(WholeOf(is_mapped).Copy()) {
    auto opened = WholeOf(is_mapped).Open(*sim_);
    EXPECT_OK(opened);
    db_ = std::move(*opened);
    WriteALittle();
  }
  ~BesideAWriter() { EXPECT_OK(db_->Close()); }

  std::vector<std::string> Files() const { return sim_->files->Files(); }
  FileSystem* files() { return sim_->files.get(); }
  SimulatedEnv& sim() { return *sim_; }
  void WriteALittle() {
    for (int i = 0; i < 20; ++i)
      EXPECT_OK(
          db_->Put({}, "key" + std::to_string(i), std::string(20 + i * 10, static_cast<char>('a' + next_++ % 26))));
  }
  void Sync() { EXPECT_OK(db_->SyncWal()); }
  // Replaces all files of the tree, and most of those of the WAL.
  void ReplaceAll() {
    for (int round = 0; round < 3; ++round) {
      WriteALittle();
      EXPECT_OK(db_->Flush());
      EXPECT_OK(db_->CompactRange(nullptr, nullptr));
      sim_->executor.RunAll(1'000'000);
    }
  }

 private:
  static const WholeDatabase& WholeOf(bool is_mapped) {
    static const WholeDatabase mapped({.is_closed = false, .is_mapped = true, .separates = true});
    static const WholeDatabase written({.is_closed = false, .is_mapped = false, .separates = true});
    return is_mapped ? mapped : written;
  }

  const std::unique_ptr<SimulatedEnv> sim_;
  std::unique_ptr<DB> db_;
  int next_ = 0;
};

// Inspects the file at `index`; from the nth call on, the program writes: at this call everything, or a little at each.
// False: the inspection makes fewer calls, or there is no such file.
bool InspectWhileWriting(bool is_mapped, size_t index, uint64_t nth, bool replaces_all) {
  BesideAWriter writer(is_mapped);
  const auto paths = writer.Files();
  if (index >= paths.size()) return false;
  const std::string& path = paths[index];
  const auto kind = KindOf(path);
  if (!kind) return false;
  SCOPED_TRACE(path + ", call " + std::to_string(nth) + (replaces_all ? ", all" : ", each"));
  uint64_t calls = 0;
  WatchedFileSystem watched(writer.files(), {.before = [&](const FileCall&, size_t*) {
                              ++calls;
                              if (replaces_all && calls == nth) writer.ReplaceAll();
                              if (!replaces_all && calls >= nth) writer.WriteALittle();
                              return Status();
                            }});
  const auto file = Inspect(&watched, path, *kind);
  if (!file) {
    EXPECT_TRUE(file.error().IsBusy() || file.error().IsNotFound()) << file.error().ToString();
  } else {
    EXPECT_TRUE(file->damages.empty()) << ToText(file->damages.front());
  }
  return calls >= nth;
}

class OneFileBesideAWriter : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Mapped, OneFileBesideAWriter, ::testing::Bool());

TEST_P(OneFileBesideAWriter, IsNeverCalledDamaged) {
  size_t inspected = 0;
  const size_t count = BesideAWriter(GetParam()).Files().size();
  for (size_t index = 0; index < count; ++index) {
    for (const bool replaces_all : {true, false}) {
      for (uint64_t nth = 1; InspectWhileWriting(GetParam(), index, nth, replaces_all); nth += 1 + nth / 4) ++inspected;
    }
  }
  EXPECT_GT(inspected, 4 * count);
}

// Between any two calls of the program: files that it creates, fills, renames and overwrites.
TEST_P(OneFileBesideAWriter, IsNeverCalledDamagedWhileItIsWritten) {
  BesideAWriter writer(GetParam());
  std::map<OneFileKind, int> whole, busy;
  writer.sim().files->SetOpHook([&](uint64_t, const char* what, const std::string&) {
    for (const std::string& path : writer.Files()) {
      const auto kind = KindOf(path);
      if (!kind) continue;
      const auto file = Inspect(writer.files(), path, *kind);
      if (!file) {
        ASSERT_TRUE(file.error().IsBusy()) << what << ": " << file.error().ToString();
        ++busy[*kind];
      } else {
        ASSERT_TRUE(file->damages.empty()) << what << ": " << path << ": " << ToText(file->damages.front());
        ++whole[*kind];
      }
    }
  });
  writer.ReplaceAll();
  writer.sim().files->SetOpHook(nullptr);
  for (const OneKind& kind : kKinds) EXPECT_GT(whole[kind.kind], 10) << kind.verb;
  EXPECT_GT(busy[OneFileKind::kTable], 0) << "none was met half written";
  EXPECT_GT(busy[OneFileKind::kBlobFile], 0);
}

// Damage in a file that the database needs is reported, also while a program writes.
TEST_P(OneFileBesideAWriter, IsCalledDamagedIfTheDatabaseNeedsIt) {
  for (const OneKind& kind : kKinds) {
    BesideAWriter writer(GetParam());
    writer.ReplaceAll();
    int damaged = 0;
    for (const std::string& path : writer.Files()) {
      if (KindOf(path) != kind.kind || path.ends_with("STAGING")) continue;
      const bool has_blocks = kind.kind != OneFileKind::kManifest && kind.kind != OneFileKind::kWal;
      ASSERT_OK(writer.sim().files->FlipBit(path, has_blocks ? 3 : 20, 1));
      const auto file = Inspect(writer.files(), path, kind.kind);
      damaged += file && !file->damages.empty();
      EXPECT_TRUE(file ? !file->damages.empty() : file.error().IsBusy()) << path;
    }
    EXPECT_GT(damaged, 0) << kind.verb;
  }
}

// The program rests after a sync, and no commit of the MANIFEST has named the segment yet.
TEST_P(OneFileBesideAWriter, ADamagedFrameOfTheWalIsReported) {
  BesideAWriter writer(GetParam());
  writer.ReplaceAll();
  for (int i = 0; i < 3; ++i) {
    writer.WriteALittle();
    writer.Sync();
  }
  int damaged = 0;
  for (const std::string& path : writer.Files()) {
    if (!path.ends_with(".seg")) continue;
    std::vector<uint64_t> offsets;
    const auto wal = InspectWal(writer.files(), path, [&](const WalFrame& frame) {
      if (frame.is_proved) offsets.push_back(*frame.offset);
      return Status();
    });
    ASSERT_TRUE(wal && wal->file.damages.empty()) << path;
    if (offsets.size() < 10) continue;
    const uint64_t offset = offsets[offsets.size() / 2];
    ASSERT_OK(writer.sim().files->FlipBit(path, offset + wal::kFrameHeaderBytes + 5, 2));
    const auto file = Inspect(writer.files(), path, OneFileKind::kWal);
    if (!file) {
      EXPECT_TRUE(file.error().IsBusy()) << "a segment that no replay needs: " << file.error().ToString();
      continue;
    }
    ASSERT_FALSE(file->damages.empty()) << path;
    EXPECT_EQ(file->damages.front().offset, offset);
    ++damaged;
  }
  EXPECT_GT(damaged, 0);
}

struct Segment {
  std::string path;
  std::vector<WalFrame> frames;  // proved ones; without their payload
  bool is_cut_off = false;       // the last frame goes on in STAGING
};

std::vector<Segment> SegmentsOf(FaultFileSystem* files) {
  std::vector<Segment> segments;
  for (const std::string& path : files->Files()) {
    if (!path.ends_with(".seg")) continue;
    Segment segment{.path = path, .frames = {}};
    const auto wal = InspectWal(files, path, [&](const WalFrame& frame) {
      if (frame.is_proved) segment.frames.push_back(frame);
      return Status();
    });
    EXPECT_OK(wal);
    if (!wal) continue;
    EXPECT_TRUE(wal->file.damages.empty()) << ToText(wal->file.damages.front());
    for (const std::string& note : wal->file.notes)
      segment.is_cut_off = segment.is_cut_off || note.find("STAGING has its rest") != std::string::npos;
    segments.push_back(std::move(segment));
  }
  return segments;
}

// The WAL writer has written the whole blocks of the last frame. STAGING has the rest, and the frames before it, too.
TEST(OneWalBesideAWriter, AFrameThatIsCutOffIsNoDamageAndTheFramesBeforeItAreChecked) {
  SimulatedEnv sim;
  Options options = sim.SmallOptions();
  options.use_mapped_wal_buffer = true;
  options.memory_bytes = size_t{16} << 20;
  options.write_buffer_bytes = size_t{4} << 20;
  ASSERT_OK_AND_ASSIGN(const auto db, DB::Open(options, kDirectory));
  ASSERT_OK(db->SyncWal());  // from now on, the WAL is written before a sync asks for it
  Segment found;
  for (int i = 0; i < 300 && found.path.empty(); ++i) {
    ASSERT_OK(db->Put({}, "key", std::string(10'000, 'v')));
    do {
      for (const Segment& segment : SegmentsOf(sim.files.get()))
        if (segment.is_cut_off) found = segment;
    } while (found.path.empty() && sim.executor.RunOne());
  }
  ASSERT_FALSE(found.path.empty()) << "no frame is cut off";
  ASSERT_GT(found.frames.size(), 3u);
  const uint64_t offset = *found.frames[found.frames.size() / 2].offset;
  ASSERT_OK(sim.files->FlipBit(found.path, offset + wal::kFrameHeaderBytes + 5, 2));
  ASSERT_OK_AND_ASSIGN(const OneFile damaged, Inspect(sim.files.get(), found.path, OneFileKind::kWal));
  ASSERT_FALSE(damaged.damages.empty());
  EXPECT_EQ(damaged.damages.front().offset, offset);
}

// A replay takes a frame from the segment if it is damaged in STAGING.
TEST(OneWalBesideAWriter, DamageOfStagingIsReportedIfTheSegmentDoesNotHaveTheFrame) {
  BesideAWriter writer(true);
  writer.ReplaceAll();
  for (int i = 0; i < 3; ++i) {
    writer.WriteALittle();
    writer.Sync();
  }
  const std::string path = kDirectory + "/STAGING";
  ASSERT_OK_AND_ASSIGN(const uint64_t bytes, writer.files()->SizeOf(path));
  int damaged = 0;
  for (const Segment& segment : SegmentsOf(writer.sim().files.get())) {
    if (segment.frames.size() < 10) continue;
    const WalFrame& frame = segment.frames[segment.frames.size() / 2];
    ASSERT_OK(writer.sim().files->FlipBit(path, frame.position % bytes + wal::kFrameHeaderBytes + 5, 2));
    ASSERT_OK_AND_ASSIGN(const OneFile before, Inspect(writer.files(), path, OneFileKind::kWal));
    EXPECT_TRUE(before.damages.empty()) << ToText(before.damages.front());
    ASSERT_OK(writer.sim().files->FlipBit(segment.path, *frame.offset + wal::kFrameHeaderBytes + 5, 2));
    ASSERT_OK_AND_ASSIGN(const OneFile after, Inspect(writer.files(), path, OneFileKind::kWal));
    damaged += !after.damages.empty();
    break;  // the damage stays
  }
  EXPECT_GT(damaged, 0);
}

TEST_F(OneFileTest, ErrorsOfTheFileSystemAreErrorsNotDamage) {
  for (const OneKind& kind : kKinds) {
    files_->ClearFaults();
    files_->AddFault(
        {.op = FileOp::kOpen, .path_contains = kind.ending, .sticky = true, .status = Status::Busy("no descriptor")});
    EXPECT_THAT(Inspect(files_, FilesOf(kind).front(), kind.kind), StatusIs(Code::kBusy)) << kind.verb;
  }
}

TEST_F(OneFileTest, TheVisitorsErrorEndsTheCall) {
  EXPECT_THAT(
      InspectTable(files_, FilesOf(kKinds[0]).front(), [](const kv::Entry&) { return Status::Aborted("enough"); }),
      StatusIs(Code::kAborted));
  EXPECT_THAT(
      InspectBlobFile(files_, FilesOf(kKinds[1]).front(), [](const BlobValue&) { return Status::Aborted("enough"); }),
      StatusIs(Code::kAborted));
}

}  // namespace
}  // namespace mergedb::repair
