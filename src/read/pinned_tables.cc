#include "read/pinned_tables.h"

#include <algorithm>
#include <functional>

namespace mergedb::read {

namespace {

// The first entry of `kept` that begins after `place`.
template <class Kepts>
auto FirstBehind(Kepts& kept, const char* place) {
  return std::upper_bound(kept.begin(), kept.end(), place, [](const char* at, const auto& each) {
    return std::less<const char*>()(at, each.bytes.data());
  });
}

}  // namespace

bool PinnedTables::IsKept(const char* begin) {
  if (begin == last_.data() || begin == before_.data()) return true;
  const auto behind = FirstBehind(kept_, begin);
  return behind != kept_.begin() && std::prev(behind)->bytes.data() == begin;
}

void PinnedTables::Add(Kept kept) {
  const std::string_view source = kept.bytes;
  kept_.insert(FirstBehind(kept_, source.data()), std::move(kept));
  NoteUse(source);
}

bool PinnedTables::HoldsElsewhere(std::string_view bytes) {
  if (IsIn(bytes, before_)) {
    std::swap(before_, last_);
    return true;
  }
  const auto behind = FirstBehind(kept_, bytes.data());
  if (behind == kept_.begin() || !IsIn(bytes, std::prev(behind)->bytes)) return false;
  NoteUse(std::prev(behind)->bytes);
  return true;
}

void PinnedTables::Clear() {
  kept_.clear();
  last_ = before_ = {};
}

}  // namespace mergedb::read
