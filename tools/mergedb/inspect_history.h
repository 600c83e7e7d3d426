// The history of a database, from its files LOG.old and LOG (docs/EVENTS.md), for the page of `mergedb inspect`. The
// files exist only if a program opens the database with Options::log_bytes_max.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace mergedb::tool {

struct History {
  static constexpr size_t kColumns = 48;
  static constexpr double kSecondsMax = 86'400;

  struct Column {  // an equal part of the time from `from` to `to`
    uint64_t flushed_bytes = 0, compacted_bytes = 0, stall_micros = 0;
  };
  struct Compactions {  // for one reason
    uint64_t rewrites = 0, failed = 0, moves = 0, bytes_read = 0, bytes_written = 0, entries_in = 0, entries_out = 0,
             micros = 0;
  };
  struct Note {  // an event that a person wants to see by itself
    double time = 0;
    std::string text;
  };

  double from = 0, to = 0;  // seconds since 1970; equal: there is no history
  uint64_t events = 0;
  uint64_t flushes = 0, flushed_bytes = 0;
  uint64_t stalls = 0, stall_micros = 0, slow_calls = 0, longest_call_micros = 0;
  std::vector<Column> columns;
  std::map<std::string, Compactions> compactions;  // by reason
  std::set<uint64_t> moves;                        // jobs that have begun, and only move tables
  std::map<std::string, uint64_t> stall_causes;    // microseconds
  std::vector<Note> notes;                         // the last ones, in order of time
};

// The events of the day before the last event. Lines that are no events are skipped.
History ReadHistory(const std::string& directory);
// Of lines; ReadHistory reads the files and calls it.
History HistoryOf(const std::vector<std::string>& lines);
// For the page; null if there is no history. Times are seconds.
nlohmann::ordered_json HistoryJson(const History& history);

}  // namespace mergedb::tool
