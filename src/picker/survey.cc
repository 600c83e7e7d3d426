#include "picker/survey.h"

#include <algorithm>
#include <optional>
#include <string_view>

namespace mergedb::picker {

namespace {

struct PositionRange {
  kv::Position oldest;
  kv::Position newest;
};

PositionRange RangeOf(const RunningCompaction& running) {
  return {.oldest = running.sources.back(), .newest = running.sources.front()};
}

bool VirtualTablesMeet(const kv::Order& order, const version::Run& a, const version::Run& b) {
  const bool a_is_shorter = a.virtual_tables().size() <= b.virtual_tables().size();
  const version::Run& shorter = a_is_shorter ? a : b;
  const version::Run& longer = a_is_shorter ? b : a;
  for (const version::VirtualTable& virtual_table : shorter.virtual_tables()) {
    const size_t index = longer.FindIndex(order, virtual_table.smallest());
    if (index < longer.virtual_tables().size() &&
        !virtual_table.IsBefore(order, longer.virtual_tables()[index].smallest()))
      return true;
  }
  return false;
}

// The smallest and the largest key that the added virtual tables show; `smallest` is empty without virtual tables.
struct Hull {
  std::optional<std::string_view> smallest;
  std::string_view largest;
  bool largest_is_open = false;

  void Add(const kv::Order& order, const version::VirtualTable& virtual_table) {
    const int beyond = smallest ? order.CompareKeys(virtual_table.largest(), largest) : 1;
    if (beyond >= 0) largest_is_open = virtual_table.largest_is_open() && (beyond > 0 || largest_is_open);
    if (beyond > 0) largest = virtual_table.largest();
    if (!smallest || order.CompareKeys(virtual_table.smallest(), *smallest) < 0) smallest = virtual_table.smallest();
  }
  bool EndsBefore(const kv::Order& order, std::string_view key) const {
    const int compared = order.CompareKeys(largest, key);
    return largest_is_open ? compared <= 0 : compared < 0;
  }
};

}  // namespace

bool AnyKeyBelow(const kv::Order& order, const version::Version& version, Span span, const format::Bounds& bounds) {
  const auto& runs = version.runs();
  if (span.oldest + 1 == runs.size()) return false;
  Hull hull;
  for (size_t i = span.newest; i <= span.oldest; ++i) {
    const auto [first, last] = runs[i]->Overlap(order, bounds);
    if (first == last) continue;
    hull.Add(order, runs[i]->virtual_tables()[first]);
    hull.Add(order, runs[i]->virtual_tables()[last - 1]);
  }
  if (!hull.smallest) return false;
  return std::any_of(
      runs.begin() + static_cast<ptrdiff_t>(span.oldest) + 1, runs.end(), [&](const version::RunPtr& run) {
        const size_t index = run->FindIndex(order, *hull.smallest);
        return index < run->virtual_tables().size() && !hull.EndsBefore(order, run->virtual_tables()[index].smallest());
      });
}

std::span<const UnreadableKeys> UnreadableOf(const PickInput& input) {
  if (input.unreadable == nullptr) return {};
  return input.unreadable->keys;
}

bool IsUnreadable(const PickInput& input, Span span, const format::Bounds& bounds) {
  const auto& runs = input.version.runs();
  return std::ranges::any_of(UnreadableOf(input), [&](const UnreadableKeys& each) {
    return each.position >= runs[span.oldest]->position() && each.position <= runs[span.newest]->position() &&
           version::Intersect(input.order, each.bounds, bounds);
  });
}

bool IsBlocked(const PickInput& input, Span span, const format::Bounds& bounds) {
  return IsHeld(input, span, bounds) || IsUnreadable(input, span, bounds);
}

bool IsHeld(const PickInput& input, Span span, const format::Bounds& bounds) {
  const auto& runs = input.version.runs();
  const kv::Position newest = runs[span.newest]->position();
  const kv::Position oldest = runs[span.oldest]->position();
  return std::ranges::any_of(input.running, [&](const RunningCompaction& running) {
    const PositionRange range = RangeOf(running);
    return range.newest >= oldest && range.oldest <= newest && version::Intersect(input.order, running.bounds, bounds);
  });
}

bool IsFree(const PickInput& input, size_t index) { return !IsBlocked(input, {index, index}, {}); }

bool ReachesOldest(const PickInput& input, const RunningCompaction& running) {
  return RangeOf(running).oldest <= input.version.runs().back()->position();
}

bool CanMove(const PickInput& input, Span span) {
  const auto& runs = input.version.runs();
  for (size_t i = span.newest; i < span.oldest; ++i) {
    if (runs[i]->bytes() < runs[i]->virtual_tables().size() * (input.flush_bytes / 4)) return false;
    for (size_t j = i + 1; j <= span.oldest; ++j) {
      if (VirtualTablesMeet(input.order, *runs[i], *runs[j])) return false;
    }
  }
  return true;
}

VirtualTableShares::VirtualTableShares(const version::Run& run) {
  if (run.partial_files().empty()) return;
  for (const version::VirtualTable& virtual_table : run.virtual_tables()) {
    if (!virtual_table.is_whole()) ++counts_[virtual_table.file->number];
  }
}

uint64_t BytesWithin(const kv::Order& order, const version::Run& run, const format::Bounds& bounds) {
  if (bounds == format::Bounds{}) return run.bytes();
  const VirtualTableShares shares(run);
  const auto [first, last] = run.Overlap(order, bounds);
  uint64_t bytes = 0;
  for (size_t i = first; i < last; ++i)
    bytes += run.virtual_tables()[i].file->bytes / shares.Of(run.virtual_tables()[i]);
  return bytes;
}

uint64_t BytesOf(const PickInput& input, size_t begin, size_t end) {
  uint64_t bytes = 0;
  for (size_t i = begin; i < end; ++i) bytes += input.version.runs()[i]->bytes_with_values();
  return bytes;
}

uint64_t FlushBytes(const PickInput& input) { return input.flush_bytes != 0 ? input.flush_bytes : 4 * kMebibyte; }

// MEASURED: db_bench fillrandom of 4 KB values with 1 MiB flushes, compactions included: 28.8 us a put at 16,
// 21.6 at 64.
size_t FlushedWidth(const PickInput& input) {
  return std::clamp<uint64_t>(64 * kMebibyte / FlushBytes(input), 16, kSourcesMax);
}

CompactionPick MakePick(const PickInput& input, Span span, format::Bounds bounds, format::Level target_level,
                        CompactionReason reason) {
  const auto& runs = input.version.runs();
  CompactionPick pick;
  for (size_t i = span.newest; i <= span.oldest; ++i) {
    pick.sources.push_back(runs[i]->position());
    pick.input_bytes += BytesWithin(input.order, *runs[i], bounds);
  }
  pick.is_bottommost = !AnyKeyBelow(input.order, input.version, span, bounds);
  pick.bounds = std::move(bounds);
  pick.target_level = target_level;
  pick.reason = reason;
  return pick;
}

}  // namespace mergedb::picker
