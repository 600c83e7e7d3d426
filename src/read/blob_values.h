// Reads the blob values of one version: the iterators ask it for the value of a blob index.
#pragma once

#include <cstdint>
#include <string>

#include "blob/scanner.h"
#include "kv/value_source.h"
#include "read/pinned_tables.h"
#include "read/read_observer.h"
#include "version/version.h"

namespace mergedb::read {

class BlobValues final : public kv::ValueSource {
 public:
  // `version`, `files`, `observer` and `kept` outlive the object. `observer` hears of scattered values now and then and
  // at the end; it may be null. `kept` keeps the files of values that are shown in place; it may be null. `in_place` as
  // in table::ReadControl.
  BlobValues(const version::Version& version, blob::Cache& files, bool verify_checksums,
             ReadObserver* observer = nullptr, PinnedTables* kept = nullptr, bool in_place = true)
      : version_(version),
        scanner_(files, verify_checksums, {.reads_in_place = in_place}),
        observer_(observer),
        kept_(kept) {}
  ~BlobValues() override { ReportScattered(); }

  Status Resolve(const kv::Entry& entry, std::string_view* value) override;
  bool Lasts(std::string_view shown) override { return kept_ != nullptr && kept_->Holds(shown); }
  // The iterator moves to another place.
  void NoteSeek() { scanner_.NoteSeek(); }

 private:
  void ReportScattered();

  const version::Version& version_;
  blob::Scanner scanner_;
  ReadObserver* const observer_;
  PinnedTables* const kept_;
  uint64_t reported_bytes_ = 0;
};

// The description of the blob file that `entry`, a blob index, refers to; it lives as long as the version. *reference
// is the parsed blob index. By invariant I7 the version has the file, so a missing one is Corruption.
Result<const format::BlobFileMeta*> BlobFileOf(const version::Version& version, const kv::Entry& entry,
                                               format::BlobIndex* reference);

}  // namespace mergedb::read
