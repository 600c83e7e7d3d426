#include "database.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <optional>
#include <vector>

namespace mergedb::python {

namespace {

// A value that the C interface allocated, for a memoryview.
class OwnedValue {
 public:
  OwnedValue(void* data, size_t size) : data_(data), size_(size) {}
  ~OwnedValue() { mergedb_free(data_); }
  OwnedValue(const OwnedValue&) = delete;
  OwnedValue& operator=(const OwnedValue&) = delete;

  static int GetBuffer(PyObject* object, Py_buffer* view, int flags) {
    const auto* self = nb::inst_ptr<OwnedValue>(object);
    return PyBuffer_FillInfo(view, object, self->data_, static_cast<Py_ssize_t>(self->size_), /*readonly=*/1, flags);
  }

 private:
  void* data_;
  size_t size_;
};

PyType_Slot owned_value_slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&OwnedValue::GetBuffer)}, {0, nullptr}};

struct FoundValue {
  void* data = nullptr;
  size_t size = 0;
  FoundValue() = default;
  FoundValue(const FoundValue&) = delete;
  FoundValue& operator=(const FoundValue&) = delete;
  ~FoundValue() { mergedb_free(data); }
};

// False if the key is absent.
bool Find(const Source& source, nb::handle key, FoundValue* value, bool verify_checksums = true,
          bool fill_cache = true) {
  const Input bytes(key);
  source.CheckUsable();
  const mergedb_read_options options = source.ReadOptions(verify_checksums, fill_cache);
  mergedb_error error;
  const mergedb_code code = WithoutGil([&, db = source.database->handle] {
    return mergedb_get(db, &options, bytes.data(), bytes.size(), &value->data, &value->size, &error);
  });
  if (code == MERGEDB_NOT_FOUND) return false;
  Check(code, error, source.database->owner);
  return true;
}

struct NumberOption {
  const char* name;
  void (*set)(mergedb_options& options, int64_t value);
};
#define MERGEDB_NUMBER(field)                                                                           \
  {                                                                                                     \
#field, [](mergedb_options & o, int64_t value) { o.field = static_cast<decltype(o.field)>(value); } \
  }
constexpr NumberOption kNumberOptions[] = {
    // options: begin names (scripts/options.toml)
    MERGEDB_NUMBER(mode),
    MERGEDB_NUMBER(memory_bytes),
    MERGEDB_NUMBER(write_buffer_bytes),
    MERGEDB_NUMBER(style),
    MERGEDB_NUMBER(compression_upper),
    MERGEDB_NUMBER(compression_bottom),
    MERGEDB_NUMBER(bloom_bits_per_key),
    MERGEDB_NUMBER(block_bytes),
    MERGEDB_NUMBER(blob_value_bytes_min),
    MERGEDB_NUMBER(open_tables_max),
    MERGEDB_NUMBER(mapped_read_bytes_max),
    MERGEDB_NUMBER(write_delay_us_max),
    MERGEDB_NUMBER(finish_compactions_on_close),
    MERGEDB_NUMBER(keep_space_at_rest),
    MERGEDB_NUMBER(use_mapped_wal_buffer),
    MERGEDB_NUMBER(wal_sync_interval_ms),
    MERGEDB_NUMBER(log_bytes_max),
    MERGEDB_NUMBER(slow_call_us),
    // options: end
};
#undef MERGEDB_NUMBER

mergedb_options DecodeOptions(const nb::dict& numbers) {
  mergedb_options options{};
  options.struct_size = sizeof options;
  for (auto [name, value] : numbers) {
    const std::string text = nb::cast<std::string>(name);
    bool is_known = false;
    for (const NumberOption& option : kNumberOptions) {
      if (text != option.name) continue;
      option.set(options, nb::cast<int64_t>(value));
      is_known = true;
    }
    if (!is_known) throw nb::type_error(("mergedb_kv has no option " + text).c_str());
  }
  return options;
}

std::shared_ptr<OpenDatabase> OpenPath(const std::string& path, const nb::dict& numbers, nb::object comparator,
                                       const std::string& comparator_name, nb::object listener) {
  mergedb_options options = DecodeOptions(numbers);
  auto opened = std::make_shared<OpenDatabase>();
  opened->owner = getpid();
  mergedb_comparator order{};
  if (!comparator.is_none()) {
    opened->comparator = new CompareHook(comparator_name, std::move(comparator));
    order = opened->comparator->comparator();
    options.comparator = &order;
  }
  std::unique_ptr<EventHook, EventHook::Dropper> hook;
  mergedb_event_listener events{};
  if (!listener.is_none()) {
    hook.reset(new EventHook(std::move(listener)));
    events = hook->listener();
    options.listener = &events;
    opened->listens = true;
  }
  mergedb_error error;
  const mergedb_code code = WithoutGil([&] { return mergedb_open(path.c_str(), &options, &opened->handle, &error); });
  if (code != MERGEDB_OK) {
    opened->is_closed = true;
    if (opened->comparator != nullptr) opened->comparator->DropUntaken();
    if (hook != nullptr) hook->DropUntaken();
  }
  Check(code, error, opened->owner);
  return opened;
}

class Store : public Reader {
 public:
  using Reader::Reader;

  void Put(nb::handle key, nb::handle value, std::optional<int> durability) {
    const Input k(key), v(value);
    Write(durability, [&](mergedb_db db, const mergedb_write_options& options, mergedb_error* error) {
      return mergedb_put(db, &options, k.data(), k.size(), v.data(), v.size(), error);
    });
  }

  void Delete(nb::handle key, std::optional<int> durability) {
    const Input k(key);
    Write(durability, [&](mergedb_db db, const mergedb_write_options& options, mergedb_error* error) {
      return mergedb_delete(db, &options, k.data(), k.size(), error);
    });
  }

  void DeleteRange(nb::handle begin, nb::handle end, std::optional<int> durability) {
    const Input b(begin), e(end);
    Write(durability, [&](mergedb_db db, const mergedb_write_options& options, mergedb_error* error) {
      return mergedb_delete_range(db, &options, b.data(), b.size(), e.data(), e.size(), error);
    });
  }

  void DeletePrefix(nb::handle prefix, std::optional<int> durability) {
    const Input p(prefix);
    Write(durability, [&](mergedb_db db, const mergedb_write_options& options, mergedb_error* error) {
      return mergedb_delete_prefix(db, &options, p.data(), p.size(), error);
    });
  }

  void Merge(nb::handle key, nb::handle operand, std::optional<int> durability) {
    const Input k(key), o(operand);
    mergedb_operand encoded{};
    encoded.struct_size = sizeof encoded;
    encoded.type = MERGEDB_ENCODED;
    encoded.bytes = o.slice();
    Write(durability, [&](mergedb_db db, const mergedb_write_options& options, mergedb_error* error) {
      return mergedb_merge(db, &options, k.data(), k.size(), &encoded, error);
    });
  }

  void WriteBatch(mergedb_batch batch, std::optional<int> durability) {
    Write(
        durability,
        [&](mergedb_db db, const mergedb_write_options& options, mergedb_error* error) {
          return mergedb_write(db, &options, batch, error);
        },
        /*with_keyspace=*/false);
  }

  void KeyspaceWrite(bool drops, mergedb_keyspace keyspace, std::optional<int> durability) {
    Write(
        durability,
        [&](mergedb_db db, const mergedb_write_options& options, mergedb_error* error) {
          return drops ? mergedb_keyspace_drop(db, &options, keyspace, error)
                       : mergedb_keyspace_clear(db, &options, keyspace, error);
        },
        /*with_keyspace=*/false);
  }

  // A call on the database that returns a code.
  template <typename Function>
  void Call(Function&& function) const {
    source_.CheckUsable();
    mergedb_error error;
    const mergedb_code code = WithoutGil([&, db = source_.database->handle] { return function(db, &error); });
    Check(code, error, source_.database->owner);
  }

  std::shared_ptr<OpenSnapshot> TakeSnapshot() const {
    auto snapshot = std::make_shared<OpenSnapshot>();
    snapshot->owner = source_.database->owner;
    Call([&](mergedb_db db, mergedb_error* error) { return mergedb_snapshot_create(db, &snapshot->handle, error); });
    return snapshot;
  }

  mergedb_keyspace OpenKeyspace(nb::handle name, bool creates, bool may_exist) const {
    const Input bytes(name);
    mergedb_keyspace keyspace = 0;
    mergedb_read_options options{};
    options.struct_size = sizeof options;
    Call([&](mergedb_db db, mergedb_error* error) {
      if (!creates) return mergedb_keyspace_open(db, &options, bytes.data(), bytes.size(), &keyspace, error);
      return mergedb_keyspace_create(db, bytes.data(), bytes.size(), may_exist ? MERGEDB_YES : MERGEDB_NO, &keyspace,
                                     error);
    });
    return keyspace;
  }

  nb::object ListKeyspaces() const {
    mergedb_keyspace_entry* entries = nullptr;
    size_t count = 0;
    mergedb_read_options options{};
    options.struct_size = sizeof options;
    Call([&](mergedb_db db, mergedb_error* error) {
      return mergedb_keyspace_list(db, &options, &entries, &count, error);
    });
    std::unique_ptr<void, decltype(&mergedb_free)> owned(entries, &mergedb_free);
    nb::list names;
    for (size_t i = 0; i < count; ++i) names.append(NewBytes(entries[i].name));
    return names;
  }

  nb::object Property(const std::string& given) const {
    const std::string name = TextOf(given, "the name of a property");
    source_.CheckUsable();
    char* text = nullptr;
    mergedb_error error;
    const mergedb_code code = WithoutGil(
        [&, db = source_.database->handle] { return mergedb_get_property(db, name.c_str(), &text, &error); });
    if (code == MERGEDB_NOT_FOUND) return nb::none();
    Check(code, error, source_.database->owner);
    std::unique_ptr<void, decltype(&mergedb_free)> owned(text, &mergedb_free);
    return NewBytes(text, std::strlen(text));
  }

  void Compact(nb::object start, nb::object stop) const {
    std::optional<Input> lower, upper;
    if (!start.is_none()) lower.emplace(start);
    if (!stop.is_none()) upper.emplace(stop);
    const mergedb_slice low = lower ? lower->slice() : mergedb_slice{}, high = upper ? upper->slice() : mergedb_slice{};
    Call([&](mergedb_db db, mergedb_error* error) {
      return mergedb_keyspace_compact(db, keyspace(), lower ? &low : nullptr, upper ? &high : nullptr, error);
    });
  }

  std::vector<uint64_t> ApproximateSizes(const std::vector<std::pair<nb::object, nb::object>>& ranges) const {
    std::vector<Input> inputs;
    std::vector<mergedb_slice> lowers, uppers;
    inputs.reserve(2 * ranges.size());
    for (const auto& [start, stop] : ranges) {
      lowers.push_back(inputs.emplace_back(start).slice());
      uppers.push_back(inputs.emplace_back(stop).slice());
    }
    std::vector<uint64_t> bytes(ranges.size());
    Call([&](mergedb_db db, mergedb_error* error) {
      return mergedb_approximate_sizes(db, lowers.data(), uppers.data(), bytes.size(), bytes.data(), error);
    });
    return bytes;
  }

  void Checkpoint(const nb::bytes& path, bool may_link) const {
    const std::string target = TextOf(path, "a path");
    mergedb_checkpoint_options options{};
    options.struct_size = sizeof options;
    options.may_link = may_link ? MERGEDB_YES : MERGEDB_NO;
    Call([&](mergedb_db db, mergedb_error* error) {
      return mergedb_checkpoint(db, target.c_str(), &options, nullptr, error);
    });
  }

  nb::object Metrics() const {
    std::vector<mergedb_metric> metrics;  // its texts are static
    Call([&](mergedb_db db, mergedb_error* error) {
      return mergedb_metrics(
          db,
          [](void* state, const mergedb_metric* metric) {
            static_cast<std::vector<mergedb_metric>*>(state)->push_back(*metric);
            return int32_t{1};
          },
          &metrics, error);
    });
    nb::list list;
    for (const mergedb_metric& each : metrics) {
      list.append(nb::make_tuple(each.name, each.value, each.unit, each.help, each.type == MERGEDB_GAUGE));
    }
    return list;
  }

  void StartTrace(const nb::bytes& path, uint32_t sampling, bool record_values, uint64_t bytes_max) const {
    const std::string file = TextOf(path, "a path");
    mergedb_trace_options options{};
    options.struct_size = sizeof options;
    options.sampling = sampling;
    options.record_values = record_values ? MERGEDB_YES : MERGEDB_NO;
    options.bytes_max = bytes_max;
    Call([&](mergedb_db db, mergedb_error* error) { return mergedb_start_trace(db, file.c_str(), &options, error); });
  }

  nb::object EndTrace() const {
    mergedb_trace_report report{};
    report.struct_size = sizeof report;
    Call([&](mergedb_db db, mergedb_error* error) { return mergedb_end_trace(db, &report, error); });
    return nb::make_tuple(report.operations, report.lost, report.bytes, report.is_full != 0);
  }

  int default_durability = MERGEDB_PROCESS_CRASH;  // of writes that name none

 private:
  template <typename Function>
  void Write(std::optional<int> how, Function&& function, bool with_keyspace = true) {
    mergedb_write_options options{};
    options.struct_size = sizeof options;
    options.durability = how.value_or(default_durability);
    options.keyspace = with_keyspace ? keyspace() : 0;
    Call([&](mergedb_db db, mergedb_error* error) { return function(db, options, error); });
  }
};

// Runs verify or repair. Returns the four lists: damages, losses, actions, notes.
nb::object RunRepair(const std::string& path, bool repairs, bool dry_run) {
  mergedb_repair_options options{};
  options.struct_size = sizeof options;
  options.dry_run = repairs && dry_run ? MERGEDB_YES : MERGEDB_DEFAULT;
  mergedb_report report = 0;
  mergedb_error error;
  Check(WithoutGil([&] {
          return repairs ? mergedb_repair(path.c_str(), &options, &report, &error)
                         : mergedb_verify(path.c_str(), &options, &report, &error);
        }),
        error);
  nb::list lists;
  for (int32_t list : {MERGEDB_DAMAGES, MERGEDB_LOSSES, MERGEDB_ACTIONS, MERGEDB_NOTES}) {
    nb::list lines;
    const char* text = nullptr;
    for (size_t i = 0; mergedb_report_text(report, list, i, &text, nullptr) == MERGEDB_OK; ++i) {
      lines.append(
          nb::steal(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(std::strlen(text)), "backslashreplace")));
    }
    lists.append(lines);
  }
  mergedb_report_close(report, nullptr);
  return lists;
}

}  // namespace

OpenDatabase::~OpenDatabase() {
  if (!is_closed && CanWait()) WithoutGil([&] { return mergedb_close(handle, nullptr); });
  if (comparator != nullptr) comparator->Drop();
}

bool OpenDatabase::CanWait() const { return (comparator == nullptr && !listens) || mergedb_gil_is_ending() == 0; }

void OpenDatabase::Close() {
  if (is_closed) return;
  is_closed = true;
  if (!CanWait()) return;
  mergedb_error error;
  const mergedb_code code = WithoutGil([&] { return mergedb_close(handle, &error); });
  if (code == MERGEDB_BAD_HANDLE && owner != getpid()) return;  // the parent of this process has it open
  Check(code, error, owner);
}

void OpenDatabase::CheckUsable() const {
  if (is_closed) Raise(MERGEDB_SHUTTING_DOWN, "the database is closed");
  if (comparator != nullptr && comparator->has_failed())
    Raise(MERGEDB_INVALID_ARGUMENT, "the comparator has raised an exception: close the database");
}

OpenSnapshot::~OpenSnapshot() {
  if (!is_closed && handle != 0) WithoutGil([&] { return mergedb_snapshot_close(handle, nullptr); });
}

void OpenSnapshot::Close() {
  if (is_closed) return;
  is_closed = true;
  WithoutGil([&] { return mergedb_snapshot_close(handle, nullptr); });
}

void Source::CheckUsable() const {
  database->CheckUsable();
  if (snapshot != nullptr && snapshot->is_closed) Raise(MERGEDB_SHUTTING_DOWN, "the snapshot is closed");
}

mergedb_read_options Source::ReadOptions(bool verify_checksums, bool fill_cache) const {
  mergedb_read_options options{};
  options.struct_size = sizeof options;
  options.snapshot = snapshot == nullptr ? 0 : snapshot->handle;
  options.verify_checksums = verify_checksums ? MERGEDB_DEFAULT : MERGEDB_NO;
  options.fill_cache = fill_cache ? MERGEDB_DEFAULT : MERGEDB_NO;
  options.keyspace = keyspace;
  return options;
}

mergedb_keyspace Reader::NumberFor(const OpenDatabase& self, const Reader& keyspace) {
  if (keyspace.source_.database.get() != &self)
    Raise(MERGEDB_INVALID_ARGUMENT,
          "the keyspace is a handle of another open database: open the keyspace by its name in this one");
  return keyspace.keyspace();
}

bool Reader::is_closed() const {
  return source_.database->is_closed || (source_.snapshot != nullptr && source_.snapshot->is_closed);
}

nb::object Reader::Get(nb::handle key, nb::object fallback, bool verify_checksums, bool fill_cache) const {
  FoundValue value;
  if (!Find(source_, key, &value, verify_checksums, fill_cache)) return fallback;
  return NewBytes(value.data, value.size);
}

nb::object Reader::GetItem(nb::handle key) const {
  FoundValue value;
  if (Find(source_, key, &value)) return NewBytes(value.data, value.size);
  PyErr_SetObject(PyExc_KeyError, key.ptr());
  throw nb::python_error();
}

bool Reader::Contains(nb::handle key) const {
  const Input bytes(key);
  source_.CheckUsable();
  const mergedb_read_options options = source_.ReadOptions(true, true);
  size_t size = 0;
  mergedb_error error;
  const mergedb_code code = WithoutGil([&, db = source_.database->handle] {
    return mergedb_get_into(db, &options, bytes.data(), bytes.size(), nullptr, 0, &size, &error);
  });
  if (code != MERGEDB_NOT_FOUND) Check(code, error, source_.database->owner);
  return code == MERGEDB_OK;
}

nb::object Reader::GetView(nb::handle key, nb::object fallback) const {
  FoundValue value;
  if (!Find(source_, key, &value)) return fallback;
  auto owned = std::make_unique<OwnedValue>(std::exchange(value.data, nullptr), value.size);
  nb::object object = nb::cast(owned.get(), nb::rv_policy::take_ownership);
  owned.release();
  PyObject* view = PyMemoryView_FromObject(object.ptr());
  if (view == nullptr) throw nb::python_error();
  return nb::steal(view);
}

nb::object Reader::GetMany(nb::handle keys) const {
  std::vector<Input> inputs;
  std::vector<mergedb_slice> slices;
  ForEach(keys, [&](const nb::object& key) { slices.push_back(inputs.emplace_back(key).slice()); });
  source_.CheckUsable();
  const size_t count = slices.size();
  std::vector<void*> values(count);
  std::vector<size_t> sizes(count);
  std::vector<int32_t> codes(count);
  const mergedb_read_options options = source_.ReadOptions(true, true);
  mergedb_error error;
  const mergedb_code code = WithoutGil([&, db = source_.database->handle] {
    return mergedb_multi_get(db, &options, slices.data(), count, values.data(), sizes.data(), codes.data(), &error);
  });
  struct FreeAll {
    std::vector<void*>& values;
    ~FreeAll() {
      for (void* value : values) mergedb_free(value);
    }
  } const free_all{values};
  Check(code, error, source_.database->owner);
  nb::list found;
  for (size_t i = 0; i < count; ++i) {
    found.append(codes[i] == MERGEDB_OK ? NewBytes(values[i], sizes[i]) : nb::none());
  }
  return found;
}

void BindDatabase(nb::module_& module) {
  nb::class_<OwnedValue>(module, "Value", nb::type_slots(owned_value_slots));
  nb::class_<OpenSnapshot>(module, "OpenSnapshot").def("close", &OpenSnapshot::Close);

  nb::class_<Reader>(module, "Reader")
      .def("__init__",
           [](Reader* self, const Reader& source, std::shared_ptr<OpenSnapshot> snapshot, mergedb_keyspace keyspace) {
             new (self) Reader(Source{source.source().database, std::move(snapshot), keyspace});
           })
      .def("get", &Reader::Get, nb::arg("key"), nb::arg("default") = nb::none(), nb::kw_only(),
           nb::arg("verify_checksums") = true, nb::arg("fill_cache") = true)
      .def("__getitem__", &Reader::GetItem)
      .def("__contains__", &Reader::Contains)
      .def("get_view", &Reader::GetView, nb::arg("key"), nb::arg("default") = nb::none())
      .def("get_many", &Reader::GetMany, nb::arg("keys"))
      .def_prop_ro("keyspace_id", &Reader::keyspace)
      .def("_number_of", [](const Reader& self,
                            const Reader& keyspace) { return Reader::NumberFor(*self.source().database, keyspace); })
      .def("_shares_database",
           [](const Reader& self, const Reader& other) { return self.source().database == other.source().database; })
      .def_prop_ro("closed", &Reader::is_closed);

  nb::class_<Store, Reader>(module, "Store")
      .def(
          "__init__",
          [](Store* self, const nb::bytes& path, const nb::dict& numbers, nb::object comparator,
             const nb::bytes& comparator_name, nb::object listener) {
            auto opened = OpenPath(TextOf(path, "a path"), numbers, std::move(comparator),
                                   TextOf(comparator_name, "comparator_name"), std::move(listener));
            new (self) Store(Source{std::move(opened), nullptr, 0});
          },
          nb::arg("path"), nb::arg("numbers"), nb::arg("comparator").none(), nb::arg("comparator_name"),
          nb::arg("listener").none())
      .def("__init__",
           [](Store* self, const Store& parent, mergedb_keyspace keyspace) {
             new (self) Store(Source{parent.source().database, nullptr, keyspace});
             self->default_durability = parent.default_durability;
           })
      .def("put", &Store::Put, nb::arg("key"), nb::arg("value"), nb::kw_only(), nb::arg("durability") = nb::none())
      .def("__setitem__", [](Store& self, nb::handle key, nb::handle value) { self.Put(key, value, std::nullopt); })
      .def("delete", &Store::Delete, nb::arg("key"), nb::kw_only(), nb::arg("durability") = nb::none())
      .def("delete_range", &Store::DeleteRange, nb::arg("start"), nb::arg("stop"), nb::kw_only(),
           nb::arg("durability") = nb::none())
      .def("delete_prefix", &Store::DeletePrefix, nb::arg("prefix"), nb::kw_only(), nb::arg("durability") = nb::none())
      .def("merge", &Store::Merge, nb::arg("key"), nb::arg("operand"), nb::kw_only(),
           nb::arg("durability") = nb::none())
      .def("_write", &Store::WriteBatch, nb::arg("batch"), nb::arg("durability") = nb::none())
      .def("_keyspace_write", &Store::KeyspaceWrite, nb::arg("drops"), nb::arg("keyspace"),
           nb::arg("durability") = nb::none())
      .def("_open_keyspace", &Store::OpenKeyspace)
      .def("_list_keyspaces", &Store::ListKeyspaces)
      .def("_take_snapshot", &Store::TakeSnapshot)
      .def("_close", [](Store& self) { self.source().database->Close(); })
      .def("property", &Store::Property, nb::arg("name"))
      .def("compact", &Store::Compact, nb::arg("start") = nb::none(), nb::arg("stop") = nb::none())
      .def("approximate_sizes", &Store::ApproximateSizes, nb::arg("ranges"))
      .def("_checkpoint", &Store::Checkpoint)
      .def("_metrics", &Store::Metrics)
      .def("_start_trace", &Store::StartTrace)
      .def("_end_trace", &Store::EndTrace)
      .def("flush", [](Store& self) { self.Call(&mergedb_flush); })
      .def("sync", [](Store& self) { self.Call(&mergedb_sync_wal); })
      .def("wait_for_compaction", [](Store& self) { self.Call(&mergedb_wait); })
      .def("check_integrity", [](Store& self) { self.Call(&mergedb_check); })
      .def_rw("_durability", &Store::default_durability);

  module.def("run_repair", [](const nb::bytes& path, bool repairs, bool dry_run) {
    return RunRepair(TextOf(path, "a path"), repairs, dry_run);
  });
  module.def("destroy", [](const nb::bytes& path) {
    const std::string text = TextOf(path, "a path");
    mergedb_error error;
    Check(WithoutGil([&] { return mergedb_destroy(text.c_str(), &error); }), error);
  });
}

}  // namespace mergedb::python
