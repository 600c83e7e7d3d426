// Threads for programs that ask for plain ones: LevelDB's Env hands out both kinds.
#pragma once

#include <functional>

namespace mergedb::env {

// Run `work` on a thread of its own, which nobody joins.
void StartThread(std::function<void()> work);

// Run `work` later on the one thread of the process that serves this function, after all that it was given before.
void RunInOrder(std::function<void()> work);

}  // namespace mergedb::env
