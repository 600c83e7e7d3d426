// The end of a process that runs out of memory during a change (docs/decisions/0017-out-of-memory.md): a message on
// stderr names mergedb and the options to lower, and then std::terminate runs.
#pragma once

#include <new>
#include <utility>

namespace mergedb::base {

// REQUIRES: called by a handler of the exception.
[[noreturn]] void StopWithoutMemory() noexcept;

// What `act` returns. If it throws std::bad_alloc, the process stops.
template <typename Act>
auto OrStop(Act&& act) noexcept -> decltype(act()) {
  try {
    return std::forward<Act>(act)();
  } catch (const std::bad_alloc&) { StopWithoutMemory(); }
}

}  // namespace mergedb::base
