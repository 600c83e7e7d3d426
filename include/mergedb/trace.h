// A trace: a file of the calls that a program makes on an open database, with their times. `mergedb trace` analyses and
// scrubs it, and db_bench replays it on any engine.
//
//     Status status = db->StartTrace("/tmp/trace");
//     ... work ...
//     mergedb::TraceReport report;
//     status = db->EndTrace(&report);
//
// A trace holds keys, unless sampling leaves them out, and sizes of values. docs/TRACE.md says what is recorded and
// what it costs.
#pragma once

#include <cstdint>

namespace mergedb {

struct TraceOptions {
  // One of so many keys is recorded, with all of its writes and gets, and one of so many iterators. 1: all. At most a
  // million.
  uint32_t sampling = 1;
  // The trace ends when its file would exceed this size. At least 64 KiB, at most 1 TiB.
  uint64_t bytes_max = uint64_t{1} << 30;
  // true: the bytes of values and operands are recorded if they are at most 1 MiB. false: only their sizes.
  bool record_values = false;
};

struct TraceReport {
  uint64_t operations = 0;  // in the trace; a batch counts as one
  uint64_t lost = 0;        // left out, because the file could not be written as fast, or a batch was too large
  uint64_t bytes = 0;       // of the file
  bool is_full = false;     // the trace ended at TraceOptions::bytes_max
};

}  // namespace mergedb
