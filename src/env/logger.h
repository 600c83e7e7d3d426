// Loggers: to the standard error stream, or to a file (appending).
//
//     2026-11-20 13:05:07.123456 recovery: replayed 1,024 frames
//
// A line is one write, so lines of several threads and processes do not mix. Line breaks within a line become
// spaces. An error of the write is ignored, because there is no other place to report it.
// THREADS: Log from any thread.
#pragma once

#include <memory>
#include <string>

#include "mergedb/env.h"

namespace mergedb::env {

std::unique_ptr<Logger> NewStderrLogger();
Result<std::unique_ptr<Logger>> NewFileLogger(const std::string& path);

}  // namespace mergedb::env
