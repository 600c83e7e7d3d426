// MUTANT(name) in a patch of tests/mutants: true if the environment says MERGEDB_MUTANT=name.
//
// `./dev test mutants` applies all patches to a copy of the tree, in which each patched file includes this header. The
// sources of the repository do not use it.
// THREADS: any. The environment is read once for each place.
#pragma once

#include <cstdlib>
#include <cstring>

namespace mergedb::mutants {

inline bool IsActive(const char* name) {
  const char* const active = std::getenv("MERGEDB_MUTANT");
  return active != nullptr && std::strcmp(active, name) == 0;
}

}  // namespace mergedb::mutants

#define MUTANT(name)                                                   \
  ([]() noexcept {                                                     \
    static const bool is_active = ::mergedb::mutants::IsActive(#name); \
    return is_active;                                                  \
  }())
