// The MANIFEST: the durable description of the tree. Commit makes an Edit durable; every so often, and after any failure, a
// complete new file takes over.
//
//   CURRENT --> MANIFEST-000012 = [everything as of then] [edit] [edit] ...
//
// FORMAT: CURRENT is "mergedb-1 MANIFEST-000012 1a2b3c4d": the crc32c of what stands before it, in hex; no newline.
//
// Rule W3: new file synced, CURRENT.tmp synced, renamed, directory synced; only then is the old file removed. After a failed
// write or sync the outcome of the edit is unknown (row B3): nothing that either outcome names may be deleted until the next
// Commit, which writes a complete new file, has succeeded. needs_snapshot() says so beforehand.
// THREADS: one at a time (the committer's mutex).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/version_edit.h"
#include "manifest/mirror_file.h"
#include "mergedb/env.h"

namespace mergedb::manifest {

class Manifest {
 public:
  struct Options {
    FileSystem* file_system = nullptr;
    std::string directory;
    uint64_t database_id = 0;
    uint64_t rollover_bytes = 1 << 20;  // and at least four times the last snapshot
    std::function<kv::FileNumber()> allocate_number;
  };
  // Writes nothing yet: the first Commit makes the file.
  explicit Manifest(Options options) : options_(std::move(options)) {}

  // The next Commit must be given everything, not a difference.
  bool needs_snapshot() const { return writer_ == nullptr || writer_->bytes() > rollover_at_; }
  // OK: durable. REQUIRES: `edit` is complete if needs_snapshot().
  Status Commit(const format::Edit& edit);

  // On an append-only file system each Commit makes a new file and removes the one before.
  std::optional<kv::FileNumber> number() const { return number_; }  // of the file that CURRENT names
  uint64_t bytes_on_disk() const { return writer_ ? 2 * writer_->bytes() : 0; }

 private:
  Status StartFile(const format::Edit& snapshot);
  Status WriteOnce(const format::Edit& snapshot);

  const Options options_;
  std::unique_ptr<MirrorWriter> writer_;  // null: none, or suspect
  std::optional<kv::FileNumber> number_;
  uint64_t rollover_at_ = 0;
  std::vector<kv::FileNumber> superseded_;  // append-only: made before, to be removed when CURRENT surely names another
};

// Make CURRENT name a MANIFEST, atomically and durably.
Status WriteCurrent(FileSystem* file_system, const std::string& directory, kv::FileNumber number);

}  // namespace mergedb::manifest
