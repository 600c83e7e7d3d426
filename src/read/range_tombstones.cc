#include "read/range_tombstones.h"

#include <algorithm>
#include <utility>

namespace mergedb::read {
namespace {

class MemtableMasks final : public iterator::MaskSource {
 public:
  MemtableMasks(const memtable::Memtable& memtable, kv::Sequence sequence)
      : deletes_(memtable.range_deletes()), sequence_(sequence) {}
  Status Find(std::string_view key, kv::Mask* mask) override {
    *mask = deletes_.Find(key, sequence_);
    return {};
  }

 private:
  const memtable::RangeDeletes& deletes_;
  const kv::Sequence sequence_;
};

class RunMasks final : public iterator::MaskSource {
 public:
  RunMasks(const kv::Order& order, table::Cache& tables, version::RunPtr run, kv::Sequence sequence,
           kv::SkippedErrors* skipped)
      : order_(order), tables_(tables), run_(std::move(run)), sequence_(sequence), skipped_(skipped) {}

  Status Find(std::string_view key, kv::Mask* mask) override {
    const auto& virtual_tables = run_->virtual_tables();
    const auto& with_ranges = run_->virtual_tables_with_ranges();
    const size_t index = IsInOpenVirtualTable(key) ? open_index_ : run_->FindIndex(order_, key);
    const auto next = std::lower_bound(with_ranges.begin(), with_ranges.end(), index);
    *mask = {};
    auto after = next;  // the first virtual table with tombstones after the key
    if (next != with_ranges.end() && *next == index && order_.CompareKeys(virtual_tables[index].smallest(), key) <= 0) {
      if (Status status = FindInVirtualTable(index, key, mask); !status.ok()) {
        if (skipped_ == nullptr) return status;
        skipped_->Add(status);
      }
      ++after;
    }
    if (after != with_ranges.end()) mask->upper = kv::EarlierOf(order_, mask->upper, virtual_tables[*after].smallest());
    // WHY right even if largest() is inclusive: a tombstone over that key would end after it, and largest() with it.
    if (next != with_ranges.begin())
      mask->lower = kv::LaterOf(order_, mask->lower, virtual_tables[*std::prev(next)].largest());
    return {};
  }

 private:
  bool IsInOpenVirtualTable(std::string_view key) const {
    if (reader_ == nullptr) return false;
    const version::VirtualTable& virtual_table = run_->virtual_tables()[open_index_];
    return order_.CompareKeys(virtual_table.smallest(), key) <= 0 && !virtual_table.IsBefore(order_, key);
  }
  Status FindInVirtualTable(size_t index, std::string_view key, kv::Mask* mask) {
    const version::VirtualTable& virtual_table = run_->virtual_tables()[index];
    if (reader_ == nullptr || index != open_index_) {
      reader_ = nullptr;
      ASSIGN_OR_RETURN(reader_, tables_.Open(virtual_table.file));
      open_index_ = index;
      hint_ = 0;
    }
    *mask = reader_->range_tombstones().FindNear(order_, key, sequence_, &hint_);
    if (virtual_table.bounds.lower) {
      mask->lower = kv::LaterOf(order_, mask->lower, *virtual_table.bounds.lower);
      if (mask->sequence > 0) mask->from = *kv::LaterOf(order_, mask->from, *virtual_table.bounds.lower);
    }
    if (virtual_table.bounds.upper) {
      mask->upper = kv::EarlierOf(order_, mask->upper, *virtual_table.bounds.upper);
      if (mask->sequence > 0) mask->until = *kv::EarlierOf(order_, mask->until, *virtual_table.bounds.upper);
    }
    return {};
  }

  const kv::Order order_;
  table::Cache& tables_;
  const version::RunPtr run_;
  const kv::Sequence sequence_;
  kv::SkippedErrors* const skipped_;
  std::shared_ptr<table::Reader> reader_;  // of virtual table open_index_
  size_t open_index_ = 0;
  size_t hint_ = 0;  // the last key's place among the reader's fragments
};

}  // namespace

std::unique_ptr<iterator::MaskSource> NewMemtableMasks(const memtable::Memtable& memtable, kv::Sequence sequence) {
  return std::make_unique<MemtableMasks>(memtable, sequence);
}

std::unique_ptr<iterator::MaskSource> NewRunMasks(const kv::Order& order, table::Cache& tables, version::RunPtr run,
                                                  kv::Sequence sequence, kv::SkippedErrors* skipped) {
  return std::make_unique<RunMasks>(order, tables, std::move(run), sequence, skipped);
}

}  // namespace mergedb::read
