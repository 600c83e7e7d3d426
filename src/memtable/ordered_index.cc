#include "memtable/ordered_index.h"

#include "base/assert.h"

namespace mergedb::memtable {

OrderedIndex::OrderedIndex(const kv::Order& order, char* arena, uint32_t head)
    : order_(order), arena_(arena), head_(head) {
  std::memset(Words(head), 0, kNodeBytesMax);
}

uint32_t OrderedIndex::NextHeight() {
  uint32_t height = 1;
  while (height < kHeightMax && random_.OneIn(4)) ++height;
  return height;
}

bool OrderedIndex::IsBefore(uint32_t node, std::string_view key, kv::Tag tag) const {
  const Record record = RecordAt(node);
  const int order = order_.CompareKeys(record.key(), key);
  return order < 0 || (order == 0 && record.tag() > tag);
}

void OrderedIndex::Insert(uint32_t record, uint32_t node, uint32_t height) {
  const Record added(arena_, record);
  uint32_t* const words = Words(node);
  words[0] = record;
  words[1] = height;
  uint32_t before[kHeightMax];
  uint32_t at = head_;
  for (uint32_t level = kHeightMax; level-- > 0;) {
    for (uint32_t next = NextOf(at, level); next != 0 && IsBefore(next, added.key(), added.tag());
         next = NextOf(at, level)) {
      at = next;
    }
    before[level] = at;
  }
  for (uint32_t level = 0; level < height; ++level) words[2 + level] = NextOf(before[level], level);
  // WHY from the bottom: a node that a reader finds on one level must be linked on all levels below.
  for (uint32_t level = 0; level < height; ++level) {
    Link(before[level], level).store(node, std::memory_order_release);  // WHY release: see NextOf
  }
}

uint32_t OrderedIndex::FindBefore(std::string_view key, kv::Tag tag) const {
  uint32_t at = head_;
  for (uint32_t level = kHeightMax; level-- > 0;) {
    for (uint32_t next = NextOf(at, level); next != 0 && IsBefore(next, key, tag); next = NextOf(at, level)) at = next;
  }
  return at == head_ ? 0 : at;
}

uint32_t OrderedIndex::FindAtOrAfter(std::string_view key, kv::Tag tag) const {
  const uint32_t before = FindBefore(key, tag);
  uint32_t at = before == 0 ? First() : Next(before);
  while (at != 0 && IsBefore(at, key, tag)) at = Next(at);  // skips nodes added meanwhile
  return at;
}

uint32_t OrderedIndex::Last() const {
  uint32_t at = head_;
  for (uint32_t level = kHeightMax; level-- > 0;) {
    for (uint32_t next = NextOf(at, level); next != 0; next = NextOf(at, level)) at = next;
  }
  return at == head_ ? 0 : at;
}

namespace {

class OrderedIterator final : public kv::Iterator {
 public:
  explicit OrderedIterator(const OrderedIndex* index) : index_(index) {}

  void SeekToFirst() override { Show(index_->First()); }
  void SeekToLast() override { Show(index_->Last()); }
  void Seek(std::string_view key, kv::Tag tag) override { Show(index_->FindAtOrAfter(key, tag)); }
  void Next() override {
    DCHECK(Valid(), "Next of an invalid iterator");
    Show(index_->Next(node_));
  }
  void Prev() override {
    DCHECK(Valid(), "Prev of an invalid iterator");
    Show(index_->FindBefore(entry_.key, entry_.tag));
  }

 private:
  void Show(uint32_t node) {
    node_ = node;
    valid_ = node != 0;
    if (!valid_) return;
    const Record record = index_->RecordAt(node);
    entry_ = {.prefix = 0, .key = record.key(), .tag = record.tag(), .value = record.value()};
  }

  const OrderedIndex* const index_;
  uint32_t node_ = 0;
};

}  // namespace

std::unique_ptr<kv::Iterator> NewOrderedIterator(const OrderedIndex* index) {
  return std::make_unique<OrderedIterator>(index);
}

}  // namespace mergedb::memtable
