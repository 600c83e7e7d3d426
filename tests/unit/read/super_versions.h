// SuperVersions made by hand, of memtables and of runs with one table each, for the tests of read/.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "read/super_version.h"
#include "tests/unit/compaction/tables.h"

namespace mergedb::testing {

inline std::shared_ptr<memtable::Memtable> MemtableOf(const kv::Order& order,
                                                      const std::vector<OwnedEntry>& oldest_first) {
  auto table = std::make_shared<memtable::Memtable>(order, memtable::NewMemory(256 << 10));
  for (const OwnedEntry& entry : oldest_first) table->Add(entry.key, entry.tag, entry.value);
  return table;
}

// `runs`: newest first; each is the entries of its one table, in order.
inline read::SuperVersion ViewOf(Tables& tables, const std::vector<OwnedEntry>& active,
                                 const std::vector<OwnedEntry>& immutable,
                                 const std::vector<std::vector<OwnedEntry>>& runs) {
  read::SuperVersion view;
  view.active = MemtableOf(tables.order, active);
  if (!immutable.empty()) view.immutable.push_back(MemtableOf(tables.order, immutable));
  std::vector<version::RunPtr> made;
  uint64_t position = runs.size();
  for (const auto& entries : runs) {
    std::vector<version::VirtualTable> virtual_tables{{.file = tables.Write(entries), .bounds = {}}};
    made.push_back(std::make_shared<const version::Run>(kv::Position{position--}, 0, std::move(virtual_tables)));
  }
  view.version = std::make_shared<const version::Version>(std::move(made));
  return view;
}

}  // namespace mergedb::testing
