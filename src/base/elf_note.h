// The ELF note that marks a program or library that contains mergedb's code. `mergedb doctor` finds it, also after
// `strip` and in a library that exports only LevelDB's or LMDB's names. `readelf -n FILE` prints it.
//
// FORMAT: section .note.mergedb; owner "mergedb", type 1, description: the version as text, padded with zeros.
//
// One source file of each library includes this header, and no other file does: src/db/open.cc for every library with
// the engine, src/lsmdb/lsmdb.cc for liblsmdb.so.0. Test: tests/db/doctor_test.py.
#pragma once

#include <cstdint>

#include "mergedb/c.h"

#define MERGEDB_NOTE_TEXT_INNER(x) #x
#define MERGEDB_NOTE_TEXT(x) MERGEDB_NOTE_TEXT_INNER(x)

namespace mergedb {

struct ElfNote {
  uint32_t owner_bytes, description_bytes, type;
  char owner[8];
  char description[16];
};

// WHY no function refers to it: the linker keeps notes.
[[gnu::section(".note.mergedb"), gnu::used, gnu::aligned(4)]] static constexpr ElfNote kElfNote = {
    8, 16, 1, "mergedb",
    MERGEDB_NOTE_TEXT(MERGEDB_VERSION_MAJOR) "." MERGEDB_NOTE_TEXT(MERGEDB_VERSION_MINOR) "." MERGEDB_NOTE_TEXT(
        MERGEDB_VERSION_PATCH)};

}  // namespace mergedb
