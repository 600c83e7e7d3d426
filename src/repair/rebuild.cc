#include "repair/rebuild.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "format/file_name.h"
#include "iterator/compaction_iterator.h"
#include "iterator/merging_iterator.h"
#include "table/reader.h"

namespace mergedb::repair {
namespace {

constexpr uint64_t kTableBytes = uint64_t{64} << 20;
constexpr uint64_t kEntriesPerLook = 4096;

// True if every key of the table is before `key`.
bool IsBefore(const kv::Order& order, const format::FileMeta& meta, std::string_view key) {
  const int compared = order.CompareKeys(meta.largest, key);
  return compared < 0 || (compared == 0 && meta.largest_is_open);
}

void SortByKey(const kv::Order& order, std::vector<LooseTable>* tables) {
  std::stable_sort(tables->begin(), tables->end(), [&](const LooseTable& a, const LooseTable& b) {
    const int by_key = order.CompareKeys(a.meta->smallest, b.meta->smallest);
    return by_key != 0 ? by_key < 0 : a.meta->number < b.meta->number;
  });
}

// Groups of tables that overlap, in key order. Tables of different groups have no common key.
std::vector<std::vector<LooseTable>> Group(const kv::Order& order, std::vector<LooseTable> tables) {
  SortByKey(order, &tables);
  std::vector<std::vector<LooseTable>> groups;
  format::FileMetaPtr last;  // the table of the last group with the largest key
  for (LooseTable& table : tables) {
    if (groups.empty() || IsBefore(order, *last, table.meta->smallest)) {
      groups.emplace_back();
      last = table.meta;
    }
    if (IsBefore(order, *last, table.meta->largest)) last = table.meta;
    groups.back().push_back(std::move(table));
  }
  return groups;
}

// ---- the range tombstones of a group --------------------------------------------------------------------------------

// The live range tombstones of all tables of the group.
Result<kv::RangeTombstones> GatherLive(const compaction::TableFactory& factory, const CompactedInputs& compacted_inputs,
                                       const std::vector<LooseTable>& group) {
  std::deque<kv::RangeTombstones> all_tables;  // owns the bytes of the views, beside the compacted ranges
  std::vector<kv::RangeTombstone> alive;
  for (const LooseTable& table : group) {
    if (table.meta->range_tombstones == 0) continue;
    ASSIGN_OR_RETURN(auto reader,
                     table::Reader::Open(factory.file_system, format::TablePath(factory.directory, table.meta->number),
                                         table.meta, factory.order, nullptr));
    std::vector<kv::RangeTombstone> all;
    all_tables.emplace_back(reader->range_tombstones()).AppendTo(factory.order, {}, {}, &all);
    const CompactedInputs::On on = compacted_inputs.Against(table);
    for (const kv::RangeTombstone& each : all) on.AppendLive(each, &alive);
  }
  return kv::RangeTombstones::Fragment(factory.order, std::move(alive), {}, kv::RangeTombstones::Keys::kCopies);
}

// ---- the entries of a group -----------------------------------------------------------------------------------------

// The state that the `DisjointTablesIterator`s of a group share.
struct GroupCompaction {
  const compaction::TableFactory& factory;
  const CompactedInputs& compacted_inputs;
  const std::vector<LooseTable>& tables;  // in key order
  kv::RangeTombstones tombstones = {};
  uint64_t entries_dropped = 0;

  // Maps sequences so that versions of one key differ: sequence 0 of the i-th table by age (i from 1) becomes
  // i, any other sequence s becomes s + shift.
  uint64_t shift() const { return tables.size() + 1; }
};

// An iterator over tables without common keys, one after the other. It shows their live entries.
class DisjointTablesIterator final : public kv::ForwardIterator {
 public:
  explicit DisjointTablesIterator(GroupCompaction* merger) : merger_(*merger) {}

  bool Takes(const LooseTable& table) const {
    return waiting_.empty() || IsBefore(merger_.factory.order, *waiting_.back().table->meta, table.meta->smallest);
  }
  void Add(const LooseTable& table, uint64_t rank) { waiting_.push_back({&table, rank}); }

  void SeekToFirst() override { Enter(); }
  void Next() override {
    child_->Next();
    SkipObsolete();
  }

 private:
  struct Place {
    const LooseTable* table;
    uint64_t rank;
  };

  void Enter() {
    const compaction::TableFactory& factory = merger_.factory;
    for (valid_ = false; !waiting_.empty(); waiting_.pop_front()) {
      const LooseTable& table = *waiting_.front().table;
      child_ = nullptr;
      auto reader = table::Reader::Open(factory.file_system, format::TablePath(factory.directory, table.meta->number),
                                        table.meta, factory.order, nullptr);
      if (!reader) return Fail(reader.error());
      reader_ = std::move(*reader);
      compacted_inputs_.emplace(merger_.compacted_inputs.Against(table));
      child_ = reader_->NewScanIterator();
      child_->SeekToFirst();
      if (Show() || !status_.ok()) return;
    }
    child_ = nullptr;
    reader_ = nullptr;
  }
  void SkipObsolete() {
    if (Show() || !status_.ok()) return;
    waiting_.pop_front();
    Enter();
  }
  // Moves to the next live entry of the child; false at its end.
  bool Show() {
    for (; child_->Valid(); child_->Next()) {
      const kv::Entry& entry = child_->entry();
      const kv::Sequence sequence = kv::SequenceOf(entry.tag);
      if (compacted_inputs_->IsObsolete(entry.key, sequence) || IsMasked(entry.key, sequence)) {
        ++merger_.entries_dropped;
        continue;
      }
      if (sequence > kv::kSequenceMax - merger_.shift()) {
        Fail(Status::NotSupported("sequence numbers are used up"));
        return false;
      }
      entry_ = entry;
      entry_.tag =
          kv::MakeTag(sequence == 0 ? waiting_.front().rank : sequence + merger_.shift(), kv::KindOf(entry.tag));
      return valid_ = true;
    }
    if (!child_->status().ok()) Fail(child_->status());
    return valid_ = false;
  }
  // WHY sequence 0 is older than every live tombstone: the compaction that set it to 0 took all older
  // versions and tombstones as input, too.
  bool IsMasked(std::string_view key, kv::Sequence sequence) const {
    const kv::RangeTombstones& tombstones = merger_.tombstones;
    return !tombstones.empty() && tombstones.MaskingSequence(merger_.factory.order, key, kv::kSequenceMax) > sequence;
  }
  void Fail(Status status) {
    valid_ = false;
    status_ = std::move(status);
  }

  GroupCompaction& merger_;
  std::deque<Place> waiting_;  // the first one is being read
  std::shared_ptr<table::Reader> reader_;
  std::optional<CompactedInputs::On> compacted_inputs_;
  std::unique_ptr<kv::ForwardIterator> child_;
};

std::unique_ptr<kv::ForwardIterator> NewGroupIterator(GroupCompaction* merger) {
  const std::vector<LooseTable>& tables = merger->tables;
  std::vector<kv::FileNumber> ages;
  for (const LooseTable& table : tables) ages.push_back(table.age());
  std::sort(ages.begin(), ages.end());
  std::vector<std::unique_ptr<DisjointTablesIterator>> iterators;
  for (const LooseTable& table : tables) {
    const auto free =
        std::find_if(iterators.begin(), iterators.end(), [&](const auto& each) { return each->Takes(table); });
    DisjointTablesIterator& target =
        free != iterators.end() ? **free : *iterators.emplace_back(std::make_unique<DisjointTablesIterator>(merger));
    const auto rank = std::lower_bound(ages.begin(), ages.end(), table.age()) - ages.begin() + 1;
    target.Add(table, static_cast<uint64_t>(rank));
  }
  std::vector<std::unique_ptr<kv::ForwardIterator>> children(std::make_move_iterator(iterators.begin()),
                                                             std::make_move_iterator(iterators.end()));
  return iterator::NewMergingIterator(merger->factory.order, std::move(children));
}

// The merged `DisjointTablesIterator`s with the original sequences, and each change once: a table and its copy, or a
// table and the WAL, may both have it. If an operand and a base have the same sequence, the base counts, since
// the operand was folded into it.
class Distinct final : public kv::ForwardIterator {
 public:
  Distinct(const kv::Order& order, uint64_t shift, std::unique_ptr<kv::ForwardIterator> input)
      : order_(order), shift_(shift), input_(std::move(input)) {}

  void SeekToFirst() override {
    is_begun_ = false;
    input_->SeekToFirst();
    Show();
  }
  void Next() override { Show(); }

 private:
  // The input is after the entry shown, but may be at another copy of the same change.
  void Show() {
    valid_ = false;
    while (is_begun_ && input_->Valid() && IsSameChange(input_->entry())) input_->Next();
    if (!input_->Valid()) {
      status_ = input_->status();
      return;
    }
    Take();
    while (kv::KindOf(entry_.tag) == kv::Kind::kMerge && input_->Valid() && IsSameChange(input_->entry())) {
      if (kv::KindOf(input_->entry().tag) != kv::Kind::kMerge) {
        Take();
      } else {
        input_->Next();
      }
    }
    entry_.tag = kv::MakeTag(sequence_ < shift_ ? 0 : sequence_ - shift_, kv::KindOf(entry_.tag));
    valid_ = true;
  }
  void Take() {
    const kv::Entry& entry = input_->entry();
    is_begun_ = true;
    key_ = entry.key;
    value_ = entry.value;
    sequence_ = kv::SequenceOf(entry.tag);
    entry_ = {.prefix = entry.prefix, .key = key_, .tag = entry.tag, .value = value_};
    input_->Next();
  }
  bool IsSameChange(const kv::Entry& entry) const {
    const kv::Sequence sequence = kv::SequenceOf(entry.tag);
    return (sequence == sequence_ || (sequence < shift_ && sequence_ < shift_)) && order_.SameKey(key_, entry.key);
  }

  const kv::Order order_;
  const uint64_t shift_;
  const std::unique_ptr<kv::ForwardIterator> input_;
  bool is_begun_ = false;
  std::string key_;  // owns the key of entry_
  std::string value_;
  kv::Sequence sequence_ = 0;  // as in the input, with the shift
};

// `next`: the smallest key of the next group.
Status CompactGroup(GroupCompaction merger, const std::optional<std::string>& next, Compression compression,
                    const std::function<Status()>& advance, Rebuilt* rebuilt) {
  const compaction::TableFactory& factory = merger.factory;
  ASSIGN_OR_RETURN(merger.tombstones, GatherLive(factory, merger.compacted_inputs, merger.tables));
  kv::Sequence largest = 0;
  for (const LooseTable& table : merger.tables) largest = std::max(largest, table.meta->largest_sequence);
  compaction::Outputs outputs(
      factory, {.compression = compression,
                .table_bytes_max = kTableBytes,
                .bytes_expected = kTableBytes,
                .compacted_ranges = {
                    {.sequence = largest, .bounds = {.lower = merger.tables.front().meta->smallest, .upper = next}}}});
  iterator::CompactionIteratorCounts counts;
  const auto merged = iterator::NewCompactionIterator(
      factory.order, {.is_bottommost = true, .operators = factory.operators},
      std::make_unique<Distinct>(factory.order, merger.shift(), NewGroupIterator(&merger)), &counts);
  uint64_t entries = 0;
  for (merged->SeekToFirst(); merged->Valid(); merged->Next()) {
    if (++entries % kEntriesPerLook == 0) RETURN_IF_ERROR(advance());
    RETURN_IF_ERROR(outputs.Add(merged->entry()));
  }
  RETURN_IF_ERROR(merged->status());
  RETURN_IF_ERROR(outputs.Finish());
  for (auto& meta : outputs.Take()) rebuilt->made.push_back(std::move(meta));
  rebuilt->entries_dropped += merger.entries_dropped;
  return {};
}

bool StaysAsItIs(const CompactedInputs& compacted_inputs, const std::vector<LooseTable>& group) {
  return group.size() == 1 && compacted_inputs.Against(group.front()).empty();
}

}  // namespace

Rebuilt PlanRebuild(const kv::Order& order, const std::vector<LooseTable>& tables) {
  Rebuilt rebuilt;
  const CompactedInputs compacted_inputs(order, tables);
  for (const auto& group : Group(order, tables)) {
    auto& metas = StaysAsItIs(compacted_inputs, group) ? rebuilt.kept : rebuilt.merged;
    for (const LooseTable& table : group) metas.push_back(table.meta);
  }
  return rebuilt;
}

Result<Rebuilt> Rebuild(const compaction::TableFactory& factory, const std::vector<LooseTable>& tables,
                        Compression compression, const std::function<Status()>& advance) {
  Rebuilt rebuilt = PlanRebuild(factory.order, tables);
  const CompactedInputs compacted_inputs(factory.order, tables);
  const auto groups = Group(factory.order, tables);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (StaysAsItIs(compacted_inputs, groups[i])) continue;
    std::optional<std::string> next;
    if (i + 1 < groups.size()) next = groups[i + 1].front().meta->smallest;
    RETURN_IF_ERROR(CompactGroup({.factory = factory, .compacted_inputs = compacted_inputs, .tables = groups[i]}, next,
                                 compression, advance, &rebuilt));
  }
  return rebuilt;
}

}  // namespace mergedb::repair
