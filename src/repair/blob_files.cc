#include "repair/blob_files.h"

#include <utility>

#include "env/file_reads.h"
#include "format/file_name.h"

namespace mergedb::repair {
namespace {

// Reads the file's own description, its footer.
Result<format::BlobFilePtr> ReadFooter(FileSystem* file_system, const std::string& path) {
  ASSIGN_OR_RETURN(auto file, file_system->Open(path, {.access = Access::kRead}));
  ASSIGN_OR_RETURN(const uint64_t bytes, file->Size());
  if (bytes < format::kBlobFooterBytes)
    return Status::Corruption(path + ": " + std::to_string(bytes) + " bytes are too few for a blob file");
  char footer[format::kBlobFooterBytes];
  RETURN_IF_ERROR(env::ReadExactly(file.get(), bytes - sizeof footer, sizeof footer, footer));
  format::BlobFileMeta meta;
  RETURN_IF_ERROR(format::DecodeBlobFooter({footer, sizeof footer}, bytes, &meta));
  return std::make_shared<const format::BlobFileMeta>(meta);
}

}  // namespace

std::string BlobFiles::PathOf(kv::FileNumber number) const { return format::BlobFilePath(directory_, number); }

Status BlobFiles::Look(kv::FileNumber number, format::BlobFilePtr meta) {
  BlobFileFinding& finding = found_[number];
  finding.meta = std::move(meta);
  if (finding.meta == nullptr) {
    auto footer = ReadFooter(file_system_, PathOf(number));
    if (footer.status().IsBusy()) return footer.status();
    finding.verdict = footer.status();
    if (footer && (*footer)->number != number) {
      finding.verdict =
          Status::Corruption("the footer has the number of blob file " + std::to_string(kv::ToInt((*footer)->number)));
    }
    if (finding.verdict.ok()) finding.meta = std::move(*footer);
  }
  if (finding.meta != nullptr) {
    const auto reader = OpenFile(*finding.meta);
    if (reader.status().IsBusy()) return reader.status();
    finding.can_be_opened = reader.has_value();
    finding.verdict = reader ? (*reader)->CheckIntegrity() : reader.error();
  }
  return finding.verdict.IsNotSupported() ? finding.verdict : Status();
}

Result<std::shared_ptr<blob::Reader>> BlobFiles::OpenFile(const format::BlobFileMeta& meta) const {
  return open_->files.FindOrOpen(kv::ToInt(meta.number), [&] {
    return blob::Reader::OpenUnchecked(file_system_, PathOf(meta.number), meta, order_);
  });
}

bool BlobFiles::IsWhole(kv::FileNumber number) const {
  const auto found = found_.find(number);
  return found != found_.end() && found->second.meta != nullptr && found->second.verdict.ok();
}

Status BlobFiles::Read(std::string_view key, std::string_view value_of_entry, format::BlobIndex* reference,
                       std::string_view* value) const {
  RETURN_IF_ERROR(format::DecodeBlobIndex(value_of_entry, reference));
  const auto found = found_.find(reference->file);
  if (found == found_.end()) return Status::Corruption("missing");
  const BlobFileFinding& finding = found->second;
  if (!finding.can_be_opened) return finding.verdict;
  ASSIGN_OR_RETURN(const auto reader, OpenFile(*finding.meta));
  RETURN_IF_ERROR(reader->CheckBlobIndex(*reference));
  record_.resize(reference->bytes);
  RETURN_IF_ERROR(reader->ReadAt(reference->offset, record_.size(), false, record_.data()));
  return reader->OpenValue(record_, *reference, key, true, &room_, value);
}

void LostValues::Add(std::string_view key, const format::BlobIndex& reference, const Status& why) {
  const bool goes_on = !damages_.empty() && ((is_open_ && file_ == reference.file) || damages_.size() >= kDamagesMax);
  is_open_ = true;
  file_ = reference.file;
  if (goes_on) {
    damages_.back().bytes = 0;
    damages_.back().largest_key = std::string(key);
    return;
  }
  const std::string message(why.message());
  damages_.push_back({.file = format::PrintFileName(format::FileKind::kBlobFile, reference.file),
                      .offset = reference.offset,
                      .bytes = reference.bytes,
                      .what = why.IsNotFound() ? "missing" : message,
                      .loses_entries = true,
                      .smallest_key = std::string(key),
                      .largest_key = std::string(key)});
}

}  // namespace mergedb::repair
