// What the reads of one database learn of mapped bytes that the system could not read.
//
// A read of such bytes does not kill the process: env/mapped_files.cc puts zeros in the place of their page, and counts
// a fault here first. So a read looks at the count before and after it used mapped bytes:
//
//     const uint64_t before = faults.count();
//     ... read ...
//     if (faults.count() != before)   what was read may be zeros: drop it, read again, or return faults.status()
//
// A file with a fault is from then on read by calls, so the second read meets the error of the file, or succeeds.
// Code between the two looks must be safe for any bytes, and may keep nothing of what it found.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "mergedb/status.h"

namespace mergedb::base {

// THREADS: any. Note is async-signal-safe.
class MappedFaults {
 public:
  // As of this count, the places of all counted faults are zeros.
  uint64_t count() const { return count_.load(std::memory_order_acquire); }
  // The error of a read that met a fault after it saw the count `before`. After many faults it names an earlier one.
  Status status(uint64_t before) const {
    const Place& place = places_[std::min<uint64_t>(before, kPlacesMax - 1)];
    if (!place.is_set.load(std::memory_order_acquire))  // another thread is about to set it
      return Status::IOError("bytes of a mapped file could not be read");
    return Status::IOError(std::string(place.path) + ": the mapped bytes at " + std::to_string(place.offset) +
                           " could not be read");
  }

  // Call it before the bytes are replaced.
  void Note(std::string_view path, uint64_t offset) {
    const uint64_t index = noted_.fetch_add(1, std::memory_order_relaxed);
    if (index < kPlacesMax) {
      Place& place = places_[index];
      const size_t bytes = std::min(path.size(), sizeof place.path - 1);
      std::memcpy(place.path, path.data() + (path.size() - bytes), bytes);  // the end of a long path names the file
      place.offset = offset;
      place.is_set.store(true, std::memory_order_release);
    }
    count_.fetch_add(1, std::memory_order_release);
  }

 private:
  static constexpr size_t kPlacesMax = 8;
  struct Place {
    char path[240] = {};
    uint64_t offset = 0;
    std::atomic<bool> is_set{false};
  };

  std::atomic<uint64_t> count_{0};
  std::atomic<uint64_t> noted_{0};
  Place places_[kPlacesMax];  // of the first faults
};

// Of reads that use no mapped files.
inline constinit MappedFaults no_mapped_faults;

// The number of MappedReads of this thread. WHY initial-exec: a signal handler reads it, and must not allocate it.
[[gnu::tls_model("initial-exec")]] inline constinit thread_local int mapped_reads = 0;

// While it lives, this thread reads mapped bytes and looks at the faults afterwards. Needed for files whose bytes are
// given out as pointers: outside of such a scope, no code looks at the faults.
class MappedRead {
 public:
  MappedRead() { ++mapped_reads; }
  ~MappedRead() { --mapped_reads; }
  MappedRead(const MappedRead&) = delete;
  MappedRead& operator=(const MappedRead&) = delete;
};

// Reads a byte of each page of a view, so that a fault happens here and not when the caller uses the view.
inline void TouchPages(std::string_view bytes) {
  constexpr size_t kPageBytes = 4096;
  if (bytes.empty()) return;
  for (size_t at = 0; at < bytes.size(); at += kPageBytes) (void)*static_cast<const volatile char*>(bytes.data() + at);
  (void)*static_cast<const volatile char*>(&bytes.back());
}

}  // namespace mergedb::base
