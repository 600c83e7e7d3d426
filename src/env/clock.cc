#include "env/clock.h"

#include <chrono>
#include <thread>

namespace mergedb::env {
namespace {

class SteadyClockImpl final : public Clock {
 public:
  uint64_t NowNanos() override {
    const auto since_boot = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since_boot).count());
  }
  void SleepNanos(uint64_t nanos) override {
    constexpr uint64_t kYear = uint64_t{365} * 86'400 * 1'000'000'000;  // keeps the sum in the clock's range
    std::this_thread::sleep_for(std::chrono::nanoseconds(nanos < kYear ? nanos : kYear));
  }
};

}  // namespace

Clock* SteadyClock() {
  static auto* const clock = new SteadyClockImpl;
  return clock;
}

uint64_t WallMicros() {
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count());
}

}  // namespace mergedb::env
