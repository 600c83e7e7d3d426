// Makes every move on an iterator and on the list of its expected entries, and compares the results.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mergedb/comparator.h"
#include "mergedb/iterator.h"
#include "testing/model_db.h"

namespace mergedb::testing {

// A move is a number below kMoves, so that it can be one of the numbers of an operation (random_ops.h).
inline constexpr uint64_t kMoves = 12;  // SeekToFirst, SeekToLast, Seek x 2, SeekForPrev x 2, Next x 3, Prev x 3

class CheckedIterator {
 public:
  CheckedIterator(std::unique_ptr<Iterator> iterator, ModelDb::Pairs shown, const Comparator* comparator)
      : iterator_(std::move(iterator)), shown_(std::move(shown)), comparator_(comparator) {}

  // Returns an empty string, or a description of the difference. REQUIRES: how < kMoves
  std::string Move(uint64_t how, const std::string& key);
  // The current entry according to the list; null if the iterator must be at no entry.
  const std::pair<std::string, std::string>* at() const { return at_ ? &shown_[*at_] : nullptr; }

  Iterator& iterator() { return *iterator_; }
  std::unique_ptr<Iterator> Take() && { return std::move(iterator_); }

 private:
  std::optional<size_t> Target(uint64_t how, const std::string& key) const;

  std::unique_ptr<Iterator> iterator_;
  ModelDb::Pairs shown_;
  const Comparator* comparator_;
  std::optional<size_t> at_;
};

// Returns an empty string, or a description of the difference.
std::string DifferenceOf(const Iterator& iterator, const std::pair<std::string, std::string>& expected);
// Shortens long keys and values for messages: "300 bytes abc...".
std::string Short(std::string_view bytes);

}  // namespace mergedb::testing
