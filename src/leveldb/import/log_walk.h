// LevelDB's logs as sorted iterators: all operations, in pieces that fit into memory.
//
//   logs, oldest first  ─►  operations with sequences  ─►  sorted pieces: the last one stays in memory,
//                                                          each earlier one becomes a table of mergedb
//
// These tables are not part of the converted database. The conversion reads them once and removes them.
//
// If a crash cut a log short, the log ends there. Other damage is Corruption if whole records follow it in the
// same block, the same log or a later log. If no whole record follows, the damage is a torn tail: it is dropped
// and reported, as LevelDB does with any damage.
//
// THREADS: one at a time. Tests: tests/unit/leveldb/import/log_walk_test.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "format/version_edit.h"
#include "leveldb/import/table_walk.h"

namespace mergedb::leveldb_import {

struct LogWalkOptions {
  size_t piece_bytes = size_t{64} << 20;
  std::function<kv::FileNumber()> allocate_number;  // for the tables
  std::function<uint64_t()> entropy;
};

struct LogWalk {
  std::vector<std::unique_ptr<kv::ForwardIterator>> pieces;  // newest first
  std::vector<kv::FileNumber> tables;                        // the tables made; the caller removes them at the end
  kv::Sequence first_sequence = 0, last_sequence = 0;        // 0: no operations
  std::string report;                                        // lines about dropped torn tails
};
// On failure, walk->tables also lists the tables that the caller must remove.
Status WalkLogs(const Walking& walking, const std::vector<SourceLog>& logs, const LogWalkOptions& options,
                LogWalk* walk);

}  // namespace mergedb::leveldb_import
