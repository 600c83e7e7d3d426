#include "leveldb/status.h"

#include <cstdint>
#include <cstring>

namespace leveldb {
namespace {

constexpr size_t kHeadBytes = 5;  // message length u32, code u8

uint32_t MessageBytes(const char* state) {
  uint32_t bytes = 0;
  std::memcpy(&bytes, state, sizeof bytes);
  return bytes;
}

}  // namespace

const char* Status::CopyState(const char* state) {
  const size_t bytes = kHeadBytes + MessageBytes(state);
  char* const copy = new char[bytes];
  std::memcpy(copy, state, bytes);
  return copy;
}

Status::Status(Code code, const Slice& message, const Slice& more) {
  std::string text = message.ToString();
  if (!more.empty()) text.append(": ").append(more.data(), more.size());
  const auto bytes = static_cast<uint32_t>(text.size());
  char* const state = new char[kHeadBytes + text.size()];
  std::memcpy(state, &bytes, sizeof bytes);
  state[4] = static_cast<char>(code);
  std::memcpy(state + kHeadBytes, text.data(), text.size());
  state_ = state;
}

std::string Status::ToString() const {
  if (state_ == nullptr) return "OK";
  std::string text;
  switch (code()) {
    case kOk: text = "OK"; break;
    case kNotFound: text = "NotFound: "; break;
    case kCorruption: text = "Corruption: "; break;
    case kNotSupported: text = "Not implemented: "; break;
    case kInvalidArgument: text = "Invalid argument: "; break;
    case kIOError: text = "IO error: "; break;
    default: text = "Unknown code(" + std::to_string(static_cast<int>(code())) + "): "; break;
  }
  return text.append(state_ + kHeadBytes, MessageBytes(state_));
}

}  // namespace leveldb
