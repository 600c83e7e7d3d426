// Goal: an archive is a valid tar archive, byte for byte, and unpacks whole or not at all. Method: files in
// memory; every cut and every flipped header byte of one archive; every call to the file system fails in
// turn.
#include "lmdb/archive.h"

#include <gtest/gtest.h>

#include <functional>

#include "testing/fault_file_system.h"

namespace mergedb::lmdb {
namespace {

class ArchiveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(files_.CreateDirectory("/from").ok());
    ASSERT_TRUE(files_.CreateDirectory("/to").ok());
  }
  void Write(const std::string& path, const std::string& bytes) {
    (void)files_.Remove(path);  // if it is there
    auto file = files_.Open(path, {.access = Access::kCreate});
    ASSERT_TRUE(file) << file.error().ToString();
    ASSERT_TRUE((*file)->WriteAt(0, bytes).ok());
  }
  std::string Read(const std::string& path) {
    auto file = files_.Open(path, {.access = Access::kRead});
    if (!file) return "(none)";
    std::string bytes((*file)->Size().value(), 0);
    size_t got = 0;
    EXPECT_TRUE((*file)->ReadAt(0, bytes.size(), bytes.data(), &got).ok());
    return bytes;
  }
  std::string Pack() {
    std::string bytes;
    EXPECT_TRUE(
        WriteArchive(&files_, "/from", [&](std::string_view piece) { return bytes.append(piece), Status(); }).ok());
    return bytes;
  }
  void Fill() {
    Write("/from/000007.tbl", std::string(1500, 't'));
    Write("/from/MANIFEST-000008", "manifest");
    Write("/from/CURRENT", "current");
    Write("/from/LOCK", "");
    Write("/from/data.mdb", "not ours");
  }

  void ExpectWhole() {
    EXPECT_EQ(Read("/to/000007.tbl"), std::string(1500, 't'));
    EXPECT_EQ(Read("/to/MANIFEST-000008"), "manifest");
    EXPECT_EQ(Read("/to/CURRENT"), "current");
  }
  // Calls `run` with the n-th call of `op` failing, for n = 1, 2, ... until `run` makes fewer calls. Returns
  // their number.
  uint64_t FailEach(testing::FileOp op, const std::function<void(uint64_t nth, bool has_failed, const Status&)>& look,
                    const std::function<Status()>& run) {
    for (uint64_t nth = 1;; ++nth) {
      const uint64_t hit_before = files_.faults_hit();
      files_.AddFault({.op = op, .nth = nth});
      const Status status = run();
      files_.ClearFaults();
      const bool has_failed = files_.faults_hit() > hit_before;
      look(nth, has_failed, status);
      if (!has_failed) return nth - 1;
    }
  }

  testing::FaultFileSystem files_;
};

TEST_F(ArchiveTest, IsATarArchiveWithCurrentLast) {
  Write("/from/CURRENT", "current");
  const std::string archive = Pack();
  ASSERT_EQ(archive.size(), 4u * 512);
  std::string header("mergedb/CURRENT");
  header.resize(100, '\0');
  header += std::string(
                "0000600\0"
                "0000000\0"
                "0000000\0"
                "00000000007\0"
                "00000000000\0",
                48) +
            std::string("007554\0 0", 9);
  header.resize(257, '\0');
  header += std::string("ustar\00000", 8);
  header.resize(512, '\0');
  uint64_t sum = 0;
  for (size_t i = 0; i < header.size(); ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", static_cast<unsigned>(sum));
  header.replace(148, 6, digits);
  EXPECT_EQ(archive.substr(0, 512), header);
  EXPECT_EQ(archive.substr(512), "current" + std::string(3 * 512 - 7, '\0'));
}

TEST_F(ArchiveTest, ComesBackWithoutLockAndForeignFiles) {
  Fill();
  Write("/archive", Pack());
  EXPECT_TRUE(IsArchive(&files_, "/archive"));
  ASSERT_TRUE(Unpack(&files_, "/archive", "/to").ok());
  EXPECT_EQ(Read("/to/000007.tbl"), std::string(1500, 't'));
  EXPECT_EQ(Read("/to/MANIFEST-000008"), "manifest");
  EXPECT_EQ(Read("/to/CURRENT"), "current");
  EXPECT_EQ(Read("/to/LOCK"), "(none)");
  EXPECT_EQ(Read("/to/data.mdb"), "(none)");
}

TEST_F(ArchiveTest, CutAnywhereItHasNoCurrent) {
  Fill();
  const std::string archive = Pack();
  for (size_t bytes = 0; bytes < archive.size(); bytes += bytes % 512 == 1 ? 511 : 1) {
    if (bytes % 512 > 1 && bytes % 97 != 0) continue;
    Write("/archive", archive.substr(0, bytes));
    const Status status = Unpack(&files_, "/archive", "/to");
    if (status.ok()) {
      EXPECT_GE(bytes, archive.size() - 512) << "only the second block of zeros may be missing";
      ASSERT_TRUE(files_.Remove("/to/CURRENT").ok());
    } else {
      EXPECT_TRUE(status.IsCorruption()) << status.ToString();
      EXPECT_EQ(Read("/to/CURRENT"), "(none)") << bytes;
    }
  }
}

TEST_F(ArchiveTest, AChangedHeaderIsAnError) {
  Fill();
  const std::string archive = Pack();
  constexpr size_t kBehindTheChecksum = 155;  // a space that no reader checks
  for (size_t at = 0; at < 512; ++at) {
    if (at == kBehindTheChecksum) continue;
    std::string changed = archive;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    Write("/archive", changed);
    EXPECT_FALSE(Unpack(&files_, "/archive", "/to").ok()) << at;
  }
}

TEST_F(ArchiveTest, NamesThatAreNoFilesOfADatabaseAreRefused) {
  Fill();
  std::string archive = Pack();
  for (const std::string name : {"mergedb/../../etc", "mergedb/x/CURRENT", "other/CURRENT", "/CURRENT"}) {
    std::string changed = archive;
    changed.replace(0, 100, name + std::string(100 - name.size(), '\0'));
    uint64_t sum = 0;
    for (size_t i = 0; i < 512; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(changed[i]);
    char digits[8];
    std::snprintf(digits, sizeof digits, "%06o", static_cast<unsigned>(sum));
    changed.replace(148, 6, digits);
    Write("/archive", changed);
    EXPECT_FALSE(IsArchive(&files_, "/archive")) << name;
    EXPECT_TRUE(Unpack(&files_, "/archive", "/to").IsCorruption()) << name;
  }
}

// ---- calls that fail

TEST_F(ArchiveTest, AFileThatCannotBeReadMakesNoArchive) {
  Fill();
  const std::string whole = Pack();
  using testing::FileOp;
  const std::pair<FileOp, uint64_t> kinds[] = {
      {FileOp::kList, 1}, {FileOp::kOpen, 3}, {FileOp::kSizeOf, 3}, {FileOp::kRead, 3}};
  for (const auto& [op, calls] : kinds) {
    SCOPED_TRACE(testing::OpName(op));
    std::string bytes;
    const auto pack = [&] {
      bytes.clear();
      return WriteArchive(&files_, "/from", [&](std::string_view piece) { return bytes.append(piece), Status(); });
    };
    const auto look = [&](uint64_t nth, bool has_failed, const Status& status) {
      EXPECT_EQ(status.IsIOError(), has_failed) << nth << ": " << status.ToString();
      EXPECT_EQ(bytes == whole, !has_failed) << nth;
    };
    EXPECT_EQ(FailEach(op, look, pack), calls);
  }
}

TEST_F(ArchiveTest, ASinkThatFailsEndsItAtOnce) {
  Fill();
  int pieces = 0, pieces_of_whole = 0;
  ASSERT_TRUE(WriteArchive(&files_, "/from", [&](std::string_view) { return ++pieces_of_whole, Status(); }).ok());
  for (int nth = 1; nth <= pieces_of_whole; ++nth) {
    pieces = 0;
    const Status status = WriteArchive(
        &files_, "/from", [&](std::string_view) { return ++pieces == nth ? Status::NoSpace("pipe") : Status(); });
    EXPECT_TRUE(status.IsNoSpace()) << nth << ": " << status.ToString();
    EXPECT_EQ(pieces, nth);
  }
}

// CURRENT is there only if all files that it names are there. The next call, without failures, completes the
// database.
TEST_F(ArchiveTest, ACallThatFailsLeavesNoDatabaseThatIsNotWhole) {
  Fill();
  Write("/archive", Pack());
  using testing::FileOp;
  const std::pair<FileOp, uint64_t> kinds[] = {{FileOp::kOpen, 1},   {FileOp::kCreate, 3},       {FileOp::kRead, 7},
                                               {FileOp::kWrite, 3},  {FileOp::kSync, 3},         {FileOp::kClose, 3},
                                               {FileOp::kRename, 1}, {FileOp::kSyncDirectory, 2}};
  for (const auto& [op, calls] : kinds) {
    SCOPED_TRACE(testing::OpName(op));
    const auto look = [&](uint64_t nth, bool has_failed, const Status& status) {
      SCOPED_TRACE(nth);
      EXPECT_EQ(status.IsIOError(), has_failed) << status.ToString();
      const bool has_current = Read("/to/CURRENT") != "(none)";
      EXPECT_EQ(has_current, !has_failed || (op == FileOp::kSyncDirectory && nth == 2))
          << "its name may be lost: so says the error";
      if (has_current) ExpectWhole();
      EXPECT_TRUE(Unpack(&files_, "/archive", "/to").ok());
      ExpectWhole();
      for (const char* name : {"000007.tbl", "MANIFEST-000008", "CURRENT"})
        EXPECT_TRUE(files_.Remove(std::string("/to/") + name).ok());
    };
    EXPECT_EQ(FailEach(op, look, [&] { return Unpack(&files_, "/archive", "/to"); }), calls);
  }
}

TEST_F(ArchiveTest, WhatWasLeftFromBeforeMustGo) {
  Fill();
  Write("/archive", Pack());
  Write("/to/000007.tbl", "half");
  const auto look = [&](uint64_t, bool has_failed, const Status& status) {
    EXPECT_EQ(status.IsIOError(), has_failed) << status.ToString();
    EXPECT_EQ(Read("/to/000007.tbl") == "half", has_failed);
  };
  EXPECT_EQ(FailEach(testing::FileOp::kRemove, look, [&] { return Unpack(&files_, "/archive", "/to"); }), 1u);
  ExpectWhole();
  // The failed call is the size of the archive (an error), or the size of an existing file (its name then
  // counts as taken).
  for (uint64_t nth = 1; nth <= 2; ++nth) {
    files_.AddFault({.op = testing::FileOp::kSizeOf, .nth = nth});
    EXPECT_FALSE(Unpack(&files_, "/archive", "/to").ok()) << nth;
    files_.ClearFaults();
    EXPECT_TRUE(Unpack(&files_, "/archive", "/to").ok());
    ExpectWhole();
  }
}

TEST_F(ArchiveTest, IsNoneWhereItCannotBeRead) {
  Fill();
  Write("/archive", Pack());
  for (const testing::FileOp op : {testing::FileOp::kOpen, testing::FileOp::kSizeOf, testing::FileOp::kRead}) {
    files_.AddFault({.op = op});
    EXPECT_FALSE(IsArchive(&files_, "/archive")) << testing::OpName(op);
    files_.ClearFaults();
    EXPECT_TRUE(IsArchive(&files_, "/archive"));
  }
}

}  // namespace
}  // namespace mergedb::lmdb
