// The value files of a directory that may be damaged: which are whole, and what the references of tables still lead to.
//
//   000012.tbl   a -> 000013 at 0    ok
//                b -> 000013 at 900  damaged: b's value is lost, and reported as a key
//                c -> 000014 at 0    000014 is missing: likewise
//
// A value counts as whole if its record is: checksum, place and key say so. What a damaged file still holds whole is read from here
// and goes into the tables that are written anew, so that nothing refers to the file any more.
//
// At most kOpenFilesMax files are held open, however many there are; where the process needs their descriptors, none
// (env/descriptors.h).
//
// THREADS: one at a time. Tests: tests/flips/repair_test.cc.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/open_files.h"
#include "blob/reader.h"
#include "env/descriptors.h"
#include "format/blob_file.h"
#include "kv/order.h"
#include "mergedb/care.h"
#include "mergedb/env.h"

namespace mergedb::repair {

struct BlobFileFinding {
  format::BlobFilePtr meta;  // what the MANIFEST says; without one what the file's footer says; null: nobody does
  bool can_be_opened = false;
  Status verdict;  // OK: it is whole
};

class BlobFiles {
 public:
  BlobFiles(FileSystem* file_system, std::string directory, const kv::Order& order)
      : file_system_(file_system), directory_(std::move(directory)), order_(order) {}

  // Read every byte of a file. A null `meta` believes its footer. NotSupported: a newer version wrote it. Busy: no file
  // descriptor is left. Damage is a verdict.
  Status Look(kv::FileNumber number, format::BlobFilePtr meta);
  const std::map<kv::FileNumber, BlobFileFinding>& found() const { return found_; }
  bool IsWhole(kv::FileNumber number) const;

  // The value that a PUT_REF of this key leads to, whose view lives until the next call; or why it cannot be had. Busy:
  // no file descriptor is left, and the value may be whole. *reference is set if the entry's value is one.
  Status Read(std::string_view key, std::string_view value_of_entry, format::ValueReference* reference,
              std::string_view* value) const;

 private:
  static constexpr size_t kOpenFilesMax = 64;
  struct Open {
    base::OpenFiles<blob::Reader> files{kOpenFilesMax};
    const env::IdleFiles idle{[this] { files.CloseIdle(); }};  // the last member: it goes first
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

// Gathers the keys of a table whose values are lost, neighbours together, into a bounded list of damages.
class LostValues {
 public:
  // The table's next entry is one whose value is lost; or it is not.
  void Add(std::string_view key, const format::ValueReference& reference, const Status& why);
  void Pass() { is_open_ = false; }
  std::vector<Damage> Take() { return std::move(damages_); }

 private:
  bool is_open_ = false;   // the last entry's value is lost
  kv::FileNumber file_{};  // where it was
  std::vector<Damage> damages_;
};

}  // namespace mergedb::repair
