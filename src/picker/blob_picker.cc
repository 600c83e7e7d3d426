// Blob garbage collection: a compaction of just the runs and keys that refer to the blob files with most
// garbage moves the live values of these files to a new blob file.
//
//   blob files     [7: ####......] [9: ########..] [11: ##........]        # live, . garbage
//   collect 7, 11: the runs from the newest to the oldest that refer to 7 or 11; the keys from the first to the last
//                  table that refers to 7 or 11; blob indexes that point to 9 stay as they are
//
// When: over the space bound. Garbage is what tables no longer refer to, so a compaction must find it first.
// Compactions of tables are cheap where values are large. BlobGarbageComesFirst decides the order by the known garbage.
//
// Which files: those with the largest share of garbage. While writes come, the share counts times the square root of
// the age: in a young file, the values that are often overwritten will be garbage soon, and are better not moved
// before. A file qualifies if its share is at least the average that the bound tolerates, (factor - 1) / factor. While
// the bound is exceeded, at least one file has that share: if none had it, garbage <= (factor - 1) x referenced bytes,
// and the bound would hold. MEASURED: docs/decisions/0050-which-garbage.md.
//
// Small files: programs that flush often make a small blob file each time. If there are many, they are collected
// together, whatever their garbage, as soon as the tables to pass over are few enough.
//
// Order: a flush writes values in key order, but the next values in key order are in the files of other flushes. If
// scans have read twice the bytes of all blob files value by value, the files whose keys overlap are collected
// together. A scan then reads many values at once.
//
// Termination: each collection removes all blob indexes of its files from the tree, so the files become obsolete. A
// file that a source of a running compaction refers to does not qualify. A load that only inserts makes no garbage.
#include <algorithm>
#include <cmath>
#include <map>

#include "picker/partitions.h"
#include "picker/styles.h"
#include "picker/survey.h"

namespace mergedb::picker {

namespace {

// MEASURED: docs/decisions/0050-which-garbage.md.
constexpr uint64_t kGarbageOverUpper = 3;

// Without writes, one collection moves up to this many times the bytes of the tables, or 256 MiB if that is more,
// because each collection passes over the tables. WHY a limit: after a Close in the middle, the moved values are on
// disk twice.
constexpr uint64_t kQuietTables = 8;
constexpr uint64_t kQuietBytesMin = 256 * kMebibyte;

// Scattered values that scans must have read, for each byte in blob files. A scan gains about as much for each value as
// the compaction pays for it.
constexpr uint64_t kScatteredShare = 2;
// A scan reads ahead in several files at once, so a few files with overlapping keys are good enough.
constexpr size_t kScatteredFilesMin = 4;
constexpr size_t kScatteredFilesMax = 256;  // blob::kCompactionScannerLimits

constexpr size_t kSmallFilesMax = 32;
// Tables that may be rewritten for each small file that goes. So a database has at most one for each MiB of its tables.
constexpr uint64_t kTableBytesPerSmallFile = kMebibyte;

SpaceBound BlobGarbageBound(const PickInput& input) {
  switch (input.urgency) {
    case Urgency::kWriting: return {.factor = input.style == Style::kLazy ? 2.0 : 1.5};
    case Urgency::kQuiet: return {.factor = 1.25};
    case Urgency::kIdle: return {.factor = 1.1};
  }
  return {};
}

// The bytes that collection should free. While writes come, collection starts before the bound is reached,
// because the collected files and the new files exist together until the collection ends.
uint64_t BytesToCollect(const PickInput& input) {
  const SpaceBound bound = BlobGarbageBound(input);
  const uint64_t early = input.urgency == Urgency::kWriting ? CollectedBytesMax(input.version) : 0;
  return BytesOver(input, bound, early);
}

bool IsWorthCollecting(const version::BlobFile& file, const SpaceBound& bound) {
  const auto garbage = static_cast<double>(file.garbage_bytes());
  return garbage > 0 && garbage * bound.factor >= (bound.factor - 1) * static_cast<double>(file.file->record_bytes);
}

// The bytes that the bound of writes leaves free.
uint64_t FreeBytes(const PickInput& input) {
  PickInput writing = input;
  writing.urgency = Urgency::kWriting;
  const uint64_t allowed = BytesAllowed(writing);
  return allowed - std::min(allowed, input.version.bytes() + input.version.record_bytes());
}

// As CollectedBytesMax. Without writes, the space that the bound of writes leaves free is used, too.
uint64_t MovedBytesMax(const PickInput& input) {
  const uint64_t least = CollectedBytesMax(input.version);
  if (input.urgency == Urgency::kWriting) return least;
  const uint64_t useful = std::max(kQuietTables * input.version.bytes(), kQuietBytesMin);
  return std::max(least, std::min(useful, FreeBytes(input)));
}

bool CollectsBlobs(const PickInput& input) {
  return std::ranges::any_of(input.running, [](const RunningCompaction& running) { return running.collects_blobs; });
}

// File numbers, ascending.
using BlobFileNumbers = std::vector<kv::FileNumber>;

void AddFiles(const version::VirtualTable& virtual_table, BlobFileNumbers* files) {
  for (const format::BlobShare& share : virtual_table.file->values) files->push_back(share.file);
}

// Blob files to which sources of running compactions refer, those to which unreadable keys refer, and those that are
// unreadable: they cannot be collected now.
BlobFileNumbers FilesInUse(const PickInput& input) {
  BlobFileNumbers files;
  const auto& runs = input.version.runs();
  for (size_t i = 0; i < runs.size(); ++i) {
    if (!IsHeld(input, {i, i}, {})) continue;
    for (const version::VirtualTable& virtual_table : runs[i]->virtual_tables()) AddFiles(virtual_table, &files);
  }
  if (input.unreadable != nullptr) {
    files.insert(files.end(), input.unreadable->blob_files.begin(), input.unreadable->blob_files.end());
  }
  for (const UnreadableKeys& each : UnreadableOf(input)) {
    const version::RunPtr run = input.version.FindRun(each.position);
    if (run == nullptr) continue;
    const auto [first, last] = run->Overlap(input.order, each.bounds);
    for (size_t i = first; i < last; ++i) AddFiles(run->virtual_tables()[i], &files);
  }
  std::ranges::sort(files);
  const auto repeated = std::ranges::unique(files);
  files.erase(repeated.begin(), repeated.end());
  return files;
}

using BlobFiles = std::vector<const version::BlobFile*>;

// The wanted files that can be collected, the oldest first; none if fewer than `least` are wanted.
// WHY FilesInUse last: it visits all tables that are being compacted.
template <typename IsWanted>
BlobFiles FreeFiles(const PickInput& input, size_t least, IsWanted&& is_wanted) {
  BlobFiles files;
  for (const version::BlobFile& each : input.version.blob_files()) {
    if (is_wanted(each)) files.push_back(&each);
  }
  if (files.size() < least) return {};
  const BlobFileNumbers in_use = FilesInUse(input);
  std::erase_if(files,
                [&](const version::BlobFile* each) { return std::ranges::binary_search(in_use, each->file->number); });
  return files;
}

struct Choice {
  BlobFileNumbers files;
  uint64_t live_bytes = 0;
};

// The share of garbage; while writes come, times the square root of the file's age. `newest`: the newest blob file; the
// age is the number of files that were made since.
double Gain(const PickInput& input, const version::BlobFile& file, kv::FileNumber newest) {
  const double share = static_cast<double>(file.garbage_bytes()) / static_cast<double>(file.file->record_bytes);
  if (input.urgency != Urgency::kWriting) return share;
  return share * std::sqrt(static_cast<double>(kv::ToInt(newest) - kv::ToInt(file.file->number) + 1));
}

// The files with the largest gain, until their garbage reaches `over` or their live bytes reach the limit of one
// collection. While writes come, `over` does not end the choice: more will be over the bound at the end.
Choice ChooseFiles(const PickInput& input, const SpaceBound& bound, uint64_t over) {
  BlobFiles candidates =
      FreeFiles(input, 1, [&](const version::BlobFile& each) { return IsWorthCollecting(each, bound); });
  if (candidates.empty()) return {};
  const kv::FileNumber newest = input.version.blob_files().back().file->number;
  std::ranges::stable_sort(candidates, std::greater<>(),
                           [&](const version::BlobFile* each) { return Gain(input, *each, newest); });
  const uint64_t live_bytes_max = MovedBytesMax(input);
  Choice choice;
  uint64_t garbage = 0;
  for (const version::BlobFile* each : candidates) {
    const bool is_enough = input.urgency != Urgency::kWriting && garbage >= over;
    if (!choice.files.empty() && (is_enough || choice.live_bytes + each->live_bytes > live_bytes_max)) break;
    choice.files.push_back(each->file->number);
    choice.live_bytes += each->live_bytes;
    garbage += each->garbage_bytes();
  }
  std::ranges::sort(choice.files);
  return choice;
}

// A file of a whole memtable is not small.
uint64_t SmallFileBytes(const PickInput& input) { return std::min(kMebibyte, FlushBytes(input) / 4); }

// Small files, the oldest first, up to the limit of one collection; none unless there are many.
Choice ChooseSmallFiles(const PickInput& input) {
  const uint64_t small_bytes = SmallFileBytes(input), live_bytes_max = CollectedBytesMax(input.version);
  const auto is_small = [&](const version::BlobFile& each) { return each.file->record_bytes < small_bytes; };
  Choice choice;
  for (const version::BlobFile* each : FreeFiles(input, kSmallFilesMax + 1, is_small)) {
    if (choice.live_bytes + each->live_bytes > live_bytes_max) break;
    choice.files.push_back(each->file->number);
    choice.live_bytes += each->live_bytes;
  }
  return choice.files.size() > kSmallFilesMax ? choice : Choice{};
}

// For each blob file, the bytes of all values to which the tables refer that refer to the file.
std::map<kv::FileNumber, uint64_t> BytesAround(const version::Version& version) {
  std::map<kv::FileNumber, uint64_t> around;
  for (const version::RunPtr& run : version.runs()) {
    for (const version::VirtualTable& virtual_table : run->virtual_tables()) {
      const uint64_t bytes = virtual_table.file->value_bytes();
      for (const format::BlobShare& share : virtual_table.file->values) around[share.file] += bytes;
    }
  }
  return around;
}

// The oldest files that share their key ranges with several others, up to the space that is free.
Choice ChooseScatteredFiles(const PickInput& input) {
  const auto around = BytesAround(input.version);
  const auto is_scattered = [&](const version::BlobFile& each) {
    const auto neighbours = around.find(each.file->number);
    return neighbours != around.end() && neighbours->second >= kScatteredFilesMin * each.live_bytes;
  };
  const uint64_t live_bytes_max = FreeBytes(input);
  Choice choice;
  for (const version::BlobFile* each : FreeFiles(input, kScatteredFilesMin, is_scattered)) {
    if (choice.files.size() == kScatteredFilesMax || choice.live_bytes + each->live_bytes > live_bytes_max) break;
    choice.files.push_back(each->file->number);
    choice.live_bytes += each->live_bytes;
  }
  return choice.files.size() >= kScatteredFilesMin ? choice : Choice{};
}

bool RefersTo(const format::FileMeta& table, const BlobFileNumbers& victims) {
  auto victim = victims.begin();
  for (const format::BlobShare& share : table.values) {
    while (victim != victims.end() && *victim < share.file) ++victim;
    if (victim == victims.end()) return false;
    if (*victim == share.file) return true;
  }
  return false;
}

bool Shows(const kv::Order& order, const version::VirtualTable& virtual_table, const format::Bounds& bounds) {
  if (bounds.upper && order.CompareKeys(virtual_table.smallest(), *bounds.upper) >= 0) return false;
  return !bounds.lower || !virtual_table.IsBefore(order, *bounds.lower);
}

// The runs and keys of the tables that refer to victims, within `limit`.
struct BlobReferences {
  format::Bounds limit;
  bool is_empty = true;
  Span span;
  std::string_view lower;
  std::vector<const version::VirtualTable*> lasts;  // the last such table of each run

  void Add(const PickInput& input, size_t index, const BlobFileNumbers& victims) {
    const version::VirtualTable* last = nullptr;
    for (const version::VirtualTable& virtual_table : input.version.runs()[index]->virtual_tables()) {
      if (!RefersTo(*virtual_table.file, victims) || !Shows(input.order, virtual_table, limit)) continue;
      if (is_empty) {
        span = {.newest = index, .oldest = index};
        lower = virtual_table.smallest();
        is_empty = false;
      }
      if (last == nullptr && input.order.CompareKeys(virtual_table.smallest(), lower) < 0)
        lower = virtual_table.smallest();
      last = &virtual_table;
    }
    if (last == nullptr) return;
    span.oldest = index;
    lasts.push_back(last);
  }

  // The first key of the span's virtual tables that is larger than all keys of `lasts`.
  std::optional<std::string> Upper(const PickInput& input) const {
    std::optional<std::string_view> upper;
    for (size_t i = span.newest; i <= span.oldest; ++i) {
      for (const version::VirtualTable& virtual_table : input.version.runs()[i]->virtual_tables()) {
        const std::string_view key = virtual_table.smallest();
        if (upper && input.order.CompareKeys(key, *upper) >= 0) continue;
        if (std::ranges::all_of(lasts,
                                [&](const version::VirtualTable* last) { return last->IsBefore(input.order, key); }))
          upper = key;
      }
    }
    return upper ? std::optional<std::string>(*upper) : std::nullopt;
  }
  format::Bounds Bounds(const PickInput& input) const {
    return version::Intersection(input.order, limit, {.lower = std::string(lower), .upper = Upper(input)});
  }
};

// The runs and keys of one collection.
struct Area {
  Span span;
  format::Bounds bounds;
};

// The runs and keys within `limit` that refer to the victims. Unreadable keys in between are left out: the area is then
// a part, and the next picks take the others: the newer runs, the older runs, and the other keys of the run itself.
// Nothing if a running compaction blocks it.
std::optional<Area> AreaOf(const PickInput& input, const BlobFileNumbers& victims, const Area& limit) {
  BlobReferences references;
  references.limit = limit.bounds;
  for (size_t i = limit.span.newest; i <= limit.span.oldest; ++i) references.Add(input, i, victims);
  if (references.is_empty) return std::nullopt;
  const Area area{.span = references.span, .bounds = references.Bounds(input)};
  if (IsHeld(input, area.span, area.bounds)) return std::nullopt;
  const auto& runs = input.version.runs();
  for (const UnreadableKeys& each : UnreadableOf(input)) {
    size_t index = area.span.newest;
    while (index <= area.span.oldest && runs[index]->position() != each.position) ++index;
    if (index > area.span.oldest || !version::Intersect(input.order, each.bounds, area.bounds)) continue;
    std::vector<Area> parts;
    if (index > area.span.newest) parts.push_back({{area.span.newest, index - 1}, area.bounds});
    if (index < area.span.oldest) parts.push_back({{index + 1, area.span.oldest}, area.bounds});
    const bool begins_before =
        each.bounds.lower &&
        (!area.bounds.lower || input.order.CompareKeys(*area.bounds.lower, *each.bounds.lower) < 0);
    if (begins_before) parts.push_back({{index, index}, {.lower = area.bounds.lower, .upper = each.bounds.lower}});
    const bool ends_behind = each.bounds.upper && (!area.bounds.upper ||
                                                   input.order.CompareKeys(*each.bounds.upper, *area.bounds.upper) < 0);
    if (ends_behind) parts.push_back({{index, index}, {.lower = each.bounds.upper, .upper = area.bounds.upper}});
    for (const Area& part : parts) {
      if (auto found = AreaOf(input, victims, part)) return found;
    }
    return std::nullopt;
  }
  return area;
}

// Nothing if a running compaction blocks it.
std::optional<CompactionPick> CollectFiles(const PickInput& input, const Choice& choice, CompactionReason reason) {
  if (choice.files.empty()) return std::nullopt;
  const auto& runs = input.version.runs();
  if (runs.empty()) return std::nullopt;
  auto area = AreaOf(input, choice.files, {.span = {.newest = 0, .oldest = runs.size() - 1}, .bounds = {}});
  if (!area) return std::nullopt;
  // A collection of few files may need many sources, and needs all of them at once.
  if (input.sources_max < kSourcesMax && area->span.oldest - area->span.newest >= input.sources_max)
    return std::nullopt;
  const version::Run& oldest = *runs[area->span.oldest];
  CompactionPick pick = MakePick(input, area->span, std::move(area->bounds), oldest.level(), reason);
  pick.blob_files_to_collect = choice.files;
  pick.output_file_bytes = PartitionBytes(oldest.bytes());
  return pick;
}

}  // namespace

// MEASURED: the simulator, overwrites of 1 KB values: a pass over the tables costs as much as moving their
// bytes, so one collection should move at least as many bytes as the tables have.
uint64_t CollectedBytesMax(const version::Version& version) {
  if (version.record_bytes() == 0) return 0;
  return std::max(2 * PartitionBytes(version.record_bytes()), version.bytes());
}

bool BlobGarbageComesFirst(const PickInput& input) {
  const SpaceBound bound = BlobGarbageBound(input);
  if (input.version.garbage_bytes() == 0 || CollectsBlobs(input) || BytesToCollect(input) == 0) return false;
  uint64_t upper = 0;
  for (size_t i = 0; i + 1 < input.version.runs().size(); ++i) upper += input.version.runs()[i]->bytes_with_values();
  uint64_t garbage = 0;
  for (const version::BlobFile& each : input.version.blob_files()) {
    if (IsWorthCollecting(each, bound)) garbage += each.garbage_bytes();
  }
  return garbage > 0 && garbage >= kGarbageOverUpper * upper;
}

std::optional<CompactionPick> PickBlobGarbage(const PickInput& input) {
  const SpaceBound bound = BlobGarbageBound(input);
  const uint64_t over = BytesToCollect(input);
  if (over == 0 || input.version.garbage_bytes() == 0 || CollectsBlobs(input)) return std::nullopt;
  const Choice choice = ChooseFiles(input, bound, over);
  auto pick = CollectFiles(input, choice, CompactionReason::kBlobGarbage);
  if (pick) pick->input_bytes += choice.live_bytes;
  return pick;
}

std::optional<CompactionPick> PickSmallBlobs(const PickInput& input) {
  if (input.version.blob_files().size() <= kSmallFilesMax || CollectsBlobs(input)) return std::nullopt;
  const Choice choice = ChooseSmallFiles(input);
  auto pick = CollectFiles(input, choice, CompactionReason::kSmallBlobs);
  if (!pick || pick->input_bytes > choice.files.size() * kTableBytesPerSmallFile) return std::nullopt;
  pick->input_bytes += choice.live_bytes;
  return pick;
}

bool NeedsBlobOrder(const PickInput& input) {
  const uint64_t record_bytes = input.version.record_bytes();
  return record_bytes > 0 && input.scattered_bytes / kScatteredShare >= record_bytes;
}

std::optional<CompactionPick> PickBlobOrder(const PickInput& input) {
  if (!NeedsBlobOrder(input) || CollectsBlobs(input)) return std::nullopt;
  const Choice choice = ChooseScatteredFiles(input);
  auto pick = CollectFiles(input, choice, CompactionReason::kBlobOrder);
  if (pick) pick->input_bytes += choice.live_bytes;
  return pick;
}

}  // namespace mergedb::picker
