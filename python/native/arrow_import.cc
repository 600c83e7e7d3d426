// Writes the record batches of an Arrow stream: a column of keys and a column of values.
#include <nanobind/stl/string.h>

#include <cstdlib>
#include <string>

#include "arrow_abi.h"
#include "columns.h"

namespace mergedb::python {

namespace {

// Owns a struct of Arrow, which may be released already.
template <typename Struct>
struct Owned {
  Struct value{};
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Release(); }
  void Release() {
    if (value.release != nullptr) value.release(&value);
  }
};

template <typename T>
T Load(const void* buffer, int64_t index) {
  T loaded;
  std::memcpy(&loaded, static_cast<const char*>(buffer) + index * static_cast<int64_t>(sizeof(T)), sizeof loaded);
  return loaded;
}

template <typename Offset>
std::string_view BinaryAt(const ArrowArray& array, int64_t index) {
  const auto begin = Load<Offset>(array.buffers[1], index), end = Load<Offset>(array.buffers[1], index + 1);
  return {static_cast<const char*>(array.buffers[2]) + begin, static_cast<size_t>(end - begin)};
}

// FORMAT: a view has 16 bytes: the length, then either up to 12 bytes of data, or 4 bytes of it, the number of a
// buffer, and the offset in that buffer.
std::string_view ViewAt(const ArrowArray& array, int64_t index) {
  static constexpr int64_t kViewBytes = 16, kInlineBytesMax = 12, kFirstDataBuffer = 2;
  const char* view = static_cast<const char*>(array.buffers[1]) + index * kViewBytes;
  const auto length = Load<int32_t>(view, 0);
  if (length <= kInlineBytesMax) return {view + 4, static_cast<size_t>(length)};
  const char* data = static_cast<const char*>(array.buffers[kFirstDataBuffer + Load<int32_t>(view, 2)]);
  return {data + Load<int32_t>(view, 3), static_cast<size_t>(length)};
}

// The bytes of each row of a column.
class ColumnReader {
 public:
  // False if the type has no bytes to store.
  bool Choose(const std::string& format) {
    if (format == "z" || format == "u") {
      at_ = &BinaryAt<int32_t>;
    } else if (format == "Z" || format == "U") {
      at_ = &BinaryAt<int64_t>;
    } else if (format == "vz" || format == "vu") {
      at_ = &ViewAt;
    } else {
      width_ = FixedWidth(format);
      return width_ > 0;
    }
    return true;
  }

  std::string_view At(const ArrowArray& array, int64_t row) const {
    const int64_t index = array.offset + row;
    if (at_ != nullptr) return at_(array, index);
    return {static_cast<const char*>(array.buffers[1]) + index * static_cast<int64_t>(width_), width_};
  }

  // Nulls are counted by the producer; -1 means that it did not count.
  static bool IsNull(const ArrowArray& array, int64_t row) {
    if (array.null_count == 0 || array.n_buffers == 0 || array.buffers[0] == nullptr) return false;
    const int64_t index = array.offset + row;
    return (static_cast<const uint8_t*>(array.buffers[0])[index / 8] >> (index % 8) & 1) == 0;
  }

 private:
  static size_t FixedWidth(const std::string& format) {
    if (format.rfind("w:", 0) == 0) return static_cast<size_t>(std::strtoull(format.c_str() + 2, nullptr, 10));
    static constexpr struct {
      const char* formats;
      size_t width;
    } kNumbers[] = {{"cC", 1}, {"sSe", 2}, {"iIf", 4}, {"lLg", 8}};
    if (format.size() == 1) {
      for (const auto& [formats, width] : kNumbers) {
        if (std::strchr(formats, format[0]) != nullptr) return width;
      }
    }
    if (format == "tdD" || format == "tts" || format == "ttm") return 4;
    if (format == "tdm" || format == "ttu" || format == "ttn") return 8;
    if (format.rfind("ts", 0) == 0 || format.rfind("tD", 0) == 0) return 8;  // timestamps and durations
    return 0;
  }

  std::string_view (*at_)(const ArrowArray&, int64_t) = nullptr;
  size_t width_ = 0;
};

struct Column {
  std::string name;
  int64_t child = -1;
  ColumnReader reader;
};

// Writes a stream. `fault` says what is wrong with the stream itself.
class ArrowLoader {
 public:
  ArrowLoader(ArrowArrayStream* stream, Loader& loader, const std::string& key, const std::string& value)
      : stream_(stream), loader_(loader), key_{key, -1, {}}, value_{value, -1, {}} {}

  mergedb_code Run(mergedb_error* error) {
    Owned<ArrowSchema> schema;
    if (stream_->get_schema(stream_, &schema.value) != 0) return SourceFault();
    if (std::string_view(schema.value.format) != "+s")
      return Fault("the source has no columns: it must give record batches");
    for (Column* column : {&key_, &value_}) {
      if (!Find(schema.value, column)) return MERGEDB_INVALID_ARGUMENT;
    }
    for (;;) {
      Owned<ArrowArray> batch;
      if (stream_->get_next(stream_, &batch.value) != 0) return SourceFault();
      if (batch.value.release == nullptr) return loader_.Finish(error);
      const mergedb_code code = Put(batch.value, error);
      if (code != MERGEDB_OK) return code;
    }
  }

  uint64_t count() const { return count_; }
  const std::string& fault() const { return fault_; }

 private:
  bool Find(const ArrowSchema& schema, Column* column) {
    for (int64_t i = 0; i < schema.n_children; ++i) {
      const ArrowSchema& child = *schema.children[i];
      if (child.name == nullptr || column->name != child.name) continue;
      column->child = i;
      if (child.dictionary == nullptr && column->reader.Choose(child.format)) return true;
      Fault("the column \"" + column->name + "\" has the Arrow format \"" + child.format +
            "\": cast it to a binary, string or fixed-width type");
      return false;
    }
    Fault("the source has no column \"" + column->name + "\"");
    return false;
  }

  mergedb_code Put(const ArrowArray& batch, mergedb_error* error) {
    const ArrowArray& keys = *batch.children[key_.child];
    const ArrowArray& values = *batch.children[value_.child];
    for (int64_t i = 0; i < batch.length; ++i) {
      const int64_t row = batch.offset + i;
      if (ColumnReader::IsNull(batch, i) || ColumnReader::IsNull(keys, row) || ColumnReader::IsNull(values, row))
        return Fault("row " + std::to_string(count_) + " has a null: mergedb stores bytes only");
      const mergedb_code code = loader_.Put(key_.reader.At(keys, row), value_.reader.At(values, row), error);
      if (code != MERGEDB_OK) return code;
      ++count_;
    }
    return MERGEDB_OK;
  }

  mergedb_code SourceFault() {
    const char* text = stream_->get_last_error(stream_);
    return Fault(std::string("the source of the batches failed: ") + (text == nullptr ? "it gave no reason" : text));
  }
  mergedb_code Fault(std::string text) {
    fault_ = std::move(text);
    return MERGEDB_INVALID_ARGUMENT;
  }

  ArrowArrayStream* const stream_;
  Loader& loader_;
  Column key_, value_;
  uint64_t count_ = 0;
  std::string fault_;
};

// Returns the number of entries. `capsule` is what __arrow_c_stream__ returned.
uint64_t PutArrow(const Reader& reader, nb::handle capsule, const std::string& key, const std::string& value,
                  int durability, size_t batch_bytes) {
  auto* given = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), kArrowStreamCapsule));
  if (given == nullptr) throw nb::python_error();
  if (given->release == nullptr) Raise(MERGEDB_INVALID_ARGUMENT, "the Arrow stream has been consumed");
  Owned<ArrowArrayStream> stream;
  stream.value = *given;
  given->release = nullptr;
  Loader loader(reader.source(), durability, batch_bytes);
  ArrowLoader arrow(&stream.value, loader, key, value);
  mergedb_error error;
  const mergedb_code code = WithoutGil([&] { return arrow.Run(&error); });
  if (!arrow.fault().empty()) Raise(MERGEDB_INVALID_ARGUMENT, arrow.fault().c_str());
  Check(code, error, loader.owner());
  return arrow.count();
}

}  // namespace

void BindArrowImport(nb::module_& module) {
  module.def("put_arrow", &PutArrow, nb::arg("reader"), nb::arg("capsule"), nb::arg("key"), nb::arg("value"),
             nb::arg("durability"), nb::arg("batch_bytes"));
}

}  // namespace mergedb::python
