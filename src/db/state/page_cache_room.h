// Decides whether new files go through the page cache, where the next reads find them.
#pragma once

#include <atomic>
#include <cstdint>

#include "mergedb/env.h"

namespace mergedb::db {

// THREADS: any.
class PageCacheRoom {
 public:
  explicit PageCacheRoom(FileSystem* file_system) : file_system_(file_system) {}

  // True if the free memory could take the `present` bytes of all files of the database once more, the `bytes` of the
  // new file, and 128 MiB. So the files have at most about half of it. False if the free memory is not known.
  // It looks at the free memory after each 64 MiB of new files. WHY: a look takes as long as a write of 100 KiB.
  bool HasRoom(uint64_t present, uint64_t bytes) {
    // WHY relaxed: two looks at the same time, or one that comes a file later, do no harm.
    if (unlooked_.fetch_add(bytes, std::memory_order_relaxed) + bytes >= kLookBytes) {
      unlooked_.store(0, std::memory_order_relaxed);
      free_.store(file_system_->FreeMemoryBytes(), std::memory_order_relaxed);
    }
    return free_.load(std::memory_order_relaxed) >= present + bytes + 2 * kLookBytes;
  }

 private:
  static constexpr uint64_t kLookBytes = uint64_t{64} << 20;

  FileSystem* const file_system_;
  std::atomic<uint64_t> unlooked_{kLookBytes};  // bytes of new files since the last look
  std::atomic<uint64_t> free_{0};
};

}  // namespace mergedb::db
