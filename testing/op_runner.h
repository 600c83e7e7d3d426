// Runs operations (random_ops.h) on a database and on the oracle at the same time, and compares every answer.
//
//     Verdict verdict = RunOps(list, set, {});
//     if (!verdict.problem.empty()) ...          // "operation 3, get:0,12: found nothing, expected 17 bytes ..."
//
// Two runs with the same questions have the same `answers`, whatever options they use and whatever maintenance happens
// in between. This is the metamorphic part of tests/model/model_test.cc: it compares two databases that both agree
// with the oracle.
//
// To add an operation, add an entry to the table at the end of op_runner.cc and a method. To add a kind of change to
// a key, extend Change, AddTo, WriteTo and ToModel there; batches then contain it too.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "mergedb/db.h"
#include "testing/op_home.h"
#include "testing/option_sets.h"
#include "testing/random_ops.h"

namespace mergedb::testing {

const OpTable& ModelOpTable();

struct Verdict {
  std::string problem = {};  // empty: every answer was right
  size_t op = 0;             // the index of the operation that failed
  uint64_t answers = 0;      // a digest of the results of all reads
};

struct RunOptions {
  uint64_t seed = 1;  // decides the order of background work
  // The run is recorded in traces (op_traces.h), which are checked at its end. The database has traces.
  bool is_traced = false;
  // If set: makes the home, in place of NewOpHome.
  std::function<std::unique_ptr<OpHome>()> make_home = {};
  // If set: wraps the database, for tests of the runner itself.
  std::function<std::unique_ptr<DB>(std::unique_ptr<DB>)> wrap = {};
};

Verdict RunOps(const OpList& list, const OptionSet& set, const RunOptions& options);

}  // namespace mergedb::testing
