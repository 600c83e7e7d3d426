#include "write/write_index.h"

#include <algorithm>

#include "base/assert.h"
#include "format/batch.h"

namespace mergedb::write {

void WriteIndex::Add(std::string_view written, kv::Sequence last) {
  format::BatchReader reader(written);
  while (reader.Next()) {
    if (reader.kind() == kv::Kind::kRangeDelete) {
      ranges_.push_back({std::string(reader.key()), std::string(reader.value()), last});
      bytes_ += reader.key().size() + reader.value().size() + kKeyOverheadBytes;
      continue;
    }
    const auto place = newest_.lower_bound(reader.key());
    if (place != newest_.end() && order_.SameKey(place->first, reader.key())) {
      place->second = last;
      continue;
    }
    newest_.emplace_hint(place, reader.key(), last);
    bytes_ += reader.key().size() + kKeyOverheadBytes;
  }
  ASSERT(reader.status().ok(), "the window has the keys that were added");
}

void WriteIndex::Forget(kv::Sequence first) {
  for (auto place = newest_.begin(); place != newest_.end();) {
    if (place->second >= first) {
      ++place;
      continue;
    }
    bytes_ -= place->first.size() + kKeyOverheadBytes;
    place = newest_.erase(place);
  }
  std::erase_if(ranges_, [&](const Range& range) {
    if (range.last >= first) return false;
    bytes_ -= range.begin.size() + range.end.size() + kKeyOverheadBytes;
    return true;
  });
}

bool WriteIndex::IsWritten(std::string_view key, kv::Sequence since) const {
  const auto place = newest_.find(key);
  if (place != newest_.end() && place->second > since) return true;
  for (auto range = ranges_.rbegin(); range != ranges_.rend() && range->last > since; ++range) {
    if (order_.CompareKeys(range->begin, key) <= 0 && order_.CompareKeys(key, range->end) < 0) return true;
  }
  return false;
}

std::optional<std::string> WriteIndex::FindWritten(std::optional<std::string_view> lower,
                                                   std::optional<std::string_view> upper, kv::Sequence since) const {
  for (auto range = ranges_.rbegin(); range != ranges_.rend() && range->last > since; ++range) {
    const bool ends_before = lower && order_.CompareKeys(range->end, *lower) <= 0;
    const bool begins_after = upper && order_.CompareKeys(range->begin, *upper) > 0;
    if (ends_before || begins_after || order_.CompareKeys(range->begin, range->end) >= 0) continue;
    const bool begins_inside = !lower || order_.CompareKeys(range->begin, *lower) > 0;
    return begins_inside ? range->begin : std::string(*lower);
  }
  for (auto place = lower ? newest_.lower_bound(*lower) : newest_.begin(); place != newest_.end(); ++place) {
    if (upper && order_.CompareKeys(place->first, *upper) > 0) break;
    if (place->second > since) return place->first;
  }
  return std::nullopt;
}

}  // namespace mergedb::write
