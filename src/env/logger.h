// Places for messages: the standard error stream, or a file that is appended to.
//
//     2026-11-20 13:05:07.123456 recovery: replayed 1,024 frames
//
// A line is one write, so lines of several threads and processes do not mix. Line ends within a line become spaces.
// An error while writing is ignored: there is nobody left to tell.
// THREADS: Log from any thread.
#pragma once

#include <memory>
#include <string>

#include "mergedb/env.h"

namespace mergedb::env {

std::unique_ptr<Logger> NewStderrLogger();
Result<std::unique_ptr<Logger>> NewFileLogger(const std::string& path);

}  // namespace mergedb::env
