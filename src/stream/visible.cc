#include "stream/visible.h"

#include <utility>

#include "base/assert.h"
#include "base/zoo.h"
#include "stream/kept_key.h"
#include "stream/plain_moves.h"

namespace mergedb::stream {
namespace {

// After this many versions passed over one by one, a seek is cheaper.
constexpr int kStepsMax = 8;

// Forward: the input stands at the entry shown, and entry_ is its view. `key_` holds the last key whose fate is known,
// older versions of which are passed over.
// Reverse: a key's newest visible version is known only when all older ones have gone by, so entry_ is a view of the
// copies in `key_` and `value_`, and the input stands before them: at a key before, or a newer version, or its end.
class VisibleIterator final : public kv::Iterator {
 public:
  VisibleIterator(const kv::Order& order, VisibleOptions options, std::unique_ptr<kv::Iterator> input)
      : order_(order),
        options_(std::move(options)),
        upper_prefix_(options_.upper ? order.Prefix(*options_.upper) : 0),
        lower_prefix_(options_.lower ? order.Prefix(*options_.lower) : 0),
        input_(std::move(input)),
        wade_(options_.on_wade) {
    status_ = input_->status();
  }

  void SeekToFirst() override {
    if (options_.lower) return Seek(*options_.lower, kv::kTagMax);
    input_->SeekToFirst();
    StartForward();
  }

  void Seek(std::string_view key, kv::Tag) override {
    if (options_.lower && order_.CompareKeys(key, *options_.lower) < 0) key = *options_.lower;
    if (options_.upper && order_.CompareKeys(key, *options_.upper) >= 0) return End({});
    input_->Seek(key, kv::SeekTag(options_.sequence));
    StartForward();
  }

  void SeekToLast() override {
    if (options_.upper) {
      input_->Seek(*options_.upper, kv::kTagMax);
      StepBack();
    } else {
      input_->SeekToLast();
    }
    is_forward_ = false;
    status_ = {};
    key_.Clear();
    FindBackward();
  }

  void Next() override {
    DCHECK(Valid(), "Next of an invalid iterator");
    if (is_forward_) [[likely]] {
      key_.Keep(entry_);
      input_->Next();
    } else {
      is_forward_ = true;
      input_->Seek(key_.key(), kv::Tag{0});
    }
    FindForward();
  }

  void Prev() override {
    DCHECK(Valid(), "Prev of an invalid iterator");
    if (is_forward_) {
      is_forward_ = false;
      key_.Keep(entry_);
    }
    FindBackward();
  }

 private:
  void StartForward() {
    is_forward_ = true;
    status_ = {};
    key_.Clear();
    FindForward();
  }

  // From the input's entry on, the first one to show.
  void FindForward() {
    wade_.Begin();
    for (int steps = 0; input_->Valid();) {
      const kv::Entry& entry = input_->entry();
      if (IsAtUpper(entry)) {
        wade_.EndForward(options_.upper);
        return End({});
      }
      const bool is_hidden = key_.Matches(order_, entry);
      if (!is_hidden && kv::SequenceOf(entry.tag) <= options_.sequence) {
        steps = 0;
        if (!IsDelete(entry)) {
          Show(entry);
          return wade_.EndForward(entry.key);
        }
        key_.Keep(entry);
        wade_.Pass(entry.key);
        input_->Next();
      } else if (++steps < kStepsMax) {
        wade_.Pass(entry.key);
        input_->Next();
      } else {
        steps = 0;
        Leap(entry, is_hidden ? kv::Tag{0} : kv::SeekTag(options_.sequence));
      }
    }
    wade_.EndForward(std::nullopt);
    End(input_->status());
  }

  // Before the input's entry, or at it, the last key to show; `key_` and what is after it are behind us.
  void FindBackward() {
    wade_.Begin();
    for (int steps = 0; input_->Valid();) {
      const kv::Entry& entry = input_->entry();
      if (IsBelowLower(entry)) {
        wade_.EndBackward(options_.lower);
        return End({});
      }
      if (key_.Matches(order_, entry)) {
        wade_.Pass(entry.key);
        if (++steps < kStepsMax) {
          input_->Prev();
        } else {
          steps = 0;
          Leap(entry, kv::kTagMax);
          StepBack();
        }
        continue;
      }
      steps = 0;
      key_.Keep(entry);
      wade_.Pass(entry.key);
      if (!ShowNewestOfKey()) continue;
      Show(entry_);
      return wade_.EndBackward(entry_.key);
    }
    wade_.EndBackward(std::nullopt);
    End(input_->status());
  }

  // The input stands at the oldest version of `key_`. Moves it before the newest one visible.
  bool ShowNewestOfKey() {
    bool is_found = false;
    for (int steps = 1; input_->Valid(); ++steps) {
      const kv::Entry& entry = input_->entry();
      if (!key_.Matches(order_, entry) || kv::SequenceOf(entry.tag) > options_.sequence) break;
      if (ZOO(kReverseMissesNewest) && is_found) break;
      if (steps == kStepsMax) {
        Leap(entry, kv::SeekTag(options_.sequence));
        continue;
      }
      is_found = true;
      // WHY: a comparator may take two spellings for one key; the newest version's is shown, as when moving forward.
      if (!order_.is_bytewise()) [[unlikely]] key_.Keep(entry);
      entry_.tag = entry.tag;
      value_.assign(entry.value);
      input_->Prev();
    }
    if (!is_found || !input_->status().ok() || IsDelete(entry_)) return false;
    entry_ = {.prefix = key_.prefix(), .key = key_.key(), .tag = entry_.tag, .value = value_};
    return true;
  }

  // Or end with the reason why it cannot be shown.
  void Show(const kv::Entry& entry) {
    CopyEntry(entry, &entry_);
    valid_ = true;
    if (kv::KindOf(entry.tag) != kv::Kind::kPut) [[unlikely]] ShowOther();
    if (options_.keys_only) entry_.value = {};
  }

  // WHY beside Show: it keeps the loop over values that stand in tables small.
  void ShowOther() {
    if (kv::KindOf(entry_.tag) != kv::Kind::kPutRef) return End(ReservedKind(entry_));
    if (options_.keys_only) return;
    if (options_.values == nullptr) return End(ReservedKind(entry_));
    if (Status status = options_.values->Resolve(entry_, &entry_.value); !status.ok()) End(std::move(status));
  }

  void End(Status status) {
    valid_ = false;
    status_ = std::move(status);
  }

  // WHY the copy: the key belongs to the input, which must not lose it while it seeks.
  void Leap(const kv::Entry& entry, kv::Tag tag) {
    target_.assign(entry.key);
    input_->Seek(target_, tag);
  }

  // After a Seek: to the entry before the one found.
  void StepBack() {
    if (input_->Valid()) {
      input_->Prev();
    } else if (input_->status().ok()) {
      input_->SeekToLast();
    }
  }

  static bool IsDelete(const kv::Entry& entry) { return kv::KindOf(entry.tag) == kv::Kind::kDelete; }

  bool IsAtUpper(const kv::Entry& entry) const {
    if (!options_.upper || entry.prefix < upper_prefix_) return false;
    return entry.prefix > upper_prefix_ || order_.CompareKeys(entry.key, *options_.upper) >= ZOO(kUpperBoundIncluded);
  }
  bool IsBelowLower(const kv::Entry& entry) const {
    if (!options_.lower || entry.prefix > lower_prefix_) return false;
    return entry.prefix < lower_prefix_ || order_.CompareKeys(entry.key, *options_.lower) < 0;
  }

  const kv::Order order_;
  const VisibleOptions options_;
  const uint64_t upper_prefix_;
  const uint64_t lower_prefix_;
  const std::unique_ptr<kv::Iterator> input_;
  bool is_forward_ = true;
  KeptKey key_;
  std::string value_;
  std::string target_;
  WadeMeter wade_;
};

}  // namespace

std::unique_ptr<kv::Iterator> NewVisibleIterator(const kv::Order& order, VisibleOptions options,
                                                 std::unique_ptr<kv::Iterator> input) {
  return std::make_unique<VisibleIterator>(order, std::move(options), std::move(input));
}

}  // namespace mergedb::stream
