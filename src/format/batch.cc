#include "format/batch.h"

#include "base/bytes.h"
#include "base/coding.h"

namespace mergedb::format {
namespace {

// A length above 32 bits is written in full. The write path refuses such a batch because of its size, and a
// reader reports Corruption. A length cut to 32 bits would pass both checks.
char* StoreHeader(char* out, kv::Kind kind, size_t key_bytes, size_t value_bytes) {
  *out++ = static_cast<char>(kind);
  out = base::StoreVarint64(out, key_bytes);
  return kind == kv::Kind::kDelete ? out : base::StoreVarint64(out, value_bytes);
}

// A larger kind in a batch is Corruption: kMerged is stored in tables only.
constexpr kv::Kind kKindWrittenMax = kv::Kind::kPutBlobIndex;

constexpr bool IsWritten(uint8_t byte) {
  return byte == static_cast<uint8_t>(kv::Kind::kPut) || byte == static_cast<uint8_t>(kv::Kind::kDelete) ||
         byte == static_cast<uint8_t>(kv::Kind::kMerge) || byte == static_cast<uint8_t>(kv::Kind::kRangeDelete);
}

Status BadRecord(size_t offset, std::string_view expected, std::string_view found) {
  return Status::Corruption("batch record at offset " + std::to_string(offset) + ": expected " + std::string(expected) +
                            ", found " + base::ToHex(found.substr(0, kRecordHeaderBytesMax)) + " and " +
                            std::to_string(found.size()) + " bytes in all");
}

// The error for a record whose first byte `byte` is not a kind that this version writes.
Status CheckKind(uint8_t byte, size_t offset, std::string_view record) {
  const auto kind = static_cast<kv::Kind>(byte & ~kKeyspaceFlag);
  if (kind > kKindWrittenMax) return BadRecord(offset, "a kind up to " + std::to_string(int(kKindWrittenMax)), record);
  if (byte & kKeyspaceFlag) {
    return Status::NotSupported("batch record at offset " + std::to_string(offset) +
                                ": a keyspace flag, which is not allowed in the WAL");
  }
  return Status::NotSupported("batch record at offset " + std::to_string(offset) + ": kind " +
                              std::string(kv::KindName(kind)) + " needs a newer version of mergedb");
}

}  // namespace

size_t RecordBytes(kv::Kind kind, size_t key_bytes, size_t value_bytes) {
  const size_t bytes = 1 + base::VarintBytes(key_bytes) + key_bytes;
  return kind == kv::Kind::kDelete ? bytes : bytes + base::VarintBytes(value_bytes) + value_bytes;
}

// WHY one 8-byte store for short lengths: the checksum and the copy load the whole header right after it.
RecordHeader::RecordHeader(kv::Kind kind, size_t key_bytes, size_t value_bytes) {
  const bool has_value = kind != kv::Kind::kDelete;
  if (key_bytes < 0x80 && value_bytes < 0x4000) [[likely]] {
    const bool is_long = value_bytes >= 0x80;
    const uint64_t length = is_long ? (value_bytes & 0x7f) | 0x80 | value_bytes >> 7 << 8 : value_bytes;
    base::StoreFixed64(bytes_, static_cast<uint64_t>(kind) | key_bytes << 8 | (has_value ? length << 16 : 0));
    count_ = 2 + (has_value ? 1 + is_long : 0);
  } else {
    count_ = static_cast<size_t>(StoreHeader(bytes_, kind, key_bytes, value_bytes) - bytes_);
  }
}

void AppendRecord(std::string* out, kv::Kind kind, std::string_view key, std::string_view value) {
  // WHY: after it nothing allocates, so no batch has a part of a record. libstdc++'s reserve at least doubles.
  out->reserve(out->size() + RecordBytes(kind, key.size(), value.size()));
  AppendRecordHeader(out, kind, key.size(), value.size());
  out->append(key);
  if (kind != kv::Kind::kDelete) out->append(value);
}

void AppendRecord(std::string* out, uint32_t keyspace, kv::Kind kind, std::string_view key, std::string_view value) {
  const size_t at = out->size();
  std::string id;
  base::AppendVarint32(&id, keyspace);
  out->reserve(at + RecordBytes(kind, key.size(), value.size()) + id.size());  // WHY: as above
  AppendRecord(out, kind, key, value);
  (*out)[at] = static_cast<char>(static_cast<uint8_t>(kind) | kKeyspaceFlag);
  out->insert(at + 1, id);
}

bool BatchReader::Next() {
  if (!status_.ok() || rest_.empty()) return false;
  auto byte = static_cast<uint8_t>(rest_[0]);
  const auto offset = [this] { return static_cast<size_t>(rest_.data() - begin_); };
  const char* const limit = rest_.data() + rest_.size();
  const char* in = rest_.data() + 1;
  keyspace_ = 0;
  if (!IsWritten(byte)) [[unlikely]] {
    const bool is_flagged = form_ == Form::kCaller && IsWritten(byte & ~kKeyspaceFlag);
    status_ = is_flagged ? Status() : CheckKind(byte, offset(), rest_);
    if (!status_.ok()) return false;
    byte &= static_cast<uint8_t>(~kKeyspaceFlag);
    in = base::LoadVarint32(in, limit, &keyspace_);
    if (in == nullptr || keyspace_ == 0) {
      status_ = BadRecord(offset(), "a keyspace from 1 as varint32", rest_);
      return false;
    }
  }
  kind_ = static_cast<kv::Kind>(byte);

  uint32_t key_bytes = 0, value_bytes = 0;
  in = base::LoadVarint32(in, limit, &key_bytes);
  if (in != nullptr && kind_ != kv::Kind::kDelete) in = base::LoadVarint32(in, limit, &value_bytes);
  if (in == nullptr) [[unlikely]] {
    status_ = BadRecord(offset(), "lengths as varint32", rest_);
    return false;
  }
  // The sum of two 32-bit numbers does not overflow 64 bits.
  if (uint64_t{key_bytes} + value_bytes > static_cast<uint64_t>(limit - in)) [[unlikely]] {
    status_ = BadRecord(offset(), std::to_string(key_bytes) + " + " + std::to_string(value_bytes) + " bytes", rest_);
    return false;
  }
  key_ = {in, key_bytes};
  value_ = {in + key_bytes, value_bytes};
  rest_ = {value_.data() + value_bytes, static_cast<size_t>(limit - value_.data()) - value_bytes};
  return true;
}

}  // namespace mergedb::format
