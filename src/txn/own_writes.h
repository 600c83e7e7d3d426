// The uncommitted writes of a transaction: the records of its batch, and an index over them (RocksDB:
// WriteBatchWithIndex).
//
//   batch      [PUT b=1][MERGE a+2][PUT b=3][RANGE_DELETE c..f][DELETE a]      the WAL payload of the commit
//   sequence     F         F+1       F+2        F+3               F+4          F is larger than any of the tree's
//   index      a -> F+4 -> F+1        b -> F+2 -> F                            newest first
//   ranges     [c, f)#F+3
//
// Writing only appends. The first read after a write brings the index and the ranges up to date, so a
// transaction that only writes costs no more than a batch. A rollback to a savepoint truncates the batch and
// takes its records out of the index one by one.
//
// A transaction that reads and overwrites the same keys again and again would grow by each write. Compact drops the
// records that newer ones replace.
//
// For readers the own writes are one more source of versions, newer than all others: an iterator and a mask
// source (iterator/masking_iterator.h). Of each key they show the versions down to the newest one that is not
// an operand; older versions decide nothing.
//
// Tests: tests/unit/txn/own_writes_test.cc. THREADS: not for two threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "iterator/masking_iterator.h"
#include "kv/iterator.h"
#include "kv/order.h"
#include "memtable/range_deletes.h"

namespace mergedb::txn {

class OwnWrites {
 public:
  // The sequence of the first record. No database reaches it.
  static constexpr kv::Sequence kSequenceFirst = kv::Sequence{1} << 55;
  // What each record counts beyond its bytes, for the index; more than the index takes.
  static constexpr size_t kRecordOverheadBytes = 64;

  explicit OwnWrites(const kv::Order& order);
  ~OwnWrites();
  OwnWrites(const OwnWrites&) = delete;
  OwnWrites& operator=(const OwnWrites&) = delete;

  // ---- writing. The caller has checked lengths and operands. Keys and values may be views into this object.

  void Add(kv::Kind kind, std::string_view key, std::string_view value);
  // Adds a PUT of zeroes. Returns the place of its value, which is valid until the next call that writes.
  char* AddReserved(std::string_view key, size_t value_bytes);

  struct Mark {
    size_t batch_bytes = 0;
    uint64_t count = 0;
  };
  Mark mark() const { return {batch_.size(), count_}; }
  // Undoes all writes since `mark`. REQUIRES: a mark of this object, and no rollback to an earlier mark since
  // it was taken.
  void RollBack(const Mark& mark);

  // True if more than half of the bytes are of records that a newer PUT or DELETE of their key replaces. It counts the
  // records that are in the index.
  bool WantsCompaction() const { return replaced_bytes_ > kReplacedBytesMin && 2 * replaced_bytes_ > bytes(); }
  // Drops these records. Views into this object end, as with RollBack. REQUIRES: no mark is used any more.
  void Compact();

  std::string_view batch() const { return batch_; }
  uint64_t count() const { return count_; }
  size_t bytes() const { return batch_.size() + count_ * kRecordOverheadBytes; }
  static size_t BytesOf(size_t key_bytes, size_t value_bytes);  // the most that one more record adds
  // True if so many bytes more would move the batch, and end all views into it.
  bool MovesFor(size_t bytes_more) const { return bytes_more > batch_.capacity() - batch_.size(); }

  // ---- reading

  enum class Says : uint8_t {
    kNothing,  // read the tree
    kValue,    // *value
    kDeleted,
    kOperands,         // *operands over what the tree has
    kOperandsOnValue,  // *operands over *value
    kOperandsAlone,    // *operands over nothing
  };
  // The views live until the next write. *operands is newest first.
  Says Find(std::string_view key, std::string_view* value, std::vector<std::string_view>* operands);

  // An iterator lives until `generation` changes. After any other write the iterator must seek before any other
  // call. It need not if it stays within bounds in which nothing was written and the batch has not moved.
  uint64_t generation() const { return generation_; }
  std::unique_ptr<kv::Iterator> NewIterator();
  std::unique_ptr<iterator::MaskSource> NewMaskSource();  // null: there are no range deletes

 private:
  class VersionIterator;
  struct Record {
    kv::Kind kind;
    uint32_t key_at;  // offset in the batch
    uint32_t key_bytes;
    uint32_t value_bytes;  // the value follows the key
    uint32_t older;        // of the same key, or kNone
    uint32_t newer;
  };
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kReplacedBytesMin = size_t{256} << 10;
  // A key of the index: that of the key's oldest record. Other records may have different bytes that the
  // comparator calls the same key.
  struct Slot {
    uint64_t prefix;
    uint32_t record;
  };
  struct Probe {
    uint64_t prefix;
    std::string_view key;
  };
  struct Less {
    using is_transparent = void;
    const OwnWrites* home;
    bool operator()(const Slot& a, const Slot& b) const {
      return Before(a.prefix, home->KeyOf(a.record), b.prefix, home->KeyOf(b.record));
    }
    bool operator()(const Slot& a, const Probe& b) const {
      return Before(a.prefix, home->KeyOf(a.record), b.prefix, b.key);
    }
    bool operator()(const Probe& a, const Slot& b) const {
      return Before(a.prefix, a.key, b.prefix, home->KeyOf(b.record));
    }
    bool Before(uint64_t a_prefix, std::string_view a, uint64_t b_prefix, std::string_view b) const {
      return a_prefix != b_prefix ? a_prefix < b_prefix : home->order_.CompareKeys(a, b) < 0;
    }
  };
  using Index = std::map<Slot, uint32_t, Less>;  // value: the newest record

  std::string_view KeyOf(uint32_t record) const {
    const Record& r = records_[record];
    return {batch_.data() + r.key_at, r.key_bytes};
  }
  std::string_view ValueOf(uint32_t record) const {
    const Record& r = records_[record];
    return {batch_.data() + r.key_at + r.key_bytes, r.value_bytes};
  }
  static kv::Sequence SequenceOf(uint32_t record) { return kSequenceFirst + record; }

  bool IsInBatch(std::string_view bytes) const;
  void Add(kv::Kind kind, const std::string& key_and_value, size_t key_bytes);
  void Append(kv::Kind kind, std::string_view key, std::string_view value);
  void CatchUp();
  void IndexRecord(uint32_t record);
  void UnindexRecord(uint32_t record);
  size_t ReplacedBy(uint32_t record) const;
  void AddRangeDelete(uint32_t record, memtable::RangeDeletes* deletes, std::deque<std::string>* keys) const;
  void RebuildRangeDeletes(uint64_t count);

  const kv::Order order_;
  std::string batch_;
  uint64_t count_ = 0;
  uint64_t generation_ = 0;

  // These cover the first records_.size() records, whose bytes end at indexed_bytes_.
  std::vector<Record> records_;
  size_t indexed_bytes_ = 0;
  size_t replaced_bytes_ = 0;  // of the records that a newer base replaces
  Index index_{Less{this}};
  Index::iterator behind_last_ = index_.end();  // where a key in ascending order goes, without a search
  std::deque<std::string> range_keys_;          // begin and end alternate; copies, as the batch may move
  std::unique_ptr<memtable::RangeDeletes> range_deletes_;
};

}  // namespace mergedb::txn
