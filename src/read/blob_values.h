// The values that the references of one Version stand for: what a stream asks for the value of a PUT_REF.
#pragma once

#include <string>

#include "blob/scanner.h"
#include "kv/value_source.h"
#include "version/version.h"

namespace mergedb::read {

class BlobValues final : public kv::ValueSource {
 public:
  // Both outlive it.
  BlobValues(const version::Version& version, blob::Cache& files, bool verify_checksums)
      : version_(version), scanner_(files, verify_checksums) {}

  Status Resolve(const kv::Entry& entry, std::string_view* value) override;

 private:
  const version::Version& version_;
  blob::Scanner scanner_;
};

// The description of the file that `reference` leads to, which lives as long as the Version; by invariant I7 it is there, so its
// absence is Corruption.
Result<const format::BlobFileMeta*> BlobFileOf(const version::Version& version, const kv::Entry& entry,
                                               format::ValueReference* reference);

}  // namespace mergedb::read
