// Plain threads for LevelDB's Env, which offers both of these functions.
#pragma once

#include <functional>

namespace mergedb::env {

// Runs `work` on a new, detached thread.
void StartThread(std::function<void()> work);

// Runs `work` later, after all earlier work of this function, on the one thread of the process that serves
// this function.
void RunInOrder(std::function<void()> work);

}  // namespace mergedb::env
