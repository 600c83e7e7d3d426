#include "db/state/events.h"

#include <cstdint>
#include <ctime>
#include <deque>

#include "base/current.h"
#include "base/json_text.h"
#include "base/sync.h"
#include "env/clock.h"
#include "env/thread.h"

namespace mergedb {
namespace {

constexpr std::string_view kNames[] = {"",
                                       "open",
                                       "recovery",
                                       "flush_begin",
                                       "flush_end",
                                       "compaction_begin",
                                       "compaction_end",
                                       "stall_begin",
                                       "stall_end",
                                       "error",
                                       "file_made",
                                       "file_removed",
                                       "checkpoint",
                                       "import",
                                       "slow_call",
                                       "close"};

const EventField* Find(const std::vector<EventField>& fields, std::string_view name) {
  for (const EventField& each : fields) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

// WHY not strftime: the fields of a time before 1970 or after 9999 do not occur, and the locale must not matter.
std::string TimeText(uint64_t micros) {
  const auto seconds = static_cast<time_t>(micros / 1'000'000);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  const auto digits = [](int value, size_t width) {
    const std::string text = std::to_string(value);
    return text.size() < width ? std::string(width - text.size(), '0') + text : text;
  };
  return digits(utc.tm_year + 1900, 4) + "-" + digits(utc.tm_mon + 1, 2) + "-" + digits(utc.tm_mday, 2) + "T" +
         digits(utc.tm_hour, 2) + ":" + digits(utc.tm_min, 2) + ":" + digits(utc.tm_sec, 2) + "." +
         digits(static_cast<int>(micros % 1'000'000), 6) + "Z";
}

}  // namespace

EventListener::~EventListener() = default;

std::string_view Event::name() const {
  const auto index = static_cast<size_t>(kind);
  return index < std::size(kNames) ? kNames[index] : "";
}

uint64_t Event::number(std::string_view field) const {
  const EventField* const found = Find(fields, field);
  return found == nullptr ? 0 : found->number;
}

std::string_view Event::text(std::string_view field) const {
  const EventField* const found = Find(fields, field);
  return found == nullptr ? std::string_view() : found->text;
}

std::string Event::ToJson() const {
  std::string json = "{\"time\":\"" + TimeText(time_us) + "\",\"event\":\"" + std::string(name()) + "\"";
  for (const EventField& each : fields) {
    json.append(",\"").append(each.name).append("\":");
    json += each.is_text ? "\"" + base::EscapeJson(each.text) + "\"" : std::to_string(each.number);
  }
  return json + "}";
}

namespace db {
namespace {

constexpr size_t kQueueMax = 4096;
constexpr uint64_t kStallPauseNanos = 1'000'000'000;

}  // namespace

EventField StatusField(const Status& status) { return TextField("status", status.ok() ? "OK" : status.ToString()); }

EventFields FileFields(const format::DataFile& file) {
  return {TextField("kind", file.kind_name()), NumberField("number", kv::ToInt(file.number)),
          NumberField("bytes", file.bytes)};
}

// Shared with the listener's thread, which may outlive the database: the listener may close it.
struct Events::Delivery {
  explicit Delivery(const Options& options) : listener(options.listener), logger(options.env.logger) {}

  void Run();
  void Call(Event& event);

  std::shared_ptr<EventListener> listener;  // null after the end
  Logger* const logger;

  base::Mutex mutex;
  base::CondVar changed;
  std::deque<Event> queue GUARDED_BY(mutex);
  uint64_t dropped GUARDED_BY(mutex) = 0;
  bool is_stopping GUARDED_BY(mutex) = false;
  bool is_over GUARDED_BY(mutex) = false;
  size_t thread GUARDED_BY(mutex) = SIZE_MAX;  // base::ThreadNumber(); SIZE_MAX: it has not begun

  uint64_t thrown = 0;  // of the listener's thread
};

void Events::Delivery::Run() {
  base::Lock lock(mutex);
  thread = base::ThreadNumber();
  for (;;) {
    while (queue.empty() && !is_stopping) changed.Wait(lock);
    if (queue.empty()) break;
    Event event = std::move(queue.front());
    queue.pop_front();
    if (dropped > 0) event.fields.push_back(NumberField("dropped_before", std::exchange(dropped, 0)));
    lock.Unlock();
    Call(event);
    lock.Relock();
  }
  is_over = true;
  changed.NotifyAll();
}

void Events::Delivery::Call(Event& event) {
  if (thrown > 0) event.fields.push_back(NumberField("thrown_before", std::exchange(thrown, 0)));
  try {
    listener->OnEvent(event);
  } catch (...) {
    ++thrown;
    base::Lock lock(mutex);
    if (logger != nullptr && !is_stopping)
      logger->Log("the event listener threw an exception at " + std::string(event.name()));
  }
}

Events::Events(const Options& options, const std::string& directory) : clock_(options.env.clock) {
  if (options.listener != nullptr) {
    delivery_ = std::make_shared<Delivery>(options);
    status_ = env::TryStartThread([delivery = delivery_] { delivery->Run(); });
    if (!status_.ok()) delivery_ = nullptr;
  }
  if (options.log_bytes_max > 0 && options.mode != OpenMode::kReadOnly)
    log_ = std::make_unique<EventLog>(options.env, directory, options.log_bytes_max);
}

Events::~Events() { StopListener(); }

void Events::Deliver(EventKind kind, EventFields fields) {
  Event event{.kind = kind, .time_us = env::WallMicros(), .fields = std::move(fields)};
  // WHY: an open that changes nothing adds one line.
  const bool is_change = kind != EventKind::kOpen && kind != EventKind::kClose;
  if (is_change) has_changed_.store(true, std::memory_order_relaxed);
  if (log_ != nullptr && (kind != EventKind::kClose || has_changed_.load(std::memory_order_relaxed)))
    log_->Add(event.ToJson());
  if (delivery_ == nullptr) return;
  base::Lock lock(delivery_->mutex);
  if (delivery_->is_stopping) return;
  if (delivery_->queue.size() >= kQueueMax) {
    ++delivery_->dropped;
    return;
  }
  delivery_->queue.push_back(std::move(event));
  delivery_->changed.NotifyAll();
}

// ---- stalls

bool Stalls::Begin(std::atomic<uint64_t>& last_nanos, std::string_view cause) {
  if (!events_.is_wanted()) return false;
  const uint64_t now = events_.clock()->NowNanos();
  uint64_t last = last_nanos.load(std::memory_order_relaxed);
  if (last != 0 && now - last < kStallPauseNanos) return false;
  if (!last_nanos.compare_exchange_strong(last, now, std::memory_order_relaxed)) return false;
  events_.Emit(EventKind::kStallBegin, [&] { return EventFields{TextField("cause", cause)}; });
  return true;
}

void Stalls::End(std::string_view cause, uint64_t nanos) {
  events_.Emit(EventKind::kStallEnd, [&] {
    return EventFields{TextField("cause", cause), NumberField("micros", nanos / 1000)};
  });
}

void Stalls::NoteWal(uint64_t nanos) {
  if (nanos >= kWalNanosMin && Begin(wal_nanos_, "wal")) End("wal", nanos);
}

void Stalls::NoteDelay(uint64_t nanos_per_kib, std::string_view backlog) {
  if (!events_.is_wanted()) return;
  if (nanos_per_kib >= kDelayBegins) {
    if (delayed_since_nanos_.load() != 0 || !Begin(delay_nanos_, "delay_" + std::string(backlog))) return;
    delayed_since_nanos_.store(events_.clock()->NowNanos());
  } else if (nanos_per_kib < kDelayEnds) {
    const uint64_t since = delayed_since_nanos_.exchange(0);
    if (since != 0) End("delay", events_.clock()->NowNanos() - since);
  }
}

// ---- the end

void Events::StopListener() {
  if (delivery_ == nullptr) return;
  base::Lock lock(delivery_->mutex);
  delivery_->is_stopping = true;
  delivery_->changed.NotifyAll();
  if (delivery_->thread == base::ThreadNumber()) {
    delivery_->queue.clear();
    return;
  }
  while (!delivery_->is_over) delivery_->changed.Wait(lock);
  // WHY: the thread may hold the Delivery a moment longer, and a program may expect its listener's end here.
  delivery_->listener = nullptr;
}

}  // namespace db
}  // namespace mergedb
