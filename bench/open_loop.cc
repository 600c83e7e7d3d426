#include "bench/open_loop.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "bench/keys.h"
#include "bench/measure.h"
#include "bench/workloads.h"

namespace mergedb::bench {
namespace {

constexpr double kControlRate = 2000;    // low, so that the engine's background work has the core
constexpr uint64_t kSpinNanos = 60'000;  // a sleep may overshoot by this much
constexpr uint64_t kSleepWorthNanos = 200'000;

// Calls `act` every 1 / rate seconds until `stop_nanos`, and adds the latency of each call, from its due time
// to its end.
template <typename Act>
void Pace(double rate, uint64_t start_nanos, uint64_t stop_nanos, Histogram* lateness, Act act) {
  const double period = 1e9 / rate;
  for (int64_t i = 0;; ++i) {
    const uint64_t due = start_nanos + static_cast<uint64_t>(static_cast<double>(i) * period);
    if (due >= stop_nanos) return;
    WaitUntil(due);
    act(i);
    lateness->Add(NowNanos() - due);
  }
}

}  // namespace

void WaitUntil(uint64_t due_nanos) {
  for (uint64_t now = NowNanos(); now < due_nanos; now = NowNanos()) {
    if (due_nanos - now > kSleepWorthNanos) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(due_nanos - now - kSpinNanos));
    }
  }
}

void RunOpenLoop(Task& task) {
  const Flags& flags = task.flags;
  OpenLoopResult result{.rate = flags.rate, .seconds = flags.duration, .puts = {}, .control = {}};
  const auto writer = task.engine->NewWriter(task.workload.durability, false);
  KeyMaker key(flags);
  ValueSource values(task.value_bytes);
  NumberSource numbers(flags, false, task.seed);
  ValueSizes sizes = SizesOf(task);
  int64_t bytes = 0;

  const uint64_t start = NowNanos();
  const uint64_t stop = start + NanosOf(flags.duration);
  std::atomic<int64_t> memory{0};
  std::thread control([&] {
    Pace(std::min(flags.rate, kControlRate), start, stop, &result.control, [&](int64_t i) { memory.store(i); });
  });
  Pace(flags.rate, start, stop, &result.puts, [&](int64_t i) {
    const std::string_view value = values.Next(sizes.Next());
    writer->Put(key.Set(numbers.Next(i)), value);
    writer->Commit();
    bytes += static_cast<int64_t>(key.view().size() + value.size());
    task.stats.CountOps(1);
  });
  control.join();

  task.stats.AddLatencies(result.puts);
  task.stats.AddBytes(bytes);
  task.stats.AddUserBytes(bytes);
  const auto millis = [](uint64_t nanos) { return std::to_string(static_cast<double>(nanos) * 1e-6).substr(0, 6); };
  task.stats.AddMessage("(p99.9 " + millis(result.puts.Percentile(99.9)) + " p99.99 " +
                        millis(result.puts.Percentile(99.99)) + " max " + millis(result.puts.max()) +
                        " ms; control max " + millis(result.control.max()) + " ms)");
  task.open_loop = std::move(result);
}

}  // namespace mergedb::bench
