#include "env/thread.h"

#include <thread>
#include <utility>

#include "env/executor.h"

namespace mergedb::env {

void StartThread(std::function<void()> work) { std::thread(std::move(work)).detach(); }

void RunInOrder(std::function<void()> work) {
  static auto* const one_thread = new ThreadPool(0, 1);  // urgent: at the program's own priority
  one_thread->ScheduleUrgent(std::move(work));
}

}  // namespace mergedb::env
