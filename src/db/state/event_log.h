// The file LOG of a database: its events (include/mergedb/event_listener.h) as lines of JSON, in LOG.old and LOG. It is
// no data: no open reads it, and its errors fail nothing.
//
//   Add    any thread, under any lock: the line waits in memory          leaf lock
//   Write  a thread without locks writes what waits: background work after each task, an open, Close
//
// Size: if LOG would exceed half of `bytes_max`, it becomes LOG.old, which it replaces, and a new LOG begins. At most
// kWaitingBytesMax and a quarter of `bytes_max` wait in memory.
//
// Errors: lines that cannot be written are dropped. The event "log_lines_lost" counts them as soon as a write succeeds.
// After an error, the next attempt comes a second later at the earliest, and cuts off what a failed write left. A line
// that a crash tore ends where the next line begins.
//
// Not on an append-only file system (LevelDB's Env): it cannot go on with an existing file.
//
// THREADS: any. Tests: tests/db/event_log_test.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/sync.h"
#include "mergedb/env.h"

namespace mergedb::db {

class EventLog {
 public:
  static constexpr size_t kWaitingBytesMax = size_t{64} << 10;
  static constexpr std::string_view kName = "LOG";
  static constexpr std::string_view kOldName = "LOG.old";

  // Removes the files of events; a LOG of another program stays.
  static Status Remove(FileSystem* files, const std::string& directory);

  EventLog(const Env& env, std::string directory, uint64_t bytes_max)
      : files_(env.file_system), clock_(env.clock), directory_(std::move(directory)), bytes_max_(bytes_max) {}

  // From now on, Write writes. Until then lines wait. REQUIRES: this process holds the lock of the directory.
  void Start();
  void Add(std::string_view line);
  // Returns at once if another thread writes, which also writes the lines of this call. REQUIRES: no lock is held.
  void Write();
  // Writes what waits, waits for a thread inside Write, and closes the file. No later call writes.
  void Stop();

 private:
  Status WriteLines(const std::string& lines);
  Status OpenFile();
  Status Rotate();
  std::string PathOf(std::string_view name) const;

  FileSystem* const files_;
  Clock* const clock_;
  const std::string directory_;
  const uint64_t bytes_max_;

  base::Mutex mutex_;
  bool is_started_ GUARDED_BY(mutex_) = false;
  bool is_writing_ GUARDED_BY(mutex_) = false;
  base::CondVar write_ended_;
  std::string waiting_ GUARDED_BY(mutex_);
  uint64_t lines_lost_ GUARDED_BY(mutex_) = 0;
  uint64_t not_before_nanos_ GUARDED_BY(mutex_) = 0;  // after an error

  // Of the thread that writes; of Stop, if none writes.
  std::unique_ptr<File> file_;
  uint64_t end_ = 0;                   // of the file's whole lines
  std::optional<uint64_t> torn_from_;  // where a write failed
};

}  // namespace mergedb::db
