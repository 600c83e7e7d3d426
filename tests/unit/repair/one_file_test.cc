// Goal: the inspection of one file reads all of it, finds every damage and never crashes. Method: each file of a small
// database with every kind of record; flipped bits, cut lengths, files of other kinds. The whole database says what is
// expected.
#include "repair/one_file.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/random.h"
#include "testing/status_matchers.h"
#include "testing/whole_database.h"

namespace mergedb::repair {
namespace {

using ::testing::HasSubstr;
using namespace mergedb::testing;

const std::string kPath = SimulatedEnv::kPath;

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
    default: return Status::InvalidArgument("");
  }
}

struct OneKind {
  OneFileKind kind;
  std::string ending;
  std::string verb;
};
const OneKind kKinds[] = {{OneFileKind::kTable, ".tbl", "sst"}, {OneFileKind::kBlobFile, ".val", "blob"}};

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
    EXPECT_TRUE(file.number) << "from the content";
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
    EXPECT_THAT(Inspect(files_, kPath, kind.kind), StatusIs(Code::kInvalidArgument, HasSubstr("is a directory")));
    EXPECT_THAT(Inspect(files_, kPath + "/absent", kind.kind), StatusIs(Code::kNotFound));
    EXPECT_THAT(Inspect(files_, kPath + "/CURRENT", kind.kind),
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
    const std::string path = kPath + "/777777" + kind.ending;
    ASSERT_OK(files_->WriteWhole(path, Whole().Bytes(FilesOf(kind).front())));
    ASSERT_OK_AND_ASSIGN(const OneFile file, Inspect(files_, path, kind.kind));
    ASSERT_FALSE(file.damages.empty());
    EXPECT_THAT(file.damages.front().what, HasSubstr("has number 777777, its content"));
  }
}

// Every byte of tables and blob files is under a checksum or must be zero.
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

TEST_F(OneFileTest, ErrorsOfTheFileSystemAreErrorsNotDamage) {
  for (const OneKind& kind : kKinds) {
    files_->ClearFaults();
    files_->AddFault(
        {.op = Op::kOpen, .path_contains = kind.ending, .nth = 2, .status = Status::Busy("no descriptor")});
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
