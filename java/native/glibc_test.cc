// The parts of glibc.cc that a new glibc does not need: the wait for a glibc before 2.30, and the look-up of the
// unwinder.
#include "glibc.cc"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

int failures = 0;

void Expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("glibc_test: %s\n", what);
  ++failures;
}

timespec After(int64_t nanos) {
  const int64_t end = Now(CLOCK_MONOTONIC) + nanos;
  return {static_cast<time_t>(end / kNanosPerSecond), static_cast<long>(end % kNanosPerSecond)};
}

void WaitsUntilTheTime() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  pthread_mutex_lock(&mutex);
  const timespec past = After(-1);
  Expect(OldClockWait(&condition, &mutex, CLOCK_MONOTONIC, &past) == ETIMEDOUT, "a time in the past is over");
  const timespec soon = After(20'000'000);
  int outcome = 0;
  while (outcome == 0 && Now(CLOCK_MONOTONIC) < Nanos(soon)) {
    outcome = OldClockWait(&condition, &mutex, CLOCK_MONOTONIC, &soon);
  }
  Expect(outcome == ETIMEDOUT || Now(CLOCK_MONOTONIC) >= Nanos(soon), "a wait ends when its time is over");
  const timespec late = After(3600 * kNanosPerSecond);
  Expect(OldClockWait(&condition, &mutex, CLOCK_MONOTONIC, &late) == 0, "a long wait is cut, as by a spurious wake-up");
  pthread_mutex_unlock(&mutex);
}

void IsWoken() {
  std::mutex mutex;
  std::condition_variable condition;
  bool is_set = false;
  std::thread setter([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    is_set = true;
    condition.notify_all();
  });
  {
    std::unique_lock<std::mutex> lock(mutex);
    const timespec late = After(3600 * kNanosPerSecond);
    while (!is_set) OldClockWait(condition.native_handle(), mutex.native_handle(), CLOCK_MONOTONIC, &late);
  }
  setter.join();
  Expect(is_set, "a wait ends when it is woken");
}

void ExceptionsAreCaught() {
  int caught = 0;
  for (int i = 0; i < 100; ++i) {
    try {
      throw std::runtime_error(std::to_string(i));
    } catch (const std::exception&) { ++caught; }
  }
  Expect(caught == 100, "exceptions find their handlers");
  dl_find_object found = {};
  Expect(_dl_find_object(nullptr, &found) == -1, "no object holds address 0");
}

}  // namespace

int main() {
  WaitsUntilTheTime();
  IsWoken();
  ExceptionsAreCaught();
  return failures == 0 ? 0 : 1;
}
