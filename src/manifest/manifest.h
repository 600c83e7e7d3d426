// The MANIFEST: the durable description of the tree. Commit makes a VersionEdit durable. When the file has grown
// large, and after each failure, Commit starts a new file with the complete state.
//
//   CURRENT --> MANIFEST-000012 = [the complete state] [edit] [edit] ...
//
// FORMAT: CURRENT is "mergedb-1 MANIFEST-000012 3456 5e6f7a8b 1a2b3c4d": the name of the file; a length that its
// stream is known to have reached; the checksum of the record that ends there; the crc32c, in hex, of all text
// before it. There is no newline. (docs/decisions/0036-manifest-end.md)
//
// INVARIANT: the new file is synced, then CURRENT.tmp is synced and renamed, then the directory is synced. Only
// then is the old file removed. After a failed write or sync it is unknown whether the edit is durable. The
// caller must then delete no file that the state with the edit or the state without it names, until the next
// Commit has succeeded. needs_snapshot() is true until then. If no CURRENT could name a new file, that file is
// removed at once.
// THREADS: one at a time (under the commit mutex).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/version_edit.h"
#include "manifest/loader.h"
#include "manifest/mirror_file.h"
#include "mergedb/env.h"

namespace mergedb::manifest {

class Manifest {
 public:
  struct Options {
    FileSystem* file_system = nullptr;
    std::string directory;
    uint64_t database_id = 0;
    uint64_t rollover_bytes = 1 << 20;  // at least; also at least four times the last snapshot
    std::function<kv::FileNumber()> allocate_number;
  };
  // Writes nothing. The first Commit creates the file.
  explicit Manifest(Options options) : options_(std::move(options)) {}

  // Returns whether the next Commit needs a complete VersionEdit instead of a difference.
  bool needs_snapshot() const { return writer_ == nullptr || writer_->bytes() > rollover_at_; }
  // If it returns OK, the edit is durable. REQUIRES: `edit` is complete if needs_snapshot().
  Status Commit(const format::VersionEdit& edit);
  // REQUIRES: after the last commit. Writes the end of the MANIFEST to CURRENT, so that the next open detects an
  // older MANIFEST. If it fails, or after a power cut, the previous CURRENT is valid and binds an earlier point.
  Status BindEnd();

  // On an append-only file system each Commit creates a new file and removes the previous one.
  std::optional<kv::FileNumber> number() const { return number_; }  // of the file that CURRENT names
  uint64_t bytes_on_disk() const { return writer_ ? 2 * writer_->bytes() : 0; }

 private:
  Status StartFile(const format::VersionEdit& snapshot);
  Result<MirrorEnd> WriteFile(kv::FileNumber number, const format::VersionEdit& snapshot);
  Status TakeOver(const Current& next);

  const Options options_;
  std::unique_ptr<MirrorWriter> writer_;  // null: there is no file to append to
  std::optional<kv::FileNumber> number_;
  MirrorEnd bound_;  // the point of the MANIFEST that CURRENT names
  uint64_t rollover_at_ = 0;
  std::vector<kv::FileNumber> superseded_;  // CURRENT may name them; removed when it durably names another file
};

// Replaces CURRENT atomically and durably. If *is_begun, CURRENT may be the new one even after a failure.
Status WriteCurrent(FileSystem* file_system, const std::string& directory, const Current& current, bool* is_begun);

// Makes durable what CURRENT and `manifest`, which it names, hold. After a kill, the last record may not be. WHY all of
// it is written again: a sync that failed before, in another process too, leaves pages that no later sync writes (rule
// B1).
Status MakeDurable(FileSystem* file_system, const std::string& directory, kv::FileNumber manifest);

}  // namespace mergedb::manifest
