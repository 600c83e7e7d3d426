// Wrong arguments in words. nanobind describes them by several lines, with the types of C++ and all signatures. The
// linker puts the function below in the place of PyErr_SetString, so that every such text passes through
// mergedb_kv._errors, which makes one line of it. python/tests/test_mistakes.py covers it.
#include "call.h"

namespace mergedb::python {

namespace {

// Never destroyed: the interpreter may end first.
PyObject* explainer = nullptr;

bool IsOfArguments(PyObject* type, const char* text) {
  return type == PyExc_TypeError && explainer != nullptr &&
         std::string_view(text).find("(): incompatible function arguments") != std::string_view::npos;
}

}  // namespace

// Sets the function that makes the line: f(text).
void SetExplainer(nb::object function) { explainer = function.release().ptr(); }

}  // namespace mergedb::python

extern "C" {
void __real_PyErr_SetString(PyObject* type, const char* text);
void __wrap_PyErr_SetString(PyObject* type, const char* text);

// WHY no exception of C++ and no nb::object: nanobind calls it from a function that is noexcept.
void __wrap_PyErr_SetString(PyObject* type, const char* text) {
  using mergedb::python::explainer;
  if (!mergedb::python::IsOfArguments(type, text)) return __real_PyErr_SetString(type, text);
  PyObject* const arguments = Py_BuildValue("(s)", text);
  PyObject* const line = arguments == nullptr ? nullptr : mergedb_gil_call(explainer, arguments);
  Py_XDECREF(arguments);
  if (line == nullptr) {
    PyErr_Clear();
    return __real_PyErr_SetString(type, text);
  }
  PyErr_SetObject(type, line);
  Py_DECREF(line);
}
}
