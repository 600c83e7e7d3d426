// Which engine a program or library file contains: mergedb, LevelDB, LMDB or LSMDB. For the verb doctor.
//
// mergedb's code has an ELF note (src/base/elf_note.h). In a file without the note, LevelDB, LMDB and LSMDB show by
// the functions that the file defines, or, if the symbols are stripped, by a text that their code contains. A file that
// only calls these functions contains no engine. Only 64-bit ELF files of this machine's byte order are read.
#pragma once

#include <optional>
#include <string>

namespace mergedb::tool {

enum class Interface { kLevelDb, kLmdb, kLsmdb };
constexpr Interface kInterfaces[] = {Interface::kLevelDb, Interface::kLmdb, Interface::kLsmdb};
constexpr const char* kInterfaceNames[] = {"LevelDB", "LMDB", "LSMDB"};

struct EngineFile {
  std::string path;
  bool is_mergedb = false;
  std::string version;                // of mergedb
  std::string soname;                 // of a library: the name by which programs ask for it
  bool has_interface[3] = {};         // by Interface
  bool is_statically_linked = false;  // a program without a loader

  bool Has(Interface interface) const { return has_interface[static_cast<int>(interface)]; }
  bool HasEngine() const { return is_mergedb || has_interface[0] || has_interface[1] || has_interface[2]; }
};

// nullopt: the file cannot be read or is no 64-bit ELF file. `real_path` is where to read it, if that is elsewhere.
std::optional<EngineFile> ReadEngineFile(const std::string& path, const std::string& real_path = "");

}  // namespace mergedb::tool
