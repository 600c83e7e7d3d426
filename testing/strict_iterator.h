// Wraps a kv::Iterator and checks its contract (rules R1 to R7 of kv/iterator.h) and the contract's use:
//   - Each entry, also an entry of LookAhead, is a copy in memory of its own. The next move overwrites and frees it. So
//     a view that is kept too long (R5, R7) reads garbage, and the address sanitizer reports it.
//   - Next, Prev and LookAhead of an iterator that is not valid (R4, R7) stop the program.
//   - A new iterator that is valid (R1), a Seek that stops before its target (R2), entries out of order (R3) and an
//     error of a valid iterator (R6) stop the program.
// Equal neighbours are allowed: the merging iterator shows them.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "kv/iterator.h"
#include "kv/order.h"

namespace mergedb::testing {

class StrictIterator final : public kv::Iterator {
 public:
  explicit StrictIterator(std::unique_ptr<kv::Iterator> wrapped, const Comparator* comparator = BytewiseComparator())
      : wrapped_(std::move(wrapped)), order_(comparator) {
    ASSERT(!wrapped_->Valid(), "R1: a new iterator is valid");
    status_ = wrapped_->status();
    looks_ahead_ = wrapped_->looks_ahead();
  }
  ~StrictIterator() override { Forget(); }

  void SeekToFirst() override {
    wrapped_->SeekToFirst();
    Show(Move::kJump);
  }
  void SeekToLast() override {
    wrapped_->SeekToLast();
    Show(Move::kJump);
  }
  void Seek(std::string_view key, kv::Tag tag) override {
    const std::string target(key);  // `key` may point into the entry that this move frees
    wrapped_->Seek(target, tag);
    Show(Move::kJump);
    const kv::Entry least{.prefix = order_.Prefix(target), .key = target, .tag = tag, .value = {}};
    ASSERT(!valid_ || order_.Compare(least, entry_) <= 0, "R2: Seek stopped before its target");
  }
  void Next() override {
    ASSERT(valid_, "R4: Next of an iterator that is not valid");
    wrapped_->Next();
    Show(Move::kNext);
  }
  void Prev() override {
    ASSERT(valid_, "R4: Prev of an iterator that is not valid");
    wrapped_->Prev();
    Show(Move::kPrev);
  }
  size_t LookAhead(std::span<kv::Entry> ahead) override {
    ASSERT(valid_, "R7: LookAhead of an iterator that is not valid");
    shown_ahead_ = wrapped_->LookAhead(ahead);
    ASSERT(shown_ahead_ <= ahead.size(), "R7: more is shown than was asked for");
    ASSERT(shown_ahead_ == 0 || looks_ahead_, "R7: it looks ahead and does not say so");
    const kv::Entry* before = &entry_;
    for (kv::Entry& entry : ahead.first(shown_ahead_)) {
      ASSERT(order_.Compare(*before, entry) <= 0, "R3: out of order");
      entry = Remember(entry);
      before = &entry;
    }
    return shown_ahead_;
  }
  void Skip(size_t n) override {
    ASSERT(n <= shown_ahead_, "R7: Skip of what was not shown");
    wrapped_->Skip(n);
    Show(Move::kNext);
  }

 private:
  enum class Move { kJump, kNext, kPrev };
  struct Memory {
    std::unique_ptr<char[]> bytes;
    size_t count;
  };

  void Show(Move move) {
    ASSERT(!wrapped_->Valid() || wrapped_->status().ok(), "R6: valid, with an error");
    if (wrapped_->Valid() && move != Move::kJump) CheckOrder(move);
    Forget();
    valid_ = wrapped_->Valid();
    status_ = wrapped_->status();
    if (valid_) entry_ = Remember(wrapped_->entry());
  }

  void CheckOrder(Move move) const {
    const int order = order_.Compare(entry_, wrapped_->entry());
    ASSERT(move == Move::kNext ? order <= 0 : order >= 0, "R3: out of order");
  }

  kv::Entry Remember(const kv::Entry& entry) {
    ASSERT(entry.prefix == order_.Prefix(entry.key), "R3: the prefix is not the key's");
    const size_t count = entry.key.size() + entry.value.size();
    memory_.push_back({.bytes = std::make_unique<char[]>(count + 1), .count = count});
    char* const bytes = memory_.back().bytes.get();
    if (!entry.key.empty()) std::memcpy(bytes, entry.key.data(), entry.key.size());
    if (!entry.value.empty()) std::memcpy(bytes + entry.key.size(), entry.value.data(), entry.value.size());
    return {.prefix = entry.prefix,
            .key = {bytes, entry.key.size()},
            .tag = entry.tag,
            .value = {bytes + entry.key.size(), entry.value.size()}};
  }

  void Forget() {
    for (const Memory& memory : memory_) std::memset(memory.bytes.get(), 0xdb, memory.count);
    memory_.clear();
    shown_ahead_ = 0;
    entry_ = {};
  }

  const std::unique_ptr<kv::Iterator> wrapped_;
  const kv::Order order_;
  std::vector<Memory> memory_;
  size_t shown_ahead_ = 0;
};

}  // namespace mergedb::testing
