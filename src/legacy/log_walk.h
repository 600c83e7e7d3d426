// LevelDB's logs as sorted iterators: all their operations, in pieces that fit into memory.
//
//   logs, oldest first  ─►  operations with their sequences  ─►  sorted pieces: the last stays in memory, others become tables of ours
//
// Those tables are not part of the database to be: they are read once, by the merge, and removed by whoever asked for them.
//
// A log that a crash cut short ends there. Damage is Corruption unless nothing whole follows it, in its block, its log or a later one: then it is
// the torn tail of the newest log, which is dropped and told of, as LevelDB does with any damage.
//
// THREADS: one at a time. Tests: tests/legacy/convert_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "format/version_edit.h"
#include "legacy/table_walk.h"

namespace mergedb::legacy {

struct LogWalkOptions {
  size_t piece_bytes = size_t{64} << 20;
  std::function<kv::FileNumber()> allocate_number;  // for the tables
  std::function<uint64_t()> entropy;
};

struct LogWalk {
  std::vector<std::unique_ptr<kv::Iterator>> pieces;   // newest first
  std::vector<kv::FileNumber> tables;                  // that were made, to be removed after the walk
  kv::Sequence first_sequence = 0, last_sequence = 0;  // 0: no operations
  uint64_t operations = 0;
  std::string report;  // torn tails that were dropped
};
// On failure *walk->tables says what to remove, too.
Status WalkLogs(const Walking& walking, const std::vector<SourceLog>& logs, const LogWalkOptions& options,
                LogWalk* walk);

}  // namespace mergedb::legacy
