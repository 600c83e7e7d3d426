// A function of Python that gets the events of a database. A thread of the engine calls it with the GIL, so no thread
// may hold the GIL while it waits for the engine. An exception ends at the call: sys.unraisablehook gets it.
// THREADS: the engine calls it in one thread at a time.
#pragma once

#include <atomic>

#include "call.h"

namespace mergedb::python {

class EventHook {
 public:
  // Drops the share of the owner of an open.
  struct Dropper {
    void operator()(EventHook* hook) const { hook->Drop(); }
  };

  explicit EventHook(nb::object function) : function_(std::move(function)) {}

  // The engine owns one share and the open the other, until it is over. Drop takes the GIL.
  mergedb_event_listener listener();
  void Drop();
  // After an open that failed: drops the share of the engine, if the engine did not take it.
  void DropUntaken() {
    if (owners_.load() == 2) Drop();
  }

 private:
  static void OnEvent(void* state, const mergedb_event* event);

  nb::object function_;  // f(name, time_us, fields, json)
  std::atomic<int> owners_{2};
};

}  // namespace mergedb::python
