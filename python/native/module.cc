// The module mergedb_kv._native. mergedb_kv/_native.pyi has its types.
#include <mergedb/merge.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "database.h"
#include "lmdb_objects.h"

namespace mergedb::python {

namespace {

// The encoded operand of a built-in type. The arguments that the type does not use are ignored.
nb::object MakeOperand(int type, uint64_t u64, int64_t i64, double f64, nb::handle bytes, nb::handle delimiter,
                       uint64_t cap_bytes, bool keeps_oldest) {
  const Input b(bytes), d(delimiter);
  merge::Arguments arguments;
  arguments.u64 = u64;
  arguments.i64 = i64;
  arguments.f64 = f64;
  arguments.bytes = {static_cast<const char*>(b.data()), b.size()};
  arguments.append.delimiter = {static_cast<const char*>(d.data()), d.size()};
  arguments.append.cap_bytes = cap_bytes;
  arguments.append.keep = keeps_oldest ? merge::Keep::kOldest : merge::Keep::kNewest;
  const std::optional<std::string> operand = merge::Make(type, arguments);
  if (!operand) throw nb::value_error("no built-in merge type has this number");
  return NewBytes(operand->data(), operand->size());
}

nb::object NamedOperand(const std::string& name, nb::handle bytes) {
  const Input b(bytes);
  const std::string operand = merge::Named(name, {static_cast<const char*>(b.data()), b.size()});
  return NewBytes(operand.data(), operand.size());
}

}  // namespace

NB_MODULE(_native, module) {
  // WHY: objects that live until the interpreter ends are not an error of the program.
  nb::set_leak_warnings(false);
  module.def("set_error_factory", &SetErrorFactory);
  module.def("set_explainer", &SetExplainer);
  module.def("version", &mergedb_version);
  module.def("make_operand", &MakeOperand, nb::arg("type"), nb::arg("u64"), nb::arg("i64"), nb::arg("f64"),
             nb::arg("bytes"), nb::arg("delimiter"), nb::arg("cap_bytes"), nb::arg("keeps_oldest"));
  module.def("named_operand", &NamedOperand);
  BindDatabase(module);
  BindIterators(module);
  BindTransactions(module);
  BindColumns(module);
  BindArrow(module);
  lmdb::BindEnvironment(module);
  lmdb::BindTransactions(module);
  lmdb::BindCursors(module);
}

}  // namespace mergedb::python
