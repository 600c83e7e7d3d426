// Inspects one blob file, record by record.
//
//   [record][ XX ][record][record] 0 0 0 [footer]
//            damaged: the header of a record says where the next record begins. If that one is damaged, too, the
//            header cannot be trusted, and the inspection ends there.
#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "env/file_reads.h"
#include "format/compression.h"
#include "repair/one_file.h"
#include "repair/one_file_parts.h"

namespace mergedb::repair {
namespace {

constexpr uint64_t kReadBytes = uint64_t{1} << 20;

class BlobFileInspector {
 public:
  explicit BlobFileInspector(std::unique_ptr<File> file, BlobFileReport* report)
      : file_(std::move(file)), report_(*report) {}
  Status ReadFooter();
  Status ReadRecords(const VisitValue& visit);
  Status CheckZeros();

 private:
  // Bytes [offset, offset + bytes) of the file. The view is valid until the next call.
  Status Read(uint64_t offset, uint64_t bytes, std::string_view* out);
  Status Open(std::string_view record, uint64_t offset, BlobValue* value, uint64_t* stored_bytes);
  void Count(const BlobValue& value, uint64_t stored_bytes);

  std::unique_ptr<File> file_;
  BlobFileReport& report_;
  std::string window_;
  uint64_t begin_ = 0;  // of the window
  std::string room_;
};

Status BlobFileInspector::ReadFooter() {
  const uint64_t bytes = report_.file.bytes;
  if (bytes < format::kBlobFooterBytes) {
    return Status::Corruption("footer: expected at least " + std::to_string(format::kBlobFooterBytes) +
                              " bytes of a file, found " + std::to_string(bytes) + " (truncated?)");
  }
  char footer[format::kBlobFooterBytes];
  RETURN_IF_ERROR(env::ReadExactly(file_.get(), bytes - sizeof footer, sizeof footer, footer));
  format::BlobFileMeta meta;
  RETURN_IF_ERROR(format::DecodeBlobFooter({footer, sizeof footer}, bytes, &meta));
  report_.footer = meta;
  return {};
}

Status BlobFileInspector::Read(uint64_t offset, uint64_t bytes, std::string_view* out) {
  if (offset < begin_ || offset + bytes > begin_ + window_.size()) {
    const uint64_t all = report_.footer->record_bytes;
    window_.resize(static_cast<size_t>(std::min(std::max(bytes, kReadBytes), all - offset)));
    begin_ = offset;
    const Status status = env::ReadExactly(file_.get(), offset, window_.size(), window_.data());
    if (!status.ok()) window_.clear();
    RETURN_IF_ERROR(status);
  }
  *out = std::string_view(window_).substr(static_cast<size_t>(offset - begin_), static_cast<size_t>(bytes));
  return {};
}

Status BlobFileInspector::Open(std::string_view record, uint64_t offset, BlobValue* value, uint64_t* stored_bytes) {
  format::BlobRecord opened;
  const format::Place place{.unique_id = report_.footer->unique_id, .offset = offset};
  RETURN_IF_ERROR(format::OpenRecord(record, place, true, &opened));
  *stored_bytes = opened.stored.size();
  *value = {.offset = offset, .bytes = record.size(), .codec = opened.codec, .key = opened.key, .value = opened.stored};
  if (opened.codec == Compression::kNone) return {};
  size_t raw_bytes = 0;
  RETURN_IF_ERROR(format::ReadRawBytes(opened.stored, &raw_bytes));
  room_.resize(raw_bytes);
  RETURN_IF_ERROR(format::Decompress(opened.codec, opened.stored, room_.data(), raw_bytes));
  value->value = room_;
  return {};
}

void BlobFileInspector::Count(const BlobValue& value, uint64_t stored_bytes) {
  ++report_.records;
  ++report_.codecs[value.codec];
  report_.key_bytes += value.key.size();
  report_.stored_bytes += stored_bytes;
  report_.value_bytes += value.value.size();
  report_.value_bytes_max = std::max<uint64_t>(report_.value_bytes_max, value.value.size());
  if (!report_.smallest_key || value.key < *report_.smallest_key) report_.smallest_key = std::string(value.key);
  if (!report_.largest_key || value.key > *report_.largest_key) report_.largest_key = std::string(value.key);
}

Status BlobFileInspector::ReadRecords(const VisitValue& visit) {
  const uint64_t all = report_.footer->record_bytes;
  bool is_after_damage = false;
  uint64_t damaged = 0;
  for (uint64_t offset = 0; offset < all;) {
    const uint64_t left = all - offset;
    std::string_view bytes;
    uint64_t record_bytes = 0, stored_bytes = 0;
    BlobValue value;
    Status status = Read(offset, std::min<uint64_t>(left, format::kRecordHeadBytesMax), &bytes);
    if (status.ok()) status = format::ReadRecordBytes(bytes, &record_bytes);
    if (status.ok() && record_bytes > left) {
      status = Status::Corruption("maximum bytes of the record: expected " + std::to_string(left) + ", found " +
                                  std::to_string(record_bytes));
      record_bytes = 0;
    }
    if (status.ok()) status = Read(offset, record_bytes, &bytes);
    if (status.ok()) status = Open(bytes, offset, &value, &stored_bytes);
    if (IsFailure(status)) return status;
    if (status.ok()) {
      Count(value, stored_bytes);
      if (visit) RETURN_IF_ERROR(visit(value));
    } else {
      ++damaged;
      const bool is_end = is_after_damage || record_bytes == 0;
      Report(&report_.file, offset, is_end ? left : record_bytes,
             "record: " + std::string(status.message()) +
                 (is_end ? "; the records from here on cannot be found without the tables that refer to them" : ""));
      if (is_end) return {};
    }
    is_after_damage = !status.ok();
    offset += record_bytes;
  }
  if (report_.records + damaged != report_.footer->records) {
    Report(&report_.file, 0, 0,
           "records: expected " + std::to_string(report_.footer->records) + ", found " +
               std::to_string(report_.records + damaged));
  }
  return {};
}

Status BlobFileInspector::CheckZeros() {
  const uint64_t begin = report_.footer->record_bytes;
  std::string zeros(static_cast<size_t>(report_.file.bytes - format::kBlobFooterBytes - begin), '\0');
  RETURN_IF_ERROR(env::ReadExactly(file_.get(), begin, zeros.size(), zeros.data()));
  const size_t first = zeros.find_first_not_of('\0');
  if (first == std::string::npos) return {};
  Report(&report_.file, begin + first, zeros.find_last_not_of('\0') + 1 - first,
         "padding: expected zeros, found " + base::ToHex(zeros.substr(first, 1)))
      .loses_entries = false;
  return {};
}

Result<BlobFileReport> Inspect(FileSystem* file_system, const std::string& path, const VisitValue& visit) {
  BlobFileReport report;
  ASSIGN_OR_RETURN(auto file, OpenOneFile(file_system, path, OneFileKind::kBlobFile, &report.file));
  BlobFileInspector inspector(std::move(file), &report);
  const Status footer = inspector.ReadFooter();
  if (IsFailure(footer)) return footer.WithContext(path);
  if (!footer.ok()) {
    const uint64_t bytes = std::min<uint64_t>(report.file.bytes, format::kBlobFooterBytes);
    Report(&report.file, report.file.bytes - bytes, bytes,
           std::string(footer.message()) + "; no record can be checked without the footer");
    return report;
  }
  TakeNumber(report.footer->number, &report.file);
  RETURN_IF_ERROR(inspector.ReadRecords(visit).WithContext(path));
  RETURN_IF_ERROR(inspector.CheckZeros().WithContext(path));
  return report;
}

}  // namespace

Result<BlobFileReport> InspectBlobFile(FileSystem* file_system, const std::string& path, const VisitValue& visit) {
  return InspectHeld(file_system, path, [&](FileSystem* held, bool is_first) {
    return Inspect(held, path, is_first ? visit : VisitValue());
  });
}

}  // namespace mergedb::repair
