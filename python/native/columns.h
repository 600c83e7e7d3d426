// Memory of columns, and writes of many entries: what NumPy arrays and Arrow batches share.
#pragma once

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "database.h"

namespace mergedb::python {

// Bytes that grow. From 4 MiB on, they are a mapping of huge pages that moves without a copy.
// WHY: page faults of 4 KiB would take as long as the scan of large values.
// MEASURED: to_numpy of entries of 108 bytes takes 55 ns an entry; with realloc it takes 92 ns.
class Bytes {
 public:
  Bytes() = default;
  Bytes(Bytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, 0)) {}
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes();

  char* data() { return data_; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }

  void Append(const void* bytes, size_t size) {
    std::memcpy(Room(size), bytes, size);
    size_ += size;
  }
  void Append(std::string_view bytes) { Append(bytes.data(), bytes.size()); }

  // The end of the bytes, with room for `size` more. Extend adds the bytes that the caller has written there.
  char* Room(size_t size) {
    if (capacity_ - size_ < size) Reserve(size_ + size > 2 * capacity_ ? size_ + size : 2 * capacity_);
    return data_ + size_;
  }
  void Extend(size_t size) { size_ += size; }

  // The memory is never absent after this call. Throws std::bad_alloc.
  // REQUIRES: capacity is at least size().
  void Reserve(size_t capacity);
  void ShrinkToFit() { Reserve(size_); }

 private:
  bool is_mapped() const { return capacity_ >= kMappedBytesMin; }
  void ReserveMapped(size_t capacity);

  static constexpr size_t kBytesMin = 64;
  static constexpr size_t kMappedBytesMin = 4 << 20;
  static constexpr size_t kHugePageBytes = 2 << 20;

  char* data_ = nullptr;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// The message for an entry whose key or value (`column`) has another width than its column.
std::string WidthFault(std::string_view key, const char* column, size_t found, size_t expected);

// Writes entries by batches of about `batch_bytes`. A batch is atomic, the sequence of batches is not.
// THREADS: one thread, without the GIL, except for the constructor and the destructor.
class Loader {
 public:
  Loader(const Source& source, int durability, size_t batch_bytes);
  ~Loader() { mergedb_batch_close(batch_, nullptr); }
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  pid_t owner() const { return source_.database->owner; }
  mergedb_code Put(std::string_view key, std::string_view value, mergedb_error* error) {
    const mergedb_code code = mergedb_batch_put(batch_, key.data(), key.size(), value.data(), value.size(), error);
    if (code != MERGEDB_OK) return code;
    bytes_ += key.size() + value.size() + kEntryBytes;
    return bytes_ < bytes_max_ ? MERGEDB_OK : Write(error);
  }
  // Writes the rest.
  mergedb_code Finish(mergedb_error* error) { return bytes_ == 0 ? MERGEDB_OK : Write(error); }

 private:
  static constexpr size_t kEntryBytes = 8;  // about the overhead of an entry

  mergedb_code Write(mergedb_error* error);

  const Source source_;
  mergedb_write_options options_{};
  mergedb_batch batch_ = 0;
  const size_t bytes_max_;
  size_t bytes_ = 0;  // of the batch
};

}  // namespace mergedb::python
