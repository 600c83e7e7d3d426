#include "iterator/user_iterator.h"

#include <utility>

#include "base/assert.h"
#include "iterator/forward_scan.h"
#include "iterator/reseek_check.h"
#include "iterator/reverse_scan.h"
#include "iterator/user_scan.h"

namespace mergedb::iterator {
namespace {

class UserIterator final : public UserScan {
 public:
  using UserScan::UserScan;

  void SeekToFirst() override {
    if (in.options.lower) return Seek(*in.options.lower, kv::kTagMax);
    Run([&] {
      in.input->SeekToFirst();
      return StartForward();
    });
  }

  void Seek(std::string_view key, kv::Tag) override {
    if (in.options.lower && in.order.CompareKeys(key, *in.options.lower) < 0) key = *in.options.lower;
    if (in.options.upper && in.order.CompareKeys(key, *in.options.upper) >= 0) return EndAtBound();
    Run([&] {
      target_.assign(key);  // WHY: `key` may be a view of the entry shown, or of a part of it
      in.input->Seek(target_, kv::SeekTag(in.options.sequence));
      return StartForward();
    });
  }

  void SeekToLast() override {
    Run([&] {
      if (in.options.upper) {
        in.SeekBefore(*in.options.upper);
      } else {
        in.input->SeekToLast();
      }
      return StartReverse();
    });
  }

  void SeekForPrev(std::string_view key) override {
    if (in.options.upper && in.order.CompareKeys(key, *in.options.upper) >= 0) return SeekToLast();
    Run([&] {
      target_.assign(key);
      in.input->Seek(target_, kv::Tag{0});
      in.StepBack();
      return StartReverse();
    });
  }

  void Next() override {
    DCHECK(Valid(), "Next of an invalid iterator");
    if (!forward_.has_next() || HasFault()) return MoveForward();
    entry_ = forward_.TakeNext();
  }

  void Prev() override {
    DCHECK(Valid(), "Prev of an invalid iterator");
    Run([&] {
      if (is_forward_) {
        Turn(false);
        forward_.Leave();
      }
      return reverse_.Find();
    });
  }

  std::optional<std::string_view> failed_key() const override {
    return is_failed ? std::optional(versions.key()) : std::nullopt;
  }

  // The failed key stays the decided one: its other versions are skipped.
  void NextFromFailed() override {
    DCHECK(is_failed, "the iterator is at a failed key");
    Run([&] {
      Recover();
      if (!is_forward_) Turn(true);
      Status status = failures_.Forward(in.order, versions.Version(kv::kTagMax), versions.key(), kv::Tag{0});
      if (!status.ok()) return End(std::move(status));
      in.input->Seek(versions.key(), kv::Tag{0});
      return forward_.Find();
    });
  }

  void PrevFromFailed() override {
    DCHECK(is_failed, "the iterator is at a failed key");
    Run([&] {
      Recover();
      if (is_forward_) Turn(false);
      Status status = failures_.Backward(in.order, versions.Version(kv::Tag{0}), versions.key(), kv::kTagMax);
      if (!status.ok()) return End(std::move(status));
      in.SeekBefore(versions.key());
      return reverse_.Find();
    });
  }

 private:
  // If a move throws for lack of memory, the input may stand anywhere and the bytes of entry_ may be gone.
  // The scan then ends; the next seek starts from scratch.
  template <class Function>
  void Run(Function move) {
    try {
      const base::MappedRead read;
      valid_ = move() == Move::kShown;
    } catch (...) {
      Break();
      throw;
    }
    if (HasFault()) [[unlikely]]
      EndAtFault();
  }

  // WHY also if another thread met the fault: the zeros are in the place of a page that this scan may have read.
  [[gnu::noinline, gnu::cold]] void EndAtFault() {
    Recover();
    forward_.Restart();
    valid_ = false;
    entry_ = {};
    status_ = faults.status(faults_before);
  }

  [[gnu::noinline, gnu::cold]] void Break() {
    Recover();
    forward_.Restart();
    valid_ = false;
    entry_ = {};
    try {
      status_ = Status::Aborted(
          "the last move of the iterator ended with an exception, perhaps because memory is exhausted; seek again");
    } catch (...) {
      // Without memory for the message the iterator looks ended; its caller has the exception.
    }
  }

  // WHY not in Next: each entry that lay ready would pay for the stack frame of this function.
  [[gnu::noinline]] void MoveForward() {
    Run([&] {
      if (is_forward_) [[likely]]
        return forward_.Step();
      Turn(true);
      return forward_.StepAfterTurn();
    });
  }

  Move StartForward() {
    Start();
    Turn(true);
    return forward_.Find();
  }
  Move StartReverse() {
    Start();
    Turn(false);
    return reverse_.Find();
  }
  void EndAtBound() {
    Start();
    valid_ = false;
  }

  // Forgets the scan before this seek.
  void Start() {
    Recover();
    versions.ForgetKey();
    forward_.Restart();
  }
  // A scan begins or changes direction.
  void Turn(bool is_forward) {
    is_forward_ = is_forward;
    reseeks.Restart();
    failures_.Restart();
  }

  bool is_forward_ = true;
  ForwardScan forward_{*this};
  ReverseScan reverse_{*this};
  ReseekCheck failures_;  // past keys that have errors of their own
  std::string target_;
};

}  // namespace

std::unique_ptr<UserCursor> NewUserIterator(const kv::Order& order, UserIteratorOptions options,
                                            std::unique_ptr<kv::Iterator> input) {
  return std::make_unique<UserIterator>(order, std::move(options), std::move(input));
}

}  // namespace mergedb::iterator
