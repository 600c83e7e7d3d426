#include "care/rebuild.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "base/assert.h"
#include "format/file_name.h"
#include "stream/merging.h"
#include "table/reader.h"

namespace mergedb::care {
namespace {

constexpr uint64_t kTableBytes = uint64_t{64} << 20;
constexpr uint64_t kEntriesPerLook = 4096;

bool IsBelow(const kv::Order& order, const LooseTable& a, const LooseTable& b) {
  return order.CompareKeys(a.meta->largest, b.meta->smallest) < 0;
}

void SortByKey(const kv::Order& order, std::vector<LooseTable>* tables) {
  std::stable_sort(tables->begin(), tables->end(), [&](const LooseTable& a, const LooseTable& b) {
    const int by_key = order.CompareKeys(a.meta->smallest, b.meta->smallest);
    return by_key != 0 ? by_key < 0 : a.meta->number < b.meta->number;
  });
}

// Groups of tables that hang together by common keys, in key order.
std::vector<std::vector<LooseTable>> Group(const kv::Order& order, std::vector<LooseTable> tables) {
  SortByKey(order, &tables);
  std::vector<std::vector<LooseTable>> groups;
  std::string_view largest;  // of the last group
  for (LooseTable& table : tables) {
    if (groups.empty() || order.CompareKeys(largest, table.meta->smallest) < 0) {
      groups.emplace_back();
      largest = table.meta->largest;
    }
    if (order.CompareKeys(table.meta->largest, largest) > 0) largest = table.meta->largest;
    groups.back().push_back(std::move(table));
  }
  return groups;
}

// Which entries are dead. docs/decisions/0015-repair.md has the proof.
class Mortality {
 public:
  Mortality(const kv::Order& order, const std::vector<LooseTable>& tables) : order_(order) {
    for (const LooseTable& table : tables) {
      if (table.settled) settled_.push_back(&table);
    }
  }

  bool IsDead(const LooseTable& home, const kv::Entry& entry) const {
    return std::any_of(settled_.begin(), settled_.end(), [&](const LooseTable* later) {
      return Outlives(*later, home, kv::SequenceOf(entry.tag)) && Covers(later->settled->bounds, entry.key);
    });
  }
  // Might an entry of it be dead, by what is known without reading it?
  bool MayHoldDead(const LooseTable& home) const {
    return std::any_of(settled_.begin(), settled_.end(), [&](const LooseTable* later) {
      const format::Bounds& bounds = later->settled->bounds;
      return Outlives(*later, home, home.meta->smallest_sequence) &&
             (!bounds.lower || order_.CompareKeys(*bounds.lower, home.meta->largest) <= 0) &&
             (!bounds.upper || order_.CompareKeys(home.meta->smallest, *bounds.upper) < 0);
    });
  }

 private:
  // Within its bounds, `later` has taken in or outlived what `home` has with this sequence.
  static bool Outlives(const LooseTable& later, const LooseTable& home, kv::Sequence sequence) {
    if (later.meta->number == home.meta->number) return false;
    // Both came out of the bottom: the earlier one went into the later one, whole.
    if (home.settled || sequence == 0) return home.meta->number < later.meta->number;
    return sequence <= later.settled->sequence;
  }
  bool Covers(const format::Bounds& bounds, std::string_view key) const {
    return (!bounds.lower || order_.CompareKeys(*bounds.lower, key) <= 0) &&
           (!bounds.upper || order_.CompareKeys(key, *bounds.upper) < 0);
  }

  const kv::Order order_;
  std::vector<const LooseTable*> settled_;
};

// Tables without a common key, one after the other. Sequences are shown so that all differ that must be told apart: 0 of the
// i-th table is i, s is s + tables.
class Lane final : public kv::Iterator {
 public:
  Lane(const compaction::TableFactory& factory, const Mortality& mortality, uint64_t tables, uint64_t* entries_dead)
      : factory_(factory), mortality_(mortality), tables_(tables), entries_dead_(entries_dead) {}

  bool Takes(const LooseTable& table) const { return waiting_.empty() || IsBelow(factory_.order, *waiting_.back().table, table); }
  void Add(const LooseTable& table, uint64_t rank) { waiting_.push_back({&table, rank}); }

  void SeekToFirst() override { Enter(); }
  void Next() override {
    child_->Next();
    Settle();
  }
  void SeekToLast() override { ASSERT(false, "a lane is read forward, once"); }
  void Seek(std::string_view, kv::Tag) override { ASSERT(false, "a lane is read forward, once"); }
  void Prev() override { ASSERT(false, "a lane is read forward, once"); }

 private:
  struct Place {
    const LooseTable* table;
    uint64_t rank;
  };

  void Enter() {
    for (valid_ = false; !waiting_.empty(); waiting_.pop_front()) {
      child_ = nullptr;
      auto reader = table::Reader::Open(factory_.file_system, format::TablePath(factory_.directory, waiting_.front().table->meta->number),
                                        waiting_.front().table->meta, factory_.order, nullptr);
      if (!reader) return Fail(reader.error());
      reader_ = std::move(*reader);
      child_ = reader_->NewScanIterator();
      child_->SeekToFirst();
      if (Show() || !status_.ok()) return;
    }
    child_ = nullptr;
    reader_ = nullptr;
  }
  void Settle() {
    if (Show() || !status_.ok()) return;
    waiting_.pop_front();
    Enter();
  }
  // The next entry of the child that lives; false at its end.
  bool Show() {
    for (; child_->Valid(); child_->Next()) {
      if (mortality_.IsDead(*waiting_.front().table, child_->entry())) {
        ++*entries_dead_;
        continue;
      }
      entry_ = child_->entry();
      const kv::Sequence sequence = kv::SequenceOf(entry_.tag);
      if (sequence > kv::kSequenceMax - tables_) {
        Fail(Status::NotSupported("sequence numbers are used up"));
        return false;
      }
      entry_.tag = kv::MakeTag(sequence == 0 ? waiting_.front().rank : sequence + tables_, kv::KindOf(entry_.tag));
      return valid_ = true;
    }
    if (!child_->status().ok()) Fail(child_->status());
    return valid_ = false;
  }
  void Fail(Status status) {
    valid_ = false;
    status_ = std::move(status);
  }

  const compaction::TableFactory& factory_;
  const Mortality& mortality_;
  const uint64_t tables_;
  uint64_t* const entries_dead_;
  std::deque<Place> waiting_;  // the first is being read
  std::shared_ptr<table::Reader> reader_;
  std::unique_ptr<kv::Iterator> child_;
};

// REQUIRES: in key order.
std::unique_ptr<kv::Iterator> MergeLanes(const compaction::TableFactory& factory, const Mortality& mortality,
                                         const std::vector<LooseTable>& tables, uint64_t* entries_dead) {
  std::vector<kv::FileNumber> numbers;
  for (const LooseTable& table : tables) numbers.push_back(table.meta->number);
  std::sort(numbers.begin(), numbers.end());
  std::vector<std::unique_ptr<Lane>> lanes;
  for (const LooseTable& table : tables) {
    const auto free = std::find_if(lanes.begin(), lanes.end(), [&](const auto& lane) { return lane->Takes(table); });
    Lane& lane = free != lanes.end() ? **free
                                     : *lanes.emplace_back(std::make_unique<Lane>(factory, mortality, tables.size() + 1, entries_dead));
    const auto rank = std::lower_bound(numbers.begin(), numbers.end(), table.meta->number) - numbers.begin() + 1;
    lane.Add(table, static_cast<uint64_t>(rank));
  }
  std::vector<std::unique_ptr<kv::Iterator>> children(std::make_move_iterator(lanes.begin()), std::make_move_iterator(lanes.end()));
  return stream::NewMergingIterator(factory.order, std::move(children));
}

Status MergeGroup(const compaction::TableFactory& factory, const Mortality& mortality, const std::vector<LooseTable>& group,
                  Compression compression, const std::function<Status()>& advance, Rebuilt* rebuilt) {
  const uint64_t shift = group.size() + 1;
  const auto merged = MergeLanes(factory, mortality, group, &rebuilt->entries_dead);
  compaction::Outputs outputs(factory, {.compression = compression, .table_bytes_max = kTableBytes, .bytes_expected = kTableBytes});
  std::string key;
  kv::Tag tag = 0;
  uint64_t entries = 0;
  for (merged->SeekToFirst(); merged->Valid(); merged->Next()) {
    if (++entries % kEntriesPerLook == 0) RETURN_IF_ERROR(advance());
    kv::Entry entry = merged->entry();
    const bool is_same_key = entries > 1 && factory.order.SameKey(key, entry.key);
    const bool is_zero = kv::SequenceOf(entry.tag) < shift;
    // Twice the same change, as a table and its copy or the log have it; or a second one without a sequence.
    if (is_same_key && (entry.tag == tag || (is_zero && kv::SequenceOf(tag) < shift))) continue;
    key = entry.key;
    tag = entry.tag;
    entry.tag = kv::MakeTag(is_zero ? 0 : kv::SequenceOf(tag) - shift, kv::KindOf(tag));
    RETURN_IF_ERROR(outputs.Add(entry));
  }
  RETURN_IF_ERROR(merged->status());
  RETURN_IF_ERROR(outputs.Finish());
  for (auto& meta : outputs.Take()) rebuilt->made.push_back(std::move(meta));
  return {};
}

bool StaysAsItIs(const Mortality& mortality, const std::vector<LooseTable>& group) {
  return group.size() == 1 && !mortality.MayHoldDead(group.front());
}

}  // namespace

Rebuilt PlanRebuild(const kv::Order& order, const std::vector<LooseTable>& tables) {
  Rebuilt rebuilt;
  const Mortality mortality(order, tables);
  for (const auto& group : Group(order, tables)) {
    auto& metas = StaysAsItIs(mortality, group) ? rebuilt.kept : rebuilt.merged;
    for (const LooseTable& table : group) metas.push_back(table.meta);
  }
  return rebuilt;
}

Result<Rebuilt> Rebuild(const compaction::TableFactory& factory, const std::vector<LooseTable>& tables, Compression compression,
                        const std::function<Status()>& advance) {
  Rebuilt rebuilt = PlanRebuild(factory.order, tables);
  const Mortality mortality(factory.order, tables);
  for (const auto& group : Group(factory.order, tables)) {
    if (StaysAsItIs(mortality, group)) continue;
    RETURN_IF_ERROR(MergeGroup(factory, mortality, group, compression, advance, &rebuilt));
  }
  return rebuilt;
}

}  // namespace mergedb::care
