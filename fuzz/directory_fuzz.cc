// A whole directory: changes some bytes of some files, inspects each file, verifies and opens the directory, reads it
// in every way, writes, closes it and opens it again. It must not crash, hang, or allocate without limit. Unless the
// checksums are recomputed, every value that it reads must have been written.
#include <map>
#include <set>

#include "fuzz/fix_checksums.h"
#include "fuzz/target.h"
#include "mergedb/repair.h"
#include "repair/one_file.h"
#include "testing/option_sets.h"
#include "testing/simulated_env.h"

namespace mergedb::fuzz {

namespace {

using testing::SimulatedEnv;

constexpr int kKeys = 60;
std::string Key(int i) { return "key" + std::to_string(100 + i); }

struct Base {
  std::unique_ptr<SimulatedEnv> sim;
  std::map<std::string, std::set<std::string>> written;  // all values that a key has had
};

// A small database, closed or killed during its work.
Base MakeBase(Style style, bool is_closed, Compression compression) {
  Base made;
  auto sim = std::make_unique<SimulatedEnv>(SimulatedEnv::Options{.seed = 5});
  Options options = sim->SmallOptions();
  options.style = style;
  options.block_bytes = 256;
  options.compression = {compression, compression};
  auto db = DB::Open(options, SimulatedEnv::kPath);
  FUZZ_CHECK(db.has_value());
  for (int round = 0; round < 4; ++round) {
    for (int i = round; i < kKeys; i += 1 + round) {
      const std::string value =
          std::to_string(round) + std::string(static_cast<size_t>(i), static_cast<char>('a' + i % 26));
      FUZZ_CHECK(
          (*db)->Put({.durability = i == 30 ? Durability::kSynced : Durability::kProcessCrash}, Key(i), value).ok());
      made.written[Key(i)].insert(value);
      if (i % 7 == 0) FUZZ_CHECK((*db)->Delete({}, Key(i)).ok());
    }
    if (round < 3) FUZZ_CHECK((*db)->Flush().ok());
    if (round == 1) FUZZ_CHECK((*db)->WaitForCompaction().ok());
  }
  if (is_closed) FUZZ_CHECK((*db)->Close().ok());
  made.sim = SimulatedEnv::After(*sim, testing::CrashMode::kKill, testing::CrashModel::kStrict, 1);
  *db = nullptr;
  return made;
}

const Base& BaseOf(uint8_t which) {
  static const Base bases[] = {
      MakeBase(Style::kLazy, true, Compression::kNone), MakeBase(Style::kLazy, false, Compression::kNone),
      MakeBase(Style::kCascade, true, Compression::kZstd), MakeBase(Style::kCascade, false, Compression::kLz4)};
  return bases[which % std::size(bases)];
}

// ---- damage ----------------------------------------------------------------------------------------------------

// Each change: file u8, act u8, offset (u16 if the act is even, else u24), then the operands of the act.
void Damage(Input* input, testing::FaultFileSystem* files, bool has_fixed_checksums) {
  const std::vector<std::string> paths = files->Files();
  std::map<std::string, std::string> changed;
  while (!input->empty()) {
    const std::string& path = paths[input->TakeByte() % paths.size()];
    const auto found = changed.find(path);
    std::string bytes = found != changed.end() ? found->second : *files->ReadWhole(path);
    const uint8_t act = input->TakeByte();
    // Most of a segment and of a MANIFEST is zeros after its end, so even acts use small offsets.
    const size_t at =
        bytes.empty() ? 0 : (act % 2 == 0 ? input->TakeNumber(2) % 8192 : input->TakeNumber(3)) % bytes.size();
    switch (act / 2 % 6) {
      case 0:
        if (!bytes.empty()) bytes[at] = static_cast<char>(bytes[at] ^ 1 << input->TakeByte() % 8);
        break;
      case 1:
        if (!bytes.empty()) bytes[at] = static_cast<char>(input->TakeByte());
        break;
      case 2: bytes.resize(at); break;
      case 3: {
        const std::string_view piece = input->TakeBytes(input->TakeByte() % 16);
        bytes.replace(at, std::min(piece.size(), bytes.size() - at), piece);
        break;
      }
      case 4:
        std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(at), std::min<size_t>(512, bytes.size() - at), '\0');
        break;
      case 5: bytes = *files->ReadWhole(paths[input->TakeByte() % paths.size()]); break;
    }
    changed[path] = std::move(bytes);
  }
  for (auto& [path, bytes] : changed) {
    if (has_fixed_checksums) FixFileChecksums(path, &bytes);
    FUZZ_CHECK(files->WriteWhole(path, bytes).ok());
  }
}

// ---- use -------------------------------------------------------------------------------------------------------

using Written = std::map<std::string, std::set<std::string>>;

bool WasWritten(const Written& written, std::string_view key, std::string_view value) {
  const auto found = written.find(std::string(key));
  return found != written.end() && found->second.contains(std::string(value));
}

// `written`: null if any value may be read.
void ReadAll(DB& db, const Written* written) {
  std::string value;
  for (int i = -1; i <= kKeys; ++i) {
    if (db.Get({}, Key(i), &value).ok() && written != nullptr) FUZZ_CHECK(WasWritten(*written, Key(i), value));
  }
  for (const bool is_forward : {true, false}) {
    auto it = db.NewIterator({.read = {.fill_cache = false}});
    size_t steps = 0;
    for (is_forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid(); is_forward ? it->Next() : it->Prev()) {
      FUZZ_CHECK(++steps < 1'000'000);
      if (written != nullptr) FUZZ_CHECK(WasWritten(*written, it->key(), it->value()));
    }
  }
  (void)db.CheckIntegrity();
  for (const char* name : {"mergedb.stats", "mergedb.runs", "mergedb.recovery", "mergedb.counters"})
    (void)db.GetProperty(name, &value);
  (void)db.ApproximateSizes({{"", "zzz"}, {"key120", "key130"}});
}

void Use(SimulatedEnv* sim, OpenMode mode, const Written* written) {
  Options options = sim->SmallOptions();
  options.mode = mode;
  const uint64_t before = sim->files->Fingerprint();
  auto db = DB::Open(options, SimulatedEnv::kPath);
  if (!db) {
    // LOCK is the only file that a failed open may leave.
    if (mode == OpenMode::kReadOnly) FUZZ_CHECK(sim->files->Fingerprint() == before);
    return;
  }
  ReadAll(**db, written);
  if (mode == OpenMode::kReadOnly) {
    *db = nullptr;
    FUZZ_CHECK(sim->files->Fingerprint() == before);
    return;
  }
  for (int i = 0; i < 100 && sim->executor.RunOne(); ++i) {}
  (void)(*db)->Put({}, "new key", "value");
  (void)(*db)->Flush();
  (void)(*db)->CompactRange(nullptr, nullptr);
  std::string value;
  if ((*db)->Get({}, "new key", &value).ok()) FUZZ_CHECK(value == "value");
  Written more;
  if (written != nullptr) more = *written;
  more["new key"].insert("value");
  ReadAll(**db, written != nullptr ? &more : nullptr);
  (void)(*db)->Close();
}

// Each file on its own. The inspections change nothing.
void InspectFiles(SimulatedEnv* sim) {
  testing::FaultFileSystem* const files = sim->files.get();
  const uint64_t before = files->Fingerprint();
  for (const std::string& path : files->Files()) {
    (void)repair::InspectTable(files, path, nullptr);
    (void)repair::InspectBlobFile(files, path, nullptr);
    (void)repair::InspectWal(files, path, nullptr);
    (void)repair::InspectManifest(files, path, nullptr);
  }
  FUZZ_CHECK(files->Fingerprint() == before);
}

// Verify changes nothing. After Repair, the database opens, and Verify finds no damage unless the checksums
// were recomputed.
void VerifyAndRepair(SimulatedEnv* sim, bool is_repaired, bool has_fixed_checksums) {
  const Options options = sim->SmallOptions();
  const uint64_t before = sim->files->Fingerprint();
  (void)Verify(options, SimulatedEnv::kPath);
  FUZZ_CHECK(sim->files->Fingerprint() == before);
  if (!is_repaired) return;
  const auto repaired = Repair(options, SimulatedEnv::kPath);
  if (!repaired || has_fixed_checksums) return;
  const auto again = Verify(options, SimulatedEnv::kPath);
  FUZZ_CHECK(again.has_value() && again->damages.empty());
  FUZZ_CHECK(DB::Open(options, SimulatedEnv::kPath).has_value());
}

}  // namespace

// u8: which base; u8: flags (1: recompute checksums, 2: read-only, 4: repair); then the changes.
std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (char which = 0; which < 4; ++which) {
    for (const char flags : {0, 1, 2, 4, 5}) {
      seeds.push_back({which, flags});
      seeds.push_back({which, flags, 3, 0, 40, 0, 2, 5, 1, 10, 0, 0, 3});
      seeds.push_back({which, flags, 1, 6, 100, 0, 3, 'a', 'b', 'c', 6, 3, 7, 0, 0, 77});
    }
  }
  return seeds;
}

}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb;
  fuzz::Input input(data, bytes);
  const fuzz::Base& base = fuzz::BaseOf(input.TakeByte());
  const uint8_t flags = input.TakeByte();
  const bool has_fixed_checksums = (flags & 1) != 0;
  auto sim = testing::SimulatedEnv::After(*base.sim, testing::CrashMode::kKill, testing::CrashModel::kStrict, 1);
  fuzz::Damage(&input, sim->files.get(), has_fixed_checksums);
  fuzz::InspectFiles(sim.get());
  fuzz::VerifyAndRepair(sim.get(), (flags & 4) != 0, has_fixed_checksums);
  const fuzz::Written* const written = has_fixed_checksums ? nullptr : &base.written;
  fuzz::Use(sim.get(), (flags & 2) != 0 ? OpenMode::kReadOnly : OpenMode::kMustExist, written);
  if ((flags & 2) == 0) fuzz::Use(sim.get(), OpenMode::kReadOnly, nullptr);
  return 0;
}
