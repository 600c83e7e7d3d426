#include "db/state/integrity.h"

#include <map>
#include <variant>

#include "blob/reader.h"
#include "format/blob_file.h"
#include "format/file_name.h"
#include "read/blob_values.h"
#include "table/reader.h"

namespace mergedb::db {
namespace {

// Every blob index of the table must lead to a value of its key, and the sums must equal those of the
// FileMeta.
Status CheckReferences(Store& store, const version::Version& version, const format::FileMetaPtr& meta) {
  ASSIGN_OR_RETURN(auto table, store.tables->Open(meta));
  blob::Scanner values(store.values, true);
  std::map<kv::FileNumber, uint64_t> found;
  const auto entries = table->NewScanIterator();
  for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
    if (kv::KindOf(entries->entry().tag) != kv::Kind::kPutBlobIndex) continue;
    format::BlobIndex reference;
    ASSIGN_OR_RETURN(const auto file, read::BlobFileOf(version, entries->entry(), &reference));
    std::string_view value;
    RETURN_IF_ERROR(values.Read(*file, reference, entries->entry().key, &value));
    found[reference.file] += reference.bytes;
  }
  RETURN_IF_ERROR(entries->status());
  std::map<kv::FileNumber, uint64_t> expected;
  for (const format::BlobShare& share : meta->values) expected[share.file] = share.bytes;
  if (found == expected) return {};
  return Status::Corruption(format::TablePath(store.directory, meta->number) +
                            ": the MANIFEST has other numbers of bytes in blob files for this table");
}

}  // namespace

Status CheckFile(FileSystem* files, const std::string& path, const format::DescribedFile& file,
                 const kv::Order& order) {
  if (const auto* const table = std::get_if<format::FileMetaPtr>(&file.meta)) {
    ASSIGN_OR_RETURN(const auto reader, table::Reader::Open(files, path, *table, order, nullptr));
    return reader->CheckIntegrity();
  }
  const auto& blob_file = std::get<format::BlobFilePtr>(file.meta);
  ASSIGN_OR_RETURN(const auto reader, blob::Reader::Open(files, path, *blob_file, order, nullptr));
  return reader->CheckIntegrity();
}

Status CheckIntegrity(Store& store, const version::Version& version) {
  for (const auto& meta : version.file_metas()) {
    ASSIGN_OR_RETURN(auto reader, store.tables->Open(meta));
    RETURN_IF_ERROR(reader->CheckIntegrity());
  }
  for (const version::BlobFile& each : version.blob_files()) {
    ASSIGN_OR_RETURN(auto reader, store.values.Open(*each.file));
    RETURN_IF_ERROR(reader->CheckIntegrity());
  }
  for (const auto& meta : version.file_metas()) RETURN_IF_ERROR(CheckReferences(store, version, meta));
  return {};
}

}  // namespace mergedb::db
