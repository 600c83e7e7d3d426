// Goal: maliciously built files with valid checksums cost neither memory nor time: a length in them is
// trusted only as far as the file holds its bytes. Method: a small database in which one length, count or
// position has the worst value, with the right checksum; a child process of limited memory and time opens,
// verifies and repairs it. Any answer is accepted, but there must be one.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>

#include "base/coding.h"
#include "base/crc32c.h"
#include "format/file_name.h"
#include "format/table_layout.h"
#include "manifest/loader.h"
#include "manifest/mirror_file.h"
#include "testing/time_limit.h"
#include "tests/flips/judge.h"
#include "wal/frame.h"
#include "wal/replay.h"

namespace mergedb::testing {
namespace {

constexpr uint64_t kMemoryBytesMax = uint64_t{192} << 20;  // beside the process's memory; a raw block may have 64 MiB
constexpr unsigned kSecondsMax = 20;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimitsMemory = false;  // sanitizers reserve terabytes of addresses
#else
constexpr bool kLimitsMemory = true;
#endif

uint64_t AddressBytesNow() {
  std::ifstream statm("/proc/self/statm");
  uint64_t pages = 0;
  statm >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

// Runs `act` in a child with limited resources. Returns its answer, or why there is no answer.
std::string RunLimited(const std::function<void()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    if (kLimitsMemory) {
      const rlimit limit{.rlim_cur = AddressBytesNow() + kMemoryBytesMax,
                         .rlim_max = AddressBytesNow() + kMemoryBytesMax};
      setrlimit(RLIMIT_AS, &limit);
    }
    LimitTime(kSecondsMax);
    act();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (IsOutOfTime(status)) return "it hangs";
  if (WIFSIGNALED(status)) return "killed by signal " + std::to_string(WTERMSIG(status));
  return WEXITSTATUS(status) == 0 ? "" : "it fails";
}

class HostileTest : public FlipsTest {
 protected:
  void ExpectAnswers(const std::string& what, const std::function<void(FaultFileSystem&)>& forge) {
    SCOPED_TRACE(what);
    const auto use = [&](bool is_repaired) {
      auto sim = whole_.Copy();
      forge(*sim->files);
      const Options options = whole_.OptionsFor(*sim);
      (void)Verify(options, SimulatedEnv::kPath);
      if (is_repaired) (void)Repair(options, SimulatedEnv::kPath);
      auto db = whole_.Open(*sim);
      if (!db) return;
      ModelDb::Pairs found;
      auto it = (*db)->NewIterator();
      for (it->SeekToFirst(); it->Valid(); it->Next()) found.emplace_back(it->key(), it->value());
      for (const std::string& key : whole_.model().KeysEverUsed()) {
        std::string value;
        (void)(*db)->Get({}, key, &value);
      }
      (void)(*db)->CheckIntegrity();
      (void)(*db)->Close();
    };
    EXPECT_EQ(RunLimited([&] { use(false); }), "");
    EXPECT_EQ(RunLimited([&] { use(true); }), "");
  }

  std::string LiveTable() const {
    for (const std::string& path : whole_.Files(".tbl")) {
      if (whole_.IsLiveTable(path)) return path;
    }
    return "";
  }
  std::string Segment() const { return whole_.Files(".seg").front(); }
  std::string Manifest() const {
    for (const std::string& path : whole_.Files()) {
      if (path.find("MANIFEST") != std::string::npos) return path;
    }
    return "";
  }

  static format::Footer FooterOf(const std::string& bytes) {
    format::Footer footer;
    EXPECT_OK(format::DecodeFooter(std::string_view(bytes).substr(bytes.size() - format::kFooterBytes), bytes.size(),
                                   &footer));
    return footer;
  }
  // Changes the part of a table that begins at `offset` and has `stored` bytes, and updates its checksum.
  static void FixChecksums(std::string* table, uint64_t offset, uint64_t stored,
                           const std::function<void(char* payload, size_t bytes)>& change) {
    const size_t payload_bytes = stored - format::kTrailerBytes;
    change(table->data() + offset, payload_bytes);
    const auto codec = static_cast<Compression>((*table)[offset + payload_bytes]);
    format::StoreTrailer(table->data() + offset + payload_bytes, std::string_view(*table).substr(offset, payload_bytes),
                         codec, {.unique_id = FooterOf(*table).unique_id, .offset = offset});
  }
};

TEST_P(HostileTest, Tables) {
  const std::string path = LiveTable();
  const std::string whole = whole_.Bytes(path);
  const format::Footer footer = FooterOf(whole);
  const auto write = [&](const std::string& bytes) {
    return [&, bytes](FaultFileSystem& files) { EXPECT_OK(files.WriteWhole(path, bytes)); };
  };
  for (uint64_t format::Footer::*size : {&format::Footer::data_bytes, &format::Footer::filter_bytes,
                                         &format::Footer::index_bytes, &format::Footer::properties_bytes}) {
    for (const uint64_t worst : {UINT64_MAX, UINT64_MAX / 2, uint64_t{1} << 40}) {
      format::Footer forged = footer;
      forged.*size = worst;
      ExpectAnswers("footer",
                    write(whole.substr(0, whole.size() - format::kFooterBytes) + format::EncodeFooter(forged)));
    }
  }
  const auto index = [&](size_t at, uint32_t value) {
    std::string bytes = whole;
    FixChecksums(&bytes, footer.index_offset(), footer.index_bytes,
                 [&](char* payload, size_t) { base::StoreFixed32(payload + at, value); });
    return bytes;
  };
  for (const uint32_t worst : {UINT32_MAX, uint32_t{1} << 31, uint32_t{1} << 28, uint32_t{0}}) {
    ExpectAnswers("index count", write(index(0, worst)));
    ExpectAnswers("index prefix", write(index(4, worst)));
    ExpectAnswers("index, a block's bytes", write(index(8, worst)));
    std::string bytes = whole;
    FixChecksums(&bytes, footer.properties_offset(), footer.properties_bytes, [&](char* payload, size_t size) {
      char varint[5] = {'\xff', '\xff', '\xff', '\xff', '\x0f'};
      std::memcpy(payload + size - 6, varint, sizeof varint);
    });
    ExpectAnswers("properties", write(bytes));
  }
  const uint32_t first_block_bytes = base::LoadFixed32(whole.data() + footer.index_offset() + 8 +
                                                       base::LoadFixed32(whole.data() + footer.index_offset() + 4));
  for (const uint32_t worst : {UINT32_MAX, uint32_t{64} << 20, (uint32_t{64} << 20) + 1, uint32_t{1} << 30}) {
    for (const Compression codec : {Compression::kNone, Compression::kSnappy, Compression::kZstd, Compression::kLz4}) {
      std::string bytes = whole;
      bytes[first_block_bytes - format::kTrailerBytes] = static_cast<char>(codec);
      FixChecksums(&bytes, 0, first_block_bytes, [&](char* payload, size_t) { base::StoreFixed32(payload, worst); });
      ExpectAnswers("uncompressed length", write(bytes));
      FixChecksums(&bytes, 0, first_block_bytes,
                   [&](char* payload, size_t size) { base::StoreFixed32(payload + size - 16, worst); });
      ExpectAnswers("block count", write(bytes));
    }
  }
}

TEST_P(HostileTest, Manifests) {
  const auto with_record = [&](const std::string& record, bool is_raw) {
    // clang-format off
    return [&, record, is_raw](FaultFileSystem& files) {
      std::vector<std::string> records;
      manifest::MirrorContents contents;
      {
        auto read = manifest::ReadMirror(&files, Manifest(), [&](std::string_view each) { records.emplace_back(each); return Status(); });
        ASSERT_OK(read.status());
        contents = std::move(*read);
      }
      ASSERT_OK(files.Remove(Manifest()));
      ASSERT_OK_AND_ASSIGN(auto writer, manifest::MirrorWriter::Create(&files, Manifest(), contents.identity));
      for (const std::string& each : records) ASSERT_OK(writer->Append(each));
      ASSERT_OK(writer->Append(record));
      if (!is_raw) return;
      std::string bytes = *files.ReadWhole(Manifest());
      for (const size_t copy : {size_t{0}, manifest::kPageBytes}) base::StoreFixed32(bytes.data() + copy + 44, UINT32_MAX);
      ASSERT_OK(files.WriteWhole(Manifest(), bytes));
    };
    // clang-format on
  };
  std::string huge_string;
  base::AppendVarint32(&huge_string, 5);
  base::AppendVarint32(&huge_string, UINT32_MAX);
  ExpectAnswers("a string of 4 GiB", with_record(huge_string, false));
  ExpectAnswers("a record of 4 GiB", with_record("x", true));
  format::VersionEdit edit;
  edit.wal_segments.emplace(5000, kv::FileNumber{1});
  ExpectAnswers("many segments", with_record(format::EncodeVersionEdit(edit), false));
  edit = {};
  edit.wal_start = format::VersionEdit::WalStart{
      .epoch = UINT64_MAX, .salt = 1, .position = uint64_t{1} << 61, .chain = 7, .sequence = kv::kSequenceMax};
  edit.last_sequence = kv::kSequenceMax;
  edit.next_file = kv::FileNumber{format::kFileNumberMax};
  edit.next_position = kv::Position{uint64_t{1} << 62};
  ExpectAnswers("the ends of all numbers", with_record(format::EncodeVersionEdit(edit), false));
  edit = {};
  for (uint64_t i = 0; i < 3000; ++i) {
    edit.levels.push_back({.position = kv::Position{i}, .level = UINT32_MAX});
    edit.cuts.push_back({.position = kv::Position{i}, .bounds = {.lower = std::to_string(i), .upper = {}}});
  }
  ExpectAnswers("levels and cuts", with_record(format::EncodeVersionEdit(edit), false));
}

TEST_P(HostileTest, Logs) {
  auto sim = whole_.Copy();
  const auto loaded = manifest::Load(sim->files.get(), SimulatedEnv::kPath, kv::Order(BytewiseComparator()));
  ASSERT_OK(loaded.status());
  const wal::Origin origin = wal::OriginOf(loaded->database_id, loaded->wal_start);
  const auto with_head = [&](uint64_t start, uint64_t capacity) {
    // clang-format off
    return [&, start, capacity](FaultFileSystem& files) {
      std::string bytes = whole_.Bytes(Segment());
      wal::StoreSegmentHead(bytes.data(), {.database_id = origin.database_id, .epoch = origin.epoch, .salt_crc = origin.salt_crc,
                                           .generation = 9, .start = start, .capacity = capacity});
      ASSERT_OK(files.WriteWhole(SimulatedEnv::kPath + "/000900.seg", bytes));
    };
    // clang-format on
  };
  const uint64_t real = whole_.Bytes(Segment()).size() - wal::kBlockBytes;
  ExpectAnswers("a segment far away", with_head(uint64_t{1} << 61, real));
  ExpectAnswers("a segment at the end", with_head(wal::kPositionMax, real));
  ExpectAnswers("a segment of 2^48 bytes", with_head(0, uint64_t{1} << 48));
  for (const uint32_t length : {uint32_t{1} << 31, uint32_t{1} << 30, UINT32_MAX}) {
    ExpectAnswers("a frame of 2 GiB", [&](FaultFileSystem& files) {
      const uint64_t position = origin.start.position;
      char frame[wal::kFrameHeaderBytes] = {};
      wal::StoreFrameHeader(frame,
                            wal::MakeFrameHeader(origin.salt_crc, position, length, position, origin.start.sequence));
      for (const std::string& path : whole_.Files()) {
        const bool is_ring = BaseName(path) == "STAGING";
        if (!is_ring && !EndsWith(path, ".seg")) continue;
        const uint64_t size = whole_.Bytes(path).size();
        const uint64_t at = is_ring ? position % size : std::min(wal::kBlockBytes + position, size - sizeof frame);
        ASSERT_OK(files.PatchBytes(path, at, {frame, std::min<size_t>(sizeof frame, size - at)}));
      }
    });
  }
  // Valid frames with invalid records, and with sequences out of order.
  for (const std::string& payload : {std::string("\x01\xff\xff\xff\xff\x0f\x05k", 8),
                                     std::string("\x01\x01\xff\xff\xff\xff\x0fk", 8), std::string("\x7f")}) {
    for (const kv::Sequence sequence : {origin.start.sequence, kv::kSequenceMax}) {
      ExpectAnswers("a record of 4 GiB", [&](FaultFileSystem& files) {
        const uint64_t position = origin.start.position;
        std::string frame(wal::kFrameHeaderBytes, '\0');
        wal::StoreFrameHeader(
            frame.data(),
            wal::MakeFrameHeader(origin.salt_crc, position, static_cast<uint32_t>(payload.size()), position, sequence));
        frame += payload;
        base::StoreFixed32(frame.data(), wal::FrameCrc(position == 0 ? origin.salt_crc : origin.start.chain,
                                                       frame.data(), frame.size()));
        for (const std::string& path : whole_.Files(".seg")) {
          const uint64_t at = std::min(wal::kBlockBytes + position, whole_.Bytes(path).size() - frame.size());
          ASSERT_OK(files.PatchBytes(path, at, frame));
        }
      });
    }
  }
}

TEST_P(HostileTest, SizesOfFiles) {
  // Files that are almost entirely holes.
  const auto grown = [&](const std::string& path, uint64_t bytes) {
    // clang-format off
    return [&, path, bytes](FaultFileSystem& files) {
      auto file = files.Open(path, {.access = files.SizeOf(path) ? Access::kReadWrite : Access::kCreate});
      ASSERT_OK(file.status());
      ASSERT_OK((*file)->Truncate(bytes));
    };
    // clang-format on
  };
  ExpectAnswers("STAGING of 1 GiB", grown(SimulatedEnv::kPath + "/STAGING", uint64_t{1} << 30));
  ExpectAnswers("CURRENT of 1 GiB", grown(SimulatedEnv::kPath + "/CURRENT", uint64_t{1} << 30));
  ExpectAnswers("a segment of 2 GiB", grown(Segment(), uint64_t{1} << 31));
  ExpectAnswers("a foreign segment of 2 GiB", grown(SimulatedEnv::kPath + "/000900.seg", uint64_t{1} << 31));
  ExpectAnswers("a table of 1 GiB", grown(LiveTable(), uint64_t{1} << 30));
  ExpectAnswers("an orphan of 1 GiB", grown(SimulatedEnv::kPath + "/000900.tbl", uint64_t{1} << 30));
  ExpectAnswers("a file with the largest number", grown(SimulatedEnv::kPath + "/4611686018427387904.tbl", 4096));
  ExpectAnswers("a file with a larger number", grown(SimulatedEnv::kPath + "/18446744073709551615.tbl", 4096));
}

INSTANTIATE_FOR(HostileTest, kEndings);
INSTANTIATE_FOR(HostileTest, kEndingsWithBlobFiles);

}  // namespace
}  // namespace mergedb::testing
