#include "iterator/masking_iterator.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "iterator/merging_iterator.h"

namespace mergedb::iterator {
namespace {

// After this many masked versions in a row, the older children are moved past the masked range.
constexpr int kMaskedStepsMax = 3;
// One jump passes over at most this many masked ranges that follow each other without a gap.
constexpr int kStretchesMax = 8;

class MaskingIterator final : public kv::Iterator {
 public:
  MaskingIterator(const kv::Order& order, MaskingInput input)
      : order_(order),
        lower_(std::move(input.lower)),
        upper_(std::move(input.upper)),
        input_(NewSkippingMerge(order, std::move(input.children))) {
    for (MaskedChildren& covering : input.masks) masks_.push_back({.covering = std::move(covering)});
    status_ = input_->status();
    looks_ahead_ = input_->looks_ahead();
  }

  void SeekToFirst() override {
    Restart();
    input_->SeekToFirst();
    FindForward();
  }
  void SeekToLast() override {
    Restart();
    input_->SeekToLast();
    FindBackward();
  }
  void Seek(std::string_view key, kv::Tag tag) override {
    Restart();
    input_->Seek(key, tag);
    FindForward();
  }
  void Next() override {
    DCHECK(Valid(), "Next of an invalid iterator");
    input_->Next();
    FindForward();
  }
  void Prev() override {
    DCHECK(Valid(), "Prev of an invalid iterator");
    input_->Prev();
    FindBackward();
  }

  // The entries that lie ready, up to the span's upper limit or the first masked version.
  size_t LookAhead(std::span<kv::Entry> ahead) override {
    size_t ready = input_->LookAhead(ahead);
    if (ready == 0) return 0;
    if (has_span_upper_ && !IsBelowUpper(ahead[ready - 1])) {
      const auto passed = std::partition_point(ahead.begin(), ahead.begin() + static_cast<ptrdiff_t>(ready) - 1,
                                               [&](const kv::Entry& entry) { return IsBelowUpper(entry); });
      ready = static_cast<size_t>(passed - ahead.begin());
    }
    if (newest_ == 0) return ready;
    const auto masked = std::find_if(ahead.begin(), ahead.begin() + static_cast<ptrdiff_t>(ready),
                                     [&](const kv::Entry& entry) { return kv::SequenceOf(entry.tag) < newest_; });
    return static_cast<size_t>(masked - ahead.begin());
  }
  void Skip(size_t n) override {
    input_->Skip(n);
    Show(input_->entry());
  }

 private:
  struct Known {
    MaskedChildren covering;
    kv::Mask mask = {};  // the source's last answer
    bool is_known = false;
  };

  void Restart() {
    has_span_ = false;
    status_ = {};
  }

  void FindForward() {
    for (int steps = 0; input_->Valid();) {
      const kv::Entry& entry = input_->entry();
      if (!(has_span_ && (!has_span_upper_ || IsBelowUpper(entry))) && !MoveSpan(entry)) return;
      if (kv::SequenceOf(entry.tag) >= newest_ || IsOutside(entry)) return Show(entry);
      if (++steps < kMaskedStepsMax) {
        input_->Next();
        continue;
      }
      steps = 0;
      if (!SkipMasked(true)) return;
    }
    End();
  }

  void FindBackward() {
    for (int steps = 0; input_->Valid();) {
      const kv::Entry& entry = input_->entry();
      const bool is_in_span =
          has_span_ && (!has_span_lower_ || entry.prefix > span_lower_prefix_ ||
                        (entry.prefix == span_lower_prefix_ && order_.CompareKeys(entry.key, span_lower_) >= 0));
      if (!is_in_span && !MoveSpan(entry)) return;
      if (kv::SequenceOf(entry.tag) >= newest_ || IsOutside(entry)) return Show(entry);
      if (++steps < kMaskedStepsMax) {
        input_->Prev();
        continue;
      }
      steps = 0;
      if (!SkipMasked(false)) return;
    }
    End();
  }

  void Show(const kv::Entry& entry) {
    entry_ = entry;
    valid_ = true;
  }
  void End() {
    valid_ = false;
    status_ = input_->status();
  }
  bool Fail(Status status) {
    valid_ = false;
    status_ = std::move(status);
    return false;
  }

  bool IsBelowUpper(const kv::Entry& entry) const {
    return entry.prefix < span_upper_prefix_ ||
           (entry.prefix == span_upper_prefix_ && order_.CompareKeys(entry.key, span_upper_) < 0);
  }

  bool IsOutside(const kv::Entry& entry) const {
    return (lower_ && order_.CompareKeys(entry.key, *lower_) < 0) ||
           (upper_ && order_.CompareKeys(entry.key, *upper_) >= 0);
  }

  bool HoldsFor(const Known& known, std::string_view key) const {
    const kv::Mask& mask = known.mask;
    return known.is_known && (!mask.lower || order_.CompareKeys(key, *mask.lower) >= 0) &&
           (!mask.upper || order_.CompareKeys(key, *mask.upper) < 0);
  }

  // Finds what masks the entry, and the span of keys for which that holds. False: a source failed.
  bool MoveSpan(const kv::Entry& entry) {
    kv::Mask all;
    for (Known& known : masks_) {
      if (!HoldsFor(known, entry.key)) {
        known.is_known = false;  // WHY: Find may throw
        Status status = known.covering.source->Find(entry.key, &known.mask);
        known.is_known = status.ok();
        if (!status.ok()) return Fail(std::move(status));
      }
      all.sequence = std::max(all.sequence, known.mask.sequence);
      all.lower = kv::LaterOf(order_, all.lower, known.mask.lower);
      all.upper = kv::EarlierOf(order_, all.upper, known.mask.upper);
    }
    newest_ = all.sequence;
    has_span_ = true;
    has_span_lower_ = all.lower.has_value();
    has_span_upper_ = all.upper.has_value();
    span_lower_ = all.lower.value_or("");
    span_upper_ = all.upper.value_or("");
    span_lower_prefix_ = order_.Prefix(span_lower_);
    span_upper_prefix_ = order_.Prefix(span_upper_);
    return true;
  }

  // REQUIRES: every source's answer is about the current entry. Moves the children older than a masking
  // source to the end of the range that it masks. The entry is skipped, or it is of a newer child and stays.
  bool SkipMasked(bool is_forward) {
    has_span_ = false;
    for (Known& known : masks_) {
      if (known.mask.sequence == 0) continue;
      target_.assign(is_forward ? known.mask.until : known.mask.from);
      for (int i = 0; is_forward && i < kStretchesMax; ++i) {
        known.is_known = false;
        Status status = known.covering.source->Find(target_, &known.mask);
        known.is_known = status.ok();
        if (!status.ok()) return Fail(std::move(status));
        if (known.mask.sequence == 0) break;
        target_.assign(known.mask.until);
      }
      is_forward ? input_->SkipForward(known.covering.first_older, target_)
                 : input_->SkipBackward(known.covering.first_older, target_);
      if (!input_->Valid()) break;  // the input ended, or has an error that another skip would clear
    }
    return true;
  }

  const kv::Order order_;
  const std::optional<std::string> lower_;
  const std::optional<std::string> upper_;
  std::vector<Known> masks_;
  const std::unique_ptr<Merging> input_;  // at entry_ while valid

  // The span of keys for which the last answer holds: from the last entry asked about up to the upper limit,
  // and down to the lower limit.
  bool has_span_ = false;
  bool has_span_lower_ = false;
  bool has_span_upper_ = false;
  kv::Sequence newest_ = 0;  // the newest tombstone over the span; 0: none
  std::string_view span_lower_;
  std::string_view span_upper_;
  uint64_t span_lower_prefix_ = 0;
  uint64_t span_upper_prefix_ = 0;
  std::string target_;
};

}  // namespace

std::unique_ptr<kv::Iterator> NewMaskingIterator(const kv::Order& order, MaskingInput input) {
  if (input.children.empty()) return kv::NewEmptyIterator();
  if (input.masks.empty()) return NewMergingIterator(order, std::move(input.children));
  return std::make_unique<MaskingIterator>(order, std::move(input));
}

}  // namespace mergedb::iterator
