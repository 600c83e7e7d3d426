// Checks the seeks by which a scan skips entries that it does not show (reseeks). All reseeks of a scan go in
// its direction.
//
//   entries in order   a  b#9 b#8 ... b#1  c     the scan reseeks from b#9 to (b, 0) and stays at or after it
//   out of order       d  b#9 b#8 ... b#1  c     the seek to (b, 0) finds d: the next step meets b#9 again
//
// Entries are out of order only after damage that fits its checksums. A read does not check the order of a
// block: each get that misses the block cache would pay for the check. So before each reseek the scan
// compares its position with the target of the last reseek. The targets are strictly monotonic, so every scan
// ends; it ends with Corruption if it meets an entry on the wrong side of a target. A step costs nothing.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "kv/order.h"
#include "mergedb/status.h"

namespace mergedb::iterator {

// After this many steps over versions that it does not show, a seek is cheaper.
inline constexpr int kStepsMax = 8;

class ReseekCheck {
 public:
  // A scan begins or changes direction.
  void Restart() { has_reseeked_ = false; }

  // The scan stands at `at` and is about to seek forward to (key, tag). REQUIRES: `at` is before (key, tag).
  [[nodiscard]] Status Forward(const kv::Order& order, const kv::Entry& at, std::string_view key, kv::Tag tag) {
    if (has_reseeked_ && order.Compare(at, target()) < 0) [[unlikely]]
      return OutOfOrder(at, "at or after");
    Keep(order, key, tag);
    return {};
  }
  // The scan stands at `at` and is about to move before (key, tag). REQUIRES: `at` is not before (key, tag).
  [[nodiscard]] Status Backward(const kv::Order& order, const kv::Entry& at, std::string_view key, kv::Tag tag) {
    if (has_reseeked_ && order.Compare(at, target()) >= 0) [[unlikely]]
      return OutOfOrder(at, "before");
    Keep(order, key, tag);
    return {};
  }

  // The key of the last reseek: a copy that stays valid while the input seeks.
  std::string_view key() const { return key_; }

 private:
  kv::Entry target() const { return {.prefix = prefix_, .key = key_, .tag = tag_, .value = {}}; }
  void Keep(const kv::Order& order, std::string_view key, kv::Tag tag) {
    key_.assign(key);
    prefix_ = order.Prefix(key_);
    tag_ = tag;
    has_reseeked_ = true;
  }
  Status OutOfOrder(const kv::Entry& at, const char* where) const {
    return Status::Corruption("entries out of order: expected an entry " + std::string(where) + " key \"" +
                              base::Escape(key_) + "\", found " + kv::PrintKey(at.key, at.tag));
  }

  bool has_reseeked_ = false;
  std::string key_;
  uint64_t prefix_ = 0;
  kv::Tag tag_ = 0;
};

}  // namespace mergedb::iterator
