#include "read/run_iterator.h"

#include <optional>
#include <string>
#include <tuple>
#include <utility>

namespace mergedb::read {
namespace {

class RunIterator final : public kv::Iterator {
 public:
  RunIterator(const kv::Order& order, version::RunPtr run, format::Bounds bounds, OpenVirtualTable open,
              kv::SkippedErrors* skipped)
      : order_(order), run_(std::move(run)), bounds_(std::move(bounds)), open_(std::move(open)), skipped_(skipped) {
    std::tie(first_, last_) = run_->Overlap(order_, bounds_);
    looks_ahead_ = true;
  }

  void SeekToFirst() override {
    status_ = {};
    EnterForward(first_);
  }

  void SeekToLast() override {
    status_ = {};
    EnterBackward(last_);
  }

  void Seek(std::string_view key, kv::Tag tag) override {
    status_ = {};
    if (bounds_.lower && order_.CompareKeys(key, *bounds_.lower) < 0) return EnterForward(first_);
    const size_t index = IsInOpenVirtualTable(key) ? index_ : run_->FindIndex(order_, key);
    if (index < first_) return EnterForward(first_);
    if (index >= last_) return End();
    if (!Open(index)) {
      if (status_.ok()) EnterForward(index + 1);
      return;
    }
    // The virtual table's own lower bound may be above the key.
    if (lower_ && order_.CompareKeys(key, *lower_) < 0) {
      child_->Seek(*lower_, kv::kTagMax);
    } else {
      child_->Seek(key, tag);
    }
    FinishForward();
  }

  void Next() override {
    child_->Next();
    if (child_->Valid() && !upper_) {  // the common case: no upper bound
      entry_ = child_->entry();
      return;
    }
    FinishForward();
  }

  void Prev() override {
    child_->Prev();
    FinishBackward();
  }

  size_t LookAhead(std::span<kv::Entry> ahead) override {
    size_t count = child_->LookAhead(ahead);
    while (upper_ && count > 0 && order_.CompareKeys(ahead[count - 1].key, *upper_) >= 0) --count;
    return count;
  }

  void Skip(size_t n) override {
    child_->Skip(n);
    entry_ = child_->entry();
  }

 private:
  void End() {
    child_ = nullptr;
    valid_ = false;
  }

  // WHY checked first: a scan that skips masked keys seeks from place to place in one table.
  bool IsInOpenVirtualTable(std::string_view key) const {
    if (child_ == nullptr) return false;
    const version::VirtualTable& virtual_table = run_->virtual_tables()[index_];
    return order_.CompareKeys(virtual_table.smallest(), key) <= 0 && !virtual_table.IsBefore(order_, key);
  }

  // Opens virtual table `index` and computes the bounds within which it shows keys. False after an error;
  // status_ is then OK if the virtual table is to be skipped.
  bool Open(size_t index) {
    if (child_ != nullptr && index == index_ && child_->status().ok()) return true;
    const version::VirtualTable& virtual_table = run_->virtual_tables()[index];
    child_ = open_(virtual_table);  // anew after an error, which may have passed
    index_ = index;
    lower_ = Later(virtual_table.bounds.lower, bounds_.lower);
    upper_ = Earlier(virtual_table.bounds.upper, bounds_.upper);
    if (child_->status().ok()) return true;
    valid_ = false;
    if (skipped_ == nullptr) {
      status_ = child_->status();
    } else {
      skipped_->Add(child_->status());
    }
    return false;
  }

  void EnterForward(size_t index) {
    for (; index < last_; ++index) {
      if (!Open(index)) {
        if (status_.ok()) continue;
        return;
      }
      if (lower_) {
        child_->Seek(*lower_, kv::kTagMax);
      } else {
        child_->SeekToFirst();
      }
      if (ShowForward()) return;
      if (!status_.ok()) return;
    }
    End();
  }

  // `index` is one past the virtual table to enter.
  void EnterBackward(size_t index) {
    while (index > first_) {
      if (!Open(--index)) {
        if (status_.ok()) continue;
        return;
      }
      if (upper_) {
        child_->Seek(*upper_, kv::kTagMax);
        if (child_->Valid()) {
          child_->Prev();
        } else if (child_->status().ok()) {
          child_->SeekToLast();
        }
      } else {
        child_->SeekToLast();
      }
      if (ShowBackward()) return;
      if (!status_.ok()) return;
    }
    End();
  }

  void FinishForward() {
    if (!ShowForward() && status_.ok()) EnterForward(index_ + 1);
  }
  void FinishBackward() {
    if (!ShowBackward() && status_.ok()) EnterBackward(index_);
  }

  bool ShowForward() {
    valid_ = child_->Valid();
    if (!valid_) {
      status_ = child_->status();
      return false;
    }
    if (upper_ && order_.CompareKeys(child_->entry().key, *upper_) >= 0) return valid_ = false;
    entry_ = child_->entry();
    return true;
  }
  bool ShowBackward() {
    valid_ = child_->Valid();
    if (!valid_) {
      status_ = child_->status();
      return false;
    }
    if (lower_ && order_.CompareKeys(child_->entry().key, *lower_) < 0) return valid_ = false;
    entry_ = child_->entry();
    return true;
  }

  // Bounds as views: they live in the run and in bounds_.
  using Bound = std::optional<std::string_view>;
  Bound Later(const std::optional<std::string>& a, const std::optional<std::string>& b) const {
    if (!a || !b) return a ? Bound(*a) : b ? Bound(*b) : Bound();
    return order_.CompareKeys(*a, *b) >= 0 ? *a : *b;
  }
  Bound Earlier(const std::optional<std::string>& a, const std::optional<std::string>& b) const {
    if (!a || !b) return a ? Bound(*a) : b ? Bound(*b) : Bound();
    return order_.CompareKeys(*a, *b) <= 0 ? *a : *b;
  }

  const kv::Order order_;
  const version::RunPtr run_;
  const format::Bounds bounds_;
  const OpenVirtualTable open_;
  kv::SkippedErrors* const skipped_;
  size_t first_ = 0;  // the virtual tables that intersect bounds_: [first_, last_)
  size_t last_ = 0;

  std::unique_ptr<kv::Iterator> child_;  // over virtual table index_
  size_t index_ = 0;
  Bound lower_;
  Bound upper_;
};

}  // namespace

std::unique_ptr<kv::Iterator> NewRunIterator(const kv::Order& order, version::RunPtr run, format::Bounds bounds,
                                             OpenVirtualTable open, kv::SkippedErrors* skipped) {
  return std::make_unique<RunIterator>(order, std::move(run), std::move(bounds), std::move(open), skipped);
}

}  // namespace mergedb::read
