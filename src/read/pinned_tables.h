// The mapped tables that a reader was shown keys and values of, kept until it says that it is done: what lies in one of them may be used
// where it lies, however far the cursor has moved and whatever was merged meanwhile.
//
//     reader ── bytes shown ──► in a kept mapping? ── yes: good as long as this lives
//                                                  └─ no: from a memtable, a value file, a folded value: good until the next move
//
// WHY the table's description is kept as well as its reader: it is what keeps the file's name. Without it the file would become a spare and be
// written over under the mapping (docs/decisions/0018-spare-files.md).
// Tests: tests/unit/read/pinned_tables_test.cc, tests/unit/lmdb/pointers_test.cc. THREADS: none of it is for two threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "format/version_edit.h"
#include "table/reader.h"

namespace mergedb::read {

class PinnedTables {
 public:
  // Keeps the table from now on, if it is mapped. `file` is the one of the SuperVersion that the table was found in.
  void Keep(const format::FileMetaPtr& file, const std::shared_ptr<table::Reader>& reader);

  // Do all of these bytes lie in a kept table? Most are in the one of the last answer.
  bool Holds(std::string_view bytes) { return IsIn(bytes, last_) || (!kept_.empty() && HoldsElsewhere(bytes)); }

  size_t count() const { return kept_.size(); }
  void Clear();

 private:
  struct Kept {
    std::string_view mapped;
    format::FileMetaPtr file;
    std::shared_ptr<table::Reader> reader;
  };
  // WHY numbers: of pointers into different objects `<` says nothing. What begins before is very far behind.
  static bool IsIn(std::string_view bytes, std::string_view mapped) {
    const uintptr_t from = reinterpret_cast<uintptr_t>(bytes.data()) - reinterpret_cast<uintptr_t>(mapped.data());
    return from < mapped.size() && bytes.size() <= mapped.size() - from;
  }
  bool HoldsElsewhere(std::string_view bytes);

  std::vector<Kept> kept_;  // by address
  std::string_view last_;
};

}  // namespace mergedb::read
