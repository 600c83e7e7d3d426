// The interfaces through which the database reaches files, time, threads and a message log. A program can
// replace each of them. So a test can simulate a disk failure, stop the clock and choose the order of the
// background work.
//
//     Env env = DefaultEnv();            // POSIX files, steady clock, a thread pool
//     env.file_system = &my_fault_injecting_file_system;
//
// The database uses the operating system only through these interfaces. OWNERSHIP: an Env holds plain
// pointers. The caller keeps the objects alive as long as any database uses them.
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

// Memory addresses, offsets and lengths of direct I/O are multiples of this many bytes.
inline constexpr size_t kDirectIoAlign = 4096;

// How a file is opened: Open(path, {.access = Access::kCreate, .direct = true}).
enum class Access : uint8_t {
  kRead,       // must exist; only ReadAt
  kReadWrite,  // must exist; read and write
  kCreate,     // must not exist; read and write; mode 0600
  kReuse,      // must exist with no other hard link, and no reader may hold it (else InvalidArgument); read and write
};
struct FileOptions {
  Access access = Access::kRead;
  // Direct I/O: bypass the page cache. Then offsets, lengths and memory of every ReadAt and WriteAt are
  // aligned to kDirectIoAlign; at the end of the file ReadAt may return fewer bytes. A file system without
  // direct I/O opens the file buffered instead.
  bool direct = false;
};

// A writable mapping: memory that is shared with a file. A store survives the death of the process at once.
// It survives a power loss after the kernel has written it back; the kernel writes back in any order, in
// pieces of 512 bytes.
class MERGEDB_EXPORT Mapping {
 public:
  virtual ~Mapping();
  // The file's bytes [0, size), mapped twice: [size, 2 size) is the same memory again, so a record that wraps
  // is contiguous.
  virtual char* data() = 0;
  virtual size_t size() const = 0;
  // Hints that stores to the file's bytes [offset, offset + bytes) come soon: makes the pages writable, so that
  // a store does not fault. REQUIRES: offset + bytes <= size(); the range is allocated. THREADS: any.
  virtual void Prefault(size_t offset, size_t bytes);
};

// A read-only mapping of a file's bytes. It stays valid after the File that made it is closed and after the
// file's name is removed.
// THREADS: any.
class MERGEDB_EXPORT ReadMapping {
 public:
  virtual ~ReadMapping();
  virtual const char* data() const = 0;
  virtual size_t size() const = 0;
};

// An open file. Every call names an offset; there is no file position.
// THREADS: several threads may call ReadAt and WriteAt at the same time (on disjoint ranges, if one of them writes).
class MERGEDB_EXPORT File {
 public:
  virtual ~File();  // closes the file and ignores errors; call Close to learn of them

  // Fills out[0, bytes) from `offset`. *got < bytes only at the end of the file.
  virtual Status ReadAt(uint64_t offset, size_t bytes, char* out, size_t* got) = 0;
  // Writes all of `bytes` at `offset` and extends the file as needed. After a failure any part of the range
  // may have been written.
  virtual Status WriteAt(uint64_t offset, std::string_view bytes) = 0;
  // Sets the file's size to `bytes`.
  virtual Status Truncate(uint64_t bytes) = 0;
  // After OK everything written before the call is durable, data and size (fdatasync). After a failure never
  // call Sync again on this file: the kernel marks lost pages as clean, so a second call could return OK.
  virtual Status Sync() = 0;
  // The file's size in bytes.
  virtual Result<uint64_t> Size() = 0;
  virtual Status Close() = 0;
  // Hints that the range will be read soon.
  virtual void WillRead(uint64_t offset, uint64_t bytes) = 0;
  // Maps the whole file, twice in a row (see Mapping). The file is `bytes` long. NotSupported if this file
  // system cannot keep the promise of Mapping, or if the process has no addresses left. A store to a range that
  // was neither written nor allocated (Allocate) raises SIGBUS if the disk is full. REQUIRES: opened with
  // write access; `bytes` is a multiple of the page size.
  virtual Result<std::unique_ptr<Mapping>> Map(size_t bytes) = 0;
  // Maps the file's bytes [0, bytes) for reading. NotSupported if this file should not be mapped; the caller
  // then uses ReadAt. Corruption if the file is shorter. If a page of it cannot be read (an I/O error, a file that
  // became shorter), the kernel raises SIGBUS, which the database handles.
  virtual Result<std::unique_ptr<ReadMapping>> MapForReading(size_t bytes);
  // Replaces the blocks that the file shares with a copy (a reflink copy, as `cp` makes on XFS) by blocks of
  // its own. Then a store to a Mapping needs no new block. OK if no block is shared, and if the system cannot
  // tell. After an error (NoSpace if the disk is full) the file may still share blocks.
  virtual Status Unshare();
  // Gives the range blocks of its own, so that a store to a Mapping of it needs no new block. A range without blocks
  // reads as zeros afterwards; the content of another may be lost. NoSpace if the disk is full; a part of the range may
  // then have blocks. The default writes zeros. REQUIRES: the range lies within the file; offset and bytes are
  // multiples of kDirectIoAlign.
  virtual Status Allocate(uint64_t offset, uint64_t bytes);
  // Gives the blocks of the range back to the file system. The range reads as zeros afterwards, through a Mapping
  // as well. NotSupported, the default, if the file system cannot do that. REQUIRES: as Allocate.
  virtual Status Deallocate(uint64_t offset, uint64_t bytes);
};

class MERGEDB_EXPORT FileLock {
 public:
  virtual ~FileLock();  // releases the lock
};

// THREADS: any thread may call any method at any time.
class MERGEDB_EXPORT FileSystem {
 public:
  virtual ~FileSystem();

  // Opens a file. NotFound if `options.access` needs an existing file and there is none; Busy if the process
  // has too many open files.
  virtual Result<std::unique_ptr<File>> Open(const std::string& path, const FileOptions& options) = 0;
  // NotFound if the file does not exist.
  virtual Status Remove(const std::string& path) = 0;
  // Renames a file atomically and replaces `target` if it exists.
  virtual Status Rename(const std::string& source, const std::string& target) = 0;
  // Makes a hard link. After any failure there is no link; the caller copies the file instead.
  virtual Status Link(const std::string& source, const std::string& target);
  // The names in the directory, without "." and "..", in any order.
  virtual Result<std::vector<std::string>> List(const std::string& directory) = 0;
  virtual Status CreateDirectory(const std::string& path) = 0;  // mode 0700; OK if it exists
  virtual Status RemoveDirectory(const std::string& path) = 0;  // the directory must be empty
  // After OK, all names that were created, renamed or removed in `directory` before the call are durable.
  virtual Status SyncDirectory(const std::string& directory) = 0;
  // The file's size in bytes. NotFound if it does not exist; InvalidArgument if it is not a regular file.
  virtual Result<uint64_t> SizeOf(const std::string& path) = 0;
  virtual Result<bool> IsDirectory(const std::string& path) = 0;
  // Creates the file if needed and locks it. The file stays after the unlock. Busy if any process, this one
  // included, holds the lock.
  virtual Result<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;
  // True if a file can only be written once, from front to back, through the File that created it, and then
  // only be read: only kRead and kCreate, WriteAt only at the end, no Truncate, no Map. The database obeys
  // these limits at a higher cost: docs/decisions/0020-leveldb-interface.md.
  virtual bool is_append_only() const { return false; }
  // Bytes of memory that nobody uses now and that the page cache may take; 0, the default, if that is not known. The
  // database writes blob files into a part of this memory, and reads files there that it wrote past the page cache.
  virtual uint64_t FreeMemoryBytes() { return 0; }
  // A file system in which all paths that begin with `directory` stay in the directory that has this path now, also if
  // the directory is renamed, another one takes its name, or the working directory changes. Other paths are as here. An
  // open database reaches its files through one. After its Lock of a file in `directory`, no file of the directory is
  // changed while the name leads to another file or to none: IOError. Null, the default: there is no such thing, and
  // the caller uses this file system. Files and locks of the returned object may outlive it.
  // docs/decisions/0064-directory.md.
  virtual Result<std::unique_ptr<FileSystem>> Bind(const std::string& directory);
};

// A monotonic clock; times are in nanoseconds. THREADS: any.
class MERGEDB_EXPORT Clock {
 public:
  virtual ~Clock();
  virtual uint64_t NowNanos() = 0;
  virtual void SleepNanos(uint64_t nanos) = 0;
};

// Runs background work. A piece of work is short: a compaction job runs about half a millisecond and
// schedules itself again. THREADS: any.
class MERGEDB_EXPORT Executor {
 public:
  virtual ~Executor();
  // Runs `work` once, later, on a thread of the executor.
  virtual void Schedule(std::function<void()> work) = 0;
  // As Schedule, but before all other work, since writers wait for it. The database schedules only a few such
  // pieces at a time: WAL writes and flushes. The executor should start them at once.
  virtual void ScheduleUrgent(std::function<void()> work) { Schedule(std::move(work)); }
  // As Schedule, but not before `nanos` nanoseconds have passed.
  virtual void ScheduleAfter(uint64_t nanos, std::function<void()> work) = 0;
  // The number of pieces of work that can run at the same time.
  virtual int Parallelism() const = 0;
  // For executors without threads (tests): runs one piece of waiting work on the calling thread. Returns
  // false if the executor has threads, or if no work waits. A thread calls this before it blocks.
  virtual bool RunOne() = 0;
};

class MERGEDB_EXPORT Logger {
 public:
  virtual ~Logger();
  // One message, a line without a newline. THREADS: any, several at once. Must not call into the database.
  virtual void Log(std::string_view line) = 0;
};

struct Env {
  FileSystem* file_system = nullptr;
  Clock* clock = nullptr;
  Executor* executor = nullptr;
  Logger* logger = nullptr;                // null: no messages
  std::function<uint64_t()> entropy = {};  // 64 unpredictable bits, for salts and ids
};

// POSIX files, the steady clock, getrandom, and a thread pool: two threads for urgent work, `max(3, cores)`
// at low priority, fewer if the process may not start so many. All databases of the process share it. It is never
// destroyed. If there is no thread at all, DB::Open tries to start them, and returns Busy if that fails.
MERGEDB_EXPORT Env DefaultEnv();

}  // namespace mergedb
