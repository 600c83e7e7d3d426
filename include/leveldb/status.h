// Success, or an error with a message.
//
// FORMAT: fixed, because programs read it inline. One pointer: null for success, else an array from operator new[] of
//   message length u32 (native) | code u8 | message
//
// THREADS: const members may run at once; anything else needs the caller's lock.
#ifndef STORAGE_LEVELDB_INCLUDE_STATUS_H_
#define STORAGE_LEVELDB_INCLUDE_STATUS_H_

#include <algorithm>
#include <string>

#include "leveldb/export.h"
#include "leveldb/slice.h"

namespace leveldb {

class LEVELDB_EXPORT Status {
 public:
  Status() noexcept : state_(nullptr) {}
  ~Status() { delete[] state_; }

  Status(const Status& other) : state_(other.state_ == nullptr ? nullptr : CopyState(other.state_)) {}
  Status& operator=(const Status& other) {
    if (state_ != other.state_) {
      const char* const copy = other.state_ == nullptr ? nullptr : CopyState(other.state_);
      delete[] state_;
      state_ = copy;
    }
    return *this;
  }
  Status(Status&& other) noexcept : state_(other.state_) { other.state_ = nullptr; }
  Status& operator=(Status&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }

  static Status OK() { return Status(); }
  // The second message, if there is one, follows after ": ".
  static Status NotFound(const Slice& message, const Slice& more = Slice()) { return Status(kNotFound, message, more); }
  static Status Corruption(const Slice& message, const Slice& more = Slice()) {
    return Status(kCorruption, message, more);
  }
  static Status NotSupported(const Slice& message, const Slice& more = Slice()) {
    return Status(kNotSupported, message, more);
  }
  static Status InvalidArgument(const Slice& message, const Slice& more = Slice()) {
    return Status(kInvalidArgument, message, more);
  }
  static Status IOError(const Slice& message, const Slice& more = Slice()) { return Status(kIOError, message, more); }

  bool ok() const { return state_ == nullptr; }
  bool IsNotFound() const { return code() == kNotFound; }
  bool IsCorruption() const { return code() == kCorruption; }
  bool IsIOError() const { return code() == kIOError; }
  bool IsNotSupportedError() const { return code() == kNotSupported; }
  bool IsInvalidArgument() const { return code() == kInvalidArgument; }

  std::string ToString() const;  // "OK", or the kind of error and its message

 private:
  enum Code { kOk = 0, kNotFound = 1, kCorruption = 2, kNotSupported = 3, kInvalidArgument = 4, kIOError = 5 };

  Code code() const { return state_ == nullptr ? kOk : static_cast<Code>(state_[4]); }

  Status(Code code, const Slice& message, const Slice& more);
  static const char* CopyState(const char* state);

  const char* state_;
};

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_STATUS_H_
