#include "testing/manual_executor.h"

#include <utility>

#include "base/assert.h"

namespace mergedb::testing {

ManualExecutor::ManualExecutor(const Options& options) : options_(options), random_(options.seed.value_or(0)) {}

void ManualExecutor::Schedule(std::function<void()> work) {
  base::Lock lock(mutex_);
  queue_.push_back(std::move(work));
}

void ManualExecutor::ScheduleAfter(uint64_t, std::function<void()> work) {
  base::Lock lock(mutex_);
  delayed_.push_back(std::move(work));
}

void ManualExecutor::RunTimers() {
  base::Lock lock(mutex_);
  for (auto& work : delayed_) queue_.push_back(std::move(work));
  delayed_.clear();
}

bool ManualExecutor::RunOne() {
  std::function<void()> work;
  {
    base::Lock lock(mutex_);
    if (queue_.empty()) return false;
    const size_t choice = options_.seed ? random_.Uniform(queue_.size()) : 0;
    const auto chosen = queue_.begin() + static_cast<ptrdiff_t>(choice);
    work = std::move(*chosen);
    queue_.erase(chosen);
  }
  work();
  return true;
}

size_t ManualExecutor::RunAll(size_t steps_max) {
  size_t steps = 0;
  while (RunOne()) {
    ++steps;
    ASSERT(steps <= steps_max, "background work never ends");
  }
  return steps;
}

size_t ManualExecutor::waiting() const {
  base::Lock lock(mutex_);
  return queue_.size();
}

}  // namespace mergedb::testing
