// What every bound function uses: arguments as bytes, calls of the C interface without the GIL, and errors.
//
//     Input key(argument);                                  // TypeError unless the argument is bytes-like
//     mergedb_error error;
//     Check(WithoutGil([&] { return mergedb_delete(db, &options, key.data(), key.size(), &error); }), error);
//
// THREADS: all functions and constructors require the GIL, unless they say otherwise.
#pragma once

#include <mergedb/c.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <unistd.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "gil.h"

namespace mergedb::python {

namespace nb = nanobind;

// The bytes of a bytes-like object, until the end of this object. A `bytes` object is used in place, any other is
// copied.
// WHY a copy: the call runs without the GIL, and a task that was cancelled uses its bytearray again. The database would
// hold a mixture.
class Input {
 public:
  explicit Input(nb::handle object);

  const void* data() const { return data_; }
  size_t size() const { return static_cast<size_t>(size_); }
  mergedb_slice slice() const { return {data(), size()}; }

 private:
  nb::object bytes_;
  char* data_ = nullptr;
  Py_ssize_t size_ = 0;
};

// The bytes as text for C. ValueError if they have a null byte, where C would end the text.
// `what` names them in the message: "a path".
std::string TextOf(std::string_view bytes, const char* what);
std::string TextOf(const nb::bytes& bytes, const char* what);

// Every call that may wait, read or write files runs without the GIL. If the interpreter has ended meanwhile, the
// thread never returns (gil.h).
template <typename Call>
auto WithoutGil(Call&& call) {
  struct Released {
    PyThreadState* const state = PyEval_SaveThread();
    Released() = default;
    Released(const Released&) = delete;
    Released& operator=(const Released&) = delete;
    ~Released() { mergedb_gil_restore(state); }
  } const released;
  return std::forward<Call>(call)();
}

// Takes the GIL in a thread of the engine. If the interpreter has ended, the thread never returns (gil.h).
class WithGil {
 public:
  WithGil() = default;
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;
  ~WithGil() { PyGILState_Release(state_); }

 private:
  const PyGILState_STATE state_ = mergedb_gil_ensure();
};

// The argument `name` as an object of a class of this module, which `wanted` describes. Throws TypeError if it is none.
template <typename T>
const T& ArgumentOf(nb::handle object, const char* name, const char* wanted) {
  if (nb::isinstance<T>(object)) return nb::cast<const T&>(object);
  const std::string found = nb::cast<std::string>(nb::str(nb::handle(object.type()).attr("__name__")));
  throw nb::type_error((std::string(name) + " must be " + wanted + ", not " + found).c_str());
}

// Calls a function of Python.
nb::object CallPython(nb::handle callable, const nb::tuple& arguments);

// Calls function(item) for the items of an iterable object of Python.
template <typename Function>
void ForEach(nb::handle iterable, Function&& function) {
  PyObject* const found = mergedb_gil_iterator(iterable.ptr());
  if (found == nullptr) throw nb::python_error();
  const nb::object iterator = nb::steal(found);
  while (PyObject* const next = mergedb_gil_next(iterator.ptr())) function(nb::object(nb::steal(next)));
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
}

// A new `bytes` object with a copy of the bytes.
nb::object NewBytes(const void* data, size_t size);
inline nb::object NewBytes(const mergedb_slice& slice) { return NewBytes(slice.data, slice.size); }

// Sets the function that describes wrong arguments (type_errors.cc).
void SetExplainer(nb::object function);
// Sets the function that makes exceptions: f(code, message, outcome_unknown, forked).
void SetErrorFactory(nb::object factory);
// Throws the Python exception of a code. `owner` is the process that made the handle; 0: any process.
[[noreturn]] void Raise(int32_t code, const char* message, bool is_outcome_unknown = false, pid_t owner = 0);
// Throws unless the code is MERGEDB_OK.
inline void Check(mergedb_code code, const mergedb_error& error, pid_t owner = 0) {
  if (code != MERGEDB_OK) Raise(code, error.message, error.outcome_unknown != 0, owner);
}

// Marks an object that one thread at a time may use. The mark is changed only with the GIL held, so a plain bool
// suffices. WHY beside the check of the C interface: a slice that a call returned is copied after that call.
class Exclusive {
 public:
  explicit Exclusive(bool& is_busy) : is_busy_(is_busy) {
    if (is_busy_) Raise(MERGEDB_BUSY, "another thread uses this object");
    is_busy_ = true;
  }
  ~Exclusive() { is_busy_ = false; }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  bool& is_busy_;
};

// Wakes the threads that wait for the end of a call of another thread.
class EndOfCalls {
 public:
  EndOfCalls() = default;
  EndOfCalls(const EndOfCalls&) = delete;
  EndOfCalls& operator=(const EndOfCalls&) = delete;

  // Waits, without the GIL, until a call ends. REQUIRES: another thread is in a call.
  void Wait();
  // A call has ended.
  void Announce();

 private:
  int waiting_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  uint64_t count_ = 0;  // (mutex_) counts only while a thread waits
};

}  // namespace mergedb::python
