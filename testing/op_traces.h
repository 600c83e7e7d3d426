// The traces of an OpRunner's database: one for each time that it is open for writing. Checks that each trace decodes
// whole, that its numbers agree, and that the writes of all traces, done on an empty database, give the content of the
// oracle.
//
//     Open ─► Begin          Close ─► BeforeClose, AfterClose          a kill ─► CheckCut: what the dead process left
//     the end of the run ─► Replay
//
// Every function returns what is wrong, or an empty string.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mergedb/db.h"
#include "mergedb/trace.h"
#include "mergedb/write_batch.h"
#include "testing/model_db.h"
#include "testing/op_home.h"
#include "testing/option_sets.h"

namespace mergedb::testing {

class OpTraces {
 public:
  std::string Begin(DB& db, OpHome& home);
  // Every second trace ends here, the others end because the database is closed.
  std::string BeforeClose(DB& db);
  // Reads the trace and keeps its writes.
  std::string AfterClose(OpHome& home);
  // `home`: of the process after a kill, whose trace was read from the home before.
  std::string CheckCut(OpHome& home) const;
  // The database was destroyed.
  void ForgetWrites() { writes_.clear(); }
  std::string Replay(const OptionSet& set, uint64_t seed, const ModelDb::Pairs& expected) const;

 private:
  std::string path_;  // of the current trace; empty: no trace was begun, or it was read
  std::string read_path_;
  std::string read_bytes_;  // of the trace that was read last
  uint64_t begun_ = 0;
  bool is_ended_ = false;  // by EndTrace, which filled the report
  TraceReport report_;
  std::vector<WriteBatch> writes_;
};

}  // namespace mergedb::testing
