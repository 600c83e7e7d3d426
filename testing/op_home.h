// The environment of an OpRunner's database. Either a SimulatedEnv, in which the list of operations controls the
// background work and may kill the process, or real files with real threads, through the C++ or the C interface.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "mergedb/db.h"
#include "testing/option_sets.h"

namespace mergedb::testing {

class OpHome {
 public:
  virtual ~OpHome() = default;

  virtual Result<std::unique_ptr<DB>> Open(OpenMode mode) = 0;
  virtual Status Destroy() = 0;
  // The environment of a process that starts after a kill of this one. Null if this home does not support kills.
  virtual std::unique_ptr<OpHome> AfterKill(uint64_t seed) = 0;
  // Runs one step of background work; the home chooses which. Returns false if no work is queued.
  virtual bool RunOne() = 0;
  virtual void PassSeconds(uint64_t seconds) = 0;
  virtual FileSystem* files() = 0;
  // A path outside of the database, in files().
  virtual std::string PathBeside(const std::string& name) = 0;
  // Covers the names and the bytes of all files.
  virtual uint64_t Fingerprint() = 0;
};

// `set` must outlive the home. The same seed gives the same order of background work.
std::unique_ptr<OpHome> NewOpHome(const OptionSet& set, uint64_t seed);

}  // namespace mergedb::testing
