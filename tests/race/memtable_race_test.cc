// Goal: readers without a lock see complete records only, and all records that were added before they looked.
// For the thread sanitizer. Method: one writer, two getters and two iterating readers, with both kinds of
// index.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "base/random.h"
#include "memtable/memtable.h"
#include "mergedb/merge.h"

namespace mergedb::memtable {
namespace {

class PlainComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return base::CompareBytes(a, b); }
  std::string_view Name() const override { return "plain"; }
};

constexpr uint64_t kKeys = 1500;
constexpr uint64_t kChanges = 12'000;

std::string KeyOf(uint64_t number) {
  const std::string digits = std::to_string(number);
  return std::string(16 - digits.size(), '0') + digits;
}
// Change `sequence` is to this key; its value repeats its sequence.
uint64_t NumberOf(kv::Sequence sequence) { return base::Random(sequence).Uniform(kKeys); }
std::string ValueOf(kv::Sequence sequence) { return std::string(sequence % 50, 'v') + std::to_string(sequence); }

void CheckGets(const Memtable& table, const std::atomic<kv::Sequence>& published, uint64_t seed) {
  base::Random random(seed);
  for (kv::Sequence newest = 0; newest < kChanges;) {
    newest = published.load(std::memory_order_acquire);
    if (newest == 0) continue;
    const kv::Sequence sequence = 1 + random.Uniform(newest);
    Memtable::Found found;
    ASSERT_TRUE(table.Get(KeyOf(NumberOf(sequence)), sequence, &found));
    ASSERT_EQ(kv::SequenceOf(found.tag), sequence);
    ASSERT_EQ(found.value, ValueOf(sequence));
  }
}

void CheckIterators(Memtable& table, const std::atomic<kv::Sequence>& published, uint64_t seed) {
  base::Random random(seed);
  for (kv::Sequence newest = 0; newest < kChanges;) {
    newest = published.load(std::memory_order_acquire);
    const auto iterator = table.NewIterator();
    std::string last;
    kv::Tag last_tag = 0;
    uint64_t shown = 0;
    const bool forward = random.OneIn(2);
    for (forward ? iterator->SeekToFirst() : iterator->SeekToLast(); iterator->Valid();
         forward ? iterator->Next() : iterator->Prev()) {
      const kv::Entry& entry = iterator->entry();
      const kv::Sequence sequence = kv::SequenceOf(entry.tag);
      ASSERT_EQ(entry.key, KeyOf(NumberOf(sequence)));
      ASSERT_EQ(entry.value, ValueOf(sequence));
      const bool in_order = entry.key == last ? (entry.tag < last_tag) == forward : (last < entry.key) == forward;
      ASSERT_TRUE(in_order || shown == 0);
      last = entry.key;
      last_tag = entry.tag;
      shown += sequence <= newest;
    }
    ASSERT_EQ(shown, newest);
  }
}

void Race(const Comparator* comparator) {
  Memtable table(kv::Order(comparator), NewMemory(4 << 20));
  std::atomic<kv::Sequence> published = 0;
  std::vector<std::thread> readers;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    readers.emplace_back([&, seed] { CheckGets(table, published, seed); });
    readers.emplace_back([&, seed] { CheckIterators(table, published, seed); });
  }
  for (kv::Sequence sequence = 1; sequence <= kChanges; ++sequence) {
    const std::string value = ValueOf(sequence);
    if (table.HasRoom(16, value.size())) {
      table.Add(KeyOf(NumberOf(sequence)), kv::MakeTag(sequence, kv::Kind::kPut), value);
    }
    published.store(sequence, std::memory_order_release);
    if (sequence % 200 == 0) std::this_thread::yield();
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(table.entries(), kChanges);
}

TEST(MemtableRace, ReadersSeeWholeRecordsWhileOneWriterAdds) { Race(BytewiseComparator()); }

// One key, to which every change adds one: at sequence s its value is s.
TEST(MemtableRace, AHotCounterIsRightAtEverySequenceWhileItCounts) {
  Memtable table(kv::Order(BytewiseComparator()), NewMemory(4 << 20));
  std::atomic<kv::Sequence> published = 0;
  std::vector<std::thread> readers;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    readers.emplace_back([&, seed] {
      base::Random random(seed);
      for (kv::Sequence newest = 0; newest < kChanges;) {
        newest = published.load(std::memory_order_acquire);
        if (newest == 0) continue;
        const kv::Sequence sequence = random.OneIn(2) ? newest : 1 + random.Uniform(newest);
        Memtable::Found found;
        ASSERT_TRUE(table.Get("counter", sequence, &found));
        ASSERT_EQ(kv::SequenceOf(found.tag), sequence);
        ASSERT_EQ(found.value, merge::AddU64(sequence));
        ASSERT_FALSE(table.GetOlder("counter", &found));
      }
    });
  }
  for (kv::Sequence sequence = 1; sequence <= kChanges; ++sequence) {
    ASSERT_TRUE(table.Reserve(1, 16));
    table.Add("counter", kv::MakeTag(sequence, kv::Kind::kMerge), merge::AddU64(1));
    published.store(sequence, std::memory_order_release);
    if (sequence % 200 == 0) std::this_thread::yield();
  }
  for (std::thread& reader : readers) reader.join();
}

TEST(MemtableRace, ReadersSeeWholeRecordsUnderAnotherOrder) {
  const PlainComparator plain;
  Race(&plain);
}

// Range delete n is of keys [n, n + 10): a reader at sequence n can compute what it must see.
TEST(MemtableRace, ReadersAgreeOnRangeDeletesWhileOneWriterAddsThem) {
  constexpr uint64_t kDeletes = 3000;
  Memtable table(kv::Order(BytewiseComparator()), NewMemory(4 << 20));
  std::atomic<uint64_t> published = 0;
  std::vector<std::thread> readers;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    readers.emplace_back([&, seed] {
      base::Random random(seed);
      for (uint64_t newest = 0; newest < kDeletes;) {
        newest = published.load(std::memory_order_acquire);
        const uint64_t at = random.Uniform(newest + 1);
        const uint64_t key = random.Uniform(at + 12);
        const uint64_t last = std::min(at, key);
        const uint64_t expected = last + 10 > key ? last : 0;
        ASSERT_EQ(table.range_deletes().MaskingSequence(KeyOf(key), at), expected) << key << " at " << at;
        const kv::Mask cover = table.range_deletes().Find(KeyOf(key), at);
        ASSERT_EQ(cover.sequence, expected) << key << " at " << at;
      }
    });
  }
  for (uint64_t n = 1; n <= kDeletes; ++n) {
    table.Add(KeyOf(n), kv::MakeTag(n, kv::Kind::kRangeDelete), KeyOf(n + 10));
    published.store(n, std::memory_order_release);
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(table.entries(), 0u);
  EXPECT_FALSE(table.empty());
}

}  // namespace
}  // namespace mergedb::memtable
