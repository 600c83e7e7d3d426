#include "stream/collapsing.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/zoo.h"
#include "stream/kept_key.h"
#include "stream/plain_moves.h"

namespace mergedb::stream {
namespace {

class CollapsingIterator final : public kv::Iterator {
 public:
  CollapsingIterator(const kv::Order& order, CollapseOptions options, std::unique_ptr<kv::Iterator> input,
                     CollapseCounts* counts)
      : order_(order), options_(std::move(options)), input_(std::move(input)), counts_(counts) {
    DCHECK(std::is_sorted(options_.snapshots.begin(), options_.snapshots.end()), "snapshots ascend");
    status_ = input_->status();
  }

  void SeekToFirst() override {
    key_.Clear();
    status_ = {};
    input_->SeekToFirst();
    FindKept();
  }

  // WHY from the newest version of the key on: whether a version is kept depends on the newer ones.
  void Seek(std::string_view key, kv::Tag tag) override {
    key_.Clear();
    status_ = {};
    const std::string target(key);  // WHY: it may be a view of the entry shown
    input_->Seek(target, kv::kTagMax);
    FindKept();
    while (valid_ && entry_.tag > tag && order_.SameKey(entry_.key, target)) Next();
  }

  void Next() override {
    DCHECK(Valid(), "Next of an invalid iterator");
    input_->Next();
    FindKept();
  }

  void SeekToLast() override { ASSERT(false, "a collapsing iterator moves forward only"); }
  void Prev() override { ASSERT(false, "a collapsing iterator moves forward only"); }

 private:
  // From the input's entry on, the first one to keep.
  void FindKept() {
    for (; input_->Valid(); input_->Next()) {
      const kv::Entry& entry = input_->entry();
      ++counts_->entries_in;
      if (!IsPlainKind(kv::KindOf(entry.tag))) [[unlikely]] return Fail(ReservedKind(entry));
      if (IsKept(entry)) {
        ++counts_->entries_out;
        CopyEntry(entry, &entry_);
        if (is_settled() || ZOO(kSequenceZeroedEarly)) entry_.tag = kv::MakeTag(0, kv::KindOf(entry.tag));
        valid_ = true;
        return;
      }
    }
    Fail(input_->status());
  }

  bool IsKept(const kv::Entry& entry) {
    const size_t stripe = StripeOf(kv::SequenceOf(entry.tag));
    if (!key_.Matches(order_, entry)) {
      key_.Keep(entry);
    } else if (stripe == stripe_) {
      ++counts_->hidden;
      return false;
    }
    stripe_ = stripe;
    if (kv::KindOf(entry.tag) == kv::Kind::kDelete && (is_settled() || ZOO(kTombstoneDroppedEarly))) {
      ++counts_->tombstones;
      return false;
    }
    return true;
  }

  // Of the last version: at the bottom and below every snapshot, so every reader sees it and nothing is left to hide.
  bool is_settled() const { return options_.is_bottom && stripe_ == 0; }

  // Versions of one stripe look the same to every snapshot, which sees the newest of them. Stripe 0 is the oldest.
  size_t StripeOf(kv::Sequence sequence) const {
    const auto& snapshots = options_.snapshots;
    if (snapshots.empty() || sequence <= snapshots.front()) return 0;
    return static_cast<size_t>(std::lower_bound(snapshots.begin(), snapshots.end(), sequence) - snapshots.begin());
  }

  void Fail(Status status) {
    valid_ = false;
    status_ = std::move(status);
  }

  const kv::Order order_;
  const CollapseOptions options_;
  const std::unique_ptr<kv::Iterator> input_;  // at entry_ while valid
  CollapseCounts* const counts_;
  KeptKey key_;        // the last key met,
  size_t stripe_ = 0;  // and the stripe of its last version
};

}  // namespace

std::unique_ptr<kv::Iterator> NewCollapsingIterator(const kv::Order& order, CollapseOptions options,
                                                    std::unique_ptr<kv::Iterator> input, CollapseCounts* counts) {
  return std::make_unique<CollapsingIterator>(order, std::move(options), std::move(input), counts);
}

}  // namespace mergedb::stream
