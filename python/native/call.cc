#include "call.h"

#include <cstring>

namespace mergedb::python {

namespace {

// Never destroyed: the interpreter may end first.
nb::object* error_factory = nullptr;

}  // namespace

Input::Input(nb::handle object) {
  if (PyBytes_Check(object.ptr())) {
    bytes_ = nb::borrow(object);
  } else {
    Py_buffer buffer{};
    if (mergedb_gil_get_buffer(object.ptr(), &buffer, PyBUF_SIMPLE) != 0) throw nb::python_error();
    PyObject* const copy = PyBytes_FromStringAndSize(static_cast<const char*>(buffer.buf), buffer.len);
    PyBuffer_Release(&buffer);
    if (copy == nullptr) throw nb::python_error();
    bytes_ = nb::steal(copy);
  }
  if (PyBytes_AsStringAndSize(bytes_.ptr(), &data_, &size_) != 0) throw nb::python_error();
}

std::string TextOf(std::string_view bytes, const char* what) {
  if (bytes.find('\0') != std::string_view::npos)
    throw nb::value_error((std::string("embedded null byte in ") + what).c_str());
  return std::string(bytes);
}

std::string TextOf(const nb::bytes& bytes, const char* what) {
  return TextOf(std::string_view(bytes.c_str(), bytes.size()), what);
}

nb::object NewBytes(const void* data, size_t size) {
  PyObject* bytes = PyBytes_FromStringAndSize(static_cast<const char*>(data), static_cast<Py_ssize_t>(size));
  if (bytes == nullptr) throw nb::python_error();
  return nb::steal(bytes);
}

void EndOfCalls::Wait() {
  ++waiting_;
  uint64_t seen = 0;
  {
    const std::lock_guard lock(mutex_);
    seen = count_;
  }
  WithoutGil([&] {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return count_ != seen; });
  });
  --waiting_;
}

void EndOfCalls::Announce() {
  if (waiting_ == 0) return;
  const std::lock_guard lock(mutex_);
  ++count_;
  ended_.notify_all();
}

nb::object CallPython(nb::handle callable, const nb::tuple& arguments) {
  PyObject* const result = mergedb_gil_call(callable.ptr(), arguments.ptr());
  if (result == nullptr) throw nb::python_error();
  return nb::steal(result);
}

void SetErrorFactory(nb::object factory) {
  if (error_factory == nullptr) error_factory = new nb::object();
  *error_factory = std::move(factory);
}

void Raise(int32_t code, const char* message, bool is_outcome_unknown, pid_t owner) {
  const bool is_forked = code == MERGEDB_BAD_HANDLE && owner != 0 && owner != getpid();
  nb::str text = nb::steal<nb::str>(PyUnicode_DecodeUTF8(message, static_cast<Py_ssize_t>(strlen(message)), "replace"));
  if (!text.is_valid()) throw nb::python_error();
  nb::object exception = CallPython(*error_factory, nb::make_tuple(code, text, is_outcome_unknown, is_forked));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

}  // namespace mergedb::python
