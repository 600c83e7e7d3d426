#include "read/heat.h"

#include <algorithm>
#include <new>

namespace mergedb::read {

void Heat::Note(Kind kind, std::string_view key, uint64_t calls) noexcept {
  if (key.size() > kKeyBytesMax) {
    if (!is_bytewise_) return;
    key = key.substr(0, kKeyBytesMax);
  }
  if (!mutex_.try_lock()) return;
  Ring& ring = rings_[static_cast<size_t>(kind)];
  if (ring.slots == nullptr) ring.slots.reset(new (std::nothrow) Slot[kSamples]);
  if (ring.slots != nullptr) {
    Slot& slot = ring.slots[ring.count++ % kSamples];
    std::copy(key.begin(), key.end(), slot.key.begin());
    slot.key_bytes = static_cast<uint8_t>(key.size());
    slot.calls = calls;
    slot.nanos = ring.now_nanos;
  }
  mutex_.unlock();
}

std::vector<Heat::Sample> Heat::Take(Kind kind, uint64_t now_nanos, uint64_t since_nanos) {
  std::vector<Sample> samples;
  samples.reserve(kSamples);
  base::Lock lock(mutex_);
  Ring& ring = rings_[static_cast<size_t>(kind)];
  if (ring.now_nanos == 0) {
    for (uint64_t i = 0; i < std::min<uint64_t>(ring.count, kSamples); ++i) ring.slots[i].nanos = now_nanos;
  }
  ring.now_nanos = now_nanos;
  for (uint64_t i = ring.count - std::min<uint64_t>(ring.count, kSamples); i < ring.count; ++i) {
    const Slot& slot = ring.slots[i % kSamples];
    if (slot.nanos < since_nanos) continue;
    samples.push_back({.key = std::string(slot.key.data(), slot.key_bytes), .calls = slot.calls, .nanos = slot.nanos});
  }
  return samples;
}

}  // namespace mergedb::read
