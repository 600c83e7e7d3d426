// Checks the files LOG and LOG.old of a database (docs/EVENTS.md) after crashes and errors.
#pragma once

#include <cstdint>
#include <string>

#include "mergedb/env.h"

namespace mergedb::testing {

inline constexpr uint64_t kSmallLogBytes = 16 << 10;  // the smallest Options::log_bytes_max

struct LogFiles {
  std::string old, current;  // the bytes of LOG.old and LOG; empty if there is none
};
LogFiles ReadLog(FileSystem& files, const std::string& directory);

enum class TornLines : uint8_t {
  kNone,  // each line that has an end is a JSON object
  kBegun,  // a process may have been killed while it wrote: a line that is no JSON begins as one, and a whole line follows
  kAnything  // the power failed: what was not synced may be anything
};
// What is wrong with LOG of a database with this log_bytes_max; empty: nothing.
std::string LogProblem(const LogFiles& log, uint64_t bytes_max, TornLines torn = TornLines::kNone);
// What is wrong with what an open has added to LOG, which was `before`: the event open, as a line of its own.
std::string LogProblemOfOpen(const LogFiles& before, const LogFiles& after);

// Makes a LOG of whole lines that has room for a few more before the next one becomes LOG.old.
Status WriteNearlyFullLog(FileSystem& files, const std::string& directory);

}  // namespace mergedb::testing
