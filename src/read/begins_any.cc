#include "read/begins_any.h"

#include "base/bytes.h"

namespace mergedb::read {
namespace {

Result<bool> StandsAt(kv::Iterator& iterator, const std::string& prefix) {
  iterator.Seek(prefix, kv::kTagMax);
  RETURN_IF_ERROR(iterator.status());
  return iterator.Valid() && iterator.entry().key.starts_with(prefix);
}

}  // namespace

Result<bool> BeginsAnyKey(const kv::Order& order, table::Cache& tables, const View& view, const std::string& prefix) {
  const auto in_memtable = [&](memtable::Memtable& table) { return StandsAt(*table.NewIterator(), prefix); };
  ASSIGN_OR_RETURN(bool is_found, in_memtable(*view.active));
  for (const auto& table : view.sealed) {
    if (is_found) return true;
    ASSIGN_OR_RETURN(is_found, in_memtable(*table));
  }
  const format::Bounds bounds{.lower = prefix, .upper = base::PrefixEnd(prefix)};
  for (const auto& run : view.version->runs()) {
    const auto [first, last] = run->Overlap(order, bounds);
    for (size_t i = first; i < last && !is_found; ++i) {
      ASSIGN_OR_RETURN(const auto reader, tables.Open(run->slices()[i].file));
      ASSIGN_OR_RETURN(is_found, StandsAt(*reader->NewIterator({}), prefix));
    }
  }
  return is_found;
}

}  // namespace mergedb::read
