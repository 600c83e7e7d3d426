// The tables and blob files of a Version in one list.
#pragma once

#include <vector>

#include "format/data_file.h"
#include "version/version.h"

namespace mergedb::version {

// The tables by number, each once; then the blob files by number.
inline std::vector<format::DescribedFile> DataFilesOf(const Version& version) {
  std::vector<format::DescribedFile> files;
  for (const format::FileMetaPtr& table : version.file_metas()) files.emplace_back(table);
  for (const BlobFile& each : version.blob_files()) files.emplace_back(each.file);
  return files;
}

}  // namespace mergedb::version
