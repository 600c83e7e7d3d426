// The file operations of a process below one directory, in order. shim.cc writes the trace inside the process;
// replay.cc replays it.
//
// FORMAT: records in host byte order; a trace is used at once and on the same machine.
//     RecordHead  path  other path  data
//
// A handle stands for an open file or directory; handle numbers are not reused. A mark is a note of the
// workload.
#pragma once

#include <cstdint>

namespace mergedb::torture {

enum class Record : uint32_t {
  kOpen = 1,    // handle, path; flags
  kClose,       // handle
  kWrite,       // handle, offset, data
  kStore,       // as kWrite, by a store to a mapping; found when the next record is made
  kTruncate,    // handle, offset = the size
  kSync,        // handle of a file or directory
  kFailedSync,  // handle; the caller got EIO
  kRename,      // path, other path
  kLink,        // path, other path
  kUnlink,      // path
  kMakeDirectory,
  kRemoveDirectory,
  kMark,  // offset = number; flags = Mark
};

enum OpenFlags : uint32_t { kCreated = 1, kTruncated = 2, kDataSync = 4 };

enum class Mark : uint32_t {
  kBegun = 1,  // batch `number` was passed to the engine
  kReturned,   // the engine returned OK
  kDurable,    // the engine promises that it and all earlier batches survive a power cut
  kFailed,     // the engine returned an error
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

// Functions that the shim offers to the process, found by dlsym; absent without the shim.
//     void torture_mark(uint32_t mark, uint64_t number);
//     void torture_set_full(int is_full);      nonzero: no file may grow; 0: files may grow again
// Settings in the environment:
//     TORTURE_ROOT       the directory whose files are recorded
//     TORTURE_TRACE      the trace file; unset: no trace
//     TORTURE_FAIL_SYNC  n: the n-th sync of a file fails once with EIO, and its pages are lost
inline constexpr char kEnvRoot[] = "TORTURE_ROOT";
inline constexpr char kEnvTrace[] = "TORTURE_TRACE";
inline constexpr char kEnvFailSync[] = "TORTURE_FAIL_SYNC";

}  // namespace mergedb::torture
