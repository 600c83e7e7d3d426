// A writer whose batches are numbered 1, 2, 3, ...: what it wrote up to a number is known without a record of it, so any reader, of any
// thread or process, can tell whether it sees exactly the first n batches, whole, and which n that is.
//
//     const CountedWriter writer({.id = 2});
//     db.Write({}, writer.Batch(n));
//     const auto seen = writer.Read(db, Way::kMultiGet);        // seen.count, and seen.problem if it is no such state
//
// A batch puts the number and one of a few keys, adds to a sum by a merge, and leaves a note; now and then it also deletes all notes by
// their range, and now and then it puts all keys: such a batch is larger than the memtable of a small write buffer. Now and then it deletes a
// key that is not there so often that the records alone are: such a batch has few bytes.
// THREADS: any; nothing changes after construction.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "mergedb/db.h"

namespace mergedb::testing {

inline constexpr size_t kCountedWritersMax = 4;

// How far each writer is. Atomics alone, so that it may lie on a page that processes share and outlive a kill.
struct CountedProgress {
  std::array<std::atomic<uint64_t>, kCountedWritersMax> begun{};
  std::array<std::atomic<uint64_t>, kCountedWritersMax> returned{};
};

class CountedWriter {
 public:
  struct Shape {
    size_t id = 0;
    uint64_t keys = 100;
    size_t value_bytes_max = 1500;
    uint64_t all_keys_one_in = 60;  // every so many batches one puts all keys
    uint64_t synced_one_in = 20;
  };
  enum class Way : uint8_t { kIterator, kBackwards, kMultiGet, kSnapshot };
  static constexpr size_t kWays = 4;  // each reads all of the writer's keys

  explicit CountedWriter(const Shape& shape) : shape_(shape) {}

  WriteBatch Batch(uint64_t n) const;
  // Batches from the one after `progress.begun` on, for as long as `goes_on` and the database say so. Returns the first error.
  Status Write(DB& db, CountedProgress* progress, uint64_t seed, const std::function<bool()>& goes_on) const;

  struct Seen {
    uint64_t count = 0;
    std::string problem = {};  // empty: exactly the first `count` batches
    Status status = {};        // of the read; if it is not OK, there is a problem as well
  };
  Seen Read(DB& db, Way way) const;
  // The number and one key, which takes a microsecond: for readers who are to be stopped in the middle of a read. At a snapshot the answer
  // is also the same twice.
  Seen ReadPair(DB& db, uint64_t index, bool at_snapshot) const;
  // Also at least `returned` of them, at most `begun`.
  Seen ReadBetween(DB& db, Way way, uint64_t returned, uint64_t begun) const;

 private:
  std::string Prefix() const { return "w" + std::to_string(shape_.id) + "/"; }
  std::string CountKey() const { return Prefix() + "count"; }
  std::string SumKey() const { return Prefix() + "sum"; }
  std::string NotePrefix() const { return Prefix() + "note"; }
  std::string NoteKey(uint64_t n) const { return NotePrefix() + std::to_string(n); }
  std::string Key(uint64_t index) const { return Prefix() + "key" + std::to_string(1000 + index); }
  std::string Value(uint64_t n, uint64_t index) const;
  bool PutsAllKeys(uint64_t n) const { return n % shape_.all_keys_one_in == 0; }
  uint64_t NewestOf(uint64_t count, uint64_t index) const;
  std::string Compare(uint64_t count, uint64_t index, const std::string* value) const;
  Seen ReadByIterator(DB& db, bool is_forward, const Snapshot* snapshot) const;
  Seen ReadByMultiGet(DB& db) const;

  const Shape shape_;
};

}  // namespace mergedb::testing
