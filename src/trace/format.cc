#include "trace/format.h"

#include <algorithm>
#include <array>

#include "base/coding.h"
#include "base/crc32c.h"

namespace mergedb::trace {
namespace {

constexpr std::string_view kMagic = "mrgdTRCE";
constexpr uint32_t kVersion = 1;
constexpr size_t kHeadCrcOffset = 40;
constexpr size_t kBlockCrcOffset = 16;

constexpr uint32_t kHasValues = 1, kIsScrubbed = 2, kIsOtherOrder = 4;  // flags of the head

enum RecordFlag : uint8_t {
  kKeyspace = 1,  // a keyspace other than the default one follows
  kValue = 2,     // the bytes of the value follow its size
  kFailed = 4,    // a code other than OK follows
  kElement = 8,   // of the group before; without thread and times
  kLower = 16,
  kUpper = 32,
  kKeysOnly = 64,
  kTransaction = 128,
};

constexpr std::array<std::string_view, kOpKindMax + 1> kNames = {
    "",         "put",  "delete",        "merge",         "delete_range", "batch", "get",  "multi_get",
    "iterator", "seek", "seek_for_prev", "seek_to_first", "seek_to_last", "next",  "prev", "release",
    "lost",     "end"};

uint64_t ZigZag(uint64_t value, uint64_t before) {
  const auto delta = static_cast<int64_t>(value - before);
  return static_cast<uint64_t>(delta) << 1 ^ static_cast<uint64_t>(delta >> 63);
}
uint64_t UnZigZag(uint64_t coded, uint64_t before) { return before + (coded >> 1 ^ (~(coded & 1) + 1)); }

uint8_t FlagsOf(const Operation& op) {
  unsigned flags = 0;
  if (op.keyspace != 0) flags |= kKeyspace;
  if (op.value) flags |= kValue;
  if (op.code != Code::kOk) flags |= kFailed;
  if (op.is_element) flags |= kElement;
  if (op.has_lower) flags |= kLower;
  if (op.has_upper) flags |= kUpper;
  if (op.keys_only) flags |= kKeysOnly;
  if (op.in_transaction) flags |= kTransaction;
  return static_cast<uint8_t>(flags);
}

void AppendBody(const Operation& op, std::string* out) {
  switch (op.kind) {
    case OpKind::kPut:
    case OpKind::kMerge:
      base::AppendLengthPrefixed(out, op.key);
      base::AppendVarint64(out, op.value_bytes);
      if (op.value) out->append(*op.value);
      break;
    case OpKind::kDelete: base::AppendLengthPrefixed(out, op.key); break;
    case OpKind::kDeleteRange:
      base::AppendLengthPrefixed(out, op.key);
      base::AppendLengthPrefixed(out, op.end);
      break;
    case OpKind::kGet:
      base::AppendLengthPrefixed(out, op.key);
      if (op.code == Code::kOk) base::AppendVarint64(out, op.value_bytes);
      break;
    case OpKind::kBatch:
    case OpKind::kMultiGet:
    case OpKind::kLost: base::AppendVarint64(out, op.count); break;
    case OpKind::kIterator:
      base::AppendVarint64(out, op.iterator);
      if (op.has_lower) base::AppendLengthPrefixed(out, op.key);
      if (op.has_upper) base::AppendLengthPrefixed(out, op.end);
      break;
    case OpKind::kSeek:
    case OpKind::kSeekForPrev:
      base::AppendVarint64(out, op.iterator);
      base::AppendLengthPrefixed(out, op.key);
      break;
    case OpKind::kSeekToFirst:
    case OpKind::kSeekToLast:
    case OpKind::kRelease: base::AppendVarint64(out, op.iterator); break;
    case OpKind::kNext:
    case OpKind::kPrev:
      base::AppendVarint64(out, op.iterator);
      base::AppendVarint64(out, op.count);
      break;
    case OpKind::kEnd:
      base::AppendVarint64(out, op.count);
      base::AppendVarint64(out, op.lost);
      base::AppendVarint64(out, static_cast<uint64_t>(op.reason));
      break;
  }
}

bool TakeSized(std::string_view* in, bool has_bytes, Operation* op) {
  if (!base::TakeVarint64(in, &op->value_bytes)) return false;
  if (!has_bytes) return true;
  if (op->value_bytes > in->size()) return false;
  op->value = in->substr(0, op->value_bytes);
  in->remove_prefix(op->value_bytes);
  return true;
}

bool TakeEnd(std::string_view* in, Operation* op) {
  uint64_t reason = 0;
  if (!base::TakeVarint64(in, &op->count) || !base::TakeVarint64(in, &op->lost) || !base::TakeVarint64(in, &reason))
    return false;
  op->reason = static_cast<EndReason>(std::min<uint64_t>(reason, UINT8_MAX));
  return true;
}

// What follows the body is of a newer program.
bool TakeBody(std::string_view in, uint8_t flags, Operation* op) {
  switch (op->kind) {
    case OpKind::kPut:
    case OpKind::kMerge: return base::TakeLengthPrefixed(&in, &op->key) && TakeSized(&in, (flags & kValue) != 0, op);
    case OpKind::kDelete: return base::TakeLengthPrefixed(&in, &op->key);
    case OpKind::kDeleteRange:
      return base::TakeLengthPrefixed(&in, &op->key) && base::TakeLengthPrefixed(&in, &op->end);
    case OpKind::kGet:
      return base::TakeLengthPrefixed(&in, &op->key) &&
             (op->code != Code::kOk || base::TakeVarint64(&in, &op->value_bytes));
    case OpKind::kBatch:
    case OpKind::kMultiGet:
    case OpKind::kLost: return base::TakeVarint64(&in, &op->count);
    case OpKind::kIterator:
      op->has_lower = (flags & kLower) != 0;
      op->has_upper = (flags & kUpper) != 0;
      op->keys_only = (flags & kKeysOnly) != 0;
      return base::TakeVarint64(&in, &op->iterator) && (!op->has_lower || base::TakeLengthPrefixed(&in, &op->key)) &&
             (!op->has_upper || base::TakeLengthPrefixed(&in, &op->end));
    case OpKind::kSeek:
    case OpKind::kSeekForPrev: return base::TakeVarint64(&in, &op->iterator) && base::TakeLengthPrefixed(&in, &op->key);
    case OpKind::kSeekToFirst:
    case OpKind::kSeekToLast:
    case OpKind::kRelease: return base::TakeVarint64(&in, &op->iterator);
    case OpKind::kNext:
    case OpKind::kPrev: return base::TakeVarint64(&in, &op->iterator) && base::TakeVarint64(&in, &op->count);
    case OpKind::kEnd: return TakeEnd(&in, op);
  }
  return true;
}

bool TakeByte(std::string_view* in, uint8_t* byte) {
  if (in->empty()) return false;
  *byte = static_cast<uint8_t>(in->front());
  in->remove_prefix(1);
  return true;
}

}  // namespace

std::string_view NameOf(OpKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::string EncodeHead(const Head& head) {
  std::string out(kHeadBytes, '\0');
  std::copy(kMagic.begin(), kMagic.end(), out.begin());
  base::StoreFixed32(&out[8], kVersion);
  base::StoreFixed32(&out[12], kHeadBytes);
  base::StoreFixed64(&out[16], head.id);
  base::StoreFixed64(&out[24], head.start_unix_micros);
  base::StoreFixed32(&out[32], head.sampling);
  base::StoreFixed32(&out[36], (head.has_values ? kHasValues : 0) | (head.is_scrubbed ? kIsScrubbed : 0) |
                                   (head.is_bytewise ? 0 : kIsOtherOrder));
  const uint32_t crc = base::Crc32c(std::string_view(out).substr(0, kHeadCrcOffset));
  base::StoreFixed32(&out[kHeadCrcOffset], base::Crc32cExtend(crc, &out[kHeadCrcOffset + 4], 4));
  return out;
}

Result<Head> DecodeHead(std::string_view bytes, size_t* head_bytes) {
  if (bytes.size() < kMagic.size() || !bytes.starts_with(kMagic))
    return Status::Corruption("at offset 0: expected the head of a trace, which begins with mrgdTRCE");
  if (bytes.size() < kHeadBytes) return Status::Corruption("at offset 0: the head of the trace is cut");
  const uint32_t version = base::LoadFixed32(&bytes[8]);
  const size_t size = base::LoadFixed32(&bytes[12]);
  if (size < kHeadBytes || size > kHeadBytesMax || size > bytes.size())
    return Status::Corruption("at offset 12: the head of the trace has an invalid size of " + std::to_string(size));
  uint32_t crc = base::Crc32c(bytes.substr(0, kHeadCrcOffset));
  crc = base::Crc32cExtend(crc, &bytes[kHeadCrcOffset + 4], size - kHeadCrcOffset - 4);
  if (crc != base::LoadFixed32(&bytes[kHeadCrcOffset]))
    return Status::Corruption("at offset 0: the checksum of the trace's head does not match");
  if (version != kVersion) {
    return Status::NotSupported("a trace of version " + std::to_string(version) + "; this program reads version " +
                                std::to_string(kVersion));
  }
  *head_bytes = size;
  const uint32_t flags = base::LoadFixed32(&bytes[36]);
  return Head{.id = base::LoadFixed64(&bytes[16]),
              .start_unix_micros = base::LoadFixed64(&bytes[24]),
              .sampling = base::LoadFixed32(&bytes[32]),
              .has_values = (flags & kHasValues) != 0,
              .is_scrubbed = (flags & kIsScrubbed) != 0,
              .is_bytewise = (flags & kIsOtherOrder) == 0};
}

// ---- blocks --------------------------------------------------------------------------------------------------------

void BlockBuilder::Clear() { payload_.assign(kBlockHeadBytes, '\0'); }

void BlockBuilder::Add(const Operation& op) {
  if (empty()) base_ = previous_start_ = op.start_micros;
  content_.clear();
  content_ += static_cast<char>(op.kind);
  content_ += static_cast<char>(FlagsOf(op));
  if (!op.is_element) {
    base::AppendVarint32(&content_, op.thread);
    base::AppendVarint64(&content_, ZigZag(op.start_micros, previous_start_));
    base::AppendVarint64(&content_, op.took_micros);
    previous_start_ = op.start_micros;
  }
  if (op.code != Code::kOk) content_ += static_cast<char>(op.code);
  if (op.keyspace != 0) base::AppendVarint32(&content_, op.keyspace);
  AppendBody(op, &content_);
  base::AppendLengthPrefixed(&payload_, content_);
}

void BlockBuilder::Rollback(const Mark& mark) {
  payload_.resize(mark.bytes);
  previous_start_ = mark.previous_start;
  base_ = mark.base;
}

std::string BlockBuilder::Finish() {
  base::StoreFixed32(&payload_[0], static_cast<uint32_t>(payload_.size() - kBlockHeadBytes));
  base::StoreFixed32(&payload_[4], number_++);
  base::StoreFixed64(&payload_[8], base_);
  const std::string_view block = payload_;
  const uint32_t crc = BlockCrc(trace_id_, block.substr(0, kBlockHeadBytes), block.substr(kBlockHeadBytes));
  base::StoreFixed32(&payload_[kBlockCrcOffset], crc);
  std::string finished = std::move(payload_);
  Clear();
  return finished;
}

BlockHead DecodeBlockHead(std::string_view bytes) {
  return {.payload_bytes = base::LoadFixed32(&bytes[0]),
          .number = base::LoadFixed32(&bytes[4]),
          .base_micros = base::LoadFixed64(&bytes[8]),
          .crc = base::LoadFixed32(&bytes[kBlockCrcOffset])};
}

uint32_t BlockCrc(uint64_t trace_id, std::string_view head, std::string_view payload) {
  std::string id;
  base::AppendFixed64(&id, trace_id);
  const uint32_t crc = base::Crc32cExtend(base::Crc32c(id), head.data(), kBlockCrcOffset);
  return base::Crc32cExtend(crc, payload.data(), payload.size());
}

// ---- records -------------------------------------------------------------------------------------------------------

bool BlockDecoder::Fail(std::string_view what) {
  status_ = Status::Corruption(what);
  return false;
}

bool BlockDecoder::Next(Operation* operation) {
  while (status_.ok() && !rest_.empty()) {
    std::string_view rest = rest_, content;
    if (!base::TakeLengthPrefixed(&rest, &content)) return Fail("a record is longer than its block");
    if (content.empty()) return Fail("a record is empty");
    const auto kind = static_cast<uint8_t>(content.front());
    if (kind == 0) return Fail("a record has kind 0");
    if (kind > kOpKindMax) {  // of a newer program
      rest_ = rest;
      continue;
    }
    if (!Decode(content, operation)) return Fail("a record is invalid");
    if (operation->is_element != (elements_left_ > 0) || (operation->is_element && !TakesElement(*operation)))
      return Fail("a record does not belong to its group");
    rest_ = rest;
    if (operation->is_element) {
      --elements_left_;
    } else if (IsGroup(operation->kind)) {
      group_ = *operation;
      elements_left_ = operation->count;
    }
    return true;
  }
  if (status_.ok() && elements_left_ > 0) return Fail("a group ends too early");
  return false;
}

bool BlockDecoder::TakesElement(const Operation& operation) const {
  return group_.kind == OpKind::kMultiGet ? operation.kind == OpKind::kGet
                                          : operation.kind >= OpKind::kPut && operation.kind <= OpKind::kDeleteRange;
}

bool BlockDecoder::Decode(std::string_view in, Operation* op) {
  uint8_t kind = 0, flags = 0, code = 0;
  *op = {};
  if (!TakeByte(&in, &kind) || !TakeByte(&in, &flags)) return false;
  op->kind = static_cast<OpKind>(kind);
  op->is_element = (flags & kElement) != 0;
  op->in_transaction = (flags & kTransaction) != 0;
  if (op->is_element) {
    op->thread = group_.thread;
    op->start_micros = group_.start_micros;
    op->took_micros = group_.took_micros;
  } else {
    uint64_t delta = 0;
    if (!base::TakeVarint32(&in, &op->thread) || !base::TakeVarint64(&in, &delta) ||
        !base::TakeVarint64(&in, &op->took_micros)) {
      return false;
    }
    op->start_micros = previous_start_ = UnZigZag(delta, previous_start_);
  }
  if ((flags & kFailed) != 0) {
    if (!TakeByte(&in, &code) || code == 0 || code > static_cast<uint8_t>(Code::kMergeFailed)) return false;
    op->code = static_cast<Code>(code);
  }
  if ((flags & kKeyspace) != 0 && (!base::TakeVarint32(&in, &op->keyspace) || op->keyspace == 0)) return false;
  return TakeBody(in, flags, op);
}

}  // namespace mergedb::trace
