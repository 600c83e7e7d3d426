#include "iterator/range_tombstone_filter.h"

#include <utility>

#include "base/assert.h"

namespace mergedb::iterator {
namespace {

class RangeTombstoneFilter final : public kv::ForwardIterator {
 public:
  RangeTombstoneFilter(const kv::Order& order, const kv::RangeTombstones& tombstones, kv::Stripes stripes,
                       std::unique_ptr<kv::ForwardIterator> input, uint64_t* dropped)
      : order_(order),
        tombstones_(tombstones),
        stripes_(std::move(stripes)),
        input_(std::move(input)),
        dropped_(*dropped) {
    status_ = input_->status();
  }

  void SeekToFirst() override {
    fragment_ = 0;
    is_inside_ = false;
    SetBorder();
    input_->SeekToFirst();
    Find();
  }
  void Next() override {
    DCHECK(Valid(), "Next of an invalid iterator");
    input_->Next();
    Find();
  }

 private:
  void Find() {
    for (; input_->Valid(); input_->Next()) {
      const kv::Entry& entry = input_->entry();
      while (has_border_ && IsAtBorder(entry)) PassBorder();
      if (!is_inside_ || !IsHidden(kv::SequenceOf(entry.tag))) {
        entry_ = entry;
        valid_ = true;
        return;
      }
      ++dropped_;
    }
    valid_ = false;
    status_ = input_->status();
  }

  bool IsAtBorder(const kv::Entry& entry) const {
    if (entry.prefix != border_prefix_) return entry.prefix > border_prefix_;
    return order_.CompareKeys(entry.key, border_) >= 0;
  }
  // Enters fragment_, or leaves it towards the next one.
  void PassBorder() {
    if (is_inside_) ++fragment_;
    is_inside_ = !is_inside_;
    SetBorder();
  }
  void SetBorder() {
    has_border_ = fragment_ < tombstones_.size();
    if (!has_border_) return;
    border_ = is_inside_ ? tombstones_.end(fragment_) : tombstones_.begin(fragment_);
    border_prefix_ = order_.Prefix(border_);
  }

  // True if every reader that sees a version of this sequence also sees a newer tombstone over it.
  bool IsHidden(kv::Sequence sequence) const {
    const size_t stripe = stripes_.Of(sequence);
    for (const kv::Sequence newer : tombstones_.sequences(fragment_)) {
      if (newer <= sequence) return false;
      if (stripes_.Of(newer) == stripe) return true;
    }
    return false;
  }

  const kv::Order order_;
  const kv::RangeTombstones& tombstones_;
  const kv::Stripes stripes_;
  const std::unique_ptr<kv::ForwardIterator> input_;  // at entry_ while valid
  uint64_t& dropped_;

  size_t fragment_ = 0;  // the fragment around the current key, or the next one
  bool is_inside_ = false;
  bool has_border_ = false;
  std::string_view border_;  // the next border of fragment_
  uint64_t border_prefix_ = 0;
};

}  // namespace

std::unique_ptr<kv::ForwardIterator> NewRangeTombstoneFilter(const kv::Order& order,
                                                             const kv::RangeTombstones& tombstones, kv::Stripes stripes,
                                                             std::unique_ptr<kv::ForwardIterator> input,
                                                             uint64_t* dropped) {
  if (tombstones.empty()) return input;
  return std::make_unique<RangeTombstoneFilter>(order, tombstones, std::move(stripes), std::move(input), dropped);
}

}  // namespace mergedb::iterator
