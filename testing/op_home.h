// Where the database of an OpRunner lives: in a World, where the list of operations decides what happens in the background
// and the process may be killed, or in real files with real threads, by the C++ face or the C one.
#pragma once

#include <cstdint>
#include <memory>

#include "mergedb/db.h"
#include "testing/option_sets.h"

namespace mergedb::testing {

class OpHome {
 public:
  virtual ~OpHome() = default;

  virtual Result<std::unique_ptr<DB>> Open(OpenMode mode) = 0;
  virtual Status Destroy() = 0;
  // What a process that starts now would find if the one before was killed. Null where nobody can be killed.
  virtual std::unique_ptr<OpHome> AfterKill(uint64_t seed) = 0;
  // Some steps of background work, in an order of the home's choosing. False: nothing waits.
  virtual bool RunOne() = 0;
  virtual void PassSeconds(uint64_t seconds) = 0;
  // Of the names and bytes of all files.
  virtual uint64_t Fingerprint() = 0;
};

// `set` must outlive the home. The same seed gives the same order of background work.
std::unique_ptr<OpHome> NewOpHome(const OptionSet& set, uint64_t seed);

}  // namespace mergedb::testing
