#include "testing/checked_iterator.h"

#include <algorithm>

#include "base/bytes.h"

namespace mergedb::testing {

std::string Short(std::string_view bytes) { return std::to_string(bytes.size()) + " bytes " + base::Escape(bytes, 40); }

std::string DifferenceOf(const Iterator& iterator, const std::pair<std::string, std::string>& expected) {
  if (iterator.key() != expected.first)
    return "at key " + Short(iterator.key()) + ", expected " + Short(expected.first);
  if (iterator.value() == expected.second) return {};
  return "key " + Short(expected.first) + " has " + Short(iterator.value()) + ", expected " + Short(expected.second);
}

std::optional<size_t> CheckedIterator::Target(uint64_t how, const std::string& key) const {
  const auto index_or_end = [&](size_t index) { return index < shown_.size() ? std::optional(index) : std::nullopt; };
  const auto before = [](size_t index) { return index == 0 ? std::nullopt : std::optional(index - 1); };
  if (how == 0) return index_or_end(0);
  if (how == 1) return before(shown_.size());
  if (how >= 9) return at_ ? before(*at_) : std::nullopt;
  if (how >= 6) return at_ ? index_or_end(*at_ + 1) : std::nullopt;
  const auto found = std::lower_bound(
      shown_.begin(), shown_.end(), key,
      [&](const auto& pair, const std::string& target) { return comparator_->Compare(pair.first, target) < 0; });
  const auto index = static_cast<size_t>(found - shown_.begin());
  const bool is_there = found != shown_.end() && comparator_->Compare(found->first, key) == 0;
  return how < 4 || is_there ? index_or_end(index) : before(index);
}

std::string CheckedIterator::Move(uint64_t how, const std::string& key) {
  static constexpr const char* kNames[kMoves] = {"SeekToFirst", "SeekToLast",  "Seek", "Seek",
                                                 "SeekForPrev", "SeekForPrev", "Next", "Next",
                                                 "Next",        "Prev",        "Prev", "Prev"};
  at_ = Target(how, key);
  if (how == 0) iterator_->SeekToFirst();
  if (how == 1) iterator_->SeekToLast();
  if (how == 2 || how == 3) iterator_->Seek(key);
  if (how == 4 || how == 5) iterator_->SeekForPrev(key);
  if (how >= 6 && how < 9) iterator_->Next();
  if (how >= 9) iterator_->Prev();

  const std::string what = kNames[how] + (how >= 2 && how < 6 ? " of " + Short(key) : "") + ": ";
  if (!iterator_->status().ok()) return what + iterator_->status().ToString();
  if (iterator_->Valid() && !at_) return what + "at key " + Short(iterator_->key()) + ", expected none";
  if (!iterator_->Valid() && at_) return what + "at no key, expected " + Short(shown_[*at_].first);
  const std::string difference = at_ ? DifferenceOf(*iterator_, shown_[*at_]) : "";
  return difference.empty() ? "" : what + difference;
}

}  // namespace mergedb::testing
