#include "read/pinned_tables.h"

#include <algorithm>
#include <functional>

namespace mergedb::read {

namespace {

// The first entry of `kept` that begins after `place`.
template <class Kepts>
auto FirstBehind(Kepts& kept, const char* place) {
  return std::upper_bound(kept.begin(), kept.end(), place, [](const char* at, const auto& each) {
    return std::less<const char*>()(at, each.mapped.data());
  });
}

}  // namespace

void PinnedTables::Keep(const format::FileMetaPtr& file, const std::shared_ptr<table::Reader>& reader) {
  const std::string_view mapped = reader->mapped();
  if (mapped.empty() || mapped.data() == last_.data()) return;
  const auto behind = FirstBehind(kept_, mapped.data());
  if (behind == kept_.begin() || std::prev(behind)->mapped.data() != mapped.data()) {
    kept_.insert(behind, {.mapped = mapped, .file = file, .reader = reader});
  }
  last_ = mapped;
}

bool PinnedTables::HoldsElsewhere(std::string_view bytes) {
  const auto behind = FirstBehind(kept_, bytes.data());
  if (behind == kept_.begin() || !IsIn(bytes, std::prev(behind)->mapped)) return false;
  last_ = std::prev(behind)->mapped;
  return true;
}

void PinnedTables::Clear() {
  kept_.clear();
  last_ = {};
}

}  // namespace mergedb::read
