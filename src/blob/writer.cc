#include "blob/writer.h"

#include <utility>

#include "base/assert.h"

namespace mergedb::blob {

Result<std::unique_ptr<Writer>> Writer::Create(FileSystem* file_system, const std::string& path, kv::FileNumber number,
                                               uint64_t unique_id, const WriterOptions& options) {
  ASSIGN_OR_RETURN(
      auto file,
      env::SinkFile::Open(file_system, path,
                          {.is_direct = options.is_direct, .is_reuse = options.is_reuse, .times = options.times}));
  return std::unique_ptr<Writer>(new Writer(std::move(file), number, unique_id, options.compression));
}

Writer::Writer(env::SinkFile file, kv::FileNumber number, uint64_t unique_id, Compression compression)
    : sink_(std::move(file)), compressor_(compression) {
  meta_.number = number;
  meta_.unique_id = unique_id;
}

Status Writer::Add(std::string_view key, std::string_view value, format::BlobIndex* reference) {
  const std::string_view compressed = compressor_.Compress(value);
  const std::string_view stored = compressed.empty() ? value : compressed;
  const Compression codec = compressed.empty() ? Compression::kNone : compressor_.codec();
  const uint64_t offset = sink_.offset();
  char head[format::kRecordHeadBytesMax];
  const size_t head_bytes =
      format::StoreRecordHead(head, key, stored, codec, {.unique_id = meta_.unique_id, .offset = offset});
  RETURN_IF_ERROR(sink_.Append({head, head_bytes}));
  RETURN_IF_ERROR(sink_.Append(key));
  RETURN_IF_ERROR(sink_.Append(stored));
  const uint64_t bytes = sink_.offset() - offset;
  ASSERT(bytes <= UINT32_MAX, "keys and values have limits that are far below");
  *reference = {.file = meta_.number, .offset = offset, .bytes = static_cast<uint32_t>(bytes)};
  ++meta_.records;
  meta_.record_bytes += bytes;
  return {};
}

Result<format::BlobFilePtr> Writer::Finish() {
  ASSERT(meta_.records > 0, "a blob file has records");
  meta_.bytes = format::BlobFileBytes(meta_.record_bytes);
  RETURN_IF_ERROR(sink_.PadTo(meta_.bytes - format::kBlobFooterBytes));
  RETURN_IF_ERROR(sink_.Append(format::EncodeBlobFooter(meta_)));
  RETURN_IF_ERROR(sink_.Finish());
  return std::make_shared<const format::BlobFileMeta>(meta_);
}

}  // namespace mergedb::blob
