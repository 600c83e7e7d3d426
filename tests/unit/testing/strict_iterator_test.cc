// Goal: the iterator contract suite and StrictIterator agree on an iterator that is right by inspection.
#include "testing/strict_iterator.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "tests/unit/kv/iterator_contract.h"

namespace mergedb::testing {
namespace {

// A vector with a cursor; `gap` is the index of an entry that cannot be read, if there is one.
class VectorIterator final : public kv::Iterator {
 public:
  explicit VectorIterator(std::vector<OwnedEntry> entries, std::optional<size_t> gap = {})
      : entries_(std::move(entries)), gap_(gap), order_(BytewiseComparator()) {}
  void SeekToFirst() override { GoTo(0); }
  void SeekToLast() override { GoTo(entries_.size() - 1); }
  void Seek(std::string_view key, kv::Tag tag) override {
    const kv::Entry target{.prefix = order_.Prefix(key), .key = key, .tag = tag, .value = {}};
    const auto found = std::partition_point(entries_.begin(), entries_.end(), [&](const OwnedEntry& entry) {
      return order_.Compare(ViewOf(entry, order_), target) < 0;
    });
    GoTo(static_cast<size_t>(found - entries_.begin()));
  }
  void Next() override { GoTo(at_ + 1); }
  void Prev() override { GoTo(at_ - 1); }

 private:
  void GoTo(size_t index) {
    at_ = index;
    status_ = index == gap_ ? Status::IOError("gap") : Status();
    valid_ = index < entries_.size() && index != gap_;
    if (valid_) entry_ = ViewOf(entries_[index], order_);
  }
  const std::vector<OwnedEntry> entries_;
  const std::optional<size_t> gap_;
  const kv::Order order_;
  size_t at_ = 0;
};

TEST(StrictIterator, KeepsTheContractOfWhatItWraps) {
  CheckIteratorContract({
      .build = [](const std::vector<OwnedEntry>& entries) -> OpenIterator {
        return [entries] { return std::make_unique<StrictIterator>(std::make_unique<VectorIterator>(entries)); };
      },
      .build_damaged = [](const std::vector<OwnedEntry>& entries) -> OpenIterator {
        return [entries] {
          return std::make_unique<StrictIterator>(std::make_unique<VectorIterator>(entries, entries.size() / 2));
        };
      },
  });
}

TEST(StrictIteratorDeathTest, StopsAtNextWithoutAnEntry) {
  StrictIterator it(std::make_unique<VectorIterator>(std::vector<OwnedEntry>{}));
  EXPECT_DEATH(it.Next(), "R4");
}

TEST(StrictIteratorDeathTest, StopsAtEntriesOutOfOrder) {
  constexpr kv::Tag kTag = kv::MakeTag(1, kv::Kind::kPut);
  const std::vector<OwnedEntry> wrong = {{"b", kTag, ""}, {"a", kTag, ""}};
  StrictIterator it(std::make_unique<VectorIterator>(wrong));
  it.SeekToFirst();
  EXPECT_DEATH(it.Next(), "R3");
}

}  // namespace
}  // namespace mergedb::testing
