// A scan as a stream of Arrow record batches with the columns `key` and `value`.
//
// THREADS: a consumer calls the functions of the stream from any thread, one at a time, with or without the GIL.
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arrow_abi.h"
#include "columns.h"
#include "entries.h"

namespace mergedb::python {

namespace {

// WHY: a batch has offsets of 32 bits. The last value of a batch may add 1 GiB.
constexpr size_t kBatchBytesMax = 64 << 20;

struct ColumnType {
  std::string name;             // of the column
  std::string format;           // of Arrow
  std::optional<size_t> width;  // absent: binary, with offsets
};

// ---- schemas

struct SchemaParts {
  std::string format, name;
  std::vector<ArrowSchema*> children;
};

void ReleaseSchema(ArrowSchema* schema) {
  auto* parts = static_cast<SchemaParts*>(schema->private_data);
  for (ArrowSchema* child : parts->children) {
    if (child->release != nullptr) child->release(child);
    delete child;
  }
  delete parts;
  schema->release = nullptr;
}

ArrowSchema MakeSchema(const std::string& format, const std::string& name) {
  auto* parts = new SchemaParts{format, name, {}};
  ArrowSchema schema{};
  schema.format = parts->format.c_str();
  schema.name = parts->name.c_str();
  schema.release = &ReleaseSchema;
  schema.private_data = parts;
  return schema;
}

void AddChild(ArrowSchema* schema, const ArrowSchema& child) {
  auto* parts = static_cast<SchemaParts*>(schema->private_data);
  parts->children.push_back(new ArrowSchema(child));
  schema->children = parts->children.data();
  schema->n_children = static_cast<int64_t>(parts->children.size());
}

// ---- arrays

struct ArrayParts {
  std::vector<Bytes> memory;
  std::vector<const void*> buffers;
  std::vector<ArrowArray*> children;
};

void ReleaseArray(ArrowArray* array) {
  auto* parts = static_cast<ArrayParts*>(array->private_data);
  for (ArrowArray* child : parts->children) {
    if (child->release != nullptr) child->release(child);
    delete child;
  }
  delete parts;
  array->release = nullptr;
}

// The first buffer, of validity, is absent: there are no nulls.
ArrowArray MakeArray(size_t length, std::vector<Bytes> memory) {
  auto* parts = new ArrayParts{std::move(memory), {nullptr}, {}};
  for (const Bytes& bytes : parts->memory) parts->buffers.push_back(bytes.data());
  ArrowArray array{};
  array.length = static_cast<int64_t>(length);
  array.n_buffers = static_cast<int64_t>(parts->buffers.size());
  array.buffers = parts->buffers.data();
  array.release = &ReleaseArray;
  array.private_data = parts;
  return array;
}

void AddChild(ArrowArray* array, const ArrowArray& child) {
  auto* parts = static_cast<ArrayParts*>(array->private_data);
  parts->children.push_back(new ArrowArray(child));
  array->children = parts->children.data();
  array->n_children = static_cast<int64_t>(parts->children.size());
}

// A column of a batch, while the batch is made.
class ColumnBuilder {
 public:
  ColumnBuilder(const ColumnType& type, size_t rows_max) : type_(type) {
    if (type_.width) {
      data_.Reserve(*type_.width * rows_max);
    } else {
      offsets_.Reserve((rows_max + 1) * sizeof(int32_t));
      AppendOffset();
      data_.Reserve(0);
    }
  }

  bool Append(std::string_view bytes) {
    if (type_.width && bytes.size() != *type_.width) return false;
    data_.Append(bytes);
    if (!type_.width) AppendOffset();
    return true;
  }
  size_t bytes() const { return data_.size(); }
  const ColumnType& type() const { return type_; }

  ArrowArray Finish(size_t length) {
    std::vector<Bytes> memory;
    if (!type_.width) memory.push_back(std::move(offsets_));
    memory.push_back(std::move(data_));
    return MakeArray(length, std::move(memory));
  }

 private:
  void AppendOffset() {
    const auto offset = static_cast<int32_t>(data_.size());
    offsets_.Append(&offset, sizeof offset);
  }

  const ColumnType& type_;
  Bytes offsets_, data_;
};

// ---- the stream

struct ScanStream {
  std::unique_ptr<EntryReader> entries;  // null after the end
  std::vector<ColumnType> columns;
  size_t rows_max;
  std::string last_error;

  // At the end, *out is released.
  int Next(ArrowArray* out) {
    *out = {};
    if (entries == nullptr) return 0;
    std::vector<ColumnBuilder> builders;
    builders.reserve(columns.size());
    for (const ColumnType& column : columns) builders.emplace_back(column, rows_max);
    size_t rows = 0;
    for (std::string_view key, value; rows < rows_max && IsBelowLimit(builders); ++rows) {
      mergedb_error error;
      const mergedb_code code = entries->Next(&key, &value, &error);
      if (code == MERGEDB_NOT_FOUND) break;
      if (code != MERGEDB_OK) return Fail(EIO, error.message);
      for (ColumnBuilder& builder : builders) {
        const ColumnType& type = builder.type();
        const std::string_view found = type.name == "key" ? key : value;
        if (!builder.Append(found)) return Fail(EINVAL, WidthFault(key, type.name.c_str(), found.size(), *type.width));
      }
    }
    if (rows == 0) return 0;
    *out = MakeArray(rows, {});
    for (ColumnBuilder& builder : builders) AddChild(out, builder.Finish(rows));
    return 0;
  }

  int Fail(int code, std::string message) {
    last_error = std::move(message);
    return code;
  }

 private:
  static bool IsBelowLimit(const std::vector<ColumnBuilder>& builders) {
    for (const ColumnBuilder& builder : builders) {
      if (builder.bytes() >= kBatchBytesMax) return false;
    }
    return true;
  }
};

ScanStream* Self(ArrowArrayStream* stream) { return static_cast<ScanStream*>(stream->private_data); }

// No exception may reach the consumer.
template <typename Function>
int Guard(ArrowArrayStream* stream, Function&& function) {
  try {
    return function(*Self(stream));
  } catch (const std::bad_alloc&) { return ENOMEM; }
}

int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  return Guard(stream, [out](ScanStream& scan) {
    *out = MakeSchema("+s", "");
    for (const ColumnType& column : scan.columns) AddChild(out, MakeSchema(column.format, column.name));
    return 0;
  });
}

int GetNext(ArrowArrayStream* stream, ArrowArray* out) {
  return Guard(stream, [out](ScanStream& scan) { return scan.Next(out); });
}

const char* GetLastError(ArrowArrayStream* stream) {
  const std::string& text = Self(stream)->last_error;
  return text.empty() ? nullptr : text.c_str();
}

void ReleaseStream(ArrowArrayStream* stream) {
  stream->release = nullptr;
  // WHY: at the end of the interpreter no thread gets the GIL, which the end of the iterator requires.
  if (mergedb_gil_is_ending() != 0) return;
  const WithGil gil;
  delete Self(stream);
}

void DestroyCapsule(PyObject* capsule) {
  auto* stream = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, kArrowStreamCapsule));
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

// `columns` has (name, format, width) for each column; the width of a binary column is 0.
nb::object ScanArrow(const Reader& reader, nb::handle columns, size_t batch_rows, nb::object start, nb::object stop,
                     nb::object prefix, bool reverse) {
  auto scan = std::make_unique<ScanStream>();
  scan->rows_max = batch_rows;
  bool reads_values = false;
  for (nb::handle column : columns) {
    ColumnType type;
    type.name = nb::str(nb::object(column[0])).c_str();
    type.format = nb::str(nb::object(column[1])).c_str();
    if (const auto width = nb::cast<size_t>(column[2]); width > 0) type.width = width;
    reads_values = reads_values || type.name == "value";
    scan->columns.push_back(std::move(type));
  }
  scan->entries =
      std::make_unique<EntryReader>(reader.source(), Bounds{start, stop, prefix, /*keys_only=*/!reads_values}, reverse);
  auto stream = std::make_unique<ArrowArrayStream>(
      ArrowArrayStream{&GetSchema, &GetNext, &GetLastError, &ReleaseStream, scan.get()});
  PyObject* capsule = PyCapsule_New(stream.get(), kArrowStreamCapsule, &DestroyCapsule);
  if (capsule == nullptr) throw nb::python_error();
  stream.release();
  scan.release();
  return nb::steal(capsule);
}

}  // namespace

void BindArrow(nb::module_& module) {
  module.def("scan_arrow", &ScanArrow, nb::arg("reader"), nb::arg("columns"), nb::arg("batch_rows"),
             nb::arg("start").none(), nb::arg("stop").none(), nb::arg("prefix").none(), nb::arg("reverse"));
  BindArrowImport(module);
}

}  // namespace mergedb::python
