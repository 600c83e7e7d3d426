#include "memtable/range_deletes.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace mergedb::memtable {

template <class Element>
void RangeDeletes::Chunks<Element>::MakeRoom(size_t i) {
  const size_t chunk = static_cast<size_t>(std::bit_width(i / kFirst + 1)) - 1;
  ASSERT(chunk < chunks_.size(), "an arena of 32 GiB holds fewer range deletes");
  // WHY relaxed: count_ is stored later, with release.
  if (chunks_[chunk].load(std::memory_order_relaxed) == nullptr) {
    chunks_[chunk].store(new Element[kFirst << chunk](), std::memory_order_relaxed);
  }
}

template <class Element>
Element& RangeDeletes::Chunks<Element>::operator[](size_t i) const {
  const size_t chunk = static_cast<size_t>(std::bit_width(i / kFirst + 1)) - 1;
  return chunks_[chunk].load(std::memory_order_relaxed)[i - kFirst * ((size_t{1} << chunk) - 1)];
}

RangeDeletes::~RangeDeletes() {
  for (size_t leaf = 1; leaf <= count() / kLeaf; ++leaf) delete nodes_[leaf - 1].load(std::memory_order_relaxed);
}

void RangeDeletes::Add(const kv::RangeTombstone& tombstone) {
  const size_t count = count_.load(std::memory_order_relaxed);
  DCHECK(count == 0 || deletes_[count - 1].sequence <= tombstone.sequence, "range deletes are added oldest first");
  deletes_.MakeRoom(count);
  deletes_[count] = tombstone;
  if ((count + 1) % kLeaf == 0) nodes_.MakeRoom((count + 1) / kLeaf - 1);
  // WHY release: a thread that reads the count also sees the counted elements.
  count_.store(count + 1, std::memory_order_release);
}

size_t RangeDeletes::CountUpTo(kv::Sequence sequence) const {
  size_t first = 0;
  for (size_t left = count(); left > 0;) {
    const size_t half = left / 2;
    const bool is_seen = deletes_[first + half].sequence <= sequence;
    first = is_seen ? first + half + 1 : first;
    left = is_seen ? left - half - 1 : half;
  }
  return first;
}

// The node of the leaves (leaf - lowest bit, leaf]. If two readers make it at once, one of the results stays.
const kv::RangeTombstones& RangeDeletes::NodeOf(size_t leaf) const {
  Node& node = nodes_[leaf - 1];
  const kv::RangeTombstones* made = node.load(std::memory_order_acquire);
  if (made != nullptr) return *made;
  std::vector<kv::RangeTombstone> covered;
  const size_t leaves = leaf & (~leaf + 1);
  covered.reserve(leaves * kLeaf);
  for (size_t i = (leaf - leaves) * kLeaf; i < leaf * kLeaf; ++i) covered.push_back(deletes_[i]);
  auto fresh = std::make_unique<const kv::RangeTombstones>(
      kv::RangeTombstones::Fragment(order_, std::move(covered), {}, kv::RangeTombstones::Keys::kViews));
  if (node.compare_exchange_strong(made, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
  return *made;
}

// Visits the first `count` deletes: the newest few one by one, the rest by their nodes, newest first.
template <class Visit, class VisitOne>
void RangeDeletes::VisitFirst(size_t count, Visit visit_node, VisitOne visit_delete) const {
  for (; count % kLeaf != 0; --count) visit_delete(deletes_[count - 1]);
  for (size_t leaf = count / kLeaf; leaf > 0; leaf &= leaf - 1) visit_node(NodeOf(leaf));
}

kv::Sequence RangeDeletes::MaskingSequence(std::string_view key, kv::Sequence sequence) const {
  kv::Sequence newest = 0;
  VisitFirst(
      CountUpTo(sequence),
      [&](const kv::RangeTombstones& node) {
        newest = std::max(newest, node.MaskingSequence(order_, key, kv::kSequenceMax));
      },
      [&](const kv::RangeTombstone& one) {
        const bool is_over = order_.CompareKeys(one.begin, key) <= 0 && order_.CompareKeys(key, one.end) < 0;
        if (is_over) newest = std::max(newest, one.sequence);
      });
  return newest;
}

kv::Mask RangeDeletes::Find(std::string_view key, kv::Sequence sequence) const {
  kv::Mask mask;
  const auto add = [&](const kv::Mask& more) { mask = kv::Combined(order_, mask, more); };
  VisitFirst(
      CountUpTo(sequence), [&](const kv::RangeTombstones& node) { add(node.Find(order_, key, kv::kSequenceMax)); },
      [&](const kv::RangeTombstone& one) {
        if (order_.CompareKeys(one.begin, one.end) >= 0) return;
        if (order_.CompareKeys(key, one.begin) < 0) return add({.upper = one.begin});
        if (order_.CompareKeys(key, one.end) >= 0) return add({.lower = one.end});
        add({.sequence = one.sequence, .lower = one.begin, .upper = one.end, .from = one.begin, .until = one.end});
      });
  return mask;
}

std::vector<kv::RangeTombstone> RangeDeletes::All() const {
  std::vector<kv::RangeTombstone> all;
  const size_t end = count();
  all.reserve(end);
  for (size_t i = 0; i < end; ++i) all.push_back(deletes_[i]);
  return all;
}

}  // namespace mergedb::memtable
