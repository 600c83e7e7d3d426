// The forward moves of a user iterator.
//
// The input stands at the entry shown, and the iterator's entry is its view. The decided key is the last one that was
// shown or hidden; its older versions are skipped. After a fold (`is_folded_`) the entry is a view of the KeyVersions,
// and the input stands after all versions that were folded.
//
// LookAhead holds the entries after the one shown that are shown unchanged. The input stays before the first of them
// until all were shown, or until the scan changes direction.
#pragma once

#include <span>
#include <utility>

#include "iterator/look_ahead.h"
#include "iterator/user_scan.h"

namespace mergedb::iterator {

class ForwardScan {
 public:
  // `scan` outlives the object.
  explicit ForwardScan(UserScan& scan) : scan_(scan), in_(scan.in), versions_(scan.versions), input_(*in_.input) {}

  // A scan begins, in either direction.
  void Restart() {
    ahead_.Restart();
    is_folded_ = false;
  }

  // The entries that are shown next without a move of the input.
  bool has_next() const { return ahead_.has_next(); }
  const kv::Entry& TakeNext() { return ahead_.Take(); }

  // Moves on from the entry shown. REQUIRES: the last move was forward.
  Move Step() {
    if (is_folded_) [[unlikely]] {
      is_folded_ = false;
    } else {
      versions_.KeepKey(scan_.entry());
      CatchUp();
      input_.Next();
    }
    return FindAndLookAhead();
  }
  // The same after a reverse move: the input may stand at any version of the decided key.
  Move StepAfterTurn() {
    input_.Seek(versions_.key(), kv::Tag{0});
    return FindAndLookAhead();
  }
  // A reverse move follows: moves the input to the entry shown, or before its key.
  void Leave() {
    if (is_folded_) {
      is_folded_ = false;
      in_.SeekBefore(versions_.key());
    } else {
      versions_.KeepKey(scan_.entry());
      CatchUp();
    }
  }

  // Finds the first entry to show, from the input's entry on.
  Move Find() {
    scan_.meter.Begin();
    for (int steps = 0; input_.Valid();) {
      const kv::Entry& entry = input_.entry();
      if (in_.IsAtUpper(entry)) {
        scan_.meter.EndForward(in_.options.upper);
        return scan_.End({});
      }
      const bool is_hidden = versions_.Has(entry);
      if (!is_hidden && in_.IsVisible(entry)) {
        steps = 0;
        if (kv::KindOf(entry.tag) != kv::Kind::kDelete) [[likely]] {
          scan_.meter.EndForward(entry.key);
          return ShowNewest(entry);
        }
        versions_.KeepKey(entry);
      } else if (++steps >= kStepsMax && entry.tag != 0) {  // a key has no version after tag 0 to skip to
        steps = 0;
        const Move move = scan_.ReseekForward(entry, is_hidden ? kv::Tag{0} : kv::SeekTag(in_.options.sequence));
        if (move == Move::kEnded) return move;
        continue;
      }
      scan_.meter.Pass(entry.key);
      input_.Next();
    }
    scan_.meter.EndForward(std::nullopt);
    return scan_.End(input_.status());
  }

 private:
  // The input stands at `entry`, the newest visible version of its key, which is no DELETE. Shows it as a PUT.
  Move ShowNewest(const kv::Entry& entry) {
    const kv::Kind kind = kv::KindOf(entry.tag);
    if (kind == kv::Kind::kPut) [[likely]]
      return scan_.Show(entry);
    if (!IsKnownKind(kind)) return FailEntry(entry, ReservedKind(entry));
    if (kind == kv::Kind::kMerge && !in_.options.keys_only) return ShowFolded(entry);
    kv::Entry shown = entry;
    shown.tag = kv::MakeTag(kv::SequenceOf(entry.tag), kv::Kind::kPut);
    if (!in_.options.keys_only) {
      Status status = versions_.ShowWhole(entry, &shown.value);
      if (!status.ok()) return FailEntry(entry, std::move(status));
    }
    return scan_.Show(shown);
  }

  Move ShowFolded(const kv::Entry& operand) {
    const kv::Sequence sequence = kv::SequenceOf(operand.tag);
    versions_.BeginKey(operand);
    Status status = versions_.Collect();
    if (!status.ok()) return scan_.FailCollected(std::move(status));
    const Move move = scan_.ShowVersions(sequence);
    is_folded_ = move == Move::kShown;
    return move;
  }

  // The input stands at `entry`, whose key has an error of its own.
  Move FailEntry(const kv::Entry& entry, Status status) {
    versions_.KeepKey(entry);
    return scan_.FailKey(std::move(status));
  }

  Move FindAndLookAhead() {
    const Move move = Find();
    if (move != Move::kShown || is_folded_ || !input_.looks_ahead() || !ahead_.IsDue()) return move;
    const std::span<kv::Entry> room = ahead_.Room();
    ahead_.Fill(CountPlain(room.first(input_.LookAhead(room))));
    return move;
  }

  // How many of the first entries of `ready` are shown unchanged, one after the other.
  size_t CountPlain(std::span<kv::Entry> ready) {
    const kv::Entry* before = &scan_.entry();
    size_t count = 0;
    for (kv::Entry& entry : ready) {
      if (kv::KindOf(entry.tag) != kv::Kind::kPut || !in_.IsVisible(entry) || in_.IsAtUpper(entry)) break;
      if (IsSameKey(in_.order, *before, entry)) break;
      if (in_.options.keys_only) entry.value = {};
      before = &entry;
      ++count;
    }
    return count;
  }

  // Moves the input to the entry shown. This ends the views of the entry.
  void CatchUp() {
    if (ahead_.taken() > 0) input_.Skip(ahead_.taken());
    ahead_.Drop();
  }

  UserScan& scan_;
  BoundedInput& in_;
  KeyVersions& versions_;
  kv::Iterator& input_;
  LookAhead ahead_;
  bool is_folded_ = false;
};

}  // namespace mergedb::iterator
