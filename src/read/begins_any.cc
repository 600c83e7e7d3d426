#include "read/begins_any.h"

#include "base/bytes.h"

namespace mergedb::read {
namespace {

bool StandsAt(kv::Iterator& iterator, const std::string& prefix) {
  iterator.Seek(prefix, kv::kTagMax);
  return iterator.Valid() && iterator.entry().key.starts_with(prefix);
}

}  // namespace

Result<bool> BeginsAnyKey(const kv::Order& order, table::Cache& tables, const SuperVersion& super_version,
                          const std::string& prefix) {
  const auto in_memtable = [&](memtable::Memtable& table) { return StandsAt(*table.NewIterator(), prefix); };
  if (in_memtable(*super_version.active)) return true;
  for (const auto& table : super_version.immutable) {
    if (in_memtable(*table)) return true;
  }
  const format::Bounds bounds{.lower = prefix, .upper = base::PrefixEnd(prefix)};
  for (const auto& run : super_version.version->runs()) {
    const auto [first, last] = run->Overlap(order, bounds);
    for (size_t i = first; i < last; ++i) {
      ASSIGN_OR_RETURN(const auto reader, tables.Open(run->virtual_tables()[i].file));
      const auto entries = reader->NewIterator({.in_place = false});
      if (StandsAt(*entries, prefix)) return true;
      RETURN_IF_ERROR(entries->status());
    }
  }
  return false;
}

}  // namespace mergedb::read
