// Loads CURRENT and the MANIFEST that it names.
#include "format/version_edit.h"
#include "fuzz/fix_checksums.h"
#include "fuzz/target.h"
#include "manifest/loader.h"
#include "manifest/manifest.h"
#include "testing/fault_file_system.h"
#include "version/invariants.h"

namespace mergedb::fuzz {

namespace {

constexpr char kManifest[] = "/db/MANIFEST-000005";

// The first copy of the stream after this many commits, without the zeros at its end.
std::string StreamOf(int commits) {
  testing::FaultFileSystem files;
  FUZZ_CHECK(files.CreateDirectory("/db").ok());
  manifest::Manifest writer({.file_system = &files, .directory = "/db", .database_id = 9, .allocate_number = [] {
                               return kv::FileNumber{5};
                             }});
  for (int i = 0; i < commits; ++i) {
    format::VersionEdit edit;
    if (i == 0) {
      edit.database_id = 9;
      edit.comparator = "mergedb.bytewise";
    }
    edit.next_file = kv::FileNumber{static_cast<uint64_t>(10 + i)};
    edit.wal_start = format::VersionEdit::WalStart{.epoch = 1, .salt = 2, .position = 0, .chain = 3, .sequence = 1};
    const auto number = static_cast<uint64_t>(i);
    const format::FileMeta file{.number = kv::FileNumber{6 + number},
                                .bytes = 4096,
                                .unique_id = 8,
                                .entries = 2,
                                .smallest_sequence = 1,
                                .largest_sequence = 2,
                                .smallest = "a",
                                .largest = "b"};
    edit.adds = {{.position = kv::Position{1 + number},
                  .level = 0,
                  .file = std::make_shared<format::FileMeta>(file),
                  .bounds = {}}};
    FUZZ_CHECK(writer.Commit(edit).ok());
  }
  std::string stream = files.ReadWhole(kManifest)->substr(0, manifest::kPageBytes);
  stream.resize(stream.find_last_not_of('\0') + 1);
  return stream;
}

}  // namespace

// Flags, u8: 1 recompute checksums, 2 CURRENT comes from the input. Then the differences of CURRENT and of the
// second copy from valid ones: u8 length of CURRENT, its bytes; u8 number of changes in the second copy, for
// each u16 offset, u8 value. Then the first copy of the stream.
std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  const std::string stream = StreamOf(3);
  for (const char flags : {0, 1}) seeds.push_back(std::string{flags, 0, 0} + stream);
  const std::string current = manifest::EncodeCurrent({kv::FileNumber{5}});
  seeds.push_back(std::string{2, static_cast<char>(current.size())} + current + '\0' + StreamOf(1));
  seeds.push_back(std::string{0, 0, 2, 50, 0, 1, 80, 0, 7} + stream);
  return seeds;
}

}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb;
  fuzz::Input input(data, bytes);
  const uint8_t flags = input.TakeByte();
  std::string current(input.TakeBytes(input.TakeByte()));
  if ((flags & 2) == 0) current = manifest::EncodeCurrent({kv::FileNumber{5}});
  const std::string changes(input.TakeBytes(3 * size_t{input.TakeByte()}));
  std::string stream(input.rest());
  stream.resize((stream.size() / manifest::kPageBytes + 1) * manifest::kPageBytes, '\0');
  std::string file;
  for (size_t page = 0; page < stream.size(); page += manifest::kPageBytes) {
    for (int copy = 0; copy < 2; ++copy) file.append(stream, page, manifest::kPageBytes);
  }
  if ((flags & 1) != 0) fuzz::FixManifestChecksums(&file);
  for (size_t i = 0; i + 3 <= changes.size(); i += 3) {
    const size_t at = static_cast<uint8_t>(changes[i]) + 256 * (static_cast<uint8_t>(changes[i + 1]) % 128u);
    file[manifest::kPageBytes + at] = changes[i + 2];
  }

  testing::FaultFileSystem files;
  FUZZ_CHECK(files.CreateDirectory("/db").ok());
  FUZZ_CHECK(files.WriteWhole("/db/CURRENT", current).ok());
  FUZZ_CHECK(files.WriteWhole(fuzz::kManifest, file).ok());
  const uint64_t before = files.Fingerprint();
  const kv::Order order(BytewiseComparator());
  const auto loaded = manifest::Load(&files, "/db", order);
  if (loaded) FUZZ_CHECK(version::CheckInvariants(order, *loaded->version).ok());
  FUZZ_CHECK(files.Fingerprint() == before);
  return 0;
}
