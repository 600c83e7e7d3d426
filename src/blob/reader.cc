#include "blob/reader.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/perf.h"
#include "base/prefetch.h"
#include "env/file_reads.h"
#include "format/compression.h"

namespace mergedb::blob {
namespace {

using base::BlockCache;

constexpr size_t kCheckReadBytes = size_t{1} << 20;
// The part of a value that a search which waits hints at. WHY not all: the system reads on ahead of a large read, and
// memory that is short would lose the end of a large value before it is read.
constexpr uint64_t kHintBytesMax = uint64_t{1} << 20;

Status Differs(const char* what, uint64_t expected, uint64_t found) {
  return Status::Corruption(std::string(what) + ": expected " + std::to_string(expected) + ", found " +
                            std::to_string(found));
}

// A copy of the record without compression, in a block of its own. The cache holds it for a value that is
// stored compressed.
Result<BlockCache::Pin> Decompressed(const format::BlobRecord& record) {
  size_t raw_bytes = 0;
  RETURN_IF_ERROR(format::ReadRawBytes(record.stored, &raw_bytes));
  char head[format::kRecordHeadBytesMax];
  const size_t head_bytes = format::StoreUncheckedHead(head, record.key.size(), raw_bytes);
  BlockCache::Pin plain(BlockCache::Allocate(head_bytes + record.key.size() + raw_bytes));
  char* out = std::copy_n(head, head_bytes, plain.block()->data());
  out = std::copy(record.key.begin(), record.key.end(), out);
  RETURN_IF_ERROR(format::Decompress(record.codec, record.stored, out, raw_bytes));
  return plain;
}

// The checksum reads the whole record: its cache lines come at the same time, not one after another.
// MEASURED: db_bench ycsbc, 300,000 values of 1,000 B, mapped, five alternating runs: 1.6-1.8 -> 1.3-1.5 us a get,
// readreverse 0.37 -> 0.21 us, readseq unchanged.
void PrefetchRecord(std::string_view record) {
  constexpr size_t kMax = 1024;  // the processor's own prefetcher finds the next lines
  for (size_t i = 0; i < std::min(record.size(), kMax); i += base::kCacheLineBytes)
    __builtin_prefetch(record.data() + i);
}

}  // namespace

Result<std::shared_ptr<Reader>> Reader::Open(FileSystem* file_system, const std::string& path,
                                             const format::BlobFileMeta& meta, const kv::Order& order,
                                             base::BlockCache* cache, env::Latencies* latencies,
                                             env::FileMemory* memory) {
  ASSIGN_OR_RETURN(auto file, file_system->Open(path, {.access = Access::kRead}));
  std::shared_ptr<Reader> reader(new Reader(std::move(file), path, meta, order, cache, latencies));
  RETURN_IF_ERROR(reader->CheckFooter().WithContext(path));
  reader->around_ = memory == nullptr ? env::ReadAround(meta.record_bytes) : memory->Around(meta.record_bytes);
  if (memory != nullptr) {
    ASSIGN_OR_RETURN(reader->mapping_, memory->Map(reader->file_.get(), path, meta.record_bytes));
  }
  return reader;
}

Result<std::shared_ptr<Reader>> Reader::OpenUnchecked(FileSystem* file_system, const std::string& path,
                                                      const format::BlobFileMeta& meta, const kv::Order& order) {
  ASSIGN_OR_RETURN(auto file, file_system->Open(path, {.access = Access::kRead}));
  ASSIGN_OR_RETURN(const uint64_t file_bytes, file->Size());
  format::BlobFileMeta known = meta;
  known.record_bytes = std::min(meta.record_bytes, file_bytes);  // since this size limits allocations
  std::shared_ptr<Reader> reader(new Reader(std::move(file), path, known, order, nullptr, nullptr));
  reader->around_ = env::ReadAround(known.record_bytes);
  return reader;
}

Reader::Reader(std::unique_ptr<File> file, std::string path, const format::BlobFileMeta& meta, const kv::Order& order,
               BlockCache* cache, env::Latencies* latencies)
    : file_(std::move(file)),
      path_(std::move(path)),
      meta_(meta),
      order_(order),
      cache_(cache),
      latencies_(latencies) {}

// WHY not memcmp: a comparator may take different bytes for the same key, and the reader may use either of them.
Status Reader::CheckKey(std::string_view expected, std::string_view found) const {
  if (order_.SameKey(expected, found)) [[likely]]
    return {};
  return Status::Corruption("the blob index of key \"" + base::Escape(expected) + "\" refers to a value of key \"" +
                            base::Escape(found) + "\"");
}

// Checks that the MANIFEST and the footer describe the same file.
Status Reader::CheckFooter() const {
  ASSIGN_OR_RETURN(const uint64_t file_bytes, file_->Size());
  if (file_bytes != meta_.bytes) return Differs("file size", meta_.bytes, file_bytes);
  if (file_bytes < format::kBlobFooterBytes) return Differs("minimum file size", format::kBlobFooterBytes, file_bytes);
  char footer[format::kBlobFooterBytes];
  RETURN_IF_ERROR(env::ReadExactly(file_.get(), file_bytes - sizeof footer, sizeof footer, footer));
  format::BlobFileMeta found;
  RETURN_IF_ERROR(format::DecodeBlobFooter({footer, sizeof footer}, file_bytes, &found));
  if (found.unique_id != meta_.unique_id) return Differs("unique id", meta_.unique_id, found.unique_id);
  if (found.number != meta_.number) return Differs("number", kv::ToInt(meta_.number), kv::ToInt(found.number));
  if (found.records != meta_.records) return Differs("records", meta_.records, found.records);
  if (found.record_bytes != meta_.record_bytes)
    return Differs("bytes of records", meta_.record_bytes, found.record_bytes);
  return {};
}

// WHY the check first: making the text costs more than the work of most callers.
Status Reader::At(uint64_t offset, Status status) const {
  if (status.ok()) [[likely]]
    return status;
  return status.WithContext(path_ + ": value at " + std::to_string(offset));
}

Status Reader::CheckBlobIndex(const format::BlobIndex& reference) const {
  if (reference.bytes <= meta_.record_bytes && reference.offset <= meta_.record_bytes - reference.bytes) [[likely]]
    return {};
  return At(reference.offset,
            Status::Corruption("a blob index of " + std::to_string(reference.bytes) + " bytes; the file has " +
                               std::to_string(meta_.record_bytes) + " bytes of values"));
}

Status Reader::ReadAt(uint64_t offset, size_t bytes, bool reads_around, char* out) const {
  if (reads_around) around_.Before(file_.get(), offset);
  return At(offset, env::ReadExactly(file_.get(), offset, bytes, out));
}

Status Reader::OpenValue(std::string_view record, const format::BlobIndex& reference, std::string_view key, bool verify,
                         std::string* room, std::string_view* value) const {
  format::BlobRecord opened;
  Status status =
      format::OpenRecord(record, {.unique_id = meta_.unique_id, .offset = reference.offset}, verify, &opened);
  if (status.ok()) status = CheckKey(key, opened.key);
  if (status.ok() && opened.codec != Compression::kNone) {
    size_t raw_bytes = 0;
    status = format::ReadRawBytes(opened.stored, &raw_bytes);
    if (status.ok()) {
      room->resize(raw_bytes);
      status = format::Decompress(opened.codec, opened.stored, room->data(), raw_bytes);
      opened.stored = *room;
    }
  }
  if (!status.ok()) [[unlikely]]
    return At(reference.offset, status);
  *value = opened.stored;
  return {};
}

std::string_view Reader::InPlace(uint64_t offset, size_t bytes) const {
  if (mapping_ == nullptr || mapping_->has_failed()) return {};
  around_.Before(file_.get(), offset);
  const std::string_view record(mapping_->data() + offset, bytes);
  PrefetchRecord(record);
  return record;
}

// False: the file is not mapped, the value is compressed, or the mapping does not have it as it should be: then a read
// by calls says what the file has (base/mapped_faults.h).
bool Reader::FindInPlace(const format::BlobIndex& reference, std::string_view key, const ReadControl& control,
                         Found* found) const {
  const std::string_view stored = InPlace(reference.offset, reference.bytes);
  if (stored.empty()) return false;
  format::BlobRecord record;
  const format::Place place{.unique_id = meta_.unique_id, .offset = reference.offset};
  if (!format::OpenRecord(stored, place, false, &record).ok() || record.codec != Compression::kNone) return false;
  if (control.verify_checksums && !format::OpenRecord(stored, place, true, &record).ok()) return false;
  found->value = record.stored;
  return CheckKey(key, record.key).ok();
}

// True: the value is asked for, and the caller waits.
bool Reader::Defers(const format::BlobIndex& reference, env::Deferral* deferral) const {
  const uint64_t bytes = std::min<uint64_t>(reference.bytes, kHintBytesMax);
  if (!deferral->Waits({.file = kv::ToInt(meta_.number), .offset = reference.offset, .bytes = bytes})) return false;
  around_.Before(file_.get(), reference.offset);
  file_->WillRead(reference.offset, bytes);
  return true;
}

// False: the cache does not hold the value. A cached value was verified when it entered the cache. The key is compared
// again, since another blob index may lead to this record.
bool Reader::FindCached(const format::BlobIndex& reference, std::string_view key, bool counts_miss, Found* found,
                        Status* status) const {
  if (cache_ == nullptr) return false;
  found->pin = cache_->Find(kv::ToInt(meta_.number), reference.offset, counts_miss);
  if (PerfContext* const perf = base::thread_perf; perf != nullptr && (found->pin || counts_miss)) [[unlikely]]
    ++(found->pin ? perf->block_cache_hits : perf->block_cache_misses);
  if (!found->pin) return false;
  format::BlobRecord record;
  *status = format::OpenRecord(found->pin.bytes(), {}, false, &record);
  if (status->ok()) *status = CheckKey(key, record.key);
  found->value = record.stored;
  *status = At(reference.offset, *status);
  return true;
}

env::ReadResult Reader::GetOrWait(const format::BlobIndex& reference, std::string_view key, const ReadControl& control,
                                  env::Deferral* deferral, Found* found) const {
  RETURN_IF_ERROR(CheckBlobIndex(reference));
  const bool will_wait = deferral != nullptr && deferral->WouldWait(kv::ToInt(meta_.number), reference.offset);
  Status status;
  if (!FindInPlace(reference, key, control, found) && !FindCached(reference, key, !will_wait, found, &status)) {
    if (deferral != nullptr && Defers(reference, deferral)) return env::Progress::kWaits;
    status = Load(reference, key, control, found);
  }
  RETURN_IF_ERROR(std::move(status));
  return env::Progress::kDone;
}

Status Reader::Load(const format::BlobIndex& reference, std::string_view key, const ReadControl& control,
                    Found* found) const {
  BlockCache::Pin stored(BlockCache::Allocate(reference.bytes));
  around_.Before(file_.get(), reference.offset);
  RETURN_IF_ERROR(At(reference.offset, env::ReadMeasured(latencies_, file_.get(), reference.offset, reference.bytes,
                                                         stored.block()->data())));
  format::BlobRecord record;
  const format::Place place{.unique_id = meta_.unique_id, .offset = reference.offset};
  // The cache holds only verified values, also if this read does not verify checksums.
  const bool may_cache = cache_ != nullptr && control.fill_cache &&
                         (control.verify_checksums || format::OpenRecord(stored.bytes(), place, true, &record).ok());
  Status status = format::OpenRecord(stored.bytes(), place, control.verify_checksums, &record);
  if (status.ok()) status = CheckKey(key, record.key);
  if (status.ok() && record.codec != Compression::kNone) {
    auto plain = Decompressed(record);
    status = plain.status();
    if (plain) stored = std::move(*plain);
    if (status.ok()) status = format::OpenRecord(stored.bytes(), {}, false, &record);
  }
  if (!status.ok()) return At(reference.offset, status);
  if (may_cache) cache_->Insert(kv::ToInt(meta_.number), reference.offset, stored);
  found->value = record.stored;
  found->pin = std::move(stored);
  return {};
}

Status Reader::CheckIntegrity() const {
  RETURN_IF_ERROR(CheckFooter().WithContext(path_));
  RETURN_IF_ERROR(CheckRecords());
  return CheckZeros().WithContext(path_);
}

// Checks that the records fill exactly the bytes that the footer says.
Status Reader::CheckRecords() const {
  std::string window, room;
  uint64_t begin = 0, end = 0, records = 0;  // bytes [begin, end) are in `window`
  const auto have = [&](uint64_t offset, uint64_t bytes) -> Status {
    if (offset + bytes <= end) return {};
    window.resize(
        static_cast<size_t>(std::min(std::max<uint64_t>(bytes, kCheckReadBytes), meta_.record_bytes - offset)));
    begin = offset;
    end = offset + window.size();
    return ReadAt(begin, window.size(), false, window.data());
  };
  for (uint64_t offset = 0; offset < meta_.record_bytes; ++records) {
    const uint64_t left = meta_.record_bytes - offset;
    RETURN_IF_ERROR(have(offset, std::min<uint64_t>(left, format::kRecordHeadBytesMax)));
    uint64_t bytes = 0;
    const auto head = std::string_view(window).substr(offset - begin, format::kRecordHeadBytesMax);
    if (Status status = format::ReadRecordBytes(head, &bytes); !status.ok()) return At(offset, status);
    if (bytes > left) return At(offset, Differs("maximum bytes of the record", left, bytes));
    RETURN_IF_ERROR(have(offset, bytes));
    const std::string_view record(window.data() + (offset - begin), static_cast<size_t>(bytes));
    format::BlobRecord opened;
    Status status = format::OpenRecord(record, {.unique_id = meta_.unique_id, .offset = offset}, true, &opened);
    std::string_view value;
    const format::BlobIndex itself{.file = meta_.number, .offset = offset, .bytes = static_cast<uint32_t>(bytes)};
    if (!status.ok()) return At(offset, status);
    RETURN_IF_ERROR(OpenValue(record, itself, opened.key, false, &room, &value));
    offset += bytes;
  }
  if (records != meta_.records) return Differs("records", meta_.records, records).WithContext(path_);
  return {};
}

Status Reader::CheckZeros() const {
  char bytes[format::kTableAlign];
  const uint64_t end = meta_.bytes - format::kBlobFooterBytes;
  // less than a page; DecodeBlobFooter has checked this
  const auto count = static_cast<size_t>(end - meta_.record_bytes);
  RETURN_IF_ERROR(env::ReadExactly(file_.get(), meta_.record_bytes, count, bytes));
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] != 0) {
      return Differs("padding", 0, static_cast<uint8_t>(bytes[i])).WithContext(std::to_string(meta_.record_bytes + i));
    }
  }
  return {};
}

}  // namespace mergedb::blob
