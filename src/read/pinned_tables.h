// The sources whose keys and values a reader was shown, kept until the reader releases them: mapped tables, mapped blob
// files, and memtables. Bytes in such a source can be used in place, however far the iterator has moved and whatever
// was compacted meanwhile.
//
//     reader ── bytes shown ──► in a kept source? ── yes: valid as long as this object keeps it
//                                                 └─ no: from a file that is not mapped, decompressed, or folded: valid
//                                                    until the next move
//
// A reader keeps a bounded amount of memory: files are mapped, and memtables with changes that its snapshot sees are at
// most those of the moment in which it began.
//
// WHY the file's metadata is kept as well as its reader: it keeps the file from being recycled. A recycled
// file is overwritten, under the mapping (docs/decisions/0018-recycled-files.md).
// Tests: tests/unit/read/pinned_tables_test.cc, tests/unit/lmdb/pointers_test.cc. THREADS: not for two
// threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "blob/reader.h"
#include "format/version_edit.h"
#include "memtable/memtable.h"
#include "table/reader.h"

namespace mergedb::read {

class PinnedTables {
 public:
  // Keep the source from now on, a file only if it is mapped. `file` comes from the SuperVersion in which it was found.
  void Keep(const format::FileMetaPtr& file, const std::shared_ptr<table::Reader>& reader) {
    Keep(reader->mapped(), file, reader);
  }
  void Keep(const format::BlobFilePtr& file, const std::shared_ptr<blob::Reader>& reader) {
    Keep(reader->mapped(), file, reader);
  }
  void Keep(const std::shared_ptr<memtable::Memtable>& table) { Keep(table->memory(), nullptr, table); }

  // True if all of `bytes` lie in one kept source. Most bytes lie in the source of one of the last two answers: keys in
  // a table, values in a blob file.
  bool Holds(std::string_view bytes) { return IsIn(bytes, last_) || (!kept_.empty() && HoldsElsewhere(bytes)); }

  size_t count() const { return kept_.size(); }
  void Clear();

 private:
  using Owner = std::shared_ptr<const void>;
  struct Kept {
    std::string_view bytes;
    Owner file;
    Owner reader;
  };
  // WHY integers: `<` on pointers into different objects is unspecified. For bytes before the source the
  // difference wraps around to a very large number.
  static bool IsIn(std::string_view bytes, std::string_view source) {
    const uintptr_t from = reinterpret_cast<uintptr_t>(bytes.data()) - reinterpret_cast<uintptr_t>(source.data());
    return from < source.size() && bytes.size() <= source.size() - from;
  }
  // WHY not by value: most sources are kept already.
  template <class File, class Reader>
  void Keep(std::string_view bytes, const File& file, const Reader& reader) {
    if (!bytes.empty() && !IsKept(bytes.data())) Add({.bytes = bytes, .file = file, .reader = reader});
  }
  bool IsKept(const char* begin);
  void Add(Kept kept);
  bool HoldsElsewhere(std::string_view bytes);
  void NoteUse(std::string_view source) { before_ = std::exchange(last_, source); }

  std::vector<Kept> kept_;  // sorted by address
  std::string_view last_;
  std::string_view before_;
};

}  // namespace mergedb::read
