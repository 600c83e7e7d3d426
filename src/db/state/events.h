// The events of one database (include/mergedb/event_listener.h): to the listener and to LOG (db/state/event_log.h).
//
//   Emit ──┬─► queue ─► a thread of its own ─► EventListener::OnEvent
//          └─► EventLog: the line waits ─► Write, by a thread without locks
//
// Emit may be called under any lock: it takes leaf locks only and calls nothing of the program. WHY a thread of its own
// for the listener: it may block and may call the database, so it must hold up no writer and no background work.
//
// If there is neither a listener nor a LOG, Emit costs one branch.
//
// Tests: tests/db/event_listener_test.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db/state/event_log.h"
#include "format/data_file.h"
#include "mergedb/event_listener.h"
#include "mergedb/options.h"

namespace mergedb::db {

using EventFields = std::vector<EventField>;
inline EventField NumberField(std::string_view name, uint64_t number) {
  return {.name = name, .is_text = false, .number = number, .text = {}};
}
inline EventField TextField(std::string_view name, std::string_view text) {
  return {.name = name, .is_text = true, .number = 0, .text = std::string(text)};
}
// "status": "OK", or the error.
EventField StatusField(const Status& status);
EventFields FileFields(const format::DataFile& file);  // "kind", "number" and "bytes"

// THREADS: any.
class Events {
 public:
  Events(const Options& options, const std::string& directory);
  ~Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  // Busy if the thread of the listener could not be started: no event is delivered.
  const Status& status() const { return status_; }
  Clock* clock() const { return clock_; }
  // False: there is no listener and no LOG, and Emit does nothing.
  bool is_wanted() const { return delivery_ != nullptr || log_ != nullptr; }
  // `fields` is a function that returns EventFields.
  template <class Fields>
  void Emit(EventKind kind, const Fields& fields) {
    if (is_wanted()) [[unlikely]]
      Deliver(kind, fields());
  }
  // Writes the lines that wait for LOG. REQUIRES: no lock is held.
  void WriteLog() {
    if (log_ != nullptr) [[unlikely]]
      log_->Write();
  }

  // The database has the lock of its directory and is open: LOG begins.
  void StartLog() {
    if (log_ != nullptr) log_->Start();
  }
  // Delivers the events that wait, and ends the thread. Called by the listener's thread: no event follows.
  void StopListener();
  void StopLog() {
    if (log_ != nullptr) log_->Stop();
  }

 private:
  struct Delivery;

  void Deliver(EventKind kind, EventFields fields);

  Clock* const clock_;
  Status status_;                         // constant after construction
  std::shared_ptr<Delivery> delivery_;    // null: no listener
  std::unique_ptr<EventLog> log_;         // null: no LOG
  std::atomic<bool> has_changed_{false};  // an event other than open and close was logged
};

// The stalls of writers, as events. THREADS: any.
class Stalls {
 public:
  explicit Stalls(Events& events) : events_(events) {}

  // A writer begins to wait for memory. Returns whether EndMemory should tell of the end.
  bool BeginMemory() { return Begin(memory_nanos_, "memory"); }
  void EndMemory(uint64_t nanos) { End("memory", nanos); }
  // A writer has waited for the WAL. A wait of less than kWalNanosMin is no stall.
  void NoteWal(uint64_t nanos);
  // The write delay has this rate now, because of `backlog` (picker::WorstBacklog).
  void NoteDelay(uint64_t nanos_per_kib, std::string_view backlog);

 private:
  static constexpr uint64_t kWalNanosMin = 10'000'000;
  // Where the delay begins and ends to count as a stall: it halves the speed of 1 GB/s or less.
  static constexpr uint64_t kDelayBegins = 1024;
  static constexpr uint64_t kDelayEnds = 512;

  bool Begin(std::atomic<uint64_t>& last_nanos, std::string_view cause);
  void End(std::string_view cause, uint64_t nanos);

  Events& events_;
  // The last moment at which each stall began; 0: never.
  std::atomic<uint64_t> memory_nanos_{0}, wal_nanos_{0}, delay_nanos_{0};
  std::atomic<uint64_t> delayed_since_nanos_{0};  // 0: no delay was told
};

}  // namespace mergedb::db
