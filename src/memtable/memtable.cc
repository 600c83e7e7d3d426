#include "memtable/memtable.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/count_alone.h"
#include "base/hash.h"
#include "base/prefetch.h"
#include "iterator/merging_iterator.h"
#include "memtable/fold_on_write.h"
#include "memtable/hash_index.h"
#include "memtable/memory.h"
#include "memtable/ordered_index.h"
#include "memtable/record.h"
#include "memtable/sorted_pieces.h"

namespace mergedb::memtable {
namespace {

// One slot per this many bytes of memory. With records of 64 bytes and more, the arena is full before the
// index is three quarters full; beyond that, probes grow long.
constexpr size_t kBytesPerSlot = 56;
constexpr uint32_t kFirstUnit = 1;  // offset 0 means no record
constexpr size_t kCopiedKeyBytes = 64;

constexpr size_t SlotCount(size_t memory_bytes) { return memory_bytes / kBytesPerSlot; }
constexpr size_t IndexBytes(size_t slots) { return RoundUp(slots * sizeof(uint64_t), base::kCacheLineBytes); }

// The most bytes that the records can take if their keys and values have `bytes` bytes together.
constexpr size_t BytesForRecords(uint64_t records, size_t bytes, bool is_ordered) {
  return records * (RecordBytes(0, 0) + kUnitBytes + (is_ordered ? OrderedIndex::kNodeBytesMax : 0)) + bytes;
}

bool IsZeroPage(const char* page) {
  for (size_t i = 0; i < kPageBytes; i += sizeof(uint64_t)) {
    if (base::LoadFixed64(page + i) != 0) return false;
  }
  return true;
}

}  // namespace

// Under the bytewise order, a hash index finds records, and sorted pieces give their order. Under any other
// order, a skip list does both.
class Memtable::Impl {
 public:
  Impl(const kv::Order& order, std::shared_ptr<Memory> memory)
      : order_(order),
        memory_(std::move(memory)),
        slots_(order.is_bytewise() ? SlotCount(memory_->bytes()) : 0),
        arena_(memory_->begin() + IndexBytes(slots_)),
        arena_bytes_(memory_->bytes() - IndexBytes(slots_)),
        pieces_(arena_, kFirstUnit),
        range_deletes_(order),
        used_(kFirstUnit * kUnitBytes) {
    if (order.is_bytewise()) {
      hash_index_ = HashIndex(reinterpret_cast<uint64_t*>(memory_->begin()), static_cast<uint32_t>(slots_),
                              memory_->is_untouched());
    } else {
      ordered_index_.emplace(order, arena_, kFirstUnit);
      used_ += OrderedIndex::kNodeBytesMax;
    }
    first_ = used_.load(std::memory_order_relaxed);
  }

  bool HasRoom(size_t key_bytes, size_t value_bytes) const {
    if (key_bytes > kLengthMax || value_bytes > kLengthMax) return false;
    const size_t room = arena_bytes_ - used_.load(std::memory_order_relaxed);
    if (ordered_index_) return RecordBytes(key_bytes, value_bytes) + OrderedIndex::kNodeBytesMax <= room;
    return RecordBytes(key_bytes, value_bytes) <= room && slots_used_.load(std::memory_order_relaxed) < slots_ / 4 * 3;
  }

  bool HasRoomFor(uint64_t records, size_t bytes) const {
    if (bytes > kLengthMax) return false;
    const size_t room = arena_bytes_ - used_.load(std::memory_order_relaxed);
    if (BytesForRecords(records, bytes, ordered_index_.has_value()) > room) return false;
    return ordered_index_ || slots_used_.load(std::memory_order_relaxed) + records <= slots_ / 4 * 3;
  }

  bool Reserve(uint64_t records, size_t bytes) {
    if (!HasRoomFor(records, bytes)) return false;
    slack_ = arena_bytes_ - used_.load(std::memory_order_relaxed) -
             BytesForRecords(records, bytes, ordered_index_.has_value());
    return true;
  }

  // WHY zeros of the index may be given back beside readers: they read zeros before and after.
  bool GiveBackUnused(size_t bytes_max) {
    if (memory_->is_untouched() && given_back_ == 0) return false;
    const size_t index_bytes = IndexBytes(slots_);
    const size_t end = std::min(RoundUp(given_back_ + bytes_max, kPageBytes), memory_->bytes());
    size_t begin = given_back_;
    for (; begin + kPageBytes <= std::min(end, index_bytes); begin += kPageBytes) {
      if (IsZeroPage(memory_->begin() + begin)) memory_->GiveBack(begin, begin + kPageBytes);
    }
    memory_->GiveBack(std::max(begin, index_bytes + used_.load(std::memory_order_relaxed)), end);
    given_back_ = end == memory_->bytes() ? 0 : end;
    return given_back_ != 0;
  }

  void Add(std::string_view key, kv::Tag tag, std::string_view value) {
    const size_t used = used_.load(std::memory_order_relaxed);
    const size_t bytes = RecordBytes(key.size(), value.size());
    ASSERT(bytes <= arena_bytes_ - used, "Add without HasRoom");
    base::PrefetchForWritesAhead(arena_ + used, bytes);
    newest_ = kv::SequenceOf(tag);
    if (kv::KindOf(tag) == kv::Kind::kRangeDelete) [[unlikely]]
      return AddRangeDelete(used, bytes, key, tag, value);
    const size_t end =
        ordered_index_ ? AddOrdered(used, bytes, key, tag, value) : AddHashed(used, bytes, key, tag, value);
    // WHY release: an iterator that reads the end then sees the records before it.
    used_.store(end, std::memory_order_release);
    base::CountAlone(entries_, 1);
  }

  bool Get(std::string_view key, uint64_t hash, kv::Sequence sequence, Found* found) const {
    uint32_t offset = hash_index_.Find(hash, [&](uint32_t at) { return Record(arena_, at).key() == key; });
    for (; offset != 0; offset = Record(arena_, offset).older()) {
      const Record record(arena_, offset);
      if (kv::SequenceOf(record.tag()) > sequence) continue;
      Show(record, found);
      return true;
    }
    return false;
  }

  bool GetOlder(std::string_view key, Found* found) const {
    if (found->place == 0) return false;
    if (ordered_index_) return ShowNode(ordered_index_->Next(found->place), key, found);
    Show(Record(arena_, found->place), found);
    return true;
  }

  bool GetOrdered(std::string_view key, kv::Sequence sequence, Found* found) const {
    return ShowNode(ordered_index_->FindAtOrAfter(key, kv::SeekTag(sequence)), key, found);
  }

  std::unique_ptr<kv::Iterator> NewIterator() {
    if (ordered_index_) return NewOrderedIterator(&*ordered_index_);
    std::vector<std::unique_ptr<kv::Iterator>> children;
    for (PiecePtr& piece : pieces_.Cut(end_unit())) children.push_back(NewPieceIterator(arena_, std::move(piece)));
    return iterator::NewMergingIterator(order_, std::move(children));
  }

  std::unique_ptr<kv::Iterator> NewFlushIterator() {
    if (ordered_index_) return NewOrderedIterator(&*ordered_index_);
    return NewPieceIterator(arena_, pieces_.Whole(end_unit(), entries()));
  }

  const RangeDeletes& range_deletes() const { return range_deletes_; }
  bool is_ordered() const { return ordered_index_.has_value(); }
  uint64_t entries() const { return entries_.load(std::memory_order_relaxed); }
  kv::Sequence newest_sequence() const { return newest_; }
  kv::Sequence oldest_sequence() const { return newest_ == 0 ? 0 : kv::SequenceOf(Record(arena_ + first_).tag()); }
  bool HasUpTo(kv::Sequence sequence) const {
    // WHY acquire: the first record was written before the end moved behind it.
    return used_.load(std::memory_order_acquire) > first_ && kv::SequenceOf(Record(arena_ + first_).tag()) <= sequence;
  }
  std::string_view memory() const { return {memory_->begin(), memory_->bytes()}; }
  size_t bytes_used() const { return used_.load(std::memory_order_relaxed); }
  size_t bytes_held() const { return memory_->bytes(); }

 private:
  // WHY the slot is prefetched first and read last: its cache miss passes while the record is copied.
  // WHY a copy of the key: a program may change its bytes during the call. The hash must be that of the record, or the
  // record would hide another key.
  size_t AddHashed(size_t used, size_t bytes, std::string_view key, kv::Tag tag, std::string_view value) {
    char copy[kCopiedKeyBytes];
    const bool is_copied = key.size() <= sizeof copy;
    uint64_t hash = 0;
    if (is_copied) [[likely]] {
      if (!key.empty()) std::memcpy(copy, key.data(), key.size());
      key = {copy, key.size()};
      hash = base::Hash64(key);
      hash_index_.PrefetchForWrite(hash);
    }
    char* const record = arena_ + used;
    WriteRecord(record, key, tag, value);
    key = Record(record).key();
    value = Record(record).value();
    if (!is_copied) hash = base::Hash64(key);
    const auto place = hash_index_.FindPlace(hash, [&](uint32_t at) { return Record(arena_, at).key() == key; });
    if (place.offset != 0) {
      const Record older(arena_, place.offset);
      DCHECK(older.tag() < tag, "versions of a key are added oldest first");
      SetOlder(record, place.offset);
      if (kv::KindOf(tag) == kv::Kind::kMerge) bytes = AddTrailer(record, bytes, older, key, value);
    } else {
      TakeSlot();
    }
    hash_index_.Store(place, hash, static_cast<uint32_t>(used / kUnitBytes));
    return used + bytes;
  }

  // An operand above an older version gets a fold of both, or the counts of one, if there is room beyond the reserved
  // bytes. Returns the bytes of the record.
  size_t AddTrailer(char* record, size_t bytes, const Record& older, std::string_view key, std::string_view operand) {
    // WHY not a key that a range delete masks: some readers still see the older versions, other readers do not.
    if (slack_ == 0 || IsMasked(key) || !MakeTrailer(arena_, older, key, operand, &trailer_)) return bytes;
    const size_t with_trailer = RecordBytes(key.size(), operand.size() + trailer_.size());
    if (with_trailer - bytes > slack_) return bytes;
    WriteTrailer(record, key.size(), operand.size(), trailer_);
    slack_ -= with_trailer - bytes;
    return with_trailer;
  }

  // A range delete is stored as a record in the arena, but no index contains it.
  void AddRangeDelete(size_t used, size_t bytes, std::string_view begin, kv::Tag tag, std::string_view end) {
    WriteRecord(arena_ + used, begin, tag, end);
    const Record record(arena_ + used);
    range_deletes_.Add({.begin = record.key(), .end = record.value(), .sequence = kv::SequenceOf(tag)});
    used_.store(used + bytes, std::memory_order_release);
  }

  bool IsMasked(std::string_view key) const {
    return !range_deletes_.empty() && range_deletes_.MaskingSequence(key, kv::kSequenceMax) > 0;
  }

  void TakeSlot() {
    const uint64_t slots_used = slots_used_.load(std::memory_order_relaxed);
    ASSERT(slots_used + 1 < slots_, "Add without HasRoom");
    slots_used_.store(slots_used + 1, std::memory_order_relaxed);
  }

  void Show(const Record& record, Found* found) const {
    kv::Base fold;
    if (record.has_trailer() && FoldOf(record, &fold)) [[unlikely]] {
      *found = {.tag = kv::MakeTag(kv::SequenceOf(record.tag()), fold.kind), .value = fold.bytes, .place = 0};
    } else {
      *found = {.tag = record.tag(), .value = record.value(), .place = record.older()};
    }
  }

  bool ShowNode(uint32_t node, std::string_view key, Found* found) const {
    if (node == 0 || !order_.SameKey(ordered_index_->RecordAt(node).key(), key)) return false;
    const Record record = ordered_index_->RecordAt(node);
    *found = {.tag = record.tag(), .value = record.value(), .place = node};
    return true;
  }

  size_t AddOrdered(size_t used, size_t bytes, std::string_view key, kv::Tag tag, std::string_view value) {
    const uint32_t height = ordered_index_->NextHeight();
    const size_t node = used + bytes;
    const size_t end = node + OrderedIndex::NodeBytes(height);
    ASSERT(end <= arena_bytes_, "Add without HasRoom");
    WriteRecord(arena_ + used, key, tag, value);
    ordered_index_->Insert(static_cast<uint32_t>(used / kUnitBytes), static_cast<uint32_t>(node / kUnitBytes), height);
    return end;
  }

  uint64_t end_unit() const { return used_.load(std::memory_order_acquire) / kUnitBytes; }

  const kv::Order order_;
  const std::shared_ptr<Memory> memory_;
  const size_t slots_;
  char* const arena_;
  const size_t arena_bytes_;
  size_t first_ = 0;                           // offset of the first record
  HashIndex hash_index_;                       // under the bytewise order
  std::optional<OrderedIndex> ordered_index_;  // under any other order
  SortedPieces pieces_;
  RangeDeletes range_deletes_;

  // Only the writer stores these.
  std::atomic<size_t> used_;
  std::atomic<uint64_t> entries_{0};
  std::atomic<uint64_t> slots_used_{0};
  // Only the writer uses these.
  kv::Sequence newest_ = 0;
  size_t given_back_ = 0;  // GiveBackUnused goes on at this byte of the memory
  size_t slack_ = 0;       // free bytes of the arena beyond the reserved ones
  std::string trailer_;    // memory in which trailers are made
};

Memtable::Memtable(const kv::Order& order, std::shared_ptr<Memory> memory)
    : impl_(std::make_unique<Impl>(order, std::move(memory))) {}
Memtable::~Memtable() = default;

bool Memtable::HasRoom(size_t key_bytes, size_t value_bytes) const { return impl_->HasRoom(key_bytes, value_bytes); }

// WHY 7/6: the index takes at most a seventh of the memory. The constants cover the skip list's nodes and rounding.
size_t Memtable::BytesNeeded(size_t key_bytes, size_t value_bytes) {
  static_assert(kBytesPerSlot == 7 * sizeof(uint64_t));
  return (RecordBytes(key_bytes, value_bytes) + 2 * OrderedIndex::kNodeBytesMax + 4 * base::kCacheLineBytes) / 6 * 7 +
         7;
}

bool Memtable::HasRoomFor(uint64_t records, size_t bytes) const { return impl_->HasRoomFor(records, bytes); }

bool Memtable::MemoryHolds(size_t memory_bytes, uint64_t records, size_t bytes) {
  const size_t slots = SlotCount(memory_bytes);
  const size_t spent = IndexBytes(slots) + OrderedIndex::kNodeBytesMax + 2 * base::kCacheLineBytes;
  return memory_bytes > spent && records <= slots / 4 * 3 &&
         BytesForRecords(records, bytes, true) <= memory_bytes - spent;
}

bool Memtable::Reserve(uint64_t records, size_t bytes) { return impl_->Reserve(records, bytes); }

bool Memtable::GiveBackUnused(size_t bytes_max) { return impl_->GiveBackUnused(bytes_max); }

void Memtable::Add(std::string_view key, kv::Tag tag, std::string_view value) { impl_->Add(key, tag, value); }

bool Memtable::Get(std::string_view key, kv::Sequence sequence, Found* found) const {
  if (impl_->is_ordered()) return impl_->GetOrdered(key, sequence, found);
  return impl_->Get(key, base::Hash64(key), sequence, found);
}

bool Memtable::GetHashed(std::string_view key, uint64_t hash, kv::Sequence sequence, Found* found) const {
  if (impl_->is_ordered()) return impl_->GetOrdered(key, sequence, found);
  return impl_->Get(key, hash, sequence, found);
}

bool Memtable::GetOlder(std::string_view key, Found* found) const { return impl_->GetOlder(key, found); }

std::unique_ptr<kv::Iterator> Memtable::NewIterator() { return impl_->NewIterator(); }
std::unique_ptr<kv::Iterator> Memtable::NewFlushIterator() { return impl_->NewFlushIterator(); }

const RangeDeletes& Memtable::range_deletes() const { return impl_->range_deletes(); }
uint64_t Memtable::entries() const { return impl_->entries(); }
kv::Sequence Memtable::oldest_sequence() const { return impl_->oldest_sequence(); }
kv::Sequence Memtable::newest_sequence() const { return impl_->newest_sequence(); }
bool Memtable::HasUpTo(kv::Sequence sequence) const { return impl_->HasUpTo(sequence); }
std::string_view Memtable::memory() const { return impl_->memory(); }
size_t Memtable::bytes_used() const { return impl_->bytes_used(); }
size_t Memtable::bytes_held() const { return impl_->bytes_held(); }

}  // namespace mergedb::memtable
