#include "env/thread.h"

#include <cerrno>
#include <system_error>
#include <thread>
#include <utility>

#include "env/executor.h"

namespace mergedb::env {

void StartThread(std::function<void()> work) { std::thread(std::move(work)).detach(); }

Status TryStartThread(std::function<void()> work) {
  try {
    StartThread(std::move(work));
    return {};
  } catch (const std::system_error& failure) { return CannotStartThread(failure.code().value()); }
}

void RunInOrder(std::function<void()> work) {
  static auto* const one_thread = new ThreadPool(0, 1);  // urgent: at the program's own priority
  if (!one_thread->Start().ok()) throw std::system_error(EAGAIN, std::generic_category(), "cannot start a thread");
  one_thread->ScheduleUrgent(std::move(work));
}

}  // namespace mergedb::env
