// What to do next: a pure function of the tree, the style's settings and what runs already.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kv/order.h"
#include "mergedb/options.h"
#include "policy/plan.h"
#include "tree/version.h"

namespace mergedb::policy {

// How hard to work. Space bounds are bytes on disk over bytes after a full compaction.
enum class Pressure : uint8_t {
  kWriting,  // lazy: bound 2.0
  kQuiet,    // the pressure is off: 1.25; what WaitForCompaction waits for
  kIdle,     // nothing was asked for a while: one run
};

struct PickInput {
  const tree::Version& version;
  std::span<const Busy> busy;
  Style style = Style::kLazy;
  Pressure pressure = Pressure::kWriting;
  uint64_t flush_bytes = 0;  // size of a typical flushed table
  const kv::Order& order;
};

// The most urgent plan that can start now, or nothing.
std::optional<Plan> Pick(const PickInput& input);

// Merge `bounds` of all runs into the oldest (CompactRange), by partitions if there are any: the next step of it that is
// not busy, or nothing when [bounds] lies in the bottom run alone. `not_older_than_done`: runs newer than this position
// (written since the call began) are left alone.
std::optional<Plan> PickManual(const PickInput& input, const format::Bounds& bounds, kv::Position newest);

// Is anything owed at this pressure? (No plan could start and nothing runs.)
bool IsSettled(const PickInput& input);

}  // namespace mergedb::policy
