// The seeks by which a walk passes over entries that it does not show. All leaps of a walk go in its direction.
//
//   entries in order   a  b#9 b#8 ... b#1  c     the walk leaps from b#9 to (b, 0), and stays at or behind it
//   out of order       d  b#9 b#8 ... b#1  c     the search for (b, 0) finds d: the next step meets b#9 again
//
// Only damage that fits its checksums puts entries out of order. A read does not check a block's order, since each get
// that misses the cache would pay for it. So before each leap a walk compares where it stands with its last leap. The
// targets are strictly monotonic: every walk ends, with Corruption if it meets an entry on the wrong side. A step costs
// nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "kv/order.h"
#include "mergedb/status.h"

namespace mergedb::iterator {

class ReseekCheck {
 public:
  // The walk begins or turns round.
  void Restart() { has_leapt_ = false; }

  // The walk stands at `at` and is about to leap forward to (key, tag). REQUIRES: `at` is before (key, tag).
  [[nodiscard]] Status Forward(const kv::Order& order, const kv::Entry& at, std::string_view key, kv::Tag tag) {
    if (has_leapt_ && order.Compare(at, target()) < 0) [[unlikely]]
      return OutOfOrder(at, "at or after");
    Keep(order, key, tag);
    return {};
  }
  // The walk stands at `at` and is about to leap before (key, tag). REQUIRES: `at` is not before (key, tag).
  [[nodiscard]] Status Backward(const kv::Order& order, const kv::Entry& at, std::string_view key, kv::Tag tag) {
    if (has_leapt_ && order.Compare(at, target()) >= 0) [[unlikely]]
      return OutOfOrder(at, "before");
    Keep(order, key, tag);
    return {};
  }

  // Of the last leap: a copy that lives while the input seeks.
  std::string_view key() const { return key_; }

 private:
  kv::Entry target() const { return {.prefix = prefix_, .key = key_, .tag = tag_, .value = {}}; }
  void Keep(const kv::Order& order, std::string_view key, kv::Tag tag) {
    key_.assign(key);
    prefix_ = order.Prefix(key_);
    tag_ = tag;
    has_leapt_ = true;
  }
  Status OutOfOrder(const kv::Entry& at, const char* where) const {
    return Status::Corruption("entries out of order: expected one " + std::string(where) + " key \"" +
                              base::Escape(key_) + "\", found " + kv::PrintKey(at.key, at.tag));
  }

  bool has_leapt_ = false;
  std::string key_;
  uint64_t prefix_ = 0;
  kv::Tag tag_ = 0;
};

}  // namespace mergedb::iterator
