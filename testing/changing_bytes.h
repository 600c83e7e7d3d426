// Bytes that another thread changes all the time, as a program may do with the arguments of a call that runs.
//
// The memory is mapped twice, and the other thread writes through the second mapping: the race is real, and no
// sanitizer takes it for one of ours.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/assert.h"

namespace mergedb::testing {

class ChangingBytes {
 public:
  explicit ChangingBytes(size_t bytes) : bytes_(bytes) {
    const int fd = memfd_create("mergedb_test", MFD_CLOEXEC);
    ASSERT(fd >= 0 && ftruncate(fd, static_cast<off_t>(bytes)) == 0, "no memory");
    read_ = Map(fd, PROT_READ);
    written_ = Map(fd, PROT_READ | PROT_WRITE);
    close(fd);
    std::memset(written_, 1, bytes);
    thread_ = std::thread([this] {
      for (int byte = 1; !is_over_; byte = byte % 255 + 1) std::memset(written_, byte, bytes_);
    });
  }
  ~ChangingBytes() {
    is_over_ = true;
    thread_.join();
    munmap(read_, bytes_);
    munmap(written_, bytes_);
  }
  ChangingBytes(const ChangingBytes&) = delete;
  ChangingBytes& operator=(const ChangingBytes&) = delete;

  // Lives as long as this object.
  std::string_view view() const { return {read_, bytes_}; }

 private:
  char* Map(int fd, int protection) const {
    void* const made = mmap(nullptr, bytes_, protection, MAP_SHARED, fd, 0);
    ASSERT(made != MAP_FAILED, "no addresses");
    return static_cast<char*>(made);
  }

  const size_t bytes_;
  char* read_ = nullptr;
  char* written_ = nullptr;
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace mergedb::testing
