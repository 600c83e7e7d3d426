#include "base/coding.h"

#include "base/assert.h"

namespace mergedb::base {
namespace {

// Decodes a varint of at most `bytes_max` bytes. A byte at the last possible place may be at most `last_max`.
template <typename Int>
const char* LoadVarint(const char* in, const char* limit, size_t bytes_max, unsigned last_max, Int* value) {
  Int result = 0;
  for (size_t index = 0; index < bytes_max && in < limit; ++index) {
    const auto byte = static_cast<unsigned char>(*in++);
    if (index + 1 == bytes_max && byte > last_max) return nullptr;
    result |= static_cast<Int>(byte & 0x7f) << (7 * index);
    if (byte < 0x80) {
      *value = result;
      return in;
    }
  }
  return nullptr;
}

// Removes the front of `in` up to `end`. False if the decoding failed (`end` is null).
bool Advance(std::string_view* in, const char* end) {
  if (end == nullptr) return false;
  in->remove_prefix(static_cast<size_t>(end - in->data()));
  return true;
}

}  // namespace

const char* LoadVarint32Slow(const char* in, const char* limit, uint32_t* value) {
  return LoadVarint(in, limit, kVarint32BytesMax, 0x0f, value);
}

const char* LoadVarint64(const char* in, const char* limit, uint64_t* value) {
  return LoadVarint(in, limit, kVarint64BytesMax, 0x01, value);
}

void AppendFixed32(std::string* out, uint32_t value) {
  char bytes[sizeof value];
  StoreFixed32(bytes, value);
  out->append(bytes, sizeof bytes);
}

void AppendFixed64(std::string* out, uint64_t value) {
  char bytes[sizeof value];
  StoreFixed64(bytes, value);
  out->append(bytes, sizeof bytes);
}

void AppendVarint32(std::string* out, uint32_t value) { AppendVarint64(out, value); }

void AppendVarint64(std::string* out, uint64_t value) {
  char bytes[kVarint64BytesMax];
  out->append(bytes, static_cast<size_t>(StoreVarint64(bytes, value) - bytes));
}

void AppendLengthPrefixed(std::string* out, std::string_view bytes) {
  ASSERT(bytes.size() <= UINT32_MAX, "a length prefix is a varint32");
  AppendVarint32(out, static_cast<uint32_t>(bytes.size()));
  out->append(bytes);
}

bool TakeFixed32(std::string_view* in, uint32_t* value) {
  if (in->size() < sizeof *value) return false;
  *value = LoadFixed32(in->data());
  in->remove_prefix(sizeof *value);
  return true;
}

bool TakeFixed64(std::string_view* in, uint64_t* value) {
  if (in->size() < sizeof *value) return false;
  *value = LoadFixed64(in->data());
  in->remove_prefix(sizeof *value);
  return true;
}

bool TakeVarint32(std::string_view* in, uint32_t* value) {
  return Advance(in, LoadVarint32(in->data(), in->data() + in->size(), value));
}

bool TakeVarint64(std::string_view* in, uint64_t* value) {
  return Advance(in, LoadVarint64(in->data(), in->data() + in->size(), value));
}

bool TakeLengthPrefixed(std::string_view* in, std::string_view* bytes) {
  std::string_view rest = *in;
  uint32_t length = 0;
  if (!TakeVarint32(&rest, &length) || length > rest.size()) return false;
  *bytes = rest.substr(0, length);
  *in = rest.substr(length);
  return true;
}

}  // namespace mergedb::base
