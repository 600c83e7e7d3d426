// One test suite for every kv::Iterator: of blocks, tables, memtables and runs, and the merging iterator. It
// checks the rules R1-R7 of src/kv/iterator.h against a sorted vector.
//
//     TEST(BlockIterator, KeepsTheContract) {
//       CheckIteratorContract({.build = [](const std::vector<OwnedEntry>& entries) -> OpenIterator {
//         auto block = std::make_shared<std::string>(BuildBlock(entries));
//         return [block] { return NewBlockIterator(*block); };      // called several times; block outlives them
//       }});
//     }
//
// Method: sets of entries from none to a few hundred (shared prefixes, many versions of a key, empty and long
// keys and values, bytes 00 and ff); then every seek that can tell two positions apart; then seeded random
// moves.
// A damaged build (optional) checks R6: correct entries, then an error, never a gap. Rewalked below gives a
// kv::ForwardIterator the other moves.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "gtest/gtest.h"
#include "kv/iterator.h"
#include "kv/order.h"

namespace mergedb::testing {

struct OwnedEntry {
  std::string key;
  kv::Tag tag = 0;
  std::string value;
};

inline kv::Entry ViewOf(const OwnedEntry& owned, const kv::Order& order) {
  return {.prefix = order.Prefix(owned.key), .key = owned.key, .tag = owned.tag, .value = owned.value};
}

using OpenIterator = std::function<std::unique_ptr<kv::Iterator>()>;

// Shows a forward iterator as one of both directions: Seek opens it anew, Prev and SeekToLast walk from its start.
class Rewalked final : public kv::Iterator {
 public:
  // `open` gets the first key to show; without one, all entries are shown.
  using Open = std::function<std::unique_ptr<kv::ForwardIterator>(std::optional<std::string>)>;
  explicit Rewalked(Open open) : open_(std::move(open)), whole_(open_({})) { status_ = whole_->status(); }

  void SeekToFirst() override {
    at_ = whole_.get();
    at_->SeekToFirst();
    Show();
  }
  void SeekToLast() override {
    size_t count = 0;
    for (SeekToFirst(); valid_; Next()) ++count;
    if (status_.ok() && count > 0) Walk(count - 1);
  }
  void Seek(std::string_view key, kv::Tag tag) override {
    const std::string target(key);
    rest_ = open_(target);
    at_ = rest_.get();
    at_->SeekToFirst();
    while (at_->Valid() && at_->entry().key == target && at_->entry().tag > tag) at_->Next();
    Show();
  }
  void Next() override {
    at_->Next();
    Show();
  }
  void Prev() override {
    const std::string key(entry_.key);
    const kv::Tag tag = entry_.tag;
    size_t before = 0;
    for (SeekToFirst(); valid_ && (entry_.key != key || entry_.tag != tag); Next()) ++before;
    if (valid_ && before > 0) return Walk(before - 1);
    valid_ = false;
  }

 private:
  void Walk(size_t steps) {
    for (SeekToFirst(); steps > 0; --steps) Next();
  }
  void Show() {
    valid_ = at_->Valid();
    status_ = at_->status();
    if (valid_) entry_ = at_->entry();
  }

  const Open open_;
  const std::unique_ptr<kv::ForwardIterator> whole_;
  std::unique_ptr<kv::ForwardIterator> rest_;
  kv::ForwardIterator* at_ = nullptr;
};

struct IteratorContract {
  // Gets distinct entries in order. Returns a function that opens iterators over them; the suite calls it
  // several times. The function must capture all that the iterators need.
  std::function<OpenIterator(const std::vector<OwnedEntry>&)> build = {};
  // Optional. The same, with part of the entries unreadable, to check R6.
  std::function<OpenIterator(const std::vector<OwnedEntry>&)> build_damaged = {};
  const Comparator* comparator = BytewiseComparator();
  bool one_version_each = false;  // the implementation holds at most one version of a key
  bool accepts_empty = true;      // build accepts an empty vector
  size_t key_bytes_max = 300;
  size_t value_bytes_max = 10'000;
  uint64_t seed = 20'240'131;
};

namespace contract_internal {

// The entry that the iterator should show: an index into the vector, or nullopt if the iterator should not be
// valid.
class Reference {
 public:
  Reference(std::vector<OwnedEntry> entries, const Comparator* comparator)
      : order_(comparator), entries_(std::move(entries)) {}

  const std::vector<OwnedEntry>& entries() const { return entries_; }
  const kv::Order& order() const { return order_; }

  std::optional<size_t> First() const { return At(0); }
  std::optional<size_t> Last() const { return entries_.empty() ? std::nullopt : At(entries_.size() - 1); }
  std::optional<size_t> Seek(std::string_view key, kv::Tag tag) const {
    const kv::Entry target{.prefix = order_.Prefix(key), .key = key, .tag = tag, .value = {}};
    size_t index = 0;
    while (index < entries_.size() && order_.Compare(ViewOf(entries_[index], order_), target) < 0) ++index;
    return At(index);
  }
  std::optional<size_t> At(size_t index) const { return index < entries_.size() ? std::optional(index) : std::nullopt; }
  std::optional<size_t> Before(size_t index) const { return index == 0 ? std::nullopt : std::optional(index - 1); }

 private:
  kv::Order order_;
  std::vector<OwnedEntry> entries_;
};

inline std::string Describe(const kv::Entry& entry) { return kv::PrintKey(entry.key.substr(0, 40), entry.tag); }

// R2, R3: if an entry is expected, the iterator is valid and shows that entry. Otherwise it is not valid.
[[nodiscard]] inline ::testing::AssertionResult Shows(const kv::Iterator& it, const Reference& reference,
                                                      std::optional<size_t> expected) {
  if (!it.status().ok()) return ::testing::AssertionFailure() << "failed: " << it.status().ToString();
  if (!expected) {
    if (!it.Valid()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "expected the end, shows " << Describe(it.entry());
  }
  const kv::Entry want = ViewOf(reference.entries()[*expected], reference.order());
  if (!it.Valid()) return ::testing::AssertionFailure() << "expected " << Describe(want) << ", is at the end";
  const kv::Entry& got = it.entry();
  if (got.key != want.key || got.tag != want.tag) {
    return ::testing::AssertionFailure() << "expected " << Describe(want) << ", shows " << Describe(got);
  }
  if (got.prefix != want.prefix) return ::testing::AssertionFailure() << "wrong prefix at " << Describe(want);
  if (got.value != want.value) return ::testing::AssertionFailure() << "wrong value at " << Describe(want);
  return ::testing::AssertionSuccess();
}

// ---- entries ----

inline std::string RandomKey(base::Random& random, size_t bytes_max) {
  static constexpr char kAlphabet[] = {'a', 'b', 'c', '\0', '\xff'};
  std::string key;
  if (random.OneIn(4)) key = "a shared beginning of sixteen bytes or so/";
  const size_t tail = random.OneIn(10) ? random.Uniform(200) : random.Uniform(12);
  for (size_t i = 0; i < tail; ++i) key += kAlphabet[random.Uniform(sizeof kAlphabet)];
  if (key.size() > bytes_max) key.resize(bytes_max);
  return key;
}

inline std::string RandomValue(base::Random& random, size_t bytes_max) {
  const size_t bytes = random.OneIn(40) ? random.Uniform(bytes_max + 1) : random.Uniform(60);
  std::string value(std::min(bytes, bytes_max), '\0');
  for (char& byte : value) byte = static_cast<char>(random.Next());
  return value;
}

inline std::vector<OwnedEntry> RandomEntries(base::Random& random, size_t count, const IteratorContract& contract) {
  const kv::Order order(contract.comparator);
  const auto before = [&order](const OwnedEntry& a, const OwnedEntry& b) {
    return order.Compare(ViewOf(a, order), ViewOf(b, order)) < 0;
  };
  std::set<OwnedEntry, decltype(before)> sorted(before);
  std::string key;
  for (size_t attempts = 0; sorted.size() < count && attempts < 20 * count; ++attempts) {
    if (contract.one_version_each || !random.OneIn(3)) key = RandomKey(random, contract.key_bytes_max);
    const bool is_delete = random.OneIn(5);
    const kv::Sequence sequence = random.OneIn(50) ? kv::kSequenceMax : random.Uniform(1000);
    OwnedEntry entry{.key = key,
                     .tag = kv::MakeTag(sequence, is_delete ? kv::Kind::kDelete : kv::Kind::kPut),
                     .value = is_delete ? "" : RandomValue(random, contract.value_bytes_max)};
    const auto next = sorted.lower_bound({.key = key, .tag = kv::kTagMax, .value = ""});
    const bool has_key = next != sorted.end() && order.SameKey(next->key, key);
    if (has_key && contract.one_version_each) continue;
    // A database has no two kinds under one sequence of a key.
    const auto same = sorted.lower_bound({.key = key, .tag = kv::SeekTag(sequence), .value = ""});
    if (same != sorted.end() && order.SameKey(same->key, key) && kv::SequenceOf(same->tag) == sequence) continue;
    sorted.insert(std::move(entry));
  }
  return {sorted.begin(), sorted.end()};
}

// ---- rules ----

inline void CheckStartsNowhere(const OpenIterator& open) {
  const auto it = open();
  EXPECT_FALSE(it->Valid()) << "R1";
  EXPECT_TRUE(it->status().ok()) << "R1: " << it->status().ToString();
}

inline void CheckFullWalks(const OpenIterator& open, const Reference& reference) {
  const auto it = open();
  const size_t count = reference.entries().size();
  for (int lap = 0; lap < 2; ++lap) {
    it->SeekToFirst();
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(Shows(*it, reference, i)) << "R3: forward, entry " << i;
      it->Next();
    }
    ASSERT_TRUE(Shows(*it, reference, std::nullopt)) << "R4: Next of the last entry";
    it->SeekToLast();
    for (size_t i = count; i-- > 0;) {
      ASSERT_TRUE(Shows(*it, reference, i)) << "R3: backward, entry " << i;
      it->Prev();
    }
    ASSERT_TRUE(Shows(*it, reference, std::nullopt)) << "R4: Prev of the first entry";
  }
}

// Seek targets around each entry: at it, just before it and just after it.
inline std::vector<std::pair<std::string, kv::Tag>> Targets(const Reference& reference, base::Random& random,
                                                            size_t key_bytes_max) {
  std::vector<std::pair<std::string, kv::Tag>> targets = {
      {"", kv::kTagMax}, {"", 0}, {"\xff\xff\xff\xff", kv::kTagMax}};
  for (const OwnedEntry& entry : reference.entries()) {
    const std::string shorter = entry.key.substr(0, entry.key.size() / 2);
    targets.insert(targets.end(), {{entry.key, entry.tag},
                                   {entry.key, kv::kTagMax},
                                   {entry.key, 0},
                                   {entry.key, entry.tag + 1},
                                   {entry.key, entry.tag == 0 ? 0 : entry.tag - 1},
                                   {entry.key, kv::SeekTag(kv::SequenceOf(entry.tag))},
                                   {entry.key + '\0', kv::kTagMax},
                                   {shorter, kv::kTagMax}});
  }
  for (int i = 0; i < 20; ++i) targets.emplace_back(RandomKey(random, key_bytes_max), random.Next());
  return targets;
}

inline void CheckSeeks(const OpenIterator& open, const Reference& reference, base::Random& random,
                       const IteratorContract& contract) {
  const auto it = open();
  for (const auto& [key, tag] : Targets(reference, random, contract.key_bytes_max)) {
    it->Seek(key, tag);
    const auto at = reference.Seek(key, tag);
    ASSERT_TRUE(Shows(*it, reference, at)) << "R2: Seek " << kv::PrintKey(key.substr(0, 40), tag);
    if (!at) continue;
    if (random.OneIn(2)) {
      it->Prev();
      ASSERT_TRUE(Shows(*it, reference, reference.Before(*at))) << "R4: Prev after Seek";
    } else {
      it->Next();
      ASSERT_TRUE(Shows(*it, reference, reference.At(*at + 1))) << "R4: Next after Seek";
    }
  }
}

// LookAhead gives up to `places` entries. They are the ones that follow in the reference.
[[nodiscard]] inline ::testing::AssertionResult LooksAhead(kv::Iterator& it, const Reference& reference, size_t at,
                                                           size_t places, size_t* ready) {
  std::vector<kv::Entry> ahead(places);
  *ready = it.LookAhead(ahead);
  if (*ready > places) return ::testing::AssertionFailure() << *ready << " entries in " << places << " places";
  if (*ready > 0 && !it.looks_ahead()) return ::testing::AssertionFailure() << "it looks ahead and does not say so";
  for (size_t i = 0; i < *ready; ++i) {
    if (at + 1 + i >= reference.entries().size())
      return ::testing::AssertionFailure() << "shows " << Describe(ahead[i]) << " behind the end";
    const kv::Entry want = ViewOf(reference.entries()[at + 1 + i], reference.order());
    if (ahead[i].key != want.key || ahead[i].tag != want.tag || ahead[i].value != want.value ||
        ahead[i].prefix != want.prefix) {
      return ::testing::AssertionFailure() << "ahead is " << Describe(want) << ", shown is " << Describe(ahead[i]);
    }
  }
  return Shows(it, reference, at) << " (after LookAhead)";
}

// R7: from the first entry to the last, in steps of random length.
inline void CheckLookAhead(const OpenIterator& open, const Reference& reference, base::Random& random) {
  const auto it = open();
  it->SeekToFirst();
  for (std::optional<size_t> at = reference.First(); at;) {
    size_t ready = 0;
    ASSERT_TRUE(LooksAhead(*it, reference, *at, random.Uniform(40), &ready)) << "R7: entry " << *at;
    const size_t steps = random.Uniform(ready + 1);
    if (steps > 0) {
      it->Skip(steps);
    } else {
      it->Next();
    }
    at = reference.At(*at + std::max<size_t>(steps, 1));
    ASSERT_TRUE(Shows(*it, reference, at)) << "R7: Skip " << steps << " of " << ready;
  }
}

// Two iterators over the same entries, moved in turn. Neither may disturb the other (R5).
inline void CheckRandomWalk(const OpenIterator& open, const Reference& reference, base::Random& random,
                            const IteratorContract& contract) {
  struct Walker {
    std::unique_ptr<kv::Iterator> it;
    std::optional<size_t> at;
  };
  Walker walkers[2] = {{open(), {}}, {open(), {}}};
  const std::vector<OwnedEntry>& entries = reference.entries();
  for (int step = 0; step < 600; ++step) {
    Walker& walker = walkers[random.Uniform(2)];
    const uint64_t choice = random.Uniform(walker.at ? 20 : 4);
    const char* move = "";
    if (choice == 0) {
      move = "SeekToFirst";
      walker.it->SeekToFirst();
      walker.at = reference.First();
    } else if (choice == 1) {
      move = "SeekToLast";
      walker.it->SeekToLast();
      walker.at = reference.Last();
    } else if (choice < 4) {
      move = "Seek";
      const bool near = !entries.empty() && random.OneIn(2);
      const std::string key =
          near ? entries[random.Uniform(entries.size())].key : RandomKey(random, contract.key_bytes_max);
      const kv::Tag tag = kv::SeekTag(random.Uniform(1000));
      walker.it->Seek(key, tag);
      walker.at = reference.Seek(key, tag);
    } else if (choice < 12) {
      move = "Next";
      walker.it->Next();
      walker.at = reference.At(*walker.at + 1);
    } else {
      move = "Prev";
      walker.it->Prev();
      walker.at = reference.Before(*walker.at);
    }
    for (const Walker& each : walkers) {
      ASSERT_TRUE(Shows(*each.it, reference, each.at))
          << (&each == &walker ? "after " : "R5: the other one after ") << move << ", step " << step;
    }
  }
}

// R6: the iterator shows the expected entry, or it has failed and is not valid.
[[nodiscard]] inline ::testing::AssertionResult ShowsOrFails(const kv::Iterator& it, const Reference& reference,
                                                             std::optional<size_t> expected) {
  if (it.status().ok()) return Shows(it, reference, expected);
  if (!it.Valid()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "R6: valid although " << it.status().ToString();
}

inline void CheckDamaged(const OpenIterator& open, const Reference& reference) {
  const auto it = open();
  bool has_failed = false;
  it->SeekToFirst();
  for (size_t i = 0;; ++i) {
    ASSERT_TRUE(ShowsOrFails(*it, reference, reference.At(i))) << "R6: forward, entry " << i;
    if (!it->Valid()) break;
    it->Next();
  }
  has_failed |= !it->status().ok();
  for (size_t i = 0; i < reference.entries().size(); ++i) {
    const OwnedEntry& target = reference.entries()[i];
    it->Seek(target.key, target.tag);
    ASSERT_TRUE(ShowsOrFails(*it, reference, i)) << "R6: Seek, entry " << i;
    has_failed |= !it->status().ok();
  }
  it->SeekToLast();
  for (std::optional<size_t> at = reference.Last();; at = reference.Before(*at)) {
    ASSERT_TRUE(ShowsOrFails(*it, reference, at)) << "R6: backward";
    if (!it->Valid()) break;
    it->Prev();
  }
  has_failed |= !it->status().ok();
  EXPECT_TRUE(has_failed) << "R6: nobody noticed the damage";
}

}  // namespace contract_internal

inline void CheckIteratorContract(const IteratorContract& contract) {
  using namespace contract_internal;
  base::Random random(contract.seed);
  for (const size_t count : {0, 1, 2, 3, 16, 17, 60, 300}) {
    if (count == 0 && !contract.accepts_empty) continue;
    SCOPED_TRACE("seed " + std::to_string(contract.seed) + ", " + std::to_string(count) + " entries asked for");
    const Reference reference(RandomEntries(random, count, contract), contract.comparator);
    const OpenIterator open = contract.build(reference.entries());
    CheckStartsNowhere(open);
    CheckFullWalks(open, reference);
    CheckSeeks(open, reference, random, contract);
    CheckLookAhead(open, reference, random);
    CheckRandomWalk(open, reference, random, contract);
    if (count > 0 && contract.build_damaged) { CheckDamaged(contract.build_damaged(reference.entries()), reference); }
    if (::testing::Test::HasFailure()) return;  // stop at the smallest size that fails
  }
}

}  // namespace mergedb::testing
