#include "txn/read_set.h"

#include <iterator>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "format/batch.h"

namespace mergedb::txn {
namespace {

size_t SizeOf(const std::optional<std::string>& limit) { return limit ? limit->size() : 0; }

}  // namespace

void ReadSet::AddKey(std::string_view key) {
  // WHY: under other orders equal keys may differ in their bytes.
  if (!order_.is_bytewise()) return AddStretch(key, key);
  if (keys_.contains(key)) return;
  keys_.emplace(key);
  bytes_ += BytesOf(key.size());
}

bool ReadSet::EndsBefore(const Limit& upper, const Limit& lower) const {
  return upper && lower && order_.CompareKeys(*upper, *lower) < 0;
}

// The commonest case: a cursor moved on to a later key.
bool ReadSet::Grow(OptionalKey lower, OptionalKey upper) {
  if (last_ == stretches_.end() || !lower || !upper || !last_->second || *last_->second != *lower) return false;
  const auto next = std::next(last_);
  if (next != stretches_.end() && !EndsBefore(Limit(std::string(*upper)), next->first)) return false;
  const size_t bytes_before = last_->second->size();
  last_->second->assign(*upper);
  bytes_ += upper->size() - bytes_before;
  return true;
}

void ReadSet::AddStretch(OptionalKey lower, OptionalKey upper) {
  if (Grow(lower, upper)) return;
  Limit first = lower ? Limit(std::string(*lower)) : std::nullopt;
  Limit last = upper ? Limit(std::string(*upper)) : std::nullopt;
  ASSERT(!EndsBefore(last, first), "a range does not end before it begins");

  // The ranges [begin, end) overlap the new one, and become one with it.
  auto begin = stretches_.upper_bound(first);
  if (begin != stretches_.begin() && !EndsBefore(std::prev(begin)->second, first)) --begin;
  size_t bytes_replaced = 0;
  auto end = begin;
  for (; end != stretches_.end() && (!last || !EndsBefore(last, end->first)); ++end) {
    if (LowerLess{order_}(end->first, first)) first = end->first;
    if (!end->second || EndsBefore(last, end->second)) last = end->second;
    bytes_replaced += BytesOf(SizeOf(end->first) + SizeOf(end->second));
  }
  const size_t bytes_added = BytesOf(SizeOf(first) + SizeOf(last));
  Stretches fresh(LowerLess{order_});  // WHY: if memory runs out, no range is lost
  fresh.emplace(std::move(first), std::move(last));
  const auto behind = stretches_.erase(begin, end);
  last_ = stretches_.insert(behind, fresh.extract(fresh.begin()));
  bytes_ += bytes_added - bytes_replaced;
}

std::optional<std::string> ReadSet::Touched(std::string_view key) const {
  if (keys_.contains(key)) return std::string(key);
  auto place = stretches_.upper_bound(Limit(std::string(key)));
  if (place == stretches_.begin()) return std::nullopt;
  --place;
  if (place->second && order_.CompareKeys(*place->second, key) < 0) return std::nullopt;
  return std::string(key);
}

// A key of [begin, end) that the transaction has read, existing or not; nullopt: it has read none.
std::optional<std::string> ReadSet::TouchedIn(std::string_view begin, std::string_view end) const {
  for (const std::string& key : keys_) {
    if (order_.CompareKeys(begin, key) <= 0 && order_.CompareKeys(key, end) < 0) return key;
  }
  if (order_.CompareKeys(begin, end) >= 0) return std::nullopt;
  auto place = stretches_.lower_bound(Limit(std::string(end)));
  if (place == stretches_.begin()) return std::nullopt;
  --place;
  if (place->second && order_.CompareKeys(*place->second, begin) < 0) return std::nullopt;
  const bool begins_inside = place->first && order_.CompareKeys(*place->first, begin) > 0;
  return begins_inside ? *place->first : std::string(begin);
}

Status ReadSet::CheckAgainst(std::string_view written) {
  format::BatchReader reader(written);
  while (reader.Next()) {
    conflict_ =
        reader.kind() == kv::Kind::kRangeDelete ? TouchedIn(reader.key(), reader.value()) : Touched(reader.key());
    if (conflict_) return Conflict();
  }
  ASSERT(reader.status().ok(), "the window has the keys that were added");
  return {};
}

Status ReadSet::CheckAgainst(const write::WriteIndex& index, kv::Sequence since) {
  for (const std::string& key : keys_) {
    if (!index.IsWritten(key, since)) continue;
    conflict_ = key;
    return Conflict();
  }
  for (const auto& [lower, upper] : stretches_) {
    conflict_ = index.FindWritten(lower, upper, since);
    if (conflict_) return Conflict();
  }
  return {};
}

Status ReadSet::Conflict() const {
  return Status::Conflict("key \"" + base::Escape(*conflict_, 64) +
                          "\", which the transaction has read, was written by another commit after it began");
}

}  // namespace mergedb::txn
