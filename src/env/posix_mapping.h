// Files mapped shared: once, to read tables in place (MapForReading), and twice in a row, for the WAL buffer
// (MapTwice).
//
//     address   base               base + bytes       base + 2 bytes
//               | file [0, bytes)  | file [0, bytes)  |
//
// MapTwice: a store survives kill -9 at once, because the pages belong to the kernel and not to the process.
// Three things must not happen to such a store:
//   - A fault that fails for lack of space (SIGBUS). The caller allocates blocks (File::Allocate) before it stores, and
//     only file systems that overwrite in place are accepted: ext4, tmpfs, and XFS for a file that we created. After a
//     reflink copy of the file, XFS needs a new block for the first store to each page, and raises SIGBUS if it has
//     none (seen on Linux 6.18): the WAL fails. UnshareBlocks allocates all these blocks at once; the WAL writer calls
//     it each second (docs/PROMISES.md).
//   - Any fault on the write path. Prefault makes pages writable before the first store, by MADV_POPULATE_WRITE.
//     MAP_POPULATE does not; it only reads them in.
//   - A second process that shares the mapping. A fork does not inherit it.
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

// Maps a file once, for reading, on any file system. Nothing is stored, so only a failed read, or a process
// that shortens the file, can kill this process. NotSupported if addresses have only 32 bits.
Result<std::unique_ptr<ReadMapping>> MapForReading(const MappingRequest& request);

// The program reads single places of it: a fault then reads only its own page. A hint.
void ExpectSingleReads(const ReadMapping& mapping);

// Implements File::Unshare; does not use `bytes`. After an error the file may still share blocks.
Status UnshareBlocks(const MappingRequest& request);

}  // namespace mergedb::env
