// A simulated database without bytes. Writes fill memtables, memtables become flushed runs, and the picks of
// the picker run a few entries at a time, several at once. A VersionEdit commits every finished output. Keys
// and versions are real, so a test can check reads (invariant I1) at every commit. Sizes are entries x
// entry_bytes, so large databases are cheap.
//
// If value_bytes is not 0, values are in blob files: each flush writes one, and blob garbage collection
// writes more. As in the engine, the tables tell which values are live.
//
// The simulation measures the entries that compactions read and write for each put, the number of runs, and
// at every commit the bytes on disk, with unfinished outputs, beside the bytes after a full compaction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "base/random.h"
#include "picker/picker.h"
#include "tests/unit/picker/print_pick.h"
#include "version/invariants.h"
#include "version/version_builder.h"

namespace mergedb::simulate {

struct Cell {
  uint32_t key;
  uint32_t version;        // odd: a tombstone
  uint32_t blob_file = 0;  // holds the value; 0: the value is in the table
};
constexpr bool IsTombstone(const Cell& cell) { return cell.version % 2 != 0; }

struct Config {
  Style style = Style::kLazy;
  uint32_t keys = 100'000;       // number of possible keys
  uint32_t flush_entries = 400;  // puts that fill a memtable
  uint64_t entry_bytes = 16 << 10;
  uint64_t value_bytes = 0;     // of each entry, in blob files, in addition to entry_bytes
  double merge_speed = 6;       // entries that compactions may read for each put
  size_t workers = 2;           // compactions that run at once
  uint64_t step_entries = 200;  // entries between two choices of the most urgent compaction
  picker::Urgency write_pressure = picker::Urgency::kWriting;
  uint64_t seed = 1;
};

struct Figures {
  uint64_t puts = 0;
  uint64_t merge_reads = 0;
  uint64_t merge_writes = 0;
  uint64_t values_moved = 0;
  uint64_t collections = 0;
  uint64_t merges = 0;
  uint64_t moves = 0;
  uint64_t stalls = 0;  // flushes that waited for compactions
  size_t runs_max = 0;
  double runs_sum = 0;
  uint64_t samples = 0;
  double space_max = 0;  // bytes on disk / live bytes
  double space_sum = 0;
  int64_t over_max = INT64_MIN;  // bytes on disk - space_factor x live bytes
};

class Database {
 public:
  explicit Database(const Config& config)
      : config_(config),
        order_(BytewiseComparator()),
        version_(std::make_shared<version::Version>()),
        newest_(config.keys, 1),
        random_(config.seed) {}

  // Writes a new version of `key`; flushes if the memtable is full.
  void Put(uint32_t key) { Write(key, false); }
  void Delete(uint32_t key) { Write(key, true); }

  void Flush();
  // Compacts until the picker returns nothing at this urgency.
  void CompactAll(picker::Urgency urgency);
  // CompactRange: false if a step is blocked.
  void CompactRange(const format::Bounds& bounds);

  void SetStyle(Style style) { config_.style = style; }

  const version::Version& version() const { return *version_; }
  const kv::Order& order() const { return order_; }
  Figures& figures() { return figures_; }
  uint64_t live_bytes() const { return live_keys_ * (config_.entry_bytes + config_.value_bytes); }
  uint64_t bytes() const;
  uint64_t flush_bytes() const { return config_.flush_entries * (config_.entry_bytes + config_.value_bytes); }
  std::string error() const { return error_; }
  double space_factor = 2.0;  // of Figures::over_max
  bool print_plans = false;
  kv::Sequence oldest_snapshot = kv::kSequenceMax;

  static std::string KeyOf(uint32_t key) {
    char text[16];
    std::snprintf(text, sizeof text, "%08u", key);
    return text;
  }
  // Checks that every key reads as its newest version.
  bool AllReadsAreRight();

 private:
  using Cells = std::vector<Cell>;
  struct CompactionJob {
    picker::CompactionPick pick;
    std::vector<Cells> inputs;  // newest first
    std::vector<size_t> next;
    std::vector<std::vector<format::VersionEdit::Add>> moved;  // tables of a move
    Cells output;
    uint64_t output_bytes = 0;
    uint32_t blob_file = 0;           // the unfinished blob file; 0: there is no such file
    uint64_t values = 0;              // number of values in blob_file
    size_t cut = 0;                   // index of the next key of pick.cut_keys
    std::optional<std::string> done;  // the output for the keys below is committed
    uint64_t left = 0;                // entries to read
    std::optional<uint32_t> last_key;
  };

  void Write(uint32_t key, bool is_delete);
  picker::PickInput Input(picker::Urgency urgency, std::vector<picker::RunningCompaction>* running);
  bool StartJobs(picker::Urgency urgency);
  void Start(picker::CompactionPick pick);
  void Work(uint64_t entries, picker::Urgency urgency);
  void Step(CompactionJob* job, uint64_t entries);
  void Emit(CompactionJob* job, const Cell& cell);
  void Commit(CompactionJob* job, std::optional<std::string> cursor, bool is_last);
  void CommitMove(CompactionJob* job);
  void Apply(const format::VersionEdit& edit);
  void Sample();
  void CheckRead(uint32_t key);
  std::optional<Cell> Read(uint32_t key) const;
  format::FileMetaPtr MakeFile(Cells cells);
  void AddBlobFile(uint32_t number, uint64_t values, format::VersionEdit* edit) const;
  uint64_t CellBytes(const Cell& cell) const {
    return IsTombstone(cell) ? config_.entry_bytes / 8 : config_.entry_bytes;
  }

  Config config_;
  kv::Order order_;
  version::VersionPtr version_;
  std::vector<uint32_t> newest_;  // by key; odd: deleted or never written
  uint64_t live_keys_ = 0;
  base::Random random_;
  std::map<uint32_t, uint32_t> memtable_;
  uint32_t memtable_entries_ = 0;
  std::vector<uint32_t> flushed_;  // by key: newest flushed version; 1 if no version is flushed
  std::map<kv::FileNumber, std::shared_ptr<const Cells>> contents_;
  std::vector<std::unique_ptr<CompactionJob>> jobs_;
  uint64_t next_file_ = 1;
  uint64_t next_position_ = 1;
  uint64_t sequence_ = 0;
  Figures figures_;
  std::string error_;
};

inline uint64_t Database::bytes() const {
  uint64_t bytes = version_->bytes() + version_->record_bytes();
  for (const auto& job : jobs_) bytes += job->output_bytes + job->values * config_.value_bytes;
  return bytes;
}

inline void Database::Write(uint32_t key, bool is_delete) {
  const bool was_live = newest_[key] % 2 == 0;
  newest_[key] = (newest_[key] | 1) + (is_delete ? 2 : 1);
  live_keys_ += !is_delete && !was_live ? 1 : 0;
  live_keys_ -= is_delete && was_live ? 1 : 0;
  memtable_[key] = newest_[key];
  ++figures_.puts;
  if (++memtable_entries_ == config_.flush_entries) Flush();
}

inline format::FileMetaPtr Database::MakeFile(Cells cells) {
  auto file = std::make_shared<format::FileMeta>();
  file->number = kv::FileNumber{next_file_++};
  file->entries = cells.size();
  std::map<uint32_t, uint64_t> values;
  for (const Cell& cell : cells) {
    file->bytes += CellBytes(cell);
    file->tombstones += IsTombstone(cell) ? 1 : 0;
    if (cell.blob_file != 0) values[cell.blob_file] += config_.value_bytes;
  }
  for (const auto& [number, bytes] : values) file->values.push_back({.file = kv::FileNumber{number}, .bytes = bytes});
  file->smallest_sequence = 1;
  file->largest_sequence = sequence_;
  file->smallest = KeyOf(cells.front().key);
  file->largest = KeyOf(cells.back().key);
  contents_[file->number] = std::make_shared<const Cells>(std::move(cells));
  return file;
}

inline void Database::AddBlobFile(uint32_t number, uint64_t values, format::VersionEdit* edit) const {
  auto file = std::make_shared<format::BlobFileMeta>();
  file->number = kv::FileNumber{number};
  file->records = values;
  file->bytes = file->record_bytes = values * config_.value_bytes;
  edit->blob_files.push_back({std::move(file)});
}

inline void Database::Flush() {
  if (memtable_.empty()) return;
  sequence_ += memtable_entries_;
  Cells cells;
  if (flushed_.empty()) flushed_.assign(config_.keys, 1);
  const uint32_t blob_file = config_.value_bytes == 0 ? 0 : static_cast<uint32_t>(next_file_++);
  uint64_t values = 0;
  for (const auto& [key, version] : memtable_) {
    cells.push_back({key, version, version % 2 == 0 ? blob_file : 0});
    values += cells.back().blob_file != 0;
    flushed_[key] = version;
  }
  memtable_.clear();
  const double entries = memtable_entries_;
  memtable_entries_ = 0;
  format::VersionEdit edit;
  auto& add = edit.adds.emplace_back();
  add.position = kv::Position{next_position_++};
  add.file = MakeFile(std::move(cells));
  if (values > 0) AddBlobFile(blob_file, values, &edit);
  Apply(edit);
  Work(static_cast<uint64_t>(entries * config_.merge_speed), config_.write_pressure);
  // The write delay, as a stop: a writer waits while the bytes over the bound are at their maximum.
  std::vector<picker::RunningCompaction> running;
  const auto is_behind = [&] {
    const auto input = Input(picker::Urgency::kWriting, &running);
    return version_->runs().size() > 80 || picker::BytesOverBound(input) > picker::BytesOverBoundMax(input);
  };
  for (int i = 0; i < 10'000 && is_behind(); ++i) {
    if (i == 0) ++figures_.stalls;
    Work(config_.step_entries, config_.write_pressure);
  }
}

inline picker::PickInput Database::Input(picker::Urgency urgency, std::vector<picker::RunningCompaction>* running) {
  running->clear();
  for (const auto& job : jobs_) {
    running->push_back({.sources = job->pick.sources,
                        .bounds = job->pick.bounds,
                        .collects_blobs = !job->pick.blob_files_to_collect.empty()});
  }
  return {.version = *version_,
          .running = *running,
          .style = config_.style,
          .urgency = urgency,
          .flush_bytes = flush_bytes(),
          .order = order_,
          .oldest_snapshot = oldest_snapshot};
}

inline bool Database::StartJobs(picker::Urgency urgency) {
  std::vector<picker::RunningCompaction> running;
  while (jobs_.size() < config_.workers) {
    auto pick = picker::Pick(Input(urgency, &running));
    if (!pick) break;
    Start(*std::move(pick));
  }
  return !jobs_.empty();
}

inline void Database::Start(picker::CompactionPick pick) {
  if (print_plans) {
    std::printf("%6llu puts, %2zu runs, %.2f space: %s\n", static_cast<unsigned long long>(figures_.puts),
                version_->runs().size(), static_cast<double>(bytes()) / static_cast<double>(live_bytes() + 1),
                PrintCompactionPick(pick).c_str());
  }
  auto job = std::make_unique<CompactionJob>();
  job->pick = std::move(pick);
  for (const kv::Position source : job->pick.sources) {
    const version::RunPtr run = version_->FindRun(source);
    Cells cells;
    std::vector<format::VersionEdit::Add> moved;
    const auto [first, last] = run->Overlap(order_, job->pick.bounds);
    for (size_t i = first; i < last; ++i) {
      const version::VirtualTable& virtual_table = run->virtual_tables()[i];
      const format::Bounds bounds = version::Intersection(order_, virtual_table.bounds, job->pick.bounds);
      const uint32_t lower = bounds.lower ? static_cast<uint32_t>(std::stoul(*bounds.lower)) : 0;
      const uint32_t upper = bounds.upper ? static_cast<uint32_t>(std::stoul(*bounds.upper)) : UINT32_MAX;
      moved.push_back({.position = job->pick.sources.back(), .level = 0, .file = virtual_table.file, .bounds = bounds});
      if (job->pick.is_move) continue;
      for (const Cell& cell : *contents_.at(virtual_table.file->number)) {
        if (cell.key >= lower && cell.key < upper) cells.push_back(cell);
      }
    }
    job->left += cells.size();
    job->inputs.push_back(std::move(cells));
    job->next.push_back(0);
    job->moved.push_back(std::move(moved));
  }
  job->done = job->pick.bounds.lower;
  if (job->pick.is_move) {
    ++figures_.moves;
    CommitMove(job.get());
    return;
  }
  ++figures_.merges;
  figures_.collections += !job->pick.blob_files_to_collect.empty();
  jobs_.push_back(std::move(job));
}

inline void Database::CommitMove(CompactionJob* job) {
  format::VersionEdit edit;
  for (const kv::Position source : job->pick.sources)
    edit.cuts.push_back({.position = source, .bounds = job->pick.bounds});
  for (auto& adds : job->moved) {
    for (auto& add : adds) {
      if (version::Clip(order_, add.file, add.bounds)) edit.adds.push_back(std::move(add));
    }
  }
  edit.levels.push_back({.position = job->pick.sources.back(), .level = job->pick.target_level});
  Apply(edit);
}

inline void Database::Work(uint64_t entries, picker::Urgency urgency) {
  while (entries > 0) {
    if (!StartJobs(urgency)) return;
    // The most urgent job is the one with the fewest entries left.
    const auto job = std::ranges::min_element(jobs_, {}, [](const auto& j) { return j->left; });
    const uint64_t step = std::min(entries, config_.step_entries);
    Step(job->get(), step);
    if ((*job)->left == 0) {
      Commit(job->get(), (*job)->pick.bounds.upper, true);
      jobs_.erase(job);
      Sample();
    }
    entries -= step;
  }
}

inline void Database::Step(CompactionJob* job, uint64_t entries) {
  using Head = std::pair<uint32_t, size_t>;  // key, source: the newer source comes first
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  for (size_t i = 0; i < job->inputs.size(); ++i) {
    if (job->next[i] < job->inputs[i].size()) heads.push({job->inputs[i][job->next[i]].key, i});
  }
  for (; entries > 0 && !heads.empty(); --entries) {
    const auto [key, source] = heads.top();
    heads.pop();
    const Cell cell = job->inputs[source][job->next[source]++];
    if (job->next[source] < job->inputs[source].size())
      heads.push({job->inputs[source][job->next[source]].key, source});
    --job->left;
    ++figures_.merge_reads;
    if (job->last_key == key) continue;  // a newer version came first
    job->last_key = key;
    Emit(job, cell);
  }
}

inline void Database::Emit(CompactionJob* job, const Cell& cell) {
  const std::string key = KeyOf(cell.key);
  const auto& cuts = job->pick.cut_keys;
  const uint64_t written = job->output_bytes + job->values * config_.value_bytes;
  bool is_cut = job->pick.output_file_bytes != 0 && written >= job->pick.output_file_bytes;
  while (job->cut < cuts.size() && key >= cuts[job->cut]) {
    is_cut = true;
    ++job->cut;
  }
  if (is_cut && !job->output.empty()) Commit(job, key, false);
  if (IsTombstone(cell) && job->pick.is_bottommost) return;
  job->output_bytes += CellBytes(cell);
  job->output.push_back(cell);
  if (!std::ranges::binary_search(job->pick.blob_files_to_collect, kv::FileNumber{cell.blob_file})) return;
  if (job->values++ == 0) job->blob_file = static_cast<uint32_t>(next_file_++);
  job->output.back().blob_file = job->blob_file;
  ++figures_.values_moved;
}

inline void Database::Commit(CompactionJob* job, std::optional<std::string> cursor, bool is_last) {
  Sample();
  format::VersionEdit edit;
  for (const kv::Position source : job->pick.sources) {
    edit.cuts.push_back({.position = source, .bounds = {.lower = job->done, .upper = cursor}});
  }
  const kv::Position target = job->pick.sources.back();
  if (!job->output.empty()) {
    figures_.merge_writes += job->output.size();
    const auto run = version_->FindRun(target);
    auto& add = edit.adds.emplace_back();
    add.position = target;
    add.level = run ? run->level() : job->pick.target_level;
    add.file = MakeFile(std::move(job->output));
  }
  if (job->values > 0) AddBlobFile(job->blob_file, job->values, &edit);
  job->output.clear();
  job->output_bytes = 0;
  job->values = 0;
  job->done = cursor;
  if (is_last) edit.levels.push_back({.position = target, .level = job->pick.target_level});
  Apply(edit);
}

inline void Database::Apply(const format::VersionEdit& edit) {
  auto applied = version::ApplyEdit(order_, *version_, edit);
  if (!applied) {
    error_ = applied.error().ToString();
    return;
  }
  version_ = *applied;
  for (int i = 0; i < 8; ++i) CheckRead(static_cast<uint32_t>(random_.Uniform(config_.keys)));
  Sample();
  if (random_.OneIn(16)) {
    const auto files = version_->files();
    std::erase_if(contents_, [&](const auto& item) { return !files.contains(item.first); });
    if (const Status status = version::CheckInvariants(order_, *version_); !status.ok()) error_ = status.ToString();
  }
}

inline void Database::Sample() {
  figures_.runs_max = std::max(figures_.runs_max, version_->runs().size());
  figures_.runs_sum += static_cast<double>(version_->runs().size());
  ++figures_.samples;
  const double live = static_cast<double>(live_bytes());
  if (live > 0) {
    figures_.space_max = std::max(figures_.space_max, static_cast<double>(bytes()) / live);
    figures_.space_sum += static_cast<double>(bytes()) / live;
  }
  figures_.over_max =
      std::max(figures_.over_max, static_cast<int64_t>(bytes()) - static_cast<int64_t>(space_factor * live));
}

inline std::optional<Cell> Database::Read(uint32_t key) const {
  const std::string text = KeyOf(key);
  for (const version::RunPtr& run : version_->runs()) {
    const version::VirtualTable* virtual_table = run->Find(order_, text);
    if (!virtual_table) continue;
    const Cells& cells = *contents_.at(virtual_table->file->number);
    const auto it = std::ranges::lower_bound(cells, key, {}, &Cell::key);
    if (it != cells.end() && it->key == key) return *it;
  }
  return std::nullopt;
}

inline void Database::CheckRead(uint32_t key) {
  if (flushed_.empty()) return;
  const auto found = Read(key);
  const uint32_t expected = flushed_[key];
  const bool is_right = expected % 2 != 0 ? !found || found->version == expected : found && found->version == expected;
  if (!is_right && error_.empty()) error_ = "I1: key " + KeyOf(key) + " reads as an old version";
}

inline bool Database::AllReadsAreRight() {
  for (uint32_t key = 0; key < config_.keys; ++key) CheckRead(key);
  return error_.empty();
}

inline void Database::CompactAll(picker::Urgency urgency) {
  for (int i = 0; i < 1'000'000 && error_.empty(); ++i) {
    if (!StartJobs(urgency)) return;
    Work(config_.step_entries, urgency);
  }
  if (error_.empty()) error_ = "compactions do not end";
}

inline void Database::CompactRange(const format::Bounds& bounds) {
  const kv::Position newest{next_position_};
  std::vector<picker::RunningCompaction> running;
  for (int i = 0; i < 100'000; ++i) {
    auto pick = picker::PickManual(Input(picker::Urgency::kQuiet, &running), bounds, newest);
    if (pick.is_done) return;
    Start(*std::move(pick.pick));
    while (!jobs_.empty()) {
      Step(jobs_.front().get(), UINT64_MAX);
      Commit(jobs_.front().get(), jobs_.front()->pick.bounds.upper, true);
      jobs_.erase(jobs_.begin());
    }
  }
  error_ = "CompactRange does not end";
}

}  // namespace mergedb::simulate
