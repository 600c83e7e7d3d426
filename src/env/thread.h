// Plain threads: for LevelDB's Env, which offers StartThread and RunInOrder, and for event listeners.
#pragma once

#include <functional>

#include "mergedb/status.h"

namespace mergedb::env {

// Runs `work` on a new, detached thread. Throws std::system_error if there can be none.
void StartThread(std::function<void()> work);
// As StartThread, but returns Busy.
[[nodiscard]] Status TryStartThread(std::function<void()> work);

// Runs `work` later, after all earlier work of this function, on the one thread of the process that serves
// this function. Throws std::system_error if there can be none.
void RunInOrder(std::function<void()> work);

}  // namespace mergedb::env
