#include "read/blob_values.h"

namespace mergedb::read {
namespace {

// WHY now and then: an iterator may live long.
constexpr uint64_t kReportBytes = uint64_t{1} << 20;

}  // namespace

Result<const format::BlobFileMeta*> BlobFileOf(const version::Version& version, const kv::Entry& entry,
                                               format::BlobIndex* reference) {
  Status status = format::DecodeBlobIndex(entry.value, reference);
  if (status.ok()) {
    if (const format::BlobFileMeta* file = version.FindBlobFile(reference->file).get()) [[likely]]
      return file;
    status = Status::Corruption("it refers to blob file " + std::to_string(kv::ToInt(reference->file)) +
                                ", which is not part of the database");
  }
  return status.WithContext(kv::PrintKey(entry.key, entry.tag));
}

Status BlobValues::Resolve(const kv::Entry& entry, std::string_view* value) {
  format::BlobIndex reference;
  ASSIGN_OR_RETURN(const auto file, BlobFileOf(version_, entry, &reference));
  if (scanner_.scattered_bytes() - reported_bytes_ >= kReportBytes) ReportScattered();
  RETURN_IF_ERROR(scanner_.Read(*file, reference, entry.key, value));
  if (kept_ != nullptr && !kept_->Holds(*value))
    kept_->Keep(version_.FindBlobFile(reference.file), scanner_.last_reader());
  return {};
}

void BlobValues::ReportScattered() {
  const uint64_t bytes = scanner_.scattered_bytes() - std::exchange(reported_bytes_, scanner_.scattered_bytes());
  if (bytes > 0 && observer_ != nullptr) observer_->NoteScatteredValues(bytes);
}

}  // namespace mergedb::read
