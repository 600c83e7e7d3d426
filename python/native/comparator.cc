#include "comparator.h"

#include <algorithm>
#include <cstring>

namespace mergedb::python {

namespace {

int CompareBytes(const void* a, size_t a_size, const void* b, size_t b_size) {
  const size_t common = std::min(a_size, b_size);
  const int order = common == 0 ? 0 : std::memcmp(a, b, common);
  if (order != 0) return order;
  return a_size < b_size ? -1 : a_size > b_size ? 1 : 0;
}

}  // namespace

mergedb_comparator CompareHook::comparator() {
  mergedb_comparator made{};
  made.struct_size = sizeof made;
  made.name = name_.c_str();
  made.compare = &CompareHook::Compare;
  made.destroy = [](void* state) { static_cast<CompareHook*>(state)->Drop(); };
  made.state = this;
  return made;
}

void CompareHook::Drop() {
  if (owners_.fetch_sub(1) != 1) return;
  if (mergedb_gil_is_ending() != 0) return;  // the process ends now, and its memory with it
  const WithGil gil;
  delete this;
}

int CompareHook::Compare(void* state, const void* a, size_t a_size, const void* b, size_t b_size) {
  auto* hook = static_cast<CompareHook*>(state);
  const WithGil gil;
  try {
    const nb::object order = CallPython(hook->function_, nb::make_tuple(NewBytes(a, a_size), NewBytes(b, b_size)));
    const int64_t number = nb::cast<int64_t>(order);
    return number < 0 ? -1 : number > 0 ? 1 : 0;
  } catch (nb::python_error& error) {
    hook->has_failed_ = true;
    error.restore();
    mergedb_gil_write_unraisable(nb::str("mergedb_kv: comparator").ptr());
  } catch (const std::exception&) {  // a result that is no number
    hook->has_failed_ = true;
  }
  return CompareBytes(a, a_size, b, b_size);
}

}  // namespace mergedb::python
