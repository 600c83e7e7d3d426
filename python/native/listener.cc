#include "listener.h"

#include <cstring>

namespace mergedb::python {

namespace {

nb::object TextObject(const char* text, size_t size) {
  PyObject* made = PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(size), "backslashreplace");
  if (made == nullptr) throw nb::python_error();
  return nb::steal(made);
}

nb::object TextObject(const char* text) { return TextObject(text, std::strlen(text)); }

}  // namespace

mergedb_event_listener EventHook::listener() {
  mergedb_event_listener made{};
  made.struct_size = sizeof made;
  made.on_event = &EventHook::OnEvent;
  made.destroy = [](void* state) { static_cast<EventHook*>(state)->Drop(); };
  made.state = this;
  return made;
}

void EventHook::Drop() {
  if (owners_.fetch_sub(1) != 1) return;
  if (mergedb_gil_is_ending() != 0) return;  // the process ends now, and its memory with it
  const WithGil gil;
  delete this;
}

void EventHook::OnEvent(void* state, const mergedb_event* event) {
  if (mergedb_gil_is_ending() != 0) return;
  auto* hook = static_cast<EventHook*>(state);
  const WithGil gil;
  try {
    nb::dict fields;
    for (size_t i = 0; i < event->field_count; ++i) {
      const mergedb_event_field& field = event->fields[i];
      const nb::object name = TextObject(field.name);
      fields[name] =
          field.text == nullptr ? nb::object(nb::int_(field.number)) : TextObject(field.text, field.text_size);
    }
    CallPython(hook->function_,
               nb::make_tuple(TextObject(event->name), event->time_us, fields, TextObject(event->json)));
  } catch (nb::python_error& error) {
    error.restore();
    mergedb_gil_write_unraisable(nb::str("mergedb_kv: listener").ptr());
  } catch (const std::exception&) {  // no memory: the event is lost
  }
}

}  // namespace mergedb::python
