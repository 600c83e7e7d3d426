// The reverse moves of a user iterator.
//
// The newest visible version of a key is known only after all older ones. So the iterator's entry is a view of the
// copies in KeyVersions, or of bytes that outlive the input's moves, and the input stands before them: at an earlier
// key, at a newer version, or at its end.
#pragma once

#include <optional>
#include <utility>

#include "iterator/user_scan.h"

namespace mergedb::iterator {

class ReverseScan {
 public:
  // `scan` outlives the object.
  explicit ReverseScan(UserScan& scan) : scan_(scan), in_(scan.in), versions_(scan.versions), input_(*in_.input) {}

  // Finds the last key to show at or before the input's entry. The decided key and all keys after it are done.
  Move Find() {
    scan_.meter.Begin();
    for (int steps = 0; input_.Valid();) {
      const kv::Entry& entry = input_.entry();
      if (in_.IsBelowLower(entry)) {
        scan_.meter.EndBackward(in_.options.lower);
        return scan_.End({});
      }
      if (!versions_.Has(entry)) {
        steps = 0;
        versions_.BeginKey(entry);
        const Move move = ShowNewestOfKey();
        if (move == Move::kShown) scan_.meter.EndBackward(scan_.entry().key);
        if (move != Move::kGoOn) return move;
        scan_.meter.Pass(versions_.key());
      } else if (++steps < kStepsMax) {
        scan_.meter.Pass(entry.key);
        input_.Prev();
      } else {
        steps = 0;
        const Move move = scan_.ReseekBackward(entry, kv::kTagMax);
        if (move != Move::kGoOn) return move;
        in_.StepBack();
      }
    }
    scan_.meter.EndBackward(std::nullopt);
    return scan_.End(input_.status());
  }

 private:
  // The input stands at the oldest version of the decided key. Moves it before the newest visible version.
  // WHY always_inline: a reverse move calls it once, and a call costs a twentieth of the move.
  [[gnu::always_inline]] Move ShowNewestOfKey() {
    versions_.Clear();
    kv::Tag newest = 0;
    for (int steps = 1; input_.Valid(); ++steps) {
      const kv::Entry& entry = input_.entry();
      if (!versions_.Has(entry) || !in_.IsVisible(entry)) break;
      if (steps == kStepsMax) return ShowNewestFromAbove(entry);
      if (!IsKnownKind(kv::KindOf(entry.tag))) return scan_.FailKey(ReservedKind(entry));
      if (versions_.IsWhole(entry)) {
        versions_.BeginAt(entry);
      } else if (versions_.is_full()) {
        return ShowNewestFromAbove(entry);
      } else if (entry.tag != newest) {  // an equal tag is the same write, replayed twice
        versions_.AddNewer(entry);
      }
      // WHY: the comparator may call different bytes one key; the newest version's bytes are shown, as in a
      // forward scan.
      if (!in_.order.is_bytewise()) [[unlikely]]
        versions_.BeginKey(entry);
      newest = entry.tag;
      input_.Prev();
    }
    return ShowUnlessDeleted(kv::SequenceOf(newest));
  }

  // The same for a key with many versions: from the newest visible version to older ones. The input stands at `entry`.
  Move ShowNewestFromAbove(const kv::Entry& entry) {
    const Move move = scan_.ReseekBackward(entry, kv::SeekTag(in_.options.sequence));
    if (move != Move::kGoOn || in_.HasFailed()) return move;
    // The input skips what it cannot read (kv/skipped_errors.h), and now skips all versions of the key.
    if (!input_.Valid() || !versions_.Has(input_.entry())) {
      in_.SeekBefore(versions_.key());
      return Move::kGoOn;
    }
    const kv::Sequence newest = kv::SequenceOf(input_.entry().tag);
    versions_.BeginKey(input_.entry());
    Status status = versions_.Collect();
    if (!status.ok()) return scan_.FailCollected(std::move(status));
    input_.Seek(versions_.key(), kv::SeekTag(in_.options.sequence));
    in_.StepBack();
    return ShowUnlessDeleted(newest);
  }

  // After an error of the input, Find ends with it.
  Move ShowUnlessDeleted(kv::Sequence newest) {
    return in_.HasFailed() || versions_.is_deleted() ? Move::kGoOn : scan_.ShowVersions(newest);
  }

  UserScan& scan_;
  BoundedInput& in_;
  KeyVersions& versions_;
  kv::Iterator& input_;
};

}  // namespace mergedb::iterator
