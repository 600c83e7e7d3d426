// Goal: a memtable finds and shows its entries as of any sequence, in any order of keys, in memory of the
// smallest size and in recycled memory. Method: examples, the iterator contract, and random histories compared
// with a map.
#include "memtable/memtable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>

#include "base/hash.h"
#include "tests/unit/kv/iterator_contract.h"

namespace mergedb::memtable {
namespace {

using testing::CheckIteratorContract;
using testing::OpenIterator;
using testing::OwnedEntry;

// Orders by bytes, ignoring case: different byte strings may be equal keys.
class CaselessComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override {
    const auto less = [](char x, char y) { return Fold(x) < Fold(y); };
    if (std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), less)) return -1;
    return std::lexicographical_compare(b.begin(), b.end(), a.begin(), a.end(), less) ? 1 : 0;
  }
  std::string_view Name() const override { return "caseless"; }

 private:
  static unsigned char Fold(char c) { return static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c + 32 : c); }
};

const kv::Order kBytewise(BytewiseComparator());
const CaselessComparator kCaselessComparator;
const kv::Order kCaseless(&kCaselessComparator);

kv::Tag PutTag(kv::Sequence sequence) { return kv::MakeTag(sequence, kv::Kind::kPut); }

std::string Get(const Memtable& table, std::string_view key, kv::Sequence sequence = kv::kSequenceMax) {
  Memtable::Found found;
  if (!table.Get(key, sequence, &found)) return "none";
  if (kv::KindOf(found.tag) == kv::Kind::kDelete) return "deleted";
  return std::string(found.value) + "#" + std::to_string(kv::SequenceOf(found.tag));
}

std::string PrintAll(kv::Iterator& iterator) {
  std::string out;
  for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
    out += kv::PrintKey(iterator.entry().key, iterator.entry().tag) + "=" + std::string(iterator.entry().value) + " ";
  }
  return out;
}

TEST(Memtable, FindsTheNewestVersionUpToASequence) {
  for (const kv::Order& order : {kBytewise, kCaseless}) {
    Memtable table(order, NewMemory(32 << 10));
    EXPECT_TRUE(table.empty());
    EXPECT_EQ(Get(table, "a"), "none");
    table.Add("a", PutTag(3), "one");
    table.Add("b", PutTag(4), "");
    table.Add("a", kv::MakeTag(7, kv::Kind::kDelete), "");
    table.Add("a", PutTag(9), "two");
    EXPECT_EQ(Get(table, "a"), "two#9");
    EXPECT_EQ(Get(table, "a", 8), "deleted");
    EXPECT_EQ(Get(table, "a", 6), "one#3");
    EXPECT_EQ(Get(table, "a", 2), "none");
    EXPECT_EQ(Get(table, "b"), "#4");
    EXPECT_EQ(Get(table, "ab"), "none");
    EXPECT_EQ(Get(table, ""), "none");
    EXPECT_EQ(table.entries(), 4u);
    Memtable::Found found;
    EXPECT_TRUE(table.GetHashed("a", base::Hash64("a"), 9, &found));
    EXPECT_EQ(found.value, "two");
  }
}

// The arena holds range deletes among the other records. The sort must skip them.
TEST(Memtable, KeepsRangeDeletesApart) {
  for (const kv::Order& order : {kBytewise, kCaseless}) {
    Memtable table(order, NewMemory(512 << 10));
    const auto delete_range = [&](kv::Sequence sequence, std::string_view begin, std::string_view end) {
      table.Add(begin, kv::MakeTag(sequence, kv::Kind::kRangeDelete), end);
    };
    delete_range(1, "a", "c");
    EXPECT_FALSE(table.empty());
    EXPECT_EQ(table.entries(), 0u);
    EXPECT_EQ(PrintAll(*table.NewIterator()), "");
    table.Add("b", PutTag(2), "one");
    delete_range(3, "b", "z");
    EXPECT_EQ(PrintAll(*table.NewIterator()), "b#2,PUT=one ");
    EXPECT_EQ(Get(table, "b"), "one#2");
    EXPECT_EQ(Get(table, "a"), "none");
    EXPECT_EQ(table.range_deletes().MaskingSequence("b", 2), 1u);
    EXPECT_EQ(table.range_deletes().MaskingSequence("b", 3), 3u);
    EXPECT_EQ(table.range_deletes().MaskingSequence("z", 3), 0u);
    for (kv::Sequence sequence = 4; sequence < 1000; ++sequence) {
      if (sequence % 3 == 0) {
        table.Add("k" + std::to_string(sequence), PutTag(sequence), "v");
      } else {
        delete_range(sequence, "k", "l");
      }
      if (sequence % 100 != 0) continue;
      uint64_t shown = 0;
      const auto iterator = table.NewIterator();
      for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) ++shown;
      ASSERT_EQ(shown, table.entries());
    }
    uint64_t shown = 0;
    const auto iterator = table.NewFlushIterator();
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++shown;
    EXPECT_EQ(shown, table.entries());
    EXPECT_EQ(table.range_deletes().count(), 1000u - 1 - table.entries());
  }
}

TEST(Memtable, TakesKeysThatDifferInBytesForEqualIfTheirOrderSaysSo) {
  Memtable table(kCaseless, NewMemory(32 << 10));
  table.Add("Key", PutTag(1), "one");
  table.Add("kEY", PutTag(2), "two");
  EXPECT_EQ(Get(table, "KEY"), "two#2");
  EXPECT_EQ(Get(table, "key", 1), "one#1");
  EXPECT_EQ(PrintAll(*table.NewIterator()), "kEY#2,PUT=two Key#1,PUT=one ");
}

TEST(Memtable, FillsATinyMemoryAndThenHasNoRoom) {
  for (const kv::Order& order : {kBytewise, kCaseless}) {
    for (const size_t value_bytes : {0, 100, 1000}) {
      Memtable table(order, NewMemory(32 << 10));
      const std::string value(value_bytes, 'v');
      uint64_t count = 0;
      for (std::string key; table.HasRoom(10, value_bytes); ++count) {
        key = "key" + std::to_string(1000000 + count);
        table.Add(key, PutTag(count + 1), value);
      }
      EXPECT_GT(count * (10 + value_bytes + 50), size_t{20} << 10);
      EXPECT_EQ(table.entries(), count);
      EXPECT_LE(table.bytes_used(), table.bytes_held());
      for (uint64_t i = 0; i < count; ++i) {
        ASSERT_EQ(Get(table, "key" + std::to_string(1000000 + i)), value + "#" + std::to_string(i + 1));
      }
      uint64_t shown = 0;
      const auto iterator = table.NewFlushIterator();
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++shown;
      EXPECT_EQ(shown, count);
    }
  }
}

TEST(Memtable, FillsUpWithVersionsOfOneKey) {
  Memtable table(kBytewise, NewMemory(32 << 10));
  uint64_t count = 0;
  while (table.HasRoom(1, 1)) table.Add("k", PutTag(++count), "v");
  EXPECT_GT(count, 900u);
  EXPECT_EQ(Get(table, "k", 17), "v#17");
  const auto iterator = table.NewFlushIterator();
  iterator->SeekToFirst();
  for (uint64_t i = count; i > 0; --i, iterator->Next()) {
    ASSERT_TRUE(iterator->Valid());
    ASSERT_EQ(iterator->entry().tag, PutTag(i));
  }
  EXPECT_FALSE(iterator->Valid());
}

TEST(Memtable, TakesAHugeRecordInAMemoryMadeForIt) {
  for (const kv::Order& order : {kBytewise, kCaseless}) {
    for (const size_t value_bytes : {size_t{0}, size_t{4000}, size_t{1} << 20}) {
      const std::string key(1000, 'k');
      const std::string value(value_bytes, 'v');
      Memtable table(order, NewMemory(Memtable::BytesNeeded(key.size(), value.size())));
      ASSERT_TRUE(table.HasRoom(key.size(), value.size()));
      table.Add(key, PutTag(1), value);
      EXPECT_EQ(Get(table, key), value + "#1");
    }
  }
  Memtable small(kBytewise, NewMemory(32 << 10));
  EXPECT_FALSE(small.HasRoom(10, 40'000));
  EXPECT_FALSE(small.HasRoom(10, ~size_t{0}));
  EXPECT_FALSE(small.HasRoom(~size_t{0}, 10));
}

TEST(Memtable, HasRoomForAllTheRecordsThatItPromised) {
  base::Random random(9);
  for (int round = 0; round < 200; ++round) {
    const size_t memory_bytes = (4 << 10) + random.Uniform(60 << 10);
    const uint64_t records = 1 + random.Uniform(500);
    const size_t bytes_each = 8 + random.Uniform(200);
    if (!Memtable::MemoryHolds(memory_bytes, records, records * bytes_each)) continue;
    const kv::Order& order = round % 2 == 0 ? kBytewise : kCaseless;
    Memtable table(order, NewMemory(memory_bytes));
    ASSERT_TRUE(table.HasRoomFor(records, records * bytes_each)) << memory_bytes << " " << records << " " << bytes_each;
    for (uint64_t i = 0; i < records; ++i) {
      const std::string key = std::to_string(10'000'000 + i);
      ASSERT_TRUE(table.HasRoom(key.size(), bytes_each - 8));
      table.Add(key, PutTag(i + 1), std::string(bytes_each - 8, 'v'));
    }
  }
}

TEST(Memtable, ForgetsAllWhenItsMemoryServesAnother) {
  const auto memory = NewMemory(64 << 10);
  for (int round = 0; round < 3; ++round) {
    Memtable table(round == 1 ? kCaseless : kBytewise, memory);
    EXPECT_EQ(Get(table, "a"), "none");
    EXPECT_EQ(PrintAll(*table.NewIterator()), "");
    table.Add("a", PutTag(1), "v");
    EXPECT_EQ(PrintAll(*table.NewIterator()), "a#1,PUT=v ");
  }
}

uint64_t AnonymousBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    uint64_t kib = 0;
    if (word == "RssAnon:" && status >> kib) return kib << 10;
  }
  return 0;
}

// Between two pieces, and after the last, records are added. None may be lost with a page that goes back.
TEST(Memtable, KeepsItsRecordsWhenItGivesUnusedMemoryBack) {
  constexpr size_t kBytes = size_t{16} << 20;
  for (const kv::Order& order : {kBytewise, kCaseless}) {
    for (const int first : {0, 1, 3'000}) {
      SCOPED_TRACE(std::string(order.comparator()->Name()) + ", records " + std::to_string(first));
      const uint64_t before = AnonymousBytes();
      Memtable table(order, NewMemory(kBytes));
      int added = 0;
      const auto add = [&](int count) {
        for (; count > 0; --count, ++added) {
          const std::string key = "key" + std::to_string(added);
          table.Add(key, PutTag(static_cast<kv::Sequence>(added) + 1), "value of " + key);
        }
      };
      add(first);
      [[maybe_unused]] const uint64_t held = AnonymousBytes() - before;
      int pieces = 1;
      for (; table.GiveBackUnused(kBytes / 8); ++pieces) add(first / 10);
      EXPECT_EQ(pieces, 8);
      EXPECT_FALSE(table.GiveBackUnused(kBytes)) << "a second time";
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
      EXPECT_GE(held, kBytes);
      const uint64_t index_bytes = order.is_bytewise() && first > 1 ? kBytes / 7 : 0;
      EXPECT_LE(AnonymousBytes() - before, index_bytes + (size_t{1} << 20));
#endif
      add(5'000);
      for (int i = 0; i < added; ++i) {
        const std::string key = "key" + std::to_string(i);
        ASSERT_EQ(Get(table, key), "value of " + key + "#" + std::to_string(i + 1));
      }
      EXPECT_EQ(Get(table, "absent"), "none");
      int shown = 0;
      const auto iterator = table.NewIterator();
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) ++shown;
      EXPECT_EQ(shown, added);
    }
  }
}

TEST(Memtable, ShowsAnIteratorNothingThatIsAddedLater) {
  Memtable table(kBytewise, NewMemory(256 << 10));
  std::vector<std::unique_ptr<kv::Iterator>> iterators;
  for (uint64_t i = 0; i < 2000; ++i) {
    if (i % 70 == 0) iterators.push_back(table.NewIterator());
    table.Add("key" + std::to_string(i * 7919 % 2000), PutTag(i + 1), "v");
  }
  for (size_t i = 0; i < iterators.size(); ++i) {
    size_t shown = 0;
    std::string last;
    for (iterators[i]->SeekToFirst(); iterators[i]->Valid(); iterators[i]->Next(), ++shown) {
      EXPECT_LT(last, iterators[i]->entry().key);
      EXPECT_LE(iterators[i]->entry().tag, PutTag(70 * i));
      last = iterators[i]->entry().key;
    }
    EXPECT_EQ(shown, 70 * i);
  }
}

// Adds the entries in the order of their sequences. Some iterators are opened in between.
std::shared_ptr<Memtable> Fill(const std::vector<OwnedEntry>& entries, const kv::Order& order) {
  auto table = std::make_shared<Memtable>(order, NewMemory(1 << 20));
  std::vector<const OwnedEntry*> by_tag;
  for (const OwnedEntry& entry : entries) by_tag.push_back(&entry);
  std::stable_sort(by_tag.begin(), by_tag.end(), [](const auto* a, const auto* b) { return a->tag < b->tag; });
  for (const OwnedEntry* entry : by_tag) {
    table->Add(entry->key, entry->tag, entry->value);
    if (table->entries() % 40 == 0) (void)table->NewIterator();
  }
  return table;
}

TEST(Memtable, KeepsTheIteratorContract) {
  for (const Comparator* comparator : {BytewiseComparator(), static_cast<const Comparator*>(&kCaselessComparator)}) {
    CheckIteratorContract({.build = [=](const std::vector<OwnedEntry>& entries) -> OpenIterator {
                             const auto table = Fill(entries, kv::Order(comparator));
                             return [table] { return table->NewIterator(); };
                           },
                           .comparator = comparator,
                           .value_bytes_max = 1000});
    CheckIteratorContract({.build = [=](const std::vector<OwnedEntry>& entries) -> OpenIterator {
                             const auto table = Fill(entries, kv::Order(comparator));
                             return [table] { return table->NewFlushIterator(); };
                           },
                           .comparator = comparator,
                           .value_bytes_max = 1000});
  }
}

TEST(Memtable, AgreesWithAMapAtAnySequence) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    for (const kv::Order& order : {kBytewise, kCaseless}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      base::Random random(seed);
      Memtable table(order, NewMemory(256 << 10));
      std::map<std::pair<std::string, kv::Sequence>, std::string> model;  // (key, sequence) -> value
      const uint64_t keys = 1 + random.Uniform(1000);
      for (kv::Sequence sequence = 1; sequence <= 1000; ++sequence) {
        const std::string key = std::string(random.Uniform(3) * 6, 'p') + std::to_string(random.Uniform(keys));
        const std::string value = "v" + std::to_string(sequence);
        table.Add(key, PutTag(sequence), value);
        model[{key, sequence}] = value;
        if (random.OneIn(20)) {
          const auto [asked, at] = std::next(model.begin(), static_cast<long>(random.Uniform(model.size())))->first;
          const kv::Sequence as_of = random.Uniform(sequence + 1);
          auto newest = model.upper_bound({asked, as_of});
          const bool is_there = newest != model.begin() && std::prev(newest)->first.first == asked;
          ASSERT_EQ(
              Get(table, asked, as_of),
              is_there ? std::prev(newest)->second + "#" + std::to_string(std::prev(newest)->first.second) : "none");
        }
        if (random.OneIn(60)) (void)table.NewIterator();
      }
      const auto iterator = table.NewIterator();
      const auto flush = table.NewFlushIterator();
      std::vector<std::pair<std::string, kv::Sequence>> wanted;
      for (const auto& [version, value] : model) wanted.push_back(version);
      std::sort(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first < b.first : a.second > b.second;
      });
      iterator->SeekToFirst();
      flush->SeekToFirst();
      for (const auto& [key, sequence] : wanted) {
        for (kv::Iterator* each : {iterator.get(), flush.get()}) {
          ASSERT_TRUE(each->Valid());
          ASSERT_EQ(each->entry().key, key);
          ASSERT_EQ(each->entry().tag, PutTag(sequence));
          ASSERT_EQ(each->entry().prefix, order.Prefix(key));
          each->Next();
        }
      }
      EXPECT_FALSE(iterator->Valid());
      EXPECT_FALSE(flush->Valid());
    }
  }
}

TEST(MemtableDeathTest, RefusesARecordThatItHasNoRoomFor) {
  Memtable table(kBytewise, NewMemory(4096));
  EXPECT_DEATH(table.Add("k", PutTag(1), std::string(5000, 'v')), "Add without HasRoom");
}

}  // namespace
}  // namespace mergedb::memtable
