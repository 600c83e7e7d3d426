// Inputs of the iterator tests: a vector with a cursor, under StrictIterator, which detects a view that is used
// after a move, and a move while not valid; and random histories of a few keys.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "mergedb/merge.h"
#include "testing/strict_iterator.h"
#include "tests/unit/kv/iterator_contract.h"

namespace mergedb::iterator {

inline const kv::Order kOrder(BytewiseComparator());

using testing::OwnedEntry;

class VectorIterator final : public kv::Iterator {
 public:
  VectorIterator(std::vector<OwnedEntry> entries, const kv::Order& order, std::optional<size_t> gap)
      : entries_(std::move(entries)), order_(order), gap_(gap) {
    looks_ahead_ = true;
  }
  void SeekToFirst() override { GoTo(0); }
  void SeekToLast() override { GoTo(entries_.size() - 1); }
  void Seek(std::string_view key, kv::Tag tag) override {
    const kv::Entry target{.prefix = order_.Prefix(key), .key = key, .tag = tag, .value = {}};
    const auto found = std::partition_point(entries_.begin(), entries_.end(), [&](const OwnedEntry& entry) {
      return order_.Compare(testing::ViewOf(entry, order_), target) < 0;
    });
    GoTo(static_cast<size_t>(found - entries_.begin()));
  }
  void Next() override { GoTo(at_ + 1); }
  void Prev() override { GoTo(at_ - 1); }
  // Up to the end of a piece of kPiece entries, as table iterators look ahead up to the end of a block.
  size_t LookAhead(std::span<kv::Entry> ahead) override {
    size_t count = 0;
    for (size_t i = at_ + 1; count < ahead.size() && i < entries_.size() && i % kPiece != 0 && i != gap_; ++i) {
      ahead[count++] = testing::ViewOf(entries_[i], order_);
    }
    return count;
  }

 private:
  static constexpr size_t kPiece = 50;

  void GoTo(size_t index) {
    at_ = index;
    status_ = index == gap_ ? Status::IOError("gap") : Status();
    valid_ = index < entries_.size() && index != gap_;
    if (valid_) entry_ = testing::ViewOf(entries_[index], order_);
  }
  const std::vector<OwnedEntry> entries_;
  const kv::Order order_;
  const std::optional<size_t> gap_;
  size_t at_ = 0;
};

// `gap` is the index of an entry that cannot be read.
inline std::unique_ptr<kv::Iterator> Input(std::vector<OwnedEntry> entries,
                                           const Comparator* comparator = BytewiseComparator(),
                                           std::optional<size_t> gap = {}) {
  return std::make_unique<testing::StrictIterator>(
      std::make_unique<VectorIterator>(std::move(entries), kv::Order(comparator), gap), comparator);
}

inline OwnedEntry Put(std::string_view key, kv::Sequence sequence, std::string_view value = "") {
  return {std::string(key), kv::MakeTag(sequence, kv::Kind::kPut), std::string(value)};
}
inline OwnedEntry Delete(std::string_view key, kv::Sequence sequence) {
  return {std::string(key), kv::MakeTag(sequence, kv::Kind::kDelete), ""};
}

inline OwnedEntry Merge(std::string_view key, kv::Sequence sequence, std::string_view operand) {
  return {std::string(key), kv::MakeTag(sequence, kv::Kind::kMerge), std::string(operand)};
}

inline std::string Print(const kv::Entry& entry) {
  return kv::PrintKey(entry.key, entry.tag) + "=" + std::string(entry.value);
}

// Prints from the current entry to the end: "a#3,PUT=x b#1,DELETE= ...".
inline std::string PrintRest(kv::ForwardIterator& iterator) {
  std::string out;
  for (; iterator.Valid(); iterator.Next()) out += Print(iterator.entry()) + " ";
  if (!iterator.status().ok()) out += iterator.status().ToString();
  return out;
}
inline std::string PrintAll(kv::ForwardIterator& iterator) {
  iterator.SeekToFirst();
  return PrintRest(iterator);
}

inline void SortEntries(std::vector<OwnedEntry>* entries, const kv::Order& order) {
  std::stable_sort(entries->begin(), entries->end(), [&](const OwnedEntry& a, const OwnedEntry& b) {
    return order.Compare(testing::ViewOf(a, order), testing::ViewOf(b, order)) < 0;
  });
}

// Applies a change of one of the histories below to the model: key -> value.
inline void ApplyChange(const OwnedEntry& change, std::map<std::string, std::string>* model) {
  switch (kv::KindOf(change.tag)) {
    case kv::Kind::kPut: (*model)[change.key] = change.value; return;
    case kv::Kind::kDelete: model->erase(change.key); return;
    default: break;
  }
  const bool has_comma = change.value == merge::Append("x", {.delimiter = ","});
  const bool is_first = !model->contains(change.key);
  (*model)[change.key] += has_comma && !is_first ? ",x" : has_comma ? "x" : "y";
}

// As RandomHistory, with append operands of two types. Operands combine only with their own type.
inline std::vector<OwnedEntry> RandomMergeHistory(base::Random& random, size_t count, size_t keys) {
  std::vector<OwnedEntry> history;
  std::string key;
  for (size_t i = 1; i <= count; ++i) {
    if (i == 1 || random.OneIn(4)) key = "some/directory/" + std::to_string(random.Uniform(keys));
    const uint64_t choice = random.Uniform(8);
    history.push_back(choice == 0   ? Delete(key, i)
                      : choice == 1 ? Put(key, i, "v" + std::to_string(i))
                      : choice < 5  ? Merge(key, i, merge::Append("x", {.delimiter = ","}))
                                    : Merge(key, i, merge::Append("y")));
  }
  return history;
}

// Changes 1, 2, ... `count` to a small set of keys. Some keys have many versions in a row.
inline std::vector<OwnedEntry> RandomHistory(base::Random& random, size_t count, size_t keys) {
  std::vector<OwnedEntry> history;
  std::string key;
  for (size_t i = 1; i <= count; ++i) {
    if (i == 1 || random.OneIn(3)) key = "some/directory/" + std::to_string(random.Uniform(keys));
    const bool is_delete = random.OneIn(3);
    history.push_back(is_delete ? Delete(key, i) : Put(key, i, "v" + std::to_string(i)));
  }
  return history;
}

}  // namespace mergedb::iterator
