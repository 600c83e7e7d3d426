#include "iterator/merging_iterator.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "base/assert.h"
#include "iterator/reseek_check.h"
#include "iterator/saved_key.h"

namespace mergedb::iterator {
namespace {

// The rank that loses against every other: of a child at its end, or of a head without the shared bytes.
constexpr uint64_t kRankLast = std::numeric_limits<uint64_t>::max();

// Returns `word`; the compiler can derive nothing about its value.
uint64_t Opaque(uint64_t word) {
  asm("" : "+r"(word));
  return word;
}

// Exchanges the bits of *a and *b that are set in `flip`.
void SwapWhere(uint64_t flip, uint64_t* a, uint64_t* b) {
  const uint64_t difference = Opaque((*a ^ *b) & flip);
  *a ^= difference;
  *b ^= difference;
}

// A loser tree. Node i > 0 holds the loser of the match between its two subtrees, leaf K + c is child c, and
// winner_ is the overall winner. A step moves the winner's child and replays the matches from its leaf to the root.
//
//                winner
//                  1              log2(K) matches a step,
//              2       3          each one comparison of ranks in most cases
//            c0 c1   c2 c3
//
// Rank: 8 bytes of the head's key as a number, after the first `skip_` bytes. All heads shared these bytes at
// the last Recenter. WHY not always the first 8 bytes: keys such as "0000000000123456" would tie in every
// match. In the direction of travel a head without the shared bytes comes after all heads that have them, so
// it ranks last; when such a head wins, Recenter builds the tree anew. In reverse, ranks are complemented:
// the smaller rank always comes first.
//
// `Child` and `Interface` are both kv::ForwardIterator, or kv::Iterator and Merging (MergingIterator).
template <class Child, class Interface>
class LoserTree : public Interface {
 public:
  LoserTree(const kv::Order& order, std::vector<std::unique_ptr<Child>> children)
      : order_(order), children_(std::move(children)), losers_(children_.size()), bracket_(2 * children_.size()) {
    for (const auto& child : children_) {
      if (!child->status().ok() && status_.ok()) status_ = child->status();
    }
  }

  void SeekToFirst() override {
    for (const auto& child : children_) child->SeekToFirst();
    Restart();
  }

  void Next() override {
    DCHECK(this->Valid(), "Next of an invalid iterator");
    Child& child = *children_[winner_.child];
    child.Next();
    Advance(child);
  }

 protected:
  using Interface::entry_, Interface::status_, Interface::valid_;

  struct Node {
    uint64_t rank;
    uint64_t child;
  };

  // The winner's child has moved.
  void Advance(const Child& child) {
    if (!child.Valid()) [[unlikely]]
      return Restart();  // once a child: it has ended or failed
    Replay({RankOf(child.entry()), winner_.child});
    if (winner_.rank == kRankLast || ties_ > 16 * children_.size()) [[unlikely]]
      return Recenter();
    entry_ = children_[winner_.child]->entry();
  }

  // Plays all matches again, after any number of children have moved.
  void Restart() {
    valid_ = false;
    status_ = {};
    for (const auto& child : children_) {
      if (!child->Valid() && !child->status().ok()) {
        status_ = child->status();
        return;
      }
    }
    Recenter();
  }

  void Recenter() {
    ties_ = 0;
    CountShared();
    const size_t count = children_.size();
    for (size_t c = 0; c < count; ++c) {
      bracket_[count + c] = {children_[c]->Valid() ? RankOf(children_[c]->entry()) : kRankLast, c};
    }
    for (size_t i = count - 1; i >= 1; --i) {
      const Node& left = bracket_[2 * i];
      const Node& right = bracket_[2 * i + 1];
      const bool left_wins = IsBefore(left, right);
      bracket_[i] = left_wins ? left : right;
      losers_[i] = left_wins ? right : left;
    }
    winner_ = bracket_[1];
    valid_ = children_[winner_.child]->Valid();
    if (valid_) entry_ = children_[winner_.child]->entry();
  }

  // Counts the leading bytes that all heads share. So many of them are skipped that the shortest key keeps 8
  // bytes for its rank.
  void CountShared() {
    skip_ = 0;
    if (!order_.is_bytewise()) return;
    std::string_view first;
    size_t shared = 0;
    size_t shortest = 0;
    bool is_first = true;
    for (const auto& child : children_) {
      if (!child->Valid()) continue;
      const std::string_view key = child->entry().key;
      if (is_first) {
        first = key;
        shared = shortest = key.size();
        is_first = false;
      }
      shared = std::min(shared, base::CommonPrefixBytes(first, key));
      shortest = std::min(shortest, key.size());
    }
    skip_ = shortest > 8 ? std::min(shared, shortest - 8) : 0;
    shared_.assign(first.substr(0, skip_));
  }

  uint64_t RankOf(const kv::Entry& entry) const {
    if (!order_.is_bytewise()) return 0;
    uint64_t rank = entry.prefix;
    if (skip_ > 0) {
      if (entry.key.size() < skip_ || !SameBytes(entry.key.data(), shared_.data(), skip_)) return kRankLast;
      rank = base::Prefix8(entry.key.substr(skip_));
    }
    return is_forward_ ? rank : ~rank;
  }

  // WHY not a plain swap: the winner of a match is unpredictable, and a mispredicted branch costs 20 cycles.
  // Opaque keeps the compiler from turning the selection into a branch.
  // MEASURED: bench/micro/memtable_bench.cc, 8 and 16 children: 15 and 17 ns a step, 24 and 28 with branches.
  void Replay(Node climber) {
    for (size_t i = (children_.size() + climber.child) / 2; i >= 1; i /= 2) {
      Node& loser = losers_[i];
      bool is_beaten = loser.rank < climber.rank;
      if (loser.rank == climber.rank) [[unlikely]]
        is_beaten = IsBeforeByKey(loser, climber);
      const uint64_t flip = Opaque(0 - static_cast<uint64_t>(is_beaten));
      SwapWhere(flip, &loser.rank, &climber.rank);
      SwapWhere(flip, &loser.child, &climber.child);
    }
    winner_ = climber;
  }

  bool IsBefore(const Node& a, const Node& b) {
    if (a.rank != b.rank) [[likely]]
      return a.rank < b.rank;
    return IsBeforeByKey(a, b);
  }

  bool IsBeforeByKey(const Node& a, const Node& b) {
    const Child& first = *children_[a.child];
    const Child& second = *children_[b.child];
    if (!first.Valid() || !second.Valid()) return first.Valid();
    ++ties_;
    int order = order_.Compare(first.entry(), second.entry());
    if (order == 0) order = a.child < b.child ? -1 : 1;  // equal entries: the newer child first
    return is_forward_ ? order < 0 : order > 0;
  }

  const kv::Order order_;
  const std::vector<std::unique_ptr<Child>> children_;  // newest first
  std::vector<Node> losers_;                            // [1, K)
  Node winner_ = {};
  bool is_forward_ = true;

 private:
  std::vector<Node> bracket_;  // winners while the tree is built
  size_t skip_ = 0;
  std::string shared_;  // the skip_ bytes
  size_t ties_ = 0;     // matches since the last Recenter that ranks could not decide
};

class MergingIterator final : public LoserTree<kv::Iterator, Merging> {
 public:
  MergingIterator(const kv::Order& order, std::vector<std::unique_ptr<kv::Iterator>> children)
      : LoserTree(order, std::move(children)) {
    for (const auto& child : children_) looks_ahead_ |= child->looks_ahead();
  }

  void SeekToFirst() override {
    Go(true);
    LoserTree::SeekToFirst();
  }

  void SeekToLast() override {
    Go(false);
    for (const auto& child : children_) child->SeekToLast();
    Restart();
  }

  void Seek(std::string_view key, kv::Tag tag) override {
    Go(true);
    target_.assign(key);  // WHY: `key` may be a view of the entry shown, which dies with its child's move
    for (const auto& child : children_) child->Seek(target_, tag);
    Restart();
  }

  void Next() override {
    DCHECK(Valid(), "Next of an invalid iterator");
    if (!is_forward_) [[unlikely]]
      return TurnForward();
    LoserTree::Next();
  }

  void Prev() override {
    DCHECK(Valid(), "Prev of an invalid iterator");
    if (is_forward_) [[unlikely]]
      return TurnBackward();
    kv::Iterator& child = *children_[winner_.child];
    child.Prev();
    Advance(child);
  }

  // The entries that lie ready in the winner, up to the next head of another child.
  size_t LookAhead(std::span<kv::Entry> ahead) override {
    if (!is_forward_) return 0;
    const size_t ready = children_[winner_.child]->LookAhead(ahead);
    if (ready == 0) return 0;
    const kv::Iterator* const next = RunnerUp();
    if (next == nullptr || order_.Compare(ahead[ready - 1], next->entry()) < 0) return ready;
    const auto passed =
        std::partition_point(ahead.begin(), ahead.begin() + static_cast<ptrdiff_t>(ready) - 1,
                             [&](const kv::Entry& entry) { return order_.Compare(entry, next->entry()) < 0; });
    return static_cast<size_t>(passed - ahead.begin());
  }

  void Skip(size_t n) override {
    kv::Iterator& child = *children_[winner_.child];
    child.Skip(n);
    Advance(child);
  }

  void SkipForward(size_t first, std::string_view key) override {
    DCHECK(is_forward_ || !valid_, "a merging iterator skips in its current direction");
    skips_.resize(children_.size());
    target_.assign(key);
    for (size_t c = first; c < children_.size(); ++c) {
      kv::Iterator& child = *children_[c];
      if (!child.Valid() || order_.CompareKeys(child.entry().key, target_) >= 0) continue;
      Status status = skips_[c].Forward(order_, child.entry(), target_, kv::kTagMax);
      if (!status.ok()) return Fail(std::move(status));
      child.Seek(target_, kv::kTagMax);
    }
    Restart();
  }

  void SkipBackward(size_t first, std::string_view key) override {
    DCHECK(!is_forward_ || !valid_, "a merging iterator skips in its current direction");
    skips_.resize(children_.size());
    target_.assign(key);
    for (size_t c = first; c < children_.size(); ++c) {
      kv::Iterator& child = *children_[c];
      if (!child.Valid() || order_.CompareKeys(child.entry().key, target_) < 0) continue;
      Status status = skips_[c].Backward(order_, child.entry(), target_, kv::kTagMax);
      if (!status.ok()) return Fail(std::move(status));
      child.Seek(target_, kv::kTagMax);
      StepBefore(child, 0);
    }
    Restart();
  }

 private:
  // A scan begins or changes direction.
  void Go(bool is_forward) {
    is_forward_ = is_forward;
    for (ReseekCheck& skips : skips_) skips.Restart();
  }

  void Fail(Status status) {
    valid_ = false;
    status_ = std::move(status);
  }

  // The child with the next head after the winner's; null if all other children are at their ends. It lost
  // only to the winner, so it is one of the losers on the winner's path.
  const kv::Iterator* RunnerUp() {
    const Node* best = nullptr;
    for (size_t i = (children_.size() + winner_.child) / 2; i >= 1; i /= 2) {
      if (best == nullptr || IsBefore(losers_[i], *best)) best = &losers_[i];
    }
    return best == nullptr || !children_[best->child]->Valid() ? nullptr : children_[best->child].get();
  }

  // A change of direction: the current child steps over its entry, and the other children move to the far side of
  // that entry. Of the entries equal to it, those of newer children come before it, those of older children after it.
  void TurnForward() {
    Go(true);
    TurnChildren([](kv::Iterator& child) { child.Next(); }, [](kv::Iterator&) {});
  }

  void TurnBackward() {
    Go(false);
    TurnChildren([](kv::Iterator& child) { child.Prev(); }, [this](kv::Iterator& child) { StepBefore(child, 1); });
  }

  // After a Seek to `target_`: moves the child to the entry before the one found. The child does not stay at
  // a key whose comparison with `target_` gives `beyond` or more.
  // WHY the loop: other threads may add keys to the end of a memtable between the Seek and SeekToLast.
  void StepBefore(kv::Iterator& child, int beyond) {
    if (child.Valid()) return child.Prev();
    if (!child.status().ok()) return;
    child.SeekToLast();
    while (child.Valid() && order_.CompareKeys(child.entry().key, target_) >= beyond) child.Prev();
  }

  template <class Step, class Finish>
  void TurnChildren(Step step, Finish finish) {
    target_.assign(entry_.key);
    const kv::Tag tag = entry_.tag;
    for (size_t c = 0; c < children_.size(); ++c) {
      kv::Iterator& child = *children_[c];
      if (c == winner_.child) {
        step(child);
        continue;
      }
      child.Seek(target_, tag);
      while (c < winner_.child && child.Valid() && child.entry().tag == tag &&
             order_.SameKey(child.entry().key, target_)) {
        child.Next();
      }
      finish(child);
    }
    Restart();
  }

  std::string target_;              // the target of the last seek
  std::vector<ReseekCheck> skips_;  // one per child; empty until the first SkipForward or SkipBackward
};

template <class Child, class Implementation>
std::unique_ptr<Child> NewMerge(const kv::Order& order, std::vector<std::unique_ptr<Child>> children) {
  if (children.empty()) return kv::NewEmptyIterator();
  if (children.size() == 1) return std::move(children.front());
  return std::make_unique<Implementation>(order, std::move(children));
}

}  // namespace

std::unique_ptr<kv::Iterator> NewMergingIterator(const kv::Order& order,
                                                 std::vector<std::unique_ptr<kv::Iterator>> children) {
  return NewMerge<kv::Iterator, MergingIterator>(order, std::move(children));
}

std::unique_ptr<kv::ForwardIterator> NewMergingIterator(const kv::Order& order,
                                                        std::vector<std::unique_ptr<kv::ForwardIterator>> children) {
  return NewMerge<kv::ForwardIterator, LoserTree<kv::ForwardIterator, kv::ForwardIterator>>(order, std::move(children));
}

std::unique_ptr<Merging> NewSkippingMerge(const kv::Order& order, std::vector<std::unique_ptr<kv::Iterator>> children) {
  ASSERT(!children.empty(), "a merging iterator has children");
  return std::make_unique<MergingIterator>(order, std::move(children));
}

}  // namespace mergedb::iterator
