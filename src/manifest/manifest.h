// The MANIFEST: the durable description of the tree. Commit makes an VersionEdit durable; every so often, and after any failure, a
// complete new file takes over.
//
//   CURRENT --> MANIFEST-000012 = [everything as of then] [edit] [edit] ...
//
// FORMAT: CURRENT is "mergedb-1 MANIFEST-000012 3456 5e6f7a8b 1a2b3c4d": the file; how long its stream was for sure, and the checksum
// of the record that ended there; the crc32c, in hex, of all before it. No newline. (docs/decisions/0036-manifest-end.md)
//
// Rule W3: new file synced, CURRENT.tmp synced, renamed, directory synced; only then is the old file removed. After a failed
// write or sync the outcome of the edit is unknown (row B3): nothing that either outcome names may be deleted until the next
// Commit, which writes a complete new file, has succeeded. needs_snapshot() says so beforehand. A file of which no CURRENT was
// written is removed at once.
// THREADS: one at a time (the committer's mutex).
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
    uint64_t rollover_bytes = 1 << 20;  // and at least four times the last snapshot
    std::function<kv::FileNumber()> allocate_number;
  };
  // Writes nothing yet: the first Commit makes the file.
  explicit Manifest(Options options) : options_(std::move(options)) {}

  // The next Commit must be given everything, not a difference.
  bool needs_snapshot() const { return writer_ == nullptr || writer_->bytes() > rollover_at_; }
  // OK: durable. REQUIRES: `edit` is complete if needs_snapshot().
  Status Commit(const format::VersionEdit& edit);
  // After the last commit: CURRENT says how far the MANIFEST reaches, so that an older one in its place is noticed. A failure, and a
  // power cut, leave the CURRENT that was there, which is right but says less.
  Status BindEnd();

  // On an append-only file system each Commit makes a new file and removes the one before.
  std::optional<kv::FileNumber> number() const { return number_; }  // of the file that CURRENT names
  uint64_t bytes_on_disk() const { return writer_ ? 2 * writer_->bytes() : 0; }

 private:
  Status StartFile(const format::VersionEdit& snapshot);
  Result<MirrorEnd> WriteFile(kv::FileNumber number, const format::VersionEdit& snapshot);
  Status TakeOver(const Current& next);

  const Options options_;
  std::unique_ptr<MirrorWriter> writer_;  // null: none, or suspect
  std::optional<kv::FileNumber> number_;
  MirrorEnd bound_;  // what CURRENT says of it
  uint64_t rollover_at_ = 0;
  std::vector<kv::FileNumber> superseded_;  // CURRENT may name them: to be removed when it durably names another
};

// Make CURRENT say this, atomically and durably. *is_begun: CURRENT may be the new one after a failure, too.
Status WriteCurrent(FileSystem* file_system, const std::string& directory, const Current& current, bool* is_begun);

}  // namespace mergedb::manifest
