#include "kv/range_tombstones.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "base/assert.h"
#include "base/heap_sort.h"

namespace mergedb::kv {
namespace {

// A reader of an old sequence looks at this many fragments in each direction for the ends of a masked span.
constexpr size_t kGroupStepsMax = 32;

// The tombstones of one stripe that contain the current border; the newest one is on top.
class Active {
 public:
  void Add(const RangeTombstone& tombstone) {
    heap_.push_back(&tombstone);
    std::push_heap(heap_.begin(), heap_.end(), IsOlder);
  }
  // The newest tombstone that ends after `border`; null if there is none.
  const RangeTombstone* Newest(const Order& order, std::string_view border) {
    while (!heap_.empty() && order.CompareKeys(heap_.front()->end, border) <= 0) {
      std::pop_heap(heap_.begin(), heap_.end(), IsOlder);
      heap_.pop_back();
    }
    return heap_.empty() ? nullptr : heap_.front();
  }

 private:
  static bool IsOlder(const RangeTombstone* a, const RangeTombstone* b) { return a->sequence < b->sequence; }
  std::vector<const RangeTombstone*> heap_;
};

std::vector<std::string_view> BordersOf(const Order& order, const std::vector<RangeTombstone>& tombstones) {
  std::vector<std::string_view> borders;
  borders.reserve(2 * tombstones.size());
  for (const RangeTombstone& tombstone : tombstones) {
    borders.push_back(tombstone.begin);
    borders.push_back(tombstone.end);
  }
  base::HeapSort(borders.begin(), borders.end(), [&](auto a, auto b) { return order.CompareKeys(a, b) < 0; });
  const auto repeated =
      std::unique(borders.begin(), borders.end(), [&](auto a, auto b) { return order.SameKey(a, b); });
  borders.erase(repeated, borders.end());
  return borders;
}

// Replaces the keys by views of one copy, which *keep holds.
void CopyKeys(std::vector<std::string_view>* keys, std::shared_ptr<const void>* keep, size_t* bytes) {
  *bytes = 0;
  for (const std::string_view key : *keys) *bytes += key.size();
  auto copy = std::make_shared<std::string>();
  copy->reserve(*bytes);
  for (const std::string_view key : *keys) copy->append(key);
  const char* at = copy->data();
  for (std::string_view& key : *keys) {
    key = {at, key.size()};
    at += key.size();
  }
  *keep = std::move(copy);
}

}  // namespace

OptionalKey LaterOf(const Order& order, OptionalKey a, OptionalKey b) {
  if (!a || !b) return a ? a : b;
  return order.CompareKeys(*a, *b) >= 0 ? a : b;
}

OptionalKey EarlierOf(const Order& order, OptionalKey a, OptionalKey b) {
  if (!a || !b) return a ? a : b;
  return order.CompareKeys(*a, *b) <= 0 ? a : b;
}

Mask Combined(const Order& order, const Mask& a, const Mask& b) {
  Mask both{.sequence = std::max(a.sequence, b.sequence),
            .lower = LaterOf(order, a.lower, b.lower),
            .upper = EarlierOf(order, a.upper, b.upper)};
  const Mask& known = a.sequence > 0 ? a : b;
  both.from = known.from;
  both.until = known.until;
  if (a.sequence > 0 && b.sequence > 0) {
    if (order.CompareKeys(b.from, a.from) < 0) both.from = b.from;
    if (order.CompareKeys(b.until, a.until) > 0) both.until = b.until;
  }
  return both;
}

// Visits the borders in order: between two neighbouring borders, the same tombstones contain every key.
RangeTombstones RangeTombstones::Fragment(const Order& order, std::vector<RangeTombstone> tombstones,
                                          const Stripes& stripes, Keys keys) {
  std::erase_if(tombstones, [&](const RangeTombstone& each) { return order.CompareKeys(each.begin, each.end) >= 0; });
  if (tombstones.empty()) return {};
  base::HeapSort(tombstones.begin(), tombstones.end(), [&](const RangeTombstone& a, const RangeTombstone& b) {
    return order.CompareKeys(a.begin, b.begin) < 0;
  });
  std::vector<std::string_view> borders = BordersOf(order, tombstones);
  std::shared_ptr<const void> keep;
  size_t kept_bytes = 0;
  if (keys == Keys::kCopies) CopyKeys(&borders, &keep, &kept_bytes);

  std::map<size_t, Active, std::greater<>> active;  // by stripe, newest first
  std::vector<Sequence> sequences;
  Builder builder;
  bool is_complete = true;
  size_t next = 0;
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    for (; next < tombstones.size() && order.CompareKeys(tombstones[next].begin, borders[i]) <= 0; ++next) {
      active[stripes.Of(tombstones[next].sequence)].Add(tombstones[next]);
    }
    sequences.clear();
    for (auto& [stripe, of_stripe] : active) {
      if (const auto* newest = of_stripe.Newest(order, borders[i])) sequences.push_back(newest->sequence);
    }
    if (sequences.empty()) continue;
    is_complete &= builder.Add(order, borders[i], borders[i + 1], sequences);
  }
  RangeTombstones fragmented = builder.Finish(order, std::move(keep), kept_bytes);
  fragmented.is_complete_ = is_complete;
  return fragmented;
}

bool RangeTombstones::Builder::Add(const Order& order, std::string_view begin, std::string_view end,
                                   std::span<const Sequence> sequences) {
  auto& fragments = built_.fragments_;
  if (sequences.empty() || order.CompareKeys(begin, end) >= 0) return false;
  for (size_t i = 1; i < sequences.size(); ++i) {
    if (sequences[i - 1] <= sequences[i]) return false;
  }
  const int gap = fragments.empty() ? 1 : order.CompareKeys(begin, fragments.back().end);
  if (gap < 0) return false;
  if (gap == 0) {
    const auto before = built_.sequences(fragments.size() - 1);
    if (std::equal(before.begin(), before.end(), sequences.begin(), sequences.end())) {
      fragments.back().end = end;
      return true;
    }
  }
  if (built_.sequences_.size() + sequences.size() > UINT32_MAX) return false;
  fragments.push_back({.begin = begin, .end = end, .first_sequence = static_cast<uint32_t>(built_.sequences_.size())});
  built_.sequences_.insert(built_.sequences_.end(), sequences.begin(), sequences.end());
  built_.newest_ = std::max(built_.newest_, sequences.front());
  built_.oldest_ = std::min(built_.oldest_, sequences.back());
  return true;
}

RangeTombstones RangeTombstones::Builder::Finish(const Order& order, std::shared_ptr<const void> keep,
                                                 size_t kept_bytes) {
  built_.keep_ = std::move(keep);
  built_.kept_bytes_ = kept_bytes;
  built_.fragments_.shrink_to_fit();
  built_.sequences_.shrink_to_fit();
  built_.FormGroups(order);
  return std::move(built_);
}

void RangeTombstones::FormGroups(const Order& order) {
  end_prefixes_.resize(size());
  size_t first = 0;
  for (size_t i = 0; i < size(); ++i) {
    end_prefixes_[i] = order.Prefix(fragments_[i].end);
    if (i + 1 < size() && order.SameKey(fragments_[i].end, fragments_[i + 1].begin)) continue;
    for (size_t member = first; member <= i; ++member) {
      fragments_[member].group_first = static_cast<uint32_t>(first);
      fragments_[member].group_end = static_cast<uint32_t>(i + 1);
    }
    first = i + 1;
  }
}

size_t RangeTombstones::memory_bytes() const {
  return size() * (sizeof(Fragmented) + sizeof(uint64_t)) + sequences_.size() * sizeof(Sequence) + kept_bytes_;
}

size_t RangeTombstones::FindIndex(const Order& order, std::string_view key) const {
  const uint64_t prefix = order.Prefix(key);
  size_t first = 0;
  for (size_t left = size(); left > 0;) {
    const size_t half = left / 2;
    const size_t at = first + half;
    const bool is_before =
        end_prefixes_[at] != prefix ? end_prefixes_[at] < prefix : order.CompareKeys(fragments_[at].end, key) <= 0;
    first = is_before ? at + 1 : first;
    left = is_before ? left - half - 1 : half;
  }
  return first;
}

Sequence RangeTombstones::NewestUpTo(size_t i, Sequence sequence) const {
  for (const Sequence each : sequences(i)) {
    if (each <= sequence) return each;
  }
  return 0;
}

Sequence RangeTombstones::MaskingSequence(const Order& order, std::string_view key, Sequence sequence) const {
  if (empty()) [[likely]]
    return 0;
  const size_t i = FindIndex(order, key);
  if (i == size() || order.CompareKeys(fragments_[i].begin, key) > 0) return 0;
  return NewestUpTo(i, sequence);
}

// True if `i` is the result of FindIndex.
bool RangeTombstones::IsIndexOf(const Order& order, size_t i, std::string_view key) const {
  return i <= size() && (i == size() || order.CompareKeys(fragments_[i].end, key) > 0) &&
         (i == 0 || order.CompareKeys(fragments_[i - 1].end, key) <= 0);
}

Mask RangeTombstones::FindNear(const Order& order, std::string_view key, Sequence sequence, size_t* hint) const {
  const bool is_same = IsIndexOf(order, *hint, key);
  if (!is_same && IsIndexOf(order, *hint + 1, key)) {
    ++*hint;
  } else if (!is_same && *hint > 0 && IsIndexOf(order, *hint - 1, key)) {
    --*hint;
  } else if (!is_same) {
    *hint = FindIndex(order, key);
  }
  return FindAt(order, *hint, key, sequence);
}

Mask RangeTombstones::FindAt(const Order& order, size_t i, std::string_view key, Sequence sequence) const {
  Mask mask;
  if (i == size() || order.CompareKeys(fragments_[i].begin, key) > 0) {
    if (i > 0) mask.lower = fragments_[i - 1].end;
    if (i < size()) mask.upper = fragments_[i].begin;
    return mask;
  }
  mask.lower = fragments_[i].begin;
  mask.upper = fragments_[i].end;
  mask.sequence = NewestUpTo(i, sequence);
  if (mask.sequence > 0) FindGroup(order, i, sequence, &mask);
  return mask;
}

// For a reader that sees all tombstones, the span is the whole group. For other readers it is a part of the group.
void RangeTombstones::FindGroup(const Order& order, size_t i, Sequence sequence, Mask* mask) const {
  const Fragmented& fragment = fragments_[i];
  size_t first = fragment.group_first;
  size_t end = fragment.group_end;
  if (sequence < newest_) {
    first = end = i;
    while (first > fragment.group_first && i - first < kGroupStepsMax && sequences(first - 1).back() <= sequence)
      --first;
    do { ++end; } while (end < fragment.group_end && end - i < kGroupStepsMax && sequences(end).back() <= sequence);
  }
  mask->from = fragments_[first].begin;
  mask->until = fragments_[end - 1].end;
  DCHECK(order.CompareKeys(mask->from, mask->until) < 0, "a group has keys");
}

void RangeTombstones::AppendTo(const Order& order, OptionalKey lower, OptionalKey upper,
                               std::vector<RangeTombstone>* out) const {
  for (size_t i = lower ? FindIndex(order, *lower) : 0; i < size(); ++i) {
    std::string_view first = begin(i);
    std::string_view last = end(i);
    if (lower && order.CompareKeys(first, *lower) < 0) first = *lower;
    if (upper && order.CompareKeys(last, *upper) > 0) last = *upper;
    if (order.CompareKeys(first, last) >= 0) {
      if (upper && order.CompareKeys(first, *upper) >= 0) return;
      continue;
    }
    for (const Sequence sequence : sequences(i)) out->push_back({.begin = first, .end = last, .sequence = sequence});
  }
}

}  // namespace mergedb::kv
