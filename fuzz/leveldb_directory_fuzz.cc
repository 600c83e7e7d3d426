// A LevelDB directory in which some bytes of some files are changed. The target opens (and so converts) or
// repairs it, reads, writes, and opens it again. It must not crash, hang, or allocate without limit. If the
// open fails, LevelDB's files must be unchanged. Unless the checksums are recomputed, every value that it reads
// must have been written.
#include <map>
#include <set>

#include "fuzz/fix_leveldb_checksums.h"
#include "fuzz/target.h"
#include "leveldb/format/batch.h"
#include "leveldb/format/edit.h"
#include "leveldb/format/filter.h"
#include "leveldb/format/log.h"
#include "leveldb/format/name.h"
#include "leveldb/format/table.h"
#include "mergedb/leveldb.h"
#include "testing/simulated_env.h"

namespace mergedb::fuzz {

namespace {

using namespace leveldb_format;
using testing::SimulatedEnv;
using Files = std::map<std::string, std::string>;  // name -> bytes

std::string Key(int i) { return "key" + std::to_string(100 + i); }
std::string Value(int i, int round) {
  return std::to_string(round) + std::string(static_cast<size_t>(i % 40), static_cast<char>('a' + i % 26));
}

const UserOrder kUser{kv::Order(BytewiseComparator())};
const InternalOrder kInternal{kUser};

// Two tables in two levels, of which the upper one has newer versions and deletes, and two logs.
Files MakeFiles(Compression compression) {
  Files files;
  VersionEdit edit{.comparator = std::string(kBytewiseName),
                   .log = kv::FileNumber{4},
                   .previous_log = kv::FileNumber{0},
                   .next_file = kv::FileNumber{7},
                   .last_sequence = 200,
                   .pointers = {},
                   .removed = {},
                   .added = {}};
  for (const int round : {0, 1}) {
    const BloomPolicy bloom(10);
    std::string bytes, key, smallest;
    TableBuilder builder(kInternal, {.block_bytes = 200, .codec = {.compression = compression}, .filter = &bloom},
                         [&](std::string_view part) {
                           bytes += part;
                           return Status();
                         });
    for (int i = 0; i < 60; i += 1 + round) {
      const bool is_delete = round == 1 && i % 8 == 0;
      key.clear();
      AppendInternalKey(
          &key, Key(i),
          kv::MakeTag(static_cast<kv::Sequence>(1 + i + 100 * round), is_delete ? kv::Kind::kDelete : kv::Kind::kPut));
      builder.Add(key, is_delete ? "" : Value(i, round));
      if (smallest.empty()) smallest = key;
    }
    FUZZ_CHECK(builder.Finish().ok());
    const kv::FileNumber number{static_cast<uint64_t>(2 + round)};
    edit.added.emplace_back(
        3 * (1 - round),
        leveldb_format::File{.number = number, .bytes = bytes.size(), .smallest = smallest, .largest = key});
    files[PrintName(NameKind::kTable, number)] = bytes;
  }
  for (const int round : {2, 3}) {
    LogWriter writer;
    std::string& bytes = files[PrintName(NameKind::kLog, kv::FileNumber{static_cast<uint64_t>(2 + round)})];
    for (int i = 0; i < 20; ++i) {
      std::string batch;
      AppendBatchHeader(&batch, static_cast<kv::Sequence>(201 + 40 * (round - 2) + 2 * i), 2);
      AppendOperation(&batch, kv::Kind::kPut, Key(3 * i), Value(3 * i, round));
      AppendOperation(&batch, kv::Kind::kDelete, Key(3 * i + 1), "");
      writer.Append(batch, &bytes);
    }
  }
  LogWriter().Append(EncodeVersionEdit(edit), &files[PrintName(NameKind::kManifest, kv::FileNumber{6})]);
  files["CURRENT"] = EncodeCurrent(kv::FileNumber{6});
  return files;
}

const Files& FilesOf(uint8_t which) {
  static const Files bases[] = {MakeFiles(Compression::kNone), MakeFiles(Compression::kSnappy),
                                MakeFiles(Compression::kZstd)};
  return bases[which % std::size(bases)];
}

void FixChecksums(const std::string& name, std::string* bytes) {
  const auto parsed = ParseName(name);
  if (parsed && parsed->kind == NameKind::kTable) FixLevelDbTableChecksums(bytes);
  if (parsed && (parsed->kind == NameKind::kLog || parsed->kind == NameKind::kManifest)) FixLevelDbLogChecksums(bytes);
}

// Applies changes until the input is used up: which file, what kind, where, which bytes.
Files Damage(Files files, Input* input, bool has_fixed_checksums) {
  while (!input->empty()) {
    auto file = files.begin();
    std::advance(file, input->TakeByte() % files.size());
    const uint8_t kind = input->TakeByte() % 8;
    std::string& bytes = file->second;
    const size_t at = input->TakeNumber(2) % (bytes.size() + 1);
    if (kind == 0) {
      bytes.resize(at);
    } else if (kind == 1) {
      bytes.insert(at, input->TakeBytes(20));
    } else {
      const std::string_view patch = input->TakeBytes(1 + kind);
      bytes.replace(at, std::min(patch.size(), bytes.size() - at), patch);
    }
    if (has_fixed_checksums) FixChecksums(file->first, &bytes);
  }
  return files;
}

void Use(SimulatedEnv& sim, bool has_fixed_checksums) {
  auto db = sim.Open();
  if (!db) return;
  const auto it = (*db)->NewIterator();
  std::string last;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const std::string key(it->key());
    FUZZ_CHECK(last.empty() || last < key);
    last = key;
    if (has_fixed_checksums) continue;
    std::set<std::string> written;
    for (int i = 0; i < 60; ++i) {
      for (int round = 0; Key(i) == key && round < 4; ++round) written.insert(Value(i, round));
    }
    FUZZ_CHECK(written.contains(std::string(it->value())));
  }
  FUZZ_CHECK(it->status().ok());
  const Status put = (*db)->Put({}, "new", "value");
  // A forged MANIFEST may say that all sequence numbers are used.
  if (has_fixed_checksums && put.IsNotSupported()) return;
  FUZZ_CHECK(put.ok());
  FUZZ_CHECK((*db)->Close().ok());
  auto again = sim.Open();
  std::string value;
  FUZZ_CHECK(again && (*again)->Get({}, "new", &value).ok() && value == "value" && (*again)->CheckIntegrity().ok());
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (char base = 0; base < 3; ++base) {
    for (char has_fixed_checksums = 0; has_fixed_checksums < 2; ++has_fixed_checksums) {
      for (char is_repaired = 0; is_repaired < 2; ++is_repaired) {
        seeds.push_back({base, has_fixed_checksums, is_repaired});
        seeds.push_back({base, has_fixed_checksums, is_repaired, 1, 2, 30, 0, 'x', 'y', 'z'});
      }
    }
  }
  return seeds;
}

}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb::fuzz;
  Input input(data, bytes);
  const Files& base = FilesOf(input.TakeByte());
  const bool has_fixed_checksums = input.TakeByte() % 2 == 1;
  const bool is_repaired = input.TakeByte() % 2 == 1;
  const Files files = Damage(base, &input, has_fixed_checksums);
  SimulatedEnv sim;
  FUZZ_CHECK(sim.files->CreateDirectory(SimulatedEnv::kPath).ok());
  for (const auto& [name, content] : files)
    FUZZ_CHECK(sim.files->WriteWhole(SimulatedEnv::kPath + "/" + name, content).ok());
  if (is_repaired) {
    (void)mergedb::RepairLevelDb(sim.SmallOptions(), SimulatedEnv::kPath);
  } else if (auto db = sim.Open(); !db) {
    for (const auto& [name, content] : files)
      FUZZ_CHECK(sim.files->ReadWhole(SimulatedEnv::kPath + "/" + name).value() == content);
  }
  Use(sim, has_fixed_checksums);
  return 0;
}
