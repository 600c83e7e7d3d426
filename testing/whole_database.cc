#include "testing/whole_database.h"

#include "base/assert.h"
#include "mergedb/merge.h"

namespace mergedb::testing {
namespace {

constexpr uint64_t kKeys = 80;
constexpr uint64_t kValueBytesMax = 700;
constexpr int kCommitsPerMoment = 4;

}  // namespace

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

WholeDatabase::WholeDatabase(const Shape& shape) : shape_(shape) {
  Write();
  expected_ = model_.Scan(model_.commits());
  const auto sim = Copy();
  Options options = OptionsFor(*sim);
  options.mode = OpenMode::kReadOnly;
  auto db = DB::Open(options, SimulatedEnv::kPath);
  Note(db.status());
  (*db)->GetProperty("mergedb.runs", &runs_);
}

Options WholeDatabase::OptionsFor(SimulatedEnv& sim) const {
  Options options = sim.SmallOptions();
  options.style = shape_.style;
  options.use_mapped_wal_buffer = shape_.is_mapped;
  options.compression = {shape_.compression, shape_.compression};
  options.blob_value_bytes_min = shape_.separates ? 64 : 0;
  return options;
}

std::unique_ptr<SimulatedEnv> WholeDatabase::Copy() const {
  return std::make_unique<SimulatedEnv>(SimulatedEnv::Options{.seed = 9},
                                        image_->Crash(CrashMode::kKill, CrashModel::kStrict, 1));
}

std::vector<std::string> WholeDatabase::Files(std::string_view ending) const {
  std::vector<std::string> files = Files();
  std::erase_if(files, [&](const std::string& path) { return !EndsWith(path, ending); });
  return files;
}

std::vector<std::string> WholeDatabase::EarlierContents(const std::string& path) const {
  std::vector<std::string> contents;
  const auto last = image_->ReadWhole(path);
  for (const auto& moment : moments_) {
    auto bytes = moment->ReadWhole(path);
    if (bytes && (!last || *bytes != *last) && (contents.empty() || *bytes != contents.back()))
      contents.push_back(std::move(*bytes));
  }
  return contents;
}

bool WholeDatabase::IsLiveTable(const std::string& path) const {
  const std::string name = BaseName(path);
  return EndsWith(name, ".tbl") && runs_.find(" " + name.substr(0, name.size() - 4) + "[") != std::string::npos;
}

void WholeDatabase::Note(Status status) {
  const std::string message = "a whole database cannot be made: " + status.ToString();
  ASSERT(status.ok(), message.c_str());
}

// Adds a merge to a counter or a list. Some lists are on keys that are also put and deleted.
void WholeDatabase::Merge(WriteBatch* batch, std::vector<ModelDb::Change>* changes, base::Random& random) {
  if (random.OneIn(2)) {
    const std::string key = "c" + std::to_string(random.Uniform(8));
    const uint64_t delta = 1 + random.Uniform(100);
    batch->Merge(key, merge::AddU64(delta));
    changes->push_back({.key = key, .merge = [delta](const std::optional<std::string>& before) {
                          return merge::FromU64((before ? merge::ToU64(*before).value() : 0) + delta);
                        }});
  } else {
    const std::string key =
        random.OneIn(2) ? "k" + std::to_string(random.Uniform(kKeys)) : "l" + std::to_string(random.Uniform(8));
    const std::string more = "+" + std::to_string(model_.commits());
    batch->Merge(key, merge::Append(more));
    changes->push_back(
        {.key = key, .merge = [more](const std::optional<std::string>& before) { return before.value_or("") + more; }});
  }
}

void WholeDatabase::Commit(DB& db, SimulatedEnv& sim, int count, base::Random& random) {
  for (int i = 0; i < count; ++i) {
    std::vector<ModelDb::Change> changes;
    WriteBatch batch;
    for (uint64_t size = 1 + random.Uniform(3); size > 0; --size) {
      const std::string key = "k" + std::to_string(random.Uniform(kKeys));
      if (random.OneIn(7)) {
        Merge(&batch, &changes, random);
      } else if (random.OneIn(25)) {
        const std::string end =
            key + std::string(1, static_cast<char>('0' + random.Uniform(10)));  // the range holds some keys or none
        batch.DeleteRange(key, end);
        changes.push_back({.key = key, .end = end});
      } else if (random.OneIn(6)) {
        batch.Delete(key);
        changes.push_back({.key = key});
      } else {
        std::string value = std::to_string(model_.commits()) + std::string(random.Uniform(kValueBytesMax), 'v');
        batch.Put(key, value);
        changes.push_back({.key = key, .value = std::move(value)});
      }
    }
    model_.Commit(changes);
    const bool is_synced = random.OneIn(12);
    Note(db.Write({.durability = is_synced ? Durability::kSynced : Durability::kProcessCrash}, batch));
    if (is_synced) durable_ = model_.commits();
    if (random.OneIn(2)) sim.executor.RunOne();
    if (i % kCommitsPerMoment == 0) NoteMoment(sim);
  }
}

void WholeDatabase::Write() {
  base::Random random(shape_.seed);
  SimulatedEnv sim({.seed = shape_.seed});
  auto opened = Open(sim);
  Note(opened.status());
  DB& db = **opened;

  // The oldest run: keys without older versions, with sequence zero.
  Commit(db, sim, 80, random);
  Note(db.CompactRange(nullptr, nullptr));
  // Upper runs. The compaction moves the middle of one run to the bottom, so that a table shows as two virtual tables.
  Commit(db, sim, 50, random);
  Note(db.Flush());
  Commit(db, sim, 40, random);
  const std::string_view lower = "k3", upper = "k5";
  Note(db.CompactRange(&lower, &upper));
  earlier_ = sim.files->Crash(CrashMode::kKill, CrashModel::kStrict, 1);
  Commit(db, sim, 40, random);
  Note(db.Flush());
  // Commits that are only in the WAL.
  Commit(db, sim, 50, random);
  NoteMoment(sim);
  if (shape_.is_closed) {
    Note(db.Close());
    durable_ = model_.commits();
  }
  image_ = sim.files->Crash(CrashMode::kKill, CrashModel::kStrict, 1);
}

}  // namespace mergedb::testing
