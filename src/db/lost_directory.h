// The subdirectory `lost`: where repair, and an open that dropped a part of the MANIFEST, put files that the tree does not
// name, so that nothing is deleted.
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
  // What is there already. Changes nothing.
  static Result<LostDirectory> Look(FileSystem* file_system, std::string directory);

  // The largest number of a file in it: numbers are never used twice.
  kv::FileNumber largest() const { return largest_; }
  // What Move would call it: "lost/000012.tbl".
  std::string TargetOf(std::string_view name) const;

  // Make the subdirectory, durably.
  Status Create();
  Status Move(std::string_view name);
  Status WriteText(std::string_view name, std::string_view text);  // durable once Sync is
  // What was moved is durable: first that it is there, then that it is gone.
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
