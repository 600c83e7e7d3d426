// A view of bytes that another object owns. The caller keeps the bytes alive as long as it uses the Slice.
// THREADS: a value.
#ifndef STORAGE_LEVELDB_INCLUDE_SLICE_H_
#define STORAGE_LEVELDB_INCLUDE_SLICE_H_

#include <cassert>
#include <cstddef>
#include <cstring>
#include <string>

#include "leveldb/export.h"

namespace leveldb {

class LEVELDB_EXPORT Slice {
 public:
  Slice() : data_(""), size_(0) {}
  Slice(const char* bytes, size_t count) : data_(bytes), size_(count) {}
  Slice(const std::string& text) : data_(text.data()), size_(text.size()) {}
  Slice(const char* text) : data_(text), size_(std::strlen(text)) {}  // up to the first zero byte

  Slice(const Slice&) = default;
  Slice& operator=(const Slice&) = default;

  const char* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const char* begin() const { return data_; }
  const char* end() const { return data_ + size_; }

  char operator[](size_t index) const {
    assert(index < size_);
    return data_[index];
  }

  void clear() {
    data_ = "";
    size_ = 0;
  }

  // Drop the first `count` bytes. REQUIRES: count <= size().
  void remove_prefix(size_t count) {
    assert(count <= size_);
    data_ += count;
    size_ -= count;
  }

  std::string ToString() const { return std::string(data_, size_); }  // a copy

  // By unsigned bytes; a prefix comes first. Negative, zero or positive.
  int compare(const Slice& other) const {
    const size_t shared = size_ < other.size_ ? size_ : other.size_;
    const int difference = shared == 0 ? 0 : std::memcmp(data_, other.data_, shared);
    if (difference != 0) return difference;
    return size_ < other.size_ ? -1 : size_ > other.size_ ? 1 : 0;
  }

  bool starts_with(const Slice& prefix) const {
    return prefix.size_ <= size_ && (prefix.size_ == 0 || std::memcmp(data_, prefix.data_, prefix.size_) == 0);
  }

 private:
  const char* data_;
  size_t size_;
};

inline bool operator==(const Slice& a, const Slice& b) {
  return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size()) == 0);
}
inline bool operator!=(const Slice& a, const Slice& b) { return !(a == b); }

}  // namespace leveldb

#endif  // STORAGE_LEVELDB_INCLUDE_SLICE_H_
