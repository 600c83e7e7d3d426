#include "version/version.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/heap_sort.h"
#include "format/file_name.h"

namespace mergedb::version {

namespace {

void KeepEachOnce(std::vector<format::FileMetaPtr>* files) {
  const auto number = [](const format::FileMetaPtr& file) { return file->number; };
  std::ranges::sort(*files, {}, number);
  const auto is_same = [&](const auto& a, const auto& b) { return number(a) == number(b); };
  // WHY not ranges::unique: clang 14 cannot compile it.
  files->erase(std::unique(files->begin(), files->end(), is_same), files->end());
}

}  // namespace

Version::Version(std::vector<RunPtr> runs, const std::vector<format::BlobFilePtr>& blob_files)
    : runs_(std::move(runs)) {
  std::vector<format::FileMetaPtr> partial;
  std::vector<format::BlobShare> shares;
  for (const RunPtr& run : runs_) {
    weight_.Add(run->whole_weight());
    AddShares(run->whole_values(), &shares);
    partial.insert(partial.end(), run->partial_files().begin(), run->partial_files().end());
  }
  KeepEachOnce(&partial);
  for (const auto& file : partial) {
    weight_.Add(*file);
    AddShares(file->values, &shares);
  }
  TakeBlobFiles(shares, blob_files);
}

void Version::TakeBlobFiles(const std::vector<format::BlobShare>& shares,
                            const std::vector<format::BlobFilePtr>& blob_files) {
  blob_files_.reserve(shares.size());
  auto next = blob_files.begin();
  for (const format::BlobShare& share : shares) {
    while (next != blob_files.end() && (*next)->number < share.file) ++next;
    if (next == blob_files.end() || (*next)->number != share.file) {
      missing_ = share.file;
      continue;
    }
    const BlobFile blob_file{.file = *next, .live_bytes = std::min(share.bytes, (*next)->record_bytes)};
    blob_file_bytes_ += blob_file.file->bytes;
    record_bytes_ += blob_file.file->record_bytes;
    live_bytes_ += blob_file.live_bytes;
    blob_files_.push_back(blob_file);
    value_numbers_.push_back(share.file);
  }
}

const format::BlobFilePtr& Version::FindBlobFile(kv::FileNumber number) const {
  static const format::BlobFilePtr kNone;
  const auto found = std::ranges::lower_bound(value_numbers_, number);
  if (found == value_numbers_.end() || *found != number) return kNone;
  return blob_files_[static_cast<size_t>(found - value_numbers_.begin())].file;
}

RunPtr Version::FindRun(kv::Position position) const {
  const auto it =
      std::partition_point(runs_.begin(), runs_.end(), [&](const RunPtr& run) { return run->position() > position; });
  return it != runs_.end() && (*it)->position() == position ? *it : nullptr;
}

std::vector<format::FileMetaPtr> Version::file_metas() const {
  std::vector<format::FileMetaPtr> files;
  for (const RunPtr& run : runs_) {
    for (const VirtualTable& virtual_table : run->virtual_tables()) files.push_back(virtual_table.file);
  }
  KeepEachOnce(&files);
  return files;
}

std::set<kv::FileNumber> Version::files() const {
  std::set<kv::FileNumber> numbers;
  for (const auto& file : file_metas()) numbers.insert(numbers.end(), file->number);
  return numbers;
}

std::string Version::ToString() const {
  std::string text;
  for (const RunPtr& run : runs_) {
    text += "position " + std::to_string(kv::ToInt(run->position())) + " level " + std::to_string(run->level()) + ":";
    for (const VirtualTable& virtual_table : run->virtual_tables()) {
      text += " " + format::PrintFileNumber(virtual_table.file->number) + "[" + base::Escape(virtual_table.smallest()) +
              ".." + base::Escape(virtual_table.largest()) + (virtual_table.largest_is_open() ? ")" : "]");
    }
    text += "\n";
  }
  return text;
}

namespace {

// Limits for the compacted ranges of one table. WHY a limit to the size of a key: a key may have megabytes.
constexpr size_t kPiecesMax = 64;
constexpr size_t kBorderBytesMax = 1024;

// The arguments of CompactedRangesBy that are the same for all pieces.
struct CompactedRangesInput {
  const kv::Order& order;
  const Version& version;
  kv::Position newest;
  kv::Position oldest;

  bool IsSource(const Run& run) const { return run.position() <= newest && run.position() >= oldest; }
};

// The begins and ends of other runs' tables strictly within the bounds, fewer than kPiecesMax.
std::vector<std::string_view> Borders(const CompactedRangesInput& input, const format::Bounds& bounds) {
  const kv::Order& order = input.order;
  std::vector<std::string_view> borders;
  const auto add = [&](std::string_view key) {
    if (key.size() > kBorderBytesMax) return;
    if (bounds.lower && order.CompareKeys(key, *bounds.lower) <= 0) return;
    if (bounds.upper && order.CompareKeys(key, *bounds.upper) >= 0) return;
    borders.push_back(key);
  };
  for (const RunPtr& run : input.version.runs()) {
    if (input.IsSource(*run)) continue;
    const auto [first, last] = run->Overlap(order, bounds);
    for (size_t i = first; i < last; ++i) {
      add(run->virtual_tables()[i].smallest());
      add(run->virtual_tables()[i].largest());
    }
  }
  base::HeapSort(borders.begin(), borders.end(), [&](auto a, auto b) { return order.CompareKeys(a, b) < 0; });
  borders.erase(std::unique(borders.begin(), borders.end(), [&](auto a, auto b) { return order.SameKey(a, b); }),
                borders.end());
  if (borders.size() < kPiecesMax) return borders;
  std::vector<std::string_view> some;
  for (size_t i = 1; i < kPiecesMax; ++i) some.push_back(borders[borders.size() * i / kPiecesMax]);
  return some;
}

// WHY not the sequences of the inputs: after partial compactions newer runs may contain smaller sequences of other
// keys, and older runs larger ones.
std::optional<format::CompactedRange> CompactedRangeOf(const CompactedRangesInput& input, kv::Sequence largest,
                                                       format::Bounds bounds) {
  const auto& runs = input.version.runs();
  // WHY 1 if an older run exists, even without keys here: it may be compacted later without this output.
  kv::Sequence begin = runs.empty() || runs.back()->position() == input.oldest ? 0 : 1;
  kv::Sequence end = kv::kSequenceMax;
  for (const RunPtr& run : runs) {
    if (input.IsSource(*run)) continue;
    const auto [first, last] = run->Overlap(input.order, bounds);
    for (size_t i = first; i < last; ++i) {
      const format::FileMeta& file = *run->virtual_tables()[i].file;
      if (run->position() < input.oldest) {
        begin = std::max(begin, file.largest_sequence + 1);
      } else {
        end = std::min(end, file.smallest_sequence);
      }
    }
  }
  const kv::Sequence sequence = std::min(largest, end == 0 ? 0 : end - 1);
  if (begin > sequence) return std::nullopt;
  return format::CompactedRange{.from = begin, .sequence = sequence, .bounds = std::move(bounds)};
}

}  // namespace

std::vector<format::CompactedRange> CompactedRangesBy(const kv::Order& order, const Version& version,
                                                      kv::Position newest, kv::Position oldest,
                                                      const format::Bounds& bounds, kv::Sequence flushed) {
  const CompactedRangesInput input{.order = order, .version = version, .newest = newest, .oldest = oldest};
  kv::Sequence largest = flushed;  // WHY not 0: the tables' sequences may have been set to 0
  for (const RunPtr& run : version.runs()) {
    for (const VirtualTable& virtual_table : run->virtual_tables())
      largest = std::max(largest, virtual_table.file->largest_sequence);
  }
  std::vector<format::CompactedRange> all;
  const auto add = [&](format::Bounds piece) {
    auto compacted_ranges = CompactedRangeOf(input, largest, std::move(piece));
    if (!compacted_ranges) return;
    const bool goes_on = !all.empty() && all.back().bounds.upper == compacted_ranges->bounds.lower &&
                         all.back().from == compacted_ranges->from && all.back().sequence == compacted_ranges->sequence;
    if (goes_on) {
      all.back().bounds.upper = std::move(compacted_ranges->bounds.upper);
    } else {
      all.push_back(std::move(*compacted_ranges));
    }
  };
  std::optional<std::string> lower = bounds.lower;
  for (const std::string_view border : Borders(input, bounds)) {
    add({.lower = lower, .upper = std::string(border)});
    lower = std::string(border);
  }
  add({.lower = lower, .upper = bounds.upper});
  return all;
}

}  // namespace mergedb::version
