#include "iterator/user_iterator.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "iterator/reseek_check.h"
#include "iterator/saved_key.h"

namespace mergedb::iterator {
namespace {

// After this many steps over hidden versions, a seek is cheaper.
constexpr int kStepsMax = 8;
// How many entries a scan looks ahead: few at first, because a short scan would not use more, and at most 1.5 KiB.
constexpr size_t kAheadFirst = 4;
constexpr size_t kAheadMax = 32;
// If a look ahead finds no usable entry, at most this many steps pass before the next one. Sorted runs whose
// keys alternate, and values in blob files, have no usable entries ahead.
constexpr size_t kRestMax = 64;

// Forward: the input stands at the entry shown, and entry_ is its view. `key_` holds the last key that is
// decided; its older versions are skipped. After a fold (`is_folded_`) entry_ is a view of `key_` and
// `value_`, and the input stands after all versions that were folded.
//
// `ahead_` holds the entries after the one shown that are shown unchanged. The input stays before the first
// of them until all were shown, or until the scan changes direction.
//
// Reverse: the newest visible version of a key is known only after all older ones. So entry_ is a view of the copies
// in `key_` and `value_`, or of bytes that outlive the input's moves, and the input stands before them: at an earlier
// key, at a newer version, or at its end.
class UserIterator final : public UserCursor {
 public:
  UserIterator(const kv::Order& order, UserIteratorOptions options, std::unique_ptr<kv::Iterator> input)
      : order_(order),
        options_(std::move(options)),
        upper_prefix_(options_.upper ? order.Prefix(*options_.upper) : 0),
        lower_prefix_(options_.lower ? order.Prefix(*options_.lower) : 0),
        input_(std::move(input)),
        chain_(options_.operators, options_.operands_max),
        tombstone_scan_meter_(options_.on_tombstone_scan) {
    status_ = input_->status();
  }

  void SeekToFirst() override {
    if (options_.lower) return Seek(*options_.lower, kv::kTagMax);
    Move([&] {
      input_->SeekToFirst();
      StartForward();
    });
  }

  void Seek(std::string_view key, kv::Tag) override {
    if (options_.lower && order_.CompareKeys(key, *options_.lower) < 0) key = *options_.lower;
    if (options_.upper && order_.CompareKeys(key, *options_.upper) >= 0) return EndAtBound();
    Move([&] {
      target_.assign(key);  // WHY: `key` may be a view of the entry shown, or of a part of it
      input_->Seek(target_, kv::SeekTag(options_.sequence));
      StartForward();
    });
  }

  void SeekToLast() override {
    Move([&] {
      if (options_.upper) {
        input_->Seek(*options_.upper, kv::kTagMax);
        StepBack();
      } else {
        input_->SeekToLast();
      }
      StartBackward();
    });
  }

  void SeekForPrev(std::string_view key) override {
    if (options_.upper && order_.CompareKeys(key, *options_.upper) >= 0) return SeekToLast();
    Move([&] {
      target_.assign(key);
      input_->Seek(target_, kv::Tag{0});
      StepBack();
      StartBackward();
    });
  }

  void Next() override {
    DCHECK(Valid(), "Next of an invalid iterator");
    if (ahead_at_ == ahead_count_) return MoveForward();
    entry_ = ahead_[ahead_at_++];
  }

  void Prev() override {
    DCHECK(Valid(), "Prev of an invalid iterator");
    Move([&] { StepBackward(); });
  }

  std::optional<std::string_view> failed_key() const override {
    return is_failed_ ? std::optional(key_.key()) : std::nullopt;
  }

  // `key_` stays: its other versions are skipped.
  void NextFromFailed() override {
    DCHECK(is_failed_, "the iterator is at a failed key");
    Move([&] {
      Recover();
      if (!is_forward_) Turn(true);
      Status status = failures_.Forward(order_, VersionOfKey(kv::kTagMax), key_.key(), kv::Tag{0});
      if (!status.ok()) return End(std::move(status));
      input_->Seek(key_.key(), kv::Tag{0});
      FindForward();
    });
  }

  void PrevFromFailed() override {
    DCHECK(is_failed_, "the iterator is at a failed key");
    Move([&] {
      Recover();
      if (is_forward_) Turn(false);
      Status status = failures_.Backward(order_, VersionOfKey(kv::Tag{0}), key_.key(), kv::kTagMax);
      if (!status.ok()) return End(std::move(status));
      input_->Seek(key_.key(), kv::kTagMax);
      StepBack();
      FindBackward();
    });
  }

 private:
  // If a move throws for lack of memory, the input may stand anywhere and the bytes of entry_ may be gone.
  // The scan then ends; the next seek starts from scratch.
  template <class Function>
  void Move(Function move) {
    try {
      move();
    } catch (...) {
      Break();
      throw;
    }
  }

  [[gnu::noinline, gnu::cold]] void Break() {
    Recover();
    valid_ = false;
    entry_ = {};
    ahead_at_ = ahead_count_ = 0;
    try {
      status_ = Status::Aborted(
          "the last move of the iterator ended with an exception, perhaps because memory is exhausted; seek again");
    } catch (...) {
      // Without memory for the message the iterator looks ended; its caller has the exception.
    }
  }

  void Recover() {
    is_failed_ = is_folded_ = false;
    status_ = {};
  }

  void StartForward() {
    Start();
    Turn(true);
    FindForward();
  }

  void StartBackward() {
    Start();
    Turn(false);
    FindBackward();
  }

  // A scan begins or changes direction.
  void Turn(bool is_forward) {
    is_forward_ = is_forward;
    reseeks_.Restart();
    failures_.Restart();
  }

  // Forgets the scan before this seek.
  void Start() {
    Recover();
    key_.Clear();
    ahead_at_ = ahead_count_ = reach_ = 0;
    rest_ = next_rest_ = 0;
  }

  // WHY not in Next: each entry that lay ready would pay for the stack frame of this function.
  [[gnu::noinline]] void MoveForward() {
    Move([&] { StepForward(); });
  }

  void StepBackward() {
    if (is_folded_) {
      Turn(false);
      is_folded_ = false;
      input_->Seek(key_.key(), kv::kTagMax);
      StepBack();
    } else if (is_forward_) {
      Turn(false);
      key_.Keep(entry_);
      CatchUp();
    }
    FindBackward();
  }

  void StepForward() {
    if (is_folded_) [[unlikely]] {
      is_folded_ = false;
    } else if (is_forward_) [[likely]] {
      key_.Keep(entry_);
      CatchUp();
      input_->Next();
    } else {
      Turn(true);
      input_->Seek(key_.key(), kv::Tag{0});
    }
    FindForward();
    if (!valid_ || is_folded_ || !input_->looks_ahead()) return;
    if (rest_ == 0) return AskInput();
    --rest_;
  }

  void EndAtBound() {
    Start();
    valid_ = false;
  }

  // The input stands at the entry shown. Looks ahead for the entries after it that are shown unchanged.
  void AskInput() {
    const size_t wanted = std::clamp(2 * reach_, kAheadFirst, kAheadMax);
    if (ahead_.size() < wanted) ahead_.resize(wanted);
    ahead_at_ = 0;
    ahead_count_ = TakePlain(input_->LookAhead(std::span(ahead_).first(wanted)));
    reach_ = std::max(reach_ / 2, ahead_count_);
    rest_ = ahead_count_ > 0 ? 0 : next_rest_;
    next_rest_ = ahead_count_ > 0 ? 0 : std::min(2 * next_rest_ + 1, kRestMax);
  }

  // How many of the first `ready` entries of ahead_ are shown unchanged, one after the other.
  size_t TakePlain(size_t ready) {
    const kv::Entry* before = &entry_;
    for (size_t i = 0; i < ready; before = &ahead_[i++]) {
      kv::Entry& entry = ahead_[i];
      if (kv::KindOf(entry.tag) != kv::Kind::kPut || kv::SequenceOf(entry.tag) > options_.sequence || IsAtUpper(entry))
        return i;
      if (IsSameKey(order_, *before, entry)) return i;
      if (options_.keys_only) entry.value = {};
    }
    return ready;
  }

  // Moves the input to the entry shown. This ends the views of the entry.
  void CatchUp() {
    if (ahead_at_ > 0) input_->Skip(ahead_at_);
    ahead_at_ = ahead_count_ = 0;
  }

  // Finds the first entry to show, from the input's entry on.
  void FindForward() {
    tombstone_scan_meter_.Begin();
    for (int steps = 0; input_->Valid();) {
      const kv::Entry& entry = input_->entry();
      if (IsAtUpper(entry)) {
        tombstone_scan_meter_.EndForward(options_.upper);
        return End({});
      }
      const bool is_hidden = key_.Matches(order_, entry);
      if (!is_hidden && kv::SequenceOf(entry.tag) <= options_.sequence) {
        steps = 0;
        if (kv::KindOf(entry.tag) == kv::Kind::kPut) [[likely]] {
          Show(entry);
          return tombstone_scan_meter_.EndForward(entry.key);
        }
        if (!IsDelete(entry)) {
          tombstone_scan_meter_.EndForward(entry.key);
          return ShowOther(entry);
        }
        key_.Keep(entry);
        tombstone_scan_meter_.Pass(entry.key);
        input_->Next();
      } else if (++steps < kStepsMax || entry.tag == 0) {  // a key has no version after tag 0 to skip to
        tombstone_scan_meter_.Pass(entry.key);
        input_->Next();
      } else {
        steps = 0;
        if (!ReseekForward(entry, is_hidden ? kv::Tag{0} : kv::SeekTag(options_.sequence))) return;
      }
    }
    tombstone_scan_meter_.EndForward(std::nullopt);
    End(input_->status());
  }

  // Finds the last key to show at or before the input's entry. `key_` and all keys after it are done.
  void FindBackward() {
    tombstone_scan_meter_.Begin();
    for (int steps = 0; input_->Valid();) {
      const kv::Entry& entry = input_->entry();
      if (IsBelowLower(entry)) {
        tombstone_scan_meter_.EndBackward(options_.lower);
        return End({});
      }
      if (key_.Matches(order_, entry)) {
        tombstone_scan_meter_.Pass(entry.key);
        if (++steps < kStepsMax) {
          input_->Prev();
        } else {
          steps = 0;
          if (!ReseekBackward(entry, kv::kTagMax)) return;
          StepBack();
        }
        continue;
      }
      steps = 0;
      key_.Keep(entry);
      lasting_key_ = Lasting(entry.key);
      tombstone_scan_meter_.Pass(entry.key);
      if (!ShowNewestOfKey()) continue;
      if (valid_) tombstone_scan_meter_.EndBackward(entry_.key);
      return;
    }
    tombstone_scan_meter_.EndBackward(std::nullopt);
    End(input_->status());
  }

  // The input stands at the oldest version of `key_`. Moves it before the newest visible version. False:
  // nothing to show, go on; true: shown, or ended with an error.
  bool ShowNewestOfKey() {
    base_.kind = kv::Kind::kDelete;
    chain_.Clear();
    kv::Tag newest = 0;
    for (int steps = 1; input_->Valid(); ++steps) {
      const kv::Entry& entry = input_->entry();
      if (!key_.Matches(order_, entry) || kv::SequenceOf(entry.tag) > options_.sequence) break;
      if (steps == kStepsMax) return ShowNewestFromAbove(entry);
      if (!IsKnownKind(kv::KindOf(entry.tag))) return FailKey(ReservedKind(entry));
      if (IsWhole(entry)) {
        chain_.Clear();
        TakeBase(entry);
      } else if (chain_.is_full()) {
        return ShowNewestFromAbove(entry);
      } else if (entry.tag != newest) {  // an equal tag is the same write, replayed twice
        chain_.AddNewer(key_.key(), entry.tag, entry.value);
      }
      // WHY: the comparator may call different bytes one key; the newest version's bytes are shown, as in a
      // forward scan.
      if (!order_.is_bytewise()) [[unlikely]] {
        key_.Keep(entry);
        lasting_key_ = Lasting(entry.key);
      }
      newest = entry.tag;
      input_->Prev();
    }
    if (!input_->Valid() && !input_->status().ok()) return false;
    if (base_.kind == kv::Kind::kDelete && chain_.empty()) return false;
    return ShowFolded(kv::SequenceOf(newest));
  }

  // The same for a key with many versions: from the newest visible version to older ones.
  bool ShowNewestFromAbove(const kv::Entry& entry) {
    if (!ReseekBackward(entry, kv::SeekTag(options_.sequence))) return true;
    if (!input_->Valid()) return input_->status().ok() ? false : Fail(input_->status());
    if (!key_.Matches(order_, input_->entry())) return LeaveKeyBackward();
    const kv::Sequence sequence = kv::SequenceOf(input_->entry().tag);
    key_.Keep(input_->entry());
    lasting_key_ = Lasting(input_->entry().key);
    Status status = Collect();
    if (!status.ok()) return FailCollected(std::move(status));
    input_->Seek(key_.key(), kv::SeekTag(options_.sequence));
    StepBack();
    if (!input_->Valid() && !input_->status().ok()) return Fail(input_->status());
    if (base_.kind == kv::Kind::kDelete && chain_.empty()) return false;
    return ShowFolded(sequence);
  }

  // The input skips what it cannot read (kv/skipped_errors.h), and now skips all versions of `key_`. Goes on
  // before them.
  bool LeaveKeyBackward() {
    input_->Seek(key_.key(), kv::kTagMax);
    StepBack();
    return !input_->Valid() && !input_->status().ok() ? Fail(input_->status()) : false;
  }

  // The input stands at a version of `key_`. Collects its operands into chain_, newest first, and their base
  // into base_. The input then stands at the base, or after the last operand.
  Status Collect() {
    base_.kind = kv::Kind::kDelete;
    chain_.Clear();
    kv::Tag last = 0;
    for (; input_->Valid(); input_->Next()) {
      const kv::Entry& entry = input_->entry();
      if (!key_.Matches(order_, entry)) return {};
      if (!IsKnownKind(kv::KindOf(entry.tag))) return ReservedKind(entry);
      if (IsWhole(entry)) {
        TakeBase(entry);
        return {};
      }
      if (chain_.is_full()) [[unlikely]]
        return CollectFromBelow();
      // An equal tag is the same write, replayed twice.
      if (entry.tag != last) chain_.AddOlder(key_.key(), entry.tag, entry.value);
      last = entry.tag;
    }
    return input_->status();
  }

  // The rest of Collect for a key with more operands than the chain takes: finds the base, and folds the operands onto
  // it from the oldest on, as many at a time as the chain takes. So their number is not limited.
  [[gnu::noinline, gnu::cold]] Status CollectFromBelow() {
    chain_ = kv::Chain(options_.operators, options_.operands_max);
    for (; input_->Valid() && key_.Matches(order_, input_->entry()); input_->Next()) {
      if (!IsKnownKind(kv::KindOf(input_->entry().tag))) return ReservedKind(input_->entry());
      if (!IsWhole(input_->entry())) continue;
      TakeBase(input_->entry());
      break;
    }
    if (!input_->Valid() && !input_->status().ok()) return input_->status();
    StepBack();
    Status failure;  // of a fold; a newer `put` operand replaces everything older, also a failure
    kv::Tag last = 0;
    for (; input_->Valid(); input_->Prev()) {
      const kv::Entry& entry = input_->entry();
      if (!key_.Matches(order_, entry) || kv::SequenceOf(entry.tag) > options_.sequence) break;
      if (entry.tag == last) continue;  // the same write, replayed twice
      last = entry.tag;
      if (kv::IsPut(entry.value)) {
        chain_.Clear();
        base_ = {};
        base_value_ = {};
        failure = {};
      }
      if (!failure.ok()) continue;
      if (chain_.is_full()) failure = FoldOntoBase();
      if (failure.ok()) chain_.AddNewer(key_.key(), entry.tag, entry.value);
    }
    if (!input_->Valid() && !input_->status().ok()) return input_->status();
    RETURN_IF_ERROR(failure);
    input_->Seek(key_.key(), kv::Tag{0});
    return input_->Valid() ? Status() : input_->status();
  }

  // chain_ becomes a part of base_.
  Status FoldOntoBase() {
    kv::Base below{base_.kind, base_value_};
    RETURN_IF_ERROR(ResolveBase(&below));
    kv::Folded folded;
    RETURN_IF_ERROR(chain_.Fold(key_.key(), below, &folded));
    base_ = std::move(folded);
    base_value_ = base_.bytes;
    chain_.Clear();
    return {};
  }

  // True if no older version is needed. With keys_only an operand is enough: it shows that the key exists.
  bool IsWhole(const kv::Entry& entry) const { return options_.keys_only || kv::IsBase(kv::KindOf(entry.tag)); }

  void TakeBase(const kv::Entry& entry) {
    base_.kind = kv::KindOf(entry.tag);
    base_tag_ = entry.tag;
    const std::string_view value = options_.keys_only ? std::string_view() : entry.value;
    base_value_ = Lasting(value);
    if (base_value_.data() != nullptr) return;
    base_.bytes.assign(value);
    base_value_ = base_.bytes;
  }

  // `shown`, if it outlives the moves of the input; else a view of nothing.
  std::string_view Lasting(std::string_view shown) const {
    return options_.shows_lasting && options_.values->Lasts(shown) ? shown : std::string_view();
  }

  void Show(const kv::Entry& entry) {
    entry_ = entry;
    valid_ = true;
    if (options_.keys_only) entry_.value = {};
  }

  // The input stands at `entry`, the newest visible version of its key, which is neither PUT nor DELETE.
  // Shows it as a PUT, or ends with the reason why it cannot be shown.
  void ShowOther(const kv::Entry& entry) {
    if (!IsKnownKind(kv::KindOf(entry.tag))) return FailEntry(entry, ReservedKind(entry));
    if (options_.keys_only || kv::KindOf(entry.tag) != kv::Kind::kMerge) return ShowBase(entry);
    key_.Keep(entry);
    lasting_key_ = Lasting(entry.key);
    const kv::Sequence sequence = kv::SequenceOf(entry.tag);
    Status status = Collect();
    if (!status.ok()) {
      (void)FailCollected(std::move(status));
      return;
    }
    is_folded_ = ShowFolded(sequence) && valid_;
  }

  void ShowBase(const kv::Entry& entry) {
    std::string_view shown;
    if (!options_.keys_only) {
      const bool is_reference = kv::KindOf(entry.tag) == kv::Kind::kPutBlobIndex;
      Status status =
          is_reference ? Resolve(entry, &shown) : kv::ShowValue({kv::Kind::kMerged, entry.value}, &value_, &shown);
      if (!status.ok() && !is_reference) status = status.WithContext("key \"" + base::Escape(entry.key) + "\"");
      if (!status.ok()) return FailEntry(entry, std::move(status));
    }
    entry_ = entry;
    entry_.tag = kv::MakeTag(kv::SequenceOf(entry.tag), kv::Kind::kPut);
    entry_.value = shown;
    valid_ = true;
  }

  Status Resolve(const kv::Entry& entry, std::string_view* value) {
    return options_.values == nullptr ? ReservedKind(entry) : options_.values->Resolve(entry, value);
  }

  // Shows base_ and chain_ as the value of `key_`. Always true.
  bool ShowFolded(kv::Sequence sequence) {
    std::string_view shown;
    if (!options_.keys_only) {
      Status status = Fold(&shown);
      if (!status.ok()) return FailKey(std::move(status));
    }
    const std::string_view key = lasting_key_.data() == nullptr ? key_.key() : lasting_key_;
    entry_ = {.prefix = key_.prefix(), .key = key, .tag = kv::MakeTag(sequence, kv::Kind::kPut), .value = shown};
    return valid_ = true;
  }

  // If *base, which is base_, is a blob index, it becomes the value.
  Status ResolveBase(kv::Base* base) {
    if (base->kind != kv::Kind::kPutBlobIndex) return {};
    base->kind = kv::Kind::kPut;
    return Resolve({.prefix = key_.prefix(), .key = key_.key(), .tag = base_tag_, .value = base_value_}, &base->bytes);
  }

  Status Fold(std::string_view* shown) {
    kv::Base below{base_.kind, base_value_};
    RETURN_IF_ERROR(ResolveBase(&below));
    *shown = below.bytes;
    if (chain_.empty() && below.kind == kv::Kind::kPut) return {};
    RETURN_IF_ERROR(kv::FoldAndShow(key_.key(), below, chain_, &value_));
    *shown = value_;
    return {};
  }

  // The input failed; the keys concerned are unknown. Always true, as the next two functions.
  bool Fail(Status status) {
    End(std::move(status));
    return true;
  }

  // `key_` has an error of its own.
  bool FailKey(Status status) {
    is_failed_ = true;
    return Fail(std::move(status));
  }

  // Ends with what Collect returned: an error of `key_`, or one of the input.
  bool FailCollected(Status status) {
    return input_->status().ok() ? FailKey(std::move(status)) : Fail(std::move(status));
  }

  // The input stands at `entry`, whose key has an error of its own.
  void FailEntry(const kv::Entry& entry, Status status) {
    key_.Keep(entry);
    (void)FailKey(std::move(status));
  }

  void End(Status status) {
    valid_ = false;
    status_ = std::move(status);
  }

  // Seeks from the input's entry to a version of its key. False: entries are out of order, and the scan ends.
  bool ReseekForward(const kv::Entry& entry, kv::Tag tag) {
    return Reseek(reseeks_.Forward(order_, entry, entry.key, tag), tag);
  }
  // The caller goes on before that version.
  bool ReseekBackward(const kv::Entry& entry, kv::Tag tag) {
    return Reseek(reseeks_.Backward(order_, entry, entry.key, tag), tag);
  }

  bool Reseek(Status status, kv::Tag tag) {
    if (!status.ok()) return !Fail(std::move(status));
    input_->Seek(reseeks_.key(), tag);
    return true;
  }

  kv::Entry VersionOfKey(kv::Tag tag) const {
    return {.prefix = key_.prefix(), .key = key_.key(), .tag = tag, .value = {}};
  }

  // After a Seek: moves to the entry before the one found.
  // WHY not always by one step: beyond the upper bound the input may show masked versions
  // (iterator/masking_iterator.h). A Seek from below has jumped over them, but a step back, or SeekToLast,
  // would stop at one of them.
  void StepBack() {
    if (!input_->Valid() && !input_->status().ok()) return;
    if (options_.upper && (!input_->Valid() || IsAtUpper(input_->entry()))) {
      input_->Seek(*options_.upper, kv::kTagMax);
    }
    if (input_->Valid()) {
      input_->Prev();
    } else if (input_->status().ok()) {
      input_->SeekToLast();
    }
  }

  static bool IsDelete(const kv::Entry& entry) { return kv::KindOf(entry.tag) == kv::Kind::kDelete; }

  bool IsAtUpper(const kv::Entry& entry) const {
    if (!options_.upper || entry.prefix < upper_prefix_) return false;
    return entry.prefix > upper_prefix_ || order_.CompareKeys(entry.key, *options_.upper) >= 0;
  }
  bool IsBelowLower(const kv::Entry& entry) const {
    if (!options_.lower || entry.prefix > lower_prefix_) return false;
    return entry.prefix < lower_prefix_ || order_.CompareKeys(entry.key, *options_.lower) < 0;
  }

  const kv::Order order_;
  const UserIteratorOptions options_;
  const uint64_t upper_prefix_;
  const uint64_t lower_prefix_;
  const std::unique_ptr<kv::Iterator> input_;
  bool is_forward_ = true;
  bool is_folded_ = false;  // forward only
  bool is_failed_ = false;  // `key_` has an error of its own
  SavedKey key_;
  ReseekCheck reseeks_;           // past hidden versions
  ReseekCheck failures_;          // past keys that have errors of their own
  std::vector<kv::Entry> ahead_;  // [ahead_at_, ahead_count_) are shown next
  size_t ahead_at_ = 0;
  size_t ahead_count_ = 0;
  size_t reach_ = 0;      // how many entries ahead are likely to be used
  size_t rest_ = 0;       // steps until the next look ahead
  size_t next_rest_ = 0;  // rest_ after a look ahead that finds nothing
  std::string value_;
  std::string_view lasting_key_;  // `key_` where it outlives the moves of the input; null: nowhere
  kv::Folded base_;               // its bytes as stored, unless they last: of a PUT_REF, the blob reference
  std::string_view base_value_;
  kv::Tag base_tag_ = 0;
  kv::Chain chain_;
  std::string target_;
  TombstoneScanMeter tombstone_scan_meter_;
};

}  // namespace

std::unique_ptr<UserCursor> NewUserIterator(const kv::Order& order, UserIteratorOptions options,
                                            std::unique_ptr<kv::Iterator> input) {
  return std::make_unique<UserIterator>(order, std::move(options), std::move(input));
}

}  // namespace mergedb::iterator
