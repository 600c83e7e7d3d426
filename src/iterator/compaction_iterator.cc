#include "iterator/compaction_iterator.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "iterator/saved_key.h"

namespace mergedb::iterator {
namespace {

class CompactionIterator final : public kv::ForwardIterator {
 public:
  CompactionIterator(const kv::Order& order, CompactionIteratorOptions options,
                     std::unique_ptr<kv::ForwardIterator> input, CompactionIteratorCounts* counts)
      : order_(order),
        options_(std::move(options)),
        input_(std::move(input)),
        counts_(counts),
        chain_(options_.operators) {
    status_ = input_->status();
  }

  void SeekToFirst() override {
    key_.Clear();
    made_.clear();
    next_made_ = 0;
    is_ahead_ = false;
    passes_ = false;
    status_ = {};
    input_->SeekToFirst();
    FindKept();
  }

  void Next() override {
    DCHECK(Valid(), "Next of an invalid iterator");
    if (next_made_ < made_.size()) [[unlikely]]
      return ShowMade();
    if (!is_ahead_) input_->Next();
    is_ahead_ = false;
    FindKept();
  }

 private:
  // Finds the first entry to keep, from the input's entry on.
  void FindKept() {
    for (; input_->Valid(); input_->Next()) {
      const kv::Entry& entry = input_->entry();
      ++counts_->entries_in;
      if (!IsKnownKind(kv::KindOf(entry.tag))) [[unlikely]]
        return Fail(ReservedKind(entry));
      if (IsKept(entry)) {
        if (kv::KindOf(entry.tag) == kv::Kind::kMerge && !passes_) return FoldStripe();
        ++counts_->entries_out;
        entry_ = entry;
        const bool is_operand = kv::KindOf(entry.tag) == kv::Kind::kMerge;  // operands of one key need their order
        if (is_oldest_visible_to_all() && !is_operand) entry_.tag = kv::MakeTag(0, kv::KindOf(entry.tag));
        valid_ = true;
        return;
      }
    }
    Fail(input_->status());
  }

  bool IsKept(const kv::Entry& entry) {
    const size_t stripe = options_.stripes.Of(kv::SequenceOf(entry.tag));
    const bool is_same_key = key_.Matches(order_, entry);
    if (!is_same_key) {
      key_.Keep(entry);
    } else if (stripe == stripe_ && (!passes_ || entry.tag == last_tag_)) {
      ++counts_->hidden;
      return false;
    }
    passes_ = passes_ && is_same_key && stripe == stripe_ && !kv::IsBase(kv::KindOf(entry.tag));
    stripe_ = stripe;
    last_tag_ = entry.tag;
    if (kv::KindOf(entry.tag) == kv::Kind::kDelete && is_oldest_visible_to_all()) {
      ++counts_->tombstones;
      return false;
    }
    return true;
  }

  // The input stands at the newest operand of its stripe. Folds all operands of the stripe, and the base if
  // it is in the stripe.
  void FoldStripe() {
    // WHY: the comparator may call different bytes one key; the newest version of each stripe shows its own bytes.
    if (!order_.is_bytewise()) [[unlikely]]
      key_.Keep(input_->entry());
    is_ahead_ = true;
    made_.clear();
    next_made_ = 0;
    chain_.Clear();
    uint64_t taken = 0;
    const kv::Entry* entry = &input_->entry();
    if (counter_.Take(entry->value)) {
      const kv::Tag newest_tag = last_tag_;
      entry = AddCounters(&taken);
      if (!status_.ok()) return Fail();
      if (entry == nullptr) return ShowCounter(newest_tag, taken);
      chain_.AddOlder(key_.key(), newest_tag, counter_.view());
    }
    std::optional<kv::Folded> base;
    while (entry != nullptr && !base) {
      ++taken;
      if (kv::IsBase(kv::KindOf(entry->tag))) {
        base = kv::Folded{kv::KindOf(entry->tag), std::string(entry->value)};
      } else {
        chain_.AddOlder(key_.key(), entry->tag, entry->value);
      }
      input_->Next();
      entry = base || chain_.is_full() ? nullptr : NextInStripe();
    }
    if (!status_.ok()) return Fail();
    Make(base);
    counts_->hidden += taken - made_.size();
    ShowMade();
  }

  // The next older version in the stripe, from the input's entry on. Null: the stripe has no more, or an
  // error (status_).
  const kv::Entry* NextInStripe() {
    for (; input_->Valid(); input_->Next()) {
      const kv::Entry& entry = input_->entry();
      if (!key_.Matches(order_, entry) || options_.stripes.Of(kv::SequenceOf(entry.tag)) != stripe_) return nullptr;
      if (!IsKnownKind(kv::KindOf(entry.tag))) [[unlikely]] {
        status_ = ReservedKind(entry);
        return nullptr;
      }
      ++counts_->entries_in;
      if (entry.tag != last_tag_) {
        last_tag_ = entry.tag;
        return &entry;
      }
      ++counts_->hidden;
    }
    status_ = input_->status();
    return nullptr;
  }

  // Adds up the commonest stripe, counters with perhaps a number below them, without a chain. Returns the first entry
  // that cannot be added, for the chain to go on with; null at the end of the stripe, or after an error (status_).
  const kv::Entry* AddCounters(uint64_t* taken) {
    bool is_at_base = false;
    for (;;) {
      ++*taken;
      input_->Next();
      const kv::Entry* entry = is_at_base ? nullptr : NextInStripe();
      if (entry == nullptr) return nullptr;
      const kv::Base below{kv::KindOf(entry->tag), entry->value};
      if (!AddToCounter(below, counter_.view(), &counter_)) return entry;
      is_at_base = kv::IsBase(below.kind);
    }
  }

  void ShowCounter(kv::Tag newest_tag, uint64_t taken) {
    if (counter_.kind == kv::Kind::kMerge && is_oldest_visible_to_all()) AddToCounter({}, counter_.view(), &counter_);
    const bool is_operand = counter_.kind == kv::Kind::kMerge;
    const kv::Tag tag = is_operand
                            ? newest_tag
                            : kv::MakeTag(is_oldest_visible_to_all() ? 0 : kv::SequenceOf(newest_tag), counter_.kind);
    entry_ = {.prefix = key_.prefix(), .key = key_.key(), .tag = tag, .value = counter_.view()};
    counts_->hidden += taken - 1;
    ++counts_->entries_out;
    valid_ = true;
  }

  // Folds the stripe into made_.
  void Make(const std::optional<kv::Folded>& base) {
    if (!chain_.is_full() && (base || is_oldest_visible_to_all())) {
      kv::Base below = base ? kv::Base{base->kind, base->bytes} : kv::Base{};
      const kv::Sequence sequence = is_oldest_visible_to_all() ? 0 : kv::SequenceOf(chain_.newest_tag());
      kv::Folded folded;
      // WHY the Status is dropped: it concerns readers. The operands stay, and a read of them fails with the
      // same Status.
      if (ResolveBase(&below) && chain_.Fold(key_.key(), below, &folded).ok()) {
        made_.push_back({.tag = kv::MakeTag(sequence, folded.kind), .bytes = std::move(folded.bytes)});
        return;
      }
    }
    passes_ = chain_.is_full() && !base;  // the rest of the stripe follows unchanged
    chain_.Combine(key_.key());
    chain_.Take(&made_);
    if (!base) return;
    const bool is_needless = base->kind == kv::Kind::kDelete && is_oldest_visible_to_all();
    const kv::Sequence sequence = is_oldest_visible_to_all() ? 0 : kv::SequenceOf(last_tag_);
    if (!is_needless) made_.push_back({.tag = kv::MakeTag(sequence, base->kind), .bytes = base->bytes});
  }

  // Turns a base that is a blob index into the PUT that it stands for. False: the value cannot be read, and the bytes
  // of the blob index are not the value.
  bool ResolveBase(kv::Base* base) {
    if (base->kind != kv::Kind::kPutBlobIndex) return true;
    if (options_.values == nullptr) return false;
    const kv::Entry reference{.prefix = key_.prefix(), .key = key_.key(), .tag = last_tag_, .value = base->bytes};
    base->kind = kv::Kind::kPut;
    return options_.values->Resolve(reference, &base->bytes).ok();
  }

  void ShowMade() {
    const kv::Chain::Operand& made = made_[next_made_++];
    entry_ = {.prefix = key_.prefix(), .key = key_.key(), .tag = made.tag, .value = made.bytes};
    ++counts_->entries_out;
    valid_ = true;
  }

  // True if the last version is at the bottom and below every snapshot: every reader sees it, and it has
  // nothing to hide.
  bool is_oldest_visible_to_all() const { return options_.is_bottommost && stripe_ == 0; }

  void Fail(Status status) {
    status_ = std::move(status);
    Fail();
  }
  void Fail() { valid_ = false; }

  const kv::Order order_;
  const CompactionIteratorOptions options_;
  const std::unique_ptr<kv::ForwardIterator> input_;  // at entry_ while valid, unless is_ahead_
  CompactionIteratorCounts* const counts_;
  SavedKey key_;          // the last key met
  size_t stripe_ = 0;     // the stripe of its last version
  kv::Tag last_tag_ = 0;  // the tag of its last version
  bool passes_ = false;   // this stripe has too many operands to fold

  bool is_ahead_ = false;  // the input stands after all versions that the entry shown was made of

  // The results of folding, newest first. entry_ is a view of one of them, or of counter_.
  kv::Counter counter_;
  std::vector<kv::Chain::Operand> made_;
  size_t next_made_ = 0;
  kv::Chain chain_;
};

}  // namespace

std::unique_ptr<kv::ForwardIterator> NewCompactionIterator(const kv::Order& order, CompactionIteratorOptions options,
                                                           std::unique_ptr<kv::ForwardIterator> input,
                                                           CompactionIteratorCounts* counts) {
  return std::make_unique<CompactionIterator>(order, std::move(options), std::move(input), counts);
}

}  // namespace mergedb::iterator
