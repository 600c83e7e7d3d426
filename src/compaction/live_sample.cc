#include "compaction/live_sample.h"

#include <algorithm>
#include <cmath>

#include "base/hash.h"

namespace mergedb::compaction {

void LiveSample::Changes::Add(const kv::Entry& entry) {
  raw_bytes_ += entry.key.size() + entry.value.size();
  const uint64_t hash = base::Hash64(entry.key);
  // An equal hash at the back is an older version of the same key.
  if (hash > hash_max_ || (!changes_.empty() && changes_.back().hash == hash)) return;
  const kv::Kind kind = kv::KindOf(entry.tag);
  const uint64_t value_bytes = kind == kv::Kind::kMerge ? 0 : std::min<uint64_t>(entry.value.size(), kValueBytesMax);
  const uint64_t key_bytes = std::min<uint64_t>((entry.key.size() + 1) / 2, kValueBytesMax);
  changes_.push_back({.hash = hash, .bytes = kind == kv::Kind::kDelete ? 0 : key_bytes + value_bytes});
}

void LiveSample::Apply(const Changes& changes, uint64_t file_bytes) {
  const double share = changes.raw_bytes_ == 0
                           ? 1.0
                           : std::min(1.0, static_cast<double>(file_bytes) / static_cast<double>(changes.raw_bytes_));
  for (const Changes::Change& change : changes.changes_) {
    Set(change.hash, static_cast<uint64_t>(share * static_cast<double>(change.bytes)));
  }
  while (bytes_of_.size() > kKeysMax) Thin();
  Publish();
}

void LiveSample::Forget() {
  hash_max_ = UINT64_MAX;
  bytes_of_.clear();
  sum_ = sum_of_squares_ = 0;
  Publish();
}

void LiveSample::Set(uint64_t hash, uint64_t bytes) {
  const auto [at, is_new] = bytes_of_.try_emplace(hash, 0);
  sum_ += bytes - at->second;
  sum_of_squares_ += bytes * bytes - at->second * at->second;
  if (bytes == 0) {
    bytes_of_.erase(at);
  } else {
    at->second = bytes;
  }
}

void LiveSample::Thin() {
  hash_max_ /= 2;
  for (auto at = bytes_of_.begin(); at != bytes_of_.end();) {
    if (at->first <= hash_max_) {
      ++at;
      continue;
    }
    sum_ -= at->second;
    sum_of_squares_ -= at->second * at->second;
    at = bytes_of_.erase(at);
  }
}

// The variance of the estimate, if each value is in the sample with probability p: sum of (1 - p) x squares,
// divided by p squared.
void LiveSample::Publish() {
  const double taken = (static_cast<double>(hash_max_) + 1) / std::ldexp(1.0, 64);
  const double deviation = std::sqrt((1 - taken) * static_cast<double>(sum_of_squares_));
  const double least = (static_cast<double>(sum_) - 3 * deviation) / taken;
  bytes_at_least_.store(least <= 0 ? 0 : static_cast<uint64_t>(least), std::memory_order_relaxed);
}

}  // namespace mergedb::compaction
