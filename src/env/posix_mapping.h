// Files mapped shared: for reading tables in place (MapForReading), and twice in a row, for the log's staging ring (MapTwice).
//
//     address   base               base + bytes       base + 2 bytes
//               | file [0, bytes)  | file [0, bytes)  |
//
// Of the second: a store survives kill -9 at once because the pages belong to the kernel, not to the process. Three things may not
// happen to such a store, and each has its guard here:
//   - a fault that fails for want of space (SIGBUS): every block of the file was written before, and only file systems
//     that overwrite in place are accepted: ext4, tmpfs, and XFS for a file that we made. After a reflink copy of the file XFS needs a
//     new block for the first store to each page, and kills the process if it has none (seen on Linux 6.18). UnshareBlocks takes all of
//     these blocks at once; the log calls it each second (docs/PROMISES.md);
//   - a fault at all, on the write path: the pages are made writable up front. MADV_POPULATE_WRITE does that;
//     MAP_POPULATE does not, it only reads them in;
//   - two processes that share it: the mapping is not inherited by fork.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "mergedb/env.h"

namespace mergedb::env {

struct MappingRequest {
  int fd = -1;
  std::string path = {};  // for messages
  size_t bytes = 0;
  bool created_by_us = false;
};
Result<std::unique_ptr<Mapping>> MapTwice(const MappingRequest& request);

// For reading, once, of any file system: nothing is stored, so nothing but a read that fails can kill the process, or somebody who makes
// the file shorter. NotSupported where addresses are too few for a database (32 bits).
Result<std::unique_ptr<ReadMapping>> MapForReading(const MappingRequest& request);

// File::Unshare. `bytes` is not looked at. An error means that the file still shares blocks, or that nobody can tell.
Status UnshareBlocks(const MappingRequest& request);

}  // namespace mergedb::env
