// The blob files of a directory that may be damaged: which of them are intact, and which values the blob
// indexes of tables still find.
//
//  000012.tbl   a -> 000013 at 0    ok
//               b -> 000013 at 900  damaged: the value of b is lost; the report names key b
//               c -> 000014 at 0    000014 is missing: the same for c
//
// A value is intact if its record is: its checksum, its offset and its key match. Repair reads the intact
// values of a damaged file here and writes them into new tables. Then no table refers to the damaged file.
//
// At most kOpenFilesMax files are open. If the process needs their descriptors, all of them are closed
// (env/descriptors.h).
//
// THREADS: one at a time. Tests: tests/flips/repair_test.cc.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/open_files.h"
#include "blob/reader.h"
#include "env/descriptors.h"
#include "format/blob_file.h"
#include "kv/order.h"
#include "mergedb/env.h"
#include "mergedb/repair.h"

namespace mergedb::repair {

struct BlobFileFinding {
  format::BlobFilePtr meta;  // from the MANIFEST; without a MANIFEST from the file's footer; null: unknown
  bool can_be_opened = false;
  Status verdict;  // OK: the file is intact
};

class BlobFiles {
 public:
  BlobFiles(FileSystem* file_system, std::string directory, const kv::Order& order)
      : file_system_(file_system), directory_(std::move(directory)), order_(order) {}

  // Reads every byte of a file. A null `meta` trusts the footer. Damage is not an error but the verdict of
  // the finding. Errors: NotSupported (a newer version wrote the file), Busy (no file descriptor is left).
  Status Look(kv::FileNumber number, format::BlobFilePtr meta);
  const std::map<kv::FileNumber, BlobFileFinding>& found() const { return found_; }
  bool IsWhole(kv::FileNumber number) const;

  // The value to which a blob index of `key` refers; the view is valid until the next call. An error says
  // why the value cannot be read. Busy: no file descriptor is left, and the value may be intact. *reference
  // is set if `value_of_entry` is a blob index.
  Status Read(std::string_view key, std::string_view value_of_entry, format::BlobIndex* reference,
              std::string_view* value) const;

 private:
  static constexpr size_t kOpenFilesMax = 64;
  struct Open {
    base::OpenFiles<blob::Reader> files{kOpenFilesMax};
    const env::IdleFiles idle{[this] { files.CloseIdle(); }};  // the last member, so it is destroyed first
  };

  std::string PathOf(kv::FileNumber number) const;
  Result<std::shared_ptr<blob::Reader>> OpenFile(const format::BlobFileMeta& meta) const;

  FileSystem* file_system_;
  std::string directory_;
  kv::Order order_;
  std::map<kv::FileNumber, BlobFileFinding> found_;
  std::unique_ptr<Open> open_ = std::make_unique<Open>();
  mutable std::string record_;
  mutable std::string room_;
};

// Collects the keys of a table whose values are lost, adjacent keys together, into a bounded list of damages.
class LostValues {
 public:
  static constexpr size_t kDamagesMax = 1000;  // per table; further damages are joined to the last one

  // Call one of the two for each entry of the table, in order: Add if its value is lost, else Pass.
  void Add(std::string_view key, const format::BlobIndex& reference, const Status& why);
  void Pass() { is_open_ = false; }
  std::vector<Damage> Take() { return std::move(damages_); }

 private:
  bool is_open_ = false;   // the value of the last entry is lost
  kv::FileNumber file_{};  // the blob file of that value
  std::vector<Damage> damages_;
};

}  // namespace mergedb::repair
