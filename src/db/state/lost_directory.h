// The subdirectory `lost`. Repair, and an open that dropped a part of the MANIFEST, move files there that the
// tree does not name, so that no data is deleted.
//
//   000012.tbl ──► lost/000012.tbl          lost/000012.tbl.1 if that name is taken
//
// THREADS: one at a time. Tests: tests/unit/db/lost_directory_test.cc.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "kv/key.h"
#include "mergedb/env.h"

namespace mergedb::db {

class LostDirectory {
 public:
  // Lists the files that are in it already. Changes nothing.
  static Result<LostDirectory> Look(FileSystem* file_system, std::string directory);

  // The largest file number in it. WHY: a file number is never used twice.
  kv::FileNumber largest() const { return largest_; }
  // The path that Move would use, such as "lost/000012.tbl".
  std::string TargetOf(std::string_view name) const;

  // Creates the subdirectory durably.
  Status Create();
  Status Move(std::string_view name);
  Status WriteText(std::string_view name, std::string_view text);  // the file's name is durable after Sync
  // Makes the moves durable: first the new names, then the removal of the old ones.
  Status Sync();

 private:
  LostDirectory(FileSystem* file_system, std::string directory)
      : file_system_(file_system), directory_(std::move(directory)) {}

  FileSystem* file_system_;
  std::string directory_;
  std::set<std::string> names_;
  kv::FileNumber largest_{};
};

}  // namespace mergedb::db
