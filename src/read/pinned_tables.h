// The mapped tables whose keys and values a reader was shown, kept until the reader releases them. Bytes in
// such a table can be used in place, however far the iterator has moved and whatever was compacted meanwhile.
//
//     reader ── bytes shown ──► in a kept mapping? ── yes: valid as long as this object keeps it
//                                                  └─ no: from a memtable, blob file or fold: valid until the next move
//
// WHY the file's metadata is kept as well as its reader: it keeps the file from being recycled. A recycled
// file is overwritten, under the mapping (docs/decisions/0018-spare-files.md).
// Tests: tests/unit/read/pinned_tables_test.cc, tests/unit/lmdb/pointers_test.cc. THREADS: not for two
// threads at once.
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
  // Keeps the table from now on, if it is mapped. `file` comes from the SuperVersion in which the table was found.
  void Keep(const format::FileMetaPtr& file, const std::shared_ptr<table::Reader>& reader);

  // True if all of `bytes` lie in one kept table. Most bytes lie in the table of the last answer.
  bool Holds(std::string_view bytes) { return IsIn(bytes, last_) || (!kept_.empty() && HoldsElsewhere(bytes)); }

  size_t count() const { return kept_.size(); }
  void Clear();

 private:
  struct Kept {
    std::string_view mapped;
    format::FileMetaPtr file;
    std::shared_ptr<table::Reader> reader;
  };
  // WHY integers: `<` on pointers into different objects is unspecified. For bytes before the mapping the
  // difference wraps around to a very large number.
  static bool IsIn(std::string_view bytes, std::string_view mapped) {
    const uintptr_t from = reinterpret_cast<uintptr_t>(bytes.data()) - reinterpret_cast<uintptr_t>(mapped.data());
    return from < mapped.size() && bytes.size() <= mapped.size() - from;
  }
  bool HoldsElsewhere(std::string_view bytes);

  std::vector<Kept> kept_;  // sorted by address
  std::string_view last_;
};

}  // namespace mergedb::read
