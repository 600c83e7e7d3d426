// What a process did to the files below one directory, in order: written by shim.cc inside of it, replayed by replay.cc.
//
// FORMAT: records of host byte order, for this machine and this hour only.
//     RecordHead  path  other path  data
//
// A handle stands for an open file or directory; numbers are not used twice. A mark is a note of the workload's own.
#pragma once

#include <cstdint>

namespace mergedb::torture {

enum class Record : uint32_t {
  kOpen = 1,    // handle, path; flags
  kClose,       // handle
  kWrite,       // handle, offset, data
  kStore,       // the same, by a store to a mapping; seen when the next record was made
  kTruncate,    // handle, offset = the size
  kSync,        // handle: of a file or a directory
  kFailedSync,  // handle: the caller was told EIO
  kRename,      // path, other path
  kLink,        // path, other path
  kUnlink,      // path
  kMakeDirectory,
  kRemoveDirectory,
  kMark,  // offset = number; flags = Mark
};

enum OpenFlags : uint32_t { kCreated = 1, kTruncated = 2, kDataSync = 4 };

enum class Mark : uint32_t {
  kBegun = 1,  // batch `number` was handed to the engine
  kReturned,   // it returned OK
  kDurable,    // and the engine promised that it survives a power cut, with all before it
  kFailed,     // it returned an error
};

struct RecordHead {
  Record record = Record::kMark;
  uint32_t handle = 0;
  uint32_t flags = 0;
  uint32_t path_bytes = 0;
  uint32_t other_path_bytes = 0;
  uint32_t data_bytes = 0;
  uint64_t offset = 0;
};

// What the shim offers to the process that it is loaded into, found by dlsym; all are absent without it.
//     void torture_mark(uint32_t mark, uint64_t number);
//     void torture_set_full(int is_full);      no file may grow, from now on or no longer
// And by the environment:
//     TORTURE_ROOT       the directory whose files are watched
//     TORTURE_TRACE      where the trace goes; none: nothing is recorded
//     TORTURE_FAIL_SYNC  the n-th sync of a file fails once: EIO, and its pages are lost
inline constexpr char kEnvRoot[] = "TORTURE_ROOT";
inline constexpr char kEnvTrace[] = "TORTURE_TRACE";
inline constexpr char kEnvFailSync[] = "TORTURE_FAIL_SYNC";

}  // namespace mergedb::torture
