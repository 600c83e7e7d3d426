// Fixed-width columns: a scan into memory with the buffer protocol, and writes from such memory.
#include "columns.h"

#include <nanobind/stl/optional.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>

#include "entries.h"

namespace mergedb::python {

namespace {

// Memory that a scan filled. A NumPy array over it keeps it alive, and may write to it.
class Column {
 public:
  explicit Column(Bytes bytes) : bytes_(std::move(bytes)) {}

  static int GetBuffer(PyObject* object, Py_buffer* view, int flags) {
    auto* self = nb::inst_ptr<Column>(object);
    return PyBuffer_FillInfo(view, object, self->bytes_.data(), static_cast<Py_ssize_t>(self->bytes_.size()),
                             /*readonly=*/0, flags);
  }

 private:
  Bytes bytes_;
};

PyType_Slot column_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&Column::GetBuffer)}, {0, nullptr}};

// WHY the fixed sizes: the compiler then copies without a call (MEASURED: src/c/cursors.cc).
void CopyFixed(char* to, const char* from, size_t width) {
  if (width == 8) {
    std::memcpy(to, from, 8);
  } else if (width == 16) {
    std::memcpy(to, from, 16);
  } else {
    std::memcpy(to, from, width);
  }
}

// A column of entries of one width. Without a width, it is not wanted.
struct Target {
  const std::optional<size_t> width;
  const char* const name;
  Bytes bytes = {};
  char* end = nullptr;

  void MakeRoom(size_t count) {
    if (width) end = bytes.Room(count * *width);
  }
  void Extend(size_t count) {
    if (width) bytes.Extend(count * *width);
  }
  bool Fits(std::string_view found) const { return !width || found.size() == *width; }
  // REQUIRES: there is room, and the bytes fit.
  void Take(std::string_view found) {
    if (!width) return;
    CopyFixed(end, found.data(), found.size());
    end += found.size();
  }
  nb::object Finish() {
    if (!width) return nb::none();
    bytes.ShrinkToFit();
    return nb::cast(new Column(std::move(bytes)), nb::rv_policy::take_ownership);
  }
};

struct Columns {
  Target keys, values;
  uint64_t count = 0;
  std::string fault = {};

  // False at an entry of another width; `fault` describes it.
  bool Take(const char* begin, size_t entries) {
    keys.MakeRoom(entries);
    values.MakeRoom(entries);
    size_t taken = 0;
    for (; taken < entries; ++taken) {
      const Entry entry(begin);
      if (!keys.Fits(entry.key) || !values.Fits(entry.value)) {
        fault = WidthFault(entry);
        break;
      }
      keys.Take(entry.key);
      values.Take(entry.value);
      begin = entry.end();
    }
    keys.Extend(taken);
    values.Extend(taken);
    count += taken;
    return taken == entries;
  }

 private:
  std::string WidthFault(const Entry& entry) const {
    const bool is_key = !keys.Fits(entry.key);
    const Target& target = is_key ? keys : values;
    return python::WidthFault(entry.key, target.name, (is_key ? entry.key : entry.value).size(), *target.width);
  }
};

// Returns (keys, values, count). A column without a width is None.
nb::object ScanFixed(const Reader& reader, std::optional<size_t> key_width, std::optional<size_t> value_width,
                     nb::object start, nb::object stop, nb::object prefix, bool reverse,
                     std::optional<uint64_t> limit) {
  EntryReader entries(reader.source(), {start, stop, prefix, /*keys_only=*/!value_width}, reverse);
  Columns columns{{key_width, "key"}, {value_width, "value"}};
  const uint64_t count_max = limit.value_or(UINT64_MAX);
  mergedb_error error;
  const mergedb_code code = WithoutGil([&] {
    while (columns.count < count_max) {
      EntryReader::Block block;
      const mergedb_code read = entries.NextBlock(&block, &error);
      if (read != MERGEDB_OK) return read;
      const size_t wanted = static_cast<size_t>(std::min<uint64_t>(block.count, count_max - columns.count));
      if (!columns.Take(block.begin, wanted)) return mergedb_code{MERGEDB_INVALID_ARGUMENT};
    }
    return mergedb_code{MERGEDB_NOT_FOUND};
  });
  if (!columns.fault.empty()) Raise(MERGEDB_INVALID_ARGUMENT, columns.fault.c_str());
  if (code != MERGEDB_NOT_FOUND) Check(code, error, entries.owner());
  return nb::make_tuple(columns.keys.Finish(), columns.values.Finish(), columns.count);
}

void PutFixed(const Reader& reader, nb::handle keys, nb::handle values, uint64_t count, int durability,
              size_t batch_bytes) {
  const Input k(keys), v(values);
  if (count == 0) return;
  if (k.size() % count != 0 || v.size() % count != 0)
    Raise(MERGEDB_INVALID_ARGUMENT, "the size of a column is not a multiple of the number of its entries");
  const size_t key_width = k.size() / count, value_width = v.size() / count;
  Loader loader(reader.source(), durability, batch_bytes);
  mergedb_error error;
  const mergedb_code code = WithoutGil([&]() -> mergedb_code {
    const auto* key = static_cast<const char*>(k.data());
    const auto* value = static_cast<const char*>(v.data());
    for (uint64_t i = 0; i < count; ++i, key += key_width, value += value_width) {
      const mergedb_code put = loader.Put({key, key_width}, {value, value_width}, &error);
      if (put != MERGEDB_OK) return put;
    }
    return loader.Finish(&error);
  });
  Check(code, error, loader.owner());
}

// An aligned mapping of `size` bytes, which huge pages may fill.
char* MapAligned(size_t size, size_t alignment) {
  void* found =
      mmap(nullptr, size + alignment, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) throw std::bad_alloc();
  char* begin = static_cast<char*>(found);
  const size_t before = (alignment - reinterpret_cast<uintptr_t>(begin) % alignment) % alignment;
  if (before > 0) munmap(begin, before);
  munmap(begin + before + size, alignment - before);
  madvise(begin + before, size, MADV_HUGEPAGE);
  return begin + before;
}

}  // namespace

Bytes::~Bytes() {
  if (is_mapped()) {
    munmap(data_, capacity_);
  } else {
    std::free(data_);
  }
}

void Bytes::Reserve(size_t capacity) {
  if (is_mapped() || capacity >= kMappedBytesMin) return ReserveMapped(capacity);
  if (capacity < kBytesMin) capacity = kBytesMin;
  void* moved = std::realloc(data_, capacity);
  if (moved == nullptr) throw std::bad_alloc();
  data_ = static_cast<char*>(moved);
  capacity_ = capacity;
}

void Bytes::ReserveMapped(size_t capacity) {
  if (capacity < kMappedBytesMin) capacity = kMappedBytesMin;
  capacity = (capacity + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  if (is_mapped() && capacity <= capacity_) {
    if (capacity < capacity_) munmap(data_ + capacity, capacity_ - capacity);
    capacity_ = capacity;
    return;
  }
  char* target = MapAligned(capacity, kHugePageBytes);
  if (is_mapped()) {  // WHY to an aligned target: the kernel then moves whole huge pages
    if (mremap(data_, capacity_, capacity, MREMAP_MAYMOVE | MREMAP_FIXED, target) == MAP_FAILED) {
      munmap(target, capacity);
      throw std::bad_alloc();
    }
  } else {
    if (size_ > 0) std::memcpy(target, data_, size_);
    std::free(data_);
  }
  data_ = target;
  capacity_ = capacity;
}

std::string WidthFault(std::string_view key, const char* column, size_t found, size_t expected) {
  static constexpr size_t kShownBytes = 64;
  std::string shown;
  for (const char c : key.substr(0, kShownBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    char text[8];
    std::snprintf(text, sizeof text, byte < 0x20 || byte > 0x7e || byte == '\\' ? "\\x%02x" : "%c", byte);
    shown += text;
  }
  if (key.size() > kShownBytes) shown += "...";
  return std::string("the ") + column + " of the entry \"" + shown + "\" has " + std::to_string(found) +
         " bytes, not " + std::to_string(expected) + ": choose another type or range";
}

Loader::Loader(const Source& source, int durability, size_t batch_bytes) : source_(source), bytes_max_(batch_bytes) {
  source_.CheckUsable();
  options_.struct_size = sizeof options_;
  options_.durability = durability;
  mergedb_error error;
  Check(mergedb_batch_create(&batch_, &error), error);
  const mergedb_code code = mergedb_batch_set_keyspace(batch_, source_.keyspace, &error);
  if (code == MERGEDB_OK) return;
  mergedb_batch_close(batch_, nullptr);
  Check(code, error, owner());
}

mergedb_code Loader::Write(mergedb_error* error) {
  mergedb_code code = mergedb_write(source_.database->handle, &options_, batch_, error);
  if (code != MERGEDB_OK) return code;
  bytes_ = 0;
  code = mergedb_batch_clear(batch_, error);
  return code == MERGEDB_OK ? mergedb_batch_set_keyspace(batch_, source_.keyspace, error) : code;
}

void BindColumns(nb::module_& module) {
  nb::class_<Column>(module, "Column", nb::type_slots(column_slots));
  module.def("scan_fixed", &ScanFixed, nb::arg("reader"), nb::arg("key_width").none(), nb::arg("value_width").none(),
             nb::arg("start").none(), nb::arg("stop").none(), nb::arg("prefix").none(), nb::arg("reverse"),
             nb::arg("limit").none());
  module.def("put_fixed", &PutFixed, nb::arg("reader"), nb::arg("keys"), nb::arg("values"), nb::arg("count"),
             nb::arg("durability"), nb::arg("batch_bytes"));
}

}  // namespace mergedb::python
