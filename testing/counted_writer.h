// A writer of numbered batches 1, 2, 3, ... The content of each batch follows from its number, so no record of the
// writes is needed. A reader in any thread or process can check that it sees exactly the first n batches as a whole,
// and finds n.
//
//     const CountedWriter writer({.id = 2});
//     db.Write({}, writer.Batch(n));
//     const auto seen = writer.Read(db, Way::kMultiGet);        // seen.count, or seen.problem if the state is wrong
//
// Each batch puts the number and one of a few keys, adds the number to a sum (a merge operand) and puts a note.
// Some batches do more:
//   - delete all notes with a range tombstone;
//   - put all keys, so that the batch is larger than the memtable of a small write buffer;
//   - delete an absent key so often that the records alone overfill that memtable, although the batch has few bytes.
// THREADS: any; the object is immutable.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "mergedb/db.h"

namespace mergedb::testing {

inline constexpr size_t kCountedWritersMax = 4;

// The progress of each writer. Only atomics, so that it can be on a page that processes share and that survives a kill.
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
    uint64_t all_keys_one_in = 60;  // one batch in so many puts all keys
    uint64_t synced_one_in = 20;
  };
  enum class Way : uint8_t { kIterator, kBackwards, kMultiGet, kSnapshot };
  static constexpr size_t kWays = 4;  // each way reads all keys of the writer

  explicit CountedWriter(const Shape& shape) : shape_(shape) {}

  WriteBatch Batch(uint64_t n) const;
  // Writes batches, starting after `progress.begun`, until `goes_on` returns false. Returns the first error.
  Status Write(DB& db, CountedProgress* progress, uint64_t seed, const std::function<bool()>& goes_on) const;

  struct Seen {
    uint64_t count = 0;
    std::string problem = {};  // empty: the database holds exactly the first `count` batches
    Status status = {};        // of the read; if it is an error, `problem` is set too
  };
  Seen Read(DB& db, Way way) const;
  // Reads only the number and one key, which takes about a microsecond: for readers that a test stops in the middle
  // of a read. With `at_snapshot` it reads both twice and checks that the snapshot does not change.
  Seen ReadPair(DB& db, uint64_t index, bool at_snapshot) const;
  // Reads, and also checks that the count is between `returned` and `begun`.
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
