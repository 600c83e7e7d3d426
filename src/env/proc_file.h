// Reads small files of /proc and /sys.
#pragma once

#include <string>

namespace mergedb::env {

// The first 4 KiB of a file of /proc or /sys; "" after any failure.
std::string ReadProcFile(const std::string& path);

}  // namespace mergedb::env
