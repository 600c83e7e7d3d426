// Reads the blob values of one version: the iterators ask it for the value of a PUT_REF.
#pragma once

#include <string>

#include "blob/scanner.h"
#include "kv/value_source.h"
#include "version/version.h"

namespace mergedb::read {

class BlobValues final : public kv::ValueSource {
 public:
  // `version` and `files` outlive the object.
  BlobValues(const version::Version& version, blob::Cache& files, bool verify_checksums)
      : version_(version), scanner_(files, verify_checksums) {}

  Status Resolve(const kv::Entry& entry, std::string_view* value) override;

 private:
  const version::Version& version_;
  blob::Scanner scanner_;
};

// The description of the blob file that the PUT_REF `entry` refers to; it lives as long as the version. *reference
// is the parsed blob reference. By invariant I7 the version has the file, so a missing one is Corruption.
Result<const format::BlobFileMeta*> BlobFileOf(const version::Version& version, const kv::Entry& entry,
                                               format::BlobIndex* reference);

}  // namespace mergedb::read
