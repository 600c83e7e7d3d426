// The input of a user iterator, and the bounds within which the iterator shows its entries.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "iterator/user_iterator.h"
#include "kv/iterator.h"
#include "kv/order.h"

namespace mergedb::iterator {

struct BoundedInput {
  BoundedInput(const kv::Order& order_given, UserIteratorOptions options_given, std::unique_ptr<kv::Iterator> given)
      : order(order_given),
        options(std::move(options_given)),
        upper_prefix(options.upper ? order.Prefix(*options.upper) : 0),
        lower_prefix(options.lower ? order.Prefix(*options.lower) : 0),
        input(std::move(given)) {}

  bool HasFailed() const { return !input->Valid() && !input->status().ok(); }
  bool IsVisible(const kv::Entry& entry) const { return kv::SequenceOf(entry.tag) <= options.sequence; }
  bool IsAtUpper(const kv::Entry& entry) const {
    if (!options.upper || entry.prefix < upper_prefix) return false;
    return entry.prefix > upper_prefix || order.CompareKeys(entry.key, *options.upper) >= 0;
  }
  bool IsBelowLower(const kv::Entry& entry) const {
    if (!options.lower || entry.prefix > lower_prefix) return false;
    return entry.prefix < lower_prefix || order.CompareKeys(entry.key, *options.lower) < 0;
  }

  // After a Seek: moves to the entry before the one found.
  // WHY not always by one step: beyond the upper bound the input may show masked versions
  // (iterator/masking_iterator.h). A Seek from below has jumped over them, but a step back, or SeekToLast,
  // would stop at one of them.
  void StepBack() {
    if (HasFailed()) return;
    if (options.upper && (!input->Valid() || IsAtUpper(input->entry()))) input->Seek(*options.upper, kv::kTagMax);
    if (input->Valid()) {
      input->Prev();
    } else if (input->status().ok()) {
      input->SeekToLast();
    }
  }
  // Moves to the entry before all versions of `key`.
  void SeekBefore(std::string_view key) {
    input->Seek(key, kv::kTagMax);
    StepBack();
  }

  const kv::Order order;
  const UserIteratorOptions options;
  const uint64_t upper_prefix;
  const uint64_t lower_prefix;
  const std::unique_ptr<kv::Iterator> input;
};

}  // namespace mergedb::iterator
