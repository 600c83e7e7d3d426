// Runs operations (random_ops.h) on a database and on the oracle at once, and compares every answer.
//
//     Verdict verdict = RunOps(list, set, {});
//     if (!verdict.problem.empty()) ...          // "operation 3, get:0,12: found nothing, expected 17 bytes ..."
//
// Two runs that were asked the same give the same `answers`, whatever the options are and whatever maintenance happens in
// between: that is the metamorphic part of tests/model/model_test.cc, where two databases are compared that the oracle
// believes, so to say, both.
//
// To add an operation: an entry in the table at the end of op_runner.cc, and a method that does it. A new change to a key
// joins Change, AddTo and ToModel there, and is then in batches, too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "mergedb/db.h"
#include "testing/option_sets.h"
#include "testing/random_ops.h"

namespace mergedb::testing {

const OpTable& ModelOpTable();

struct Verdict {
  std::string problem = {};  // empty: every answer was right
  size_t op = 0;             // the operation that met it
  uint64_t answers = 0;      // a digest of what was read
};

struct RunOptions {
  uint64_t seed = 1;  // of the order of background work
  // Put between the database and the runner: for tests of the runner itself.
  std::function<std::unique_ptr<DB>(std::unique_ptr<DB>)> wrap = {};
};

Verdict RunOps(const OpList& list, const OptionSet& set, const RunOptions& options);

}  // namespace mergedb::testing
