// What tables and blob files have in common, for code that treats them alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "format/file_name.h"
#include "format/version_edit.h"

namespace mergedb::format {

struct DataFile {
  FileKind kind;  // kTable or kBlobFile
  kv::FileNumber number{};
  uint64_t bytes = 0;

  std::string PathIn(std::string_view directory) const { return FilePath(directory, kind, number); }
  std::string_view kind_name() const { return kind == FileKind::kTable ? "table" : "blob"; }
};
inline DataFile DataFileOf(const FileMeta& table) { return {FileKind::kTable, table.number, table.bytes}; }
inline DataFile DataFileOf(const BlobFileMeta& file) { return {FileKind::kBlobFile, file.number, file.bytes}; }

// A DataFile with its whole description.
struct DescribedFile : DataFile {
  explicit DescribedFile(FileMetaPtr table) : DataFile(DataFileOf(*table)), meta(std::move(table)) {}
  explicit DescribedFile(BlobFilePtr file) : DataFile(DataFileOf(*file)), meta(std::move(file)) {}

  std::variant<FileMetaPtr, BlobFilePtr> meta;
};

}  // namespace mergedb::format
