// The world, as the database sees it: files, time, threads and a place for messages. Four small interfaces, all
// injected, so that a test can crash the disk, stop the clock and choose the order of the work.
//
//     Env env = DefaultEnv();            // POSIX files, steady clock, a thread pool
//     env.file_system = &my_fault_injecting_file_system;
//
// The database asks for nothing of the world by any other way. Ownership: an Env points; whoever makes it keeps
// what it points to alive for as long as a database uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mergedb/export.h"
#include "mergedb/result.h"

namespace mergedb {

// Memory, offsets and lengths of direct I/O are multiples of this many bytes.
inline constexpr size_t kDirectIoAlign = 4096;

// How a file is opened. The designated initializers read as a sentence:
// Open(path, {.access = Access::kCreate, .direct = true}).
enum class Access : uint8_t {
  kRead,       // must exist; ReadAt only
  kReadWrite,  // must exist
  kCreate,     // must not exist; read and write; mode 0600
  kReuse,  // must exist under this one name (InvalidArgument if it has a hard link): all of it is to be written again
};
struct FileOptions {
  Access access = Access::kRead;
  // Past the page cache where the file system can; then offsets, lengths and memory of every ReadAt and WriteAt
  // are aligned to kDirectIoAlign (ReadAt may come back short at the end of the file). A file system that cannot
  // opens the file buffered instead.
  bool direct = false;
};

// Memory shared with a file: stores survive the death of the process at once and a power cut when the kernel has
// written them back, in any order and in pieces of 512 bytes.
class MERGEDB_EXPORT Mapping {
 public:
  virtual ~Mapping();
  // The file's bytes [0, size), and again at [size, 2 size): a record that wraps is contiguous.
  virtual char* data() = 0;
  virtual size_t size() const = 0;
};

// A file's bytes in memory, to be read in place. Lives on when the File that made it is closed, or its name is gone.
// THREADS: any.
class MERGEDB_EXPORT ReadMapping {
 public:
  virtual ~ReadMapping();
  virtual const char* data() const = 0;
  virtual size_t size() const = 0;
};

// An open file. Bytes are addressed by offset; there is no cursor.
// THREADS: ReadAt and WriteAt may run at once from several threads (of disjoint ranges, if one of them writes).
class MERGEDB_EXPORT File {
 public:
  virtual ~File();  // closes; an error at that point is lost: call Close to hear of it

  // Fill out[0, bytes) from `offset`; *got < bytes only at the end of the file.
  virtual Status ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) = 0;
  // Write all of `bytes`, extending the file as needed. On failure any part of the range may have been written.
  virtual Status WriteAt(uint64_t offset, std::string_view bytes) = 0;
  virtual Status Truncate(uint64_t bytes) = 0;
  // What was written before the call is durable once this returned OK (fdatasync: data and size). After a failure
  // the file is suspect: never call it again on this file (facts: the kernel marks lost pages clean).
  virtual Status Sync() = 0;
  virtual Result<uint64_t> Size() = 0;
  virtual Status Close() = 0;
  // A hint that the range will be read soon.
  virtual void WillRead(uint64_t offset, uint64_t bytes) = 0;
  // Map the whole file, `bytes` long and fully written, twice in a row. NotSupported where this file system cannot
  // give the promise of Mapping. REQUIRES: opened with write access, bytes a multiple of the page size.
  virtual Result<std::unique_ptr<Mapping>> Map(size_t bytes) = 0;
  // Map the file's bytes [0, bytes) for reading, where that is right; else NotSupported, and the caller uses ReadAt. Corruption if the file
  // is shorter. From then on the file must not become shorter, and the disk must be able to read it: either kills the process (SIGBUS).
  virtual Result<std::unique_ptr<ReadMapping>> MapForReading(size_t bytes);
  // Give the file blocks of its own in place of those that it shares with a copy (a copy by reflink, as `cp` makes on XFS). A store to a
  // Mapping needs no new block afterwards. OK where nothing is shared, and where the system cannot tell. After an error (NoSpace, if the
  // disk has no room) the file may still share blocks.
  virtual Status Unshare();
};

class MERGEDB_EXPORT FileLock {
 public:
  virtual ~FileLock();  // unlocks
};

// THREADS: all methods may be called from several threads at once.
class MERGEDB_EXPORT FileSystem {
 public:
  virtual ~FileSystem();

  virtual Result<std::unique_ptr<File>> Open(const std::string& path, const FileOptions& options) = 0;
  virtual Status Remove(const std::string& path) = 0;
  virtual Status Rename(const std::string& source, const std::string& target) = 0;
  // A second name for a file. Any failure means that there is none; the caller copies instead.
  virtual Status Link(const std::string& source, const std::string& target);
  // Names in the directory, without "." and "..", in any order.
  virtual Result<std::vector<std::string>> List(const std::string& directory) = 0;
  virtual Status CreateDirectory(const std::string& path) = 0;  // mode 0700; OK if it is there already
  virtual Status RemoveDirectory(const std::string& path) = 0;  // must be empty
  // Names created, renamed and removed in `directory` before the call are durable once it returned OK.
  virtual Status SyncDirectory(const std::string& directory) = 0;
  // NotFound if nothing is there; InvalidArgument if it is not a regular file.
  virtual Result<uint64_t> SizeOf(const std::string& path) = 0;
  virtual Result<bool> IsDirectory(const std::string& path) = 0;
  // Busy if any process, this one included, holds it. Creates the file; leaves it there.
  virtual Result<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;
  // True: a file is written once, from front to back, through the handle that made it, and then only read. There is no other
  // access than kRead and kCreate, no WriteAt but at the end, no Truncate, no Map. The database keeps to that, and
  // costs more: docs/decisions/0020-leveldb-face.md.
  virtual bool is_append_only() const { return false; }
};

// Time that only moves forward.
class MERGEDB_EXPORT Clock {
 public:
  virtual ~Clock();
  virtual uint64_t NowNanos() = 0;
  virtual void SleepNanos(uint64_t nanos) = 0;
};

// Where background work runs. Work is short: a job does half a millisecond of it and schedules itself again.
class MERGEDB_EXPORT Executor {
 public:
  virtual ~Executor();
  // Run `work` once, later, on a thread of the executor.
  virtual void Schedule(std::function<void()> work) = 0;
  // The same, ahead of all other work: writers wait for it. A short list of it is always underway at once.
  virtual void ScheduleUrgent(std::function<void()> work) { Schedule(std::move(work)); }
  // As Schedule, not before `nanos` have passed.
  virtual void ScheduleAfter(uint64_t nanos, std::function<void()> work) = 0;
  // How many pieces of work can run at once.
  virtual int Parallelism() const = 0;
  // For executors without threads (tests): run one piece of the waiting work on the calling thread. Returns false
  // if there are threads to do it, or nothing waits. A waiter calls this before it blocks.
  virtual bool RunOne() = 0;
};

class MERGEDB_EXPORT Logger {
 public:
  virtual ~Logger();
  virtual void Log(std::string_view line) = 0;
};

struct Env {
  FileSystem* file_system = nullptr;
  Clock* clock = nullptr;
  Executor* executor = nullptr;
  Logger* logger = nullptr;                // may be null: silence
  std::function<uint64_t()> entropy = {};  // unpredictable 64 bits, for salts and identities
};

// POSIX files, the steady clock, getrandom, and background threads: two for urgent work, `max(3, cores)` at low priority. Shared by all
// databases of the process; lives for ever.
MERGEDB_EXPORT Env DefaultEnv();

}  // namespace mergedb
