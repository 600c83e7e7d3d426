// Goal: an archive is a tar archive, byte for byte as the format says, and comes back whole or not at all. Method: files in memory; every
// cut and every flipped header byte of one archive.
#include "lmdb/archive.h"

#include <gtest/gtest.h>

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
    EXPECT_TRUE(WriteArchive(&files_, "/from", [&](std::string_view piece) { return bytes.append(piece), Status(); }).ok());
    return bytes;
  }
  void Fill() {
    Write("/from/000007.tbl", std::string(1500, 't'));
    Write("/from/MANIFEST-000008", "manifest");
    Write("/from/CURRENT", "current");
    Write("/from/LOCK", "");
    Write("/from/data.mdb", "not ours");
  }

  testing::FaultFileSystem files_;
};

TEST_F(ArchiveTest, IsATarArchiveWithCurrentLast) {
  Write("/from/CURRENT", "current");
  const std::string archive = Pack();
  ASSERT_EQ(archive.size(), 4u * 512);
  std::string header("mergedb/CURRENT");
  header.resize(100, '\0');
  header += std::string("0000600\0" "0000000\0" "0000000\0" "00000000007\0" "00000000000\0", 48) + std::string("007554\0 0", 9);
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
  constexpr size_t kBehindTheChecksum = 155;  // a space that nobody reads
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

}  // namespace
}  // namespace mergedb::lmdb
