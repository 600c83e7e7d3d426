// An order of keys that a Python function defines. The engine calls it from any of its threads; each call takes the
// GIL, so no thread may hold the GIL while it waits for the engine.
//
// If the function raises, the database is unusable from then on: an order that is wrong once may put keys in wrong
// places. All later calls raise an Error.
// THREADS: any.
#pragma once

#include <atomic>
#include <string>

#include "call.h"

namespace mergedb::python {

class CompareHook {
 public:
  CompareHook(std::string name, nb::object function) : name_(std::move(name)), function_(std::move(function)) {}

  mergedb_comparator comparator();
  bool has_failed() const { return has_failed_.load(); }

  // The engine owns one share and the OpenDatabase the other. Drop takes the GIL.
  void Drop();
  // After an open that failed: drops the share of the engine, if the engine did not take it.
  void DropUntaken() {
    if (owners_.load() == 2) Drop();
  }

 private:
  static int Compare(void* state, const void* a, size_t a_size, const void* b, size_t b_size);

  const std::string name_;
  nb::object function_;
  std::atomic<bool> has_failed_{false};
  std::atomic<int> owners_{2};
};

}  // namespace mergedb::python
