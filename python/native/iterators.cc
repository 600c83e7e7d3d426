// Scan, which a `for` loop uses, and Iterator, which moves in both directions.
#include <cstring>
#include <optional>
#include <vector>

#include "database.h"

namespace mergedb::python {

namespace {

constexpr size_t kFirstBlockBytes = 4 << 10;  // WHY small: many programs read only the first entries
constexpr size_t kBlockBytesMax = 64 << 10;

enum class Yield { kItems = 0, kKeys = 1, kValues = 2 };

// The handle of an iterator, and what it needs to stay alive.
struct Base {
  Source source;
  mergedb_iterator handle = 0;
  bool is_busy = false;
  bool is_closed = false;

  Base(Source from, const Bounds& bounds) : source(std::move(from)), handle(OpenIterator(source, bounds)) {}
  Base(const Base&) = delete;
  Base& operator=(const Base&) = delete;
  ~Base() {
    if (!is_closed) WithoutGil([&] { return mergedb_iterator_close(handle, nullptr); });
  }

  void Close() {
    if (is_closed) return;
    Exclusive exclusive(is_busy);
    is_closed = true;
    WithoutGil([&] { return mergedb_iterator_close(handle, nullptr); });
  }

  void CheckUsable() const {
    source.CheckUsable();
    if (is_closed) Raise(MERGEDB_SHUTTING_DOWN, "the iterator is closed");
  }

  // True if the iterator stands at a key after the move.
  template <typename Function>
  bool Move(Function&& function) {
    CheckUsable();
    Exclusive exclusive(is_busy);
    mergedb_error error;
    const mergedb_code code = WithoutGil([&] { return function(handle, &error); });
    if (code != MERGEDB_NOT_FOUND) Check(code, error, source.database->owner);
    return code == MERGEDB_OK;
  }
};

// Reads ahead: a call of the engine returns many entries.
class Scan {
 public:
  Scan(const Reader& reader, Yield yield, bool reverse, const Bounds& bounds)
      : base_(reader.source(), bounds), yield_(yield), is_reverse_(reverse) {
    base_.Move([reverse](mergedb_iterator it, mergedb_error* error) {
      return reverse ? mergedb_iterator_seek_to_last(it, error) : mergedb_iterator_seek_to_first(it, error);
    });
  }

  nb::object Next() {
    if (count_ == 0 && !Fill()) throw nb::stop_iteration();
    CheckReadable();
    return TakeEntry();
  }

  // The entries that are already read, or else those of the next block. An empty list at the end.
  nb::object NextBlock() {
    nb::list entries;
    if (count_ == 0 && !Fill()) return entries;
    CheckReadable();
    while (count_ > 0) entries.append(TakeEntry());
    return entries;
  }

  void Close() {
    base_.Close();
    count_ = 0;
  }

 private:
  void CheckReadable() const {
    base_.source.CheckUsable();
    if (base_.is_busy) Raise(MERGEDB_BUSY, "another thread uses this iterator");
  }

  nb::object TakeEntry() {
    uint32_t sizes[2];
    std::memcpy(sizes, block_.data() + offset_, sizeof sizes);
    const char* key = block_.data() + offset_ + sizeof sizes;
    const char* value = key + sizes[0];
    offset_ += sizeof sizes + sizes[0] + sizes[1];
    --count_;
    if (yield_ == Yield::kKeys) return NewBytes(key, sizes[0]);
    if (yield_ == Yield::kValues) return NewBytes(value, sizes[1]);
    nb::object first = NewBytes(key, sizes[0]), second = NewBytes(value, sizes[1]);
    PyObject* pair = PyTuple_Pack(2, first.ptr(), second.ptr());
    if (pair == nullptr) throw nb::python_error();
    return nb::steal(pair);
  }

  // False at the end.
  bool Fill() {
    base_.source.CheckUsable();
    if (base_.is_closed) return false;
    std::optional<Exclusive> exclusive(base_.is_busy);
    if (block_bytes_ < kBlockBytesMax) block_bytes_ = block_bytes_ == 0 ? kFirstBlockBytes : block_bytes_ * 4;
    if (block_.size() < block_bytes_) block_.resize(block_bytes_);
    mergedb_error error;
    size_t used = 0, count = 0;
    mergedb_code code = Read(&used, &count, &error);
    if (code == MERGEDB_OK && count == 0) {  // one large entry
      block_.resize(used);
      code = Read(&used, &count, &error);
    }
    if (code == MERGEDB_OK) {
      offset_ = 0;
      count_ = count;
      return true;
    }
    exclusive.reset();
    base_.Close();
    if (code != MERGEDB_NOT_FOUND) Check(code, error, base_.source.database->owner);
    return false;
  }

  mergedb_code Read(size_t* used, size_t* count, mergedb_error* error) {
    return WithoutGil([&] {
      return mergedb_iterator_read(base_.handle, is_reverse_ ? MERGEDB_YES : MERGEDB_DEFAULT, block_.data(),
                                   block_.size(), used, count, error);
    });
  }

  Base base_;
  const Yield yield_;
  const bool is_reverse_;
  std::vector<char> block_;
  size_t block_bytes_ = 0;
  size_t offset_ = 0;  // of the next entry in block_
  size_t count_ = 0;   // entries at offset_ and after it
};

class Iterator {
 public:
  Iterator(const Reader& reader, const Bounds& bounds) : base_(reader.source(), bounds) {}

  bool SeekToFirst() { return base_.Move(&mergedb_iterator_seek_to_first); }
  bool SeekToLast() { return base_.Move(&mergedb_iterator_seek_to_last); }
  bool Next() { return base_.Move(&mergedb_iterator_next); }
  bool Prev() { return base_.Move(&mergedb_iterator_prev); }
  bool Seek(nb::handle target) {
    const Input key(target);
    return base_.Move([&](mergedb_iterator it, mergedb_error* error) {
      return mergedb_iterator_seek(it, key.data(), key.size(), error);
    });
  }
  bool SeekForPrev(nb::handle target) {
    const Input key(target);
    return base_.Move([&](mergedb_iterator it, mergedb_error* error) {
      return mergedb_iterator_seek_for_prev(it, key.data(), key.size(), error);
    });
  }

  bool Valid() {
    mergedb_slice key;
    return Entry(&key, nullptr);
  }
  nb::object Key() {
    mergedb_slice key;
    RequireEntry(&key, nullptr);
    return NewBytes(key);
  }
  nb::object Value() {
    mergedb_slice value;
    RequireEntry(nullptr, &value);
    return NewBytes(value);
  }
  nb::object FailedKey() {
    base_.CheckUsable();
    Exclusive exclusive(base_.is_busy);
    mergedb_slice key;
    mergedb_error error;
    const mergedb_code code = mergedb_iterator_failed_key(base_.handle, &key, &error);
    if (code == MERGEDB_NOT_FOUND) return nb::none();
    Check(code, error, base_.source.database->owner);
    return NewBytes(key);
  }
  void Close() { base_.Close(); }

 private:
  bool Entry(mergedb_slice* key, mergedb_slice* value) {
    base_.CheckUsable();
    if (base_.is_busy) Raise(MERGEDB_BUSY, "another thread uses this iterator");
    mergedb_error error;
    const mergedb_code code = mergedb_iterator_entry(base_.handle, key, value, &error);
    if (code != MERGEDB_NOT_FOUND) Check(code, error, base_.source.database->owner);
    return code == MERGEDB_OK;
  }
  void RequireEntry(mergedb_slice* key, mergedb_slice* value) {
    if (!Entry(key, value)) Raise(MERGEDB_NOT_FOUND, "the iterator stands at no key: seek first");
  }

  Base base_;
};

}  // namespace

mergedb_iterator OpenIterator(const Source& source, const Bounds& bounds) {
  std::optional<Input> start, stop, prefix;
  if (!bounds.start.is_none()) start.emplace(bounds.start);
  if (!bounds.stop.is_none()) stop.emplace(bounds.stop);
  if (!bounds.prefix.is_none()) prefix.emplace(bounds.prefix);
  source.CheckUsable();
  mergedb_read_options read = source.ReadOptions(bounds.verify_checksums, bounds.fill_cache);
  read.keyspace = 0;
  const mergedb_slice lower = start ? start->slice() : mergedb_slice{}, upper = stop ? stop->slice() : mergedb_slice{};
  mergedb_iterator_options options{};
  options.struct_size = sizeof options;
  if (prefix) options.prefix = prefix->slice();
  options.lower = start ? &lower : nullptr;
  options.upper = stop ? &upper : nullptr;
  options.read = &read;
  options.keys_only = bounds.keys_only ? MERGEDB_YES : MERGEDB_DEFAULT;
  options.keyspace = source.keyspace;
  mergedb_iterator iterator = 0;
  mergedb_error error;
  Check(WithoutGil(
            [&, db = source.database->handle] { return mergedb_iterator_create(db, &options, &iterator, &error); }),
        error, source.database->owner);
  return iterator;
}

void BindIterators(nb::module_& module) {
  nb::class_<Scan>(module, "Scan")
      .def(
          "__init__",
          [](Scan* self, const Reader& reader, int yield, bool reverse, nb::object start, nb::object stop,
             nb::object prefix, bool verify_checksums, bool fill_cache) {
            new (self)
                Scan(reader, static_cast<Yield>(yield), reverse,
                     {start, stop, prefix, yield == static_cast<int>(Yield::kKeys), verify_checksums, fill_cache});
          },
          nb::arg("reader"), nb::arg("yields"), nb::arg("reverse"), nb::arg("start").none(), nb::arg("stop").none(),
          nb::arg("prefix").none(), nb::arg("verify_checksums") = true, nb::arg("fill_cache") = true)
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &Scan::Next)
      .def("next_block", &Scan::NextBlock)
      .def("close", &Scan::Close);

  nb::class_<Iterator>(module, "Iterator")
      .def(
          "__init__",
          [](Iterator* self, const Reader& reader, nb::object start, nb::object stop, nb::object prefix, bool keys_only,
             bool verify_checksums, bool fill_cache) {
            new (self) Iterator(reader, {start, stop, prefix, keys_only, verify_checksums, fill_cache});
          },
          nb::arg("reader"), nb::arg("start").none() = nb::none(), nb::arg("stop").none() = nb::none(),
          nb::arg("prefix").none() = nb::none(), nb::arg("keys_only") = false, nb::arg("verify_checksums") = true,
          nb::arg("fill_cache") = true)
      .def("seek_to_first", &Iterator::SeekToFirst)
      .def("seek_to_last", &Iterator::SeekToLast)
      .def("seek", &Iterator::Seek, nb::arg("key"))
      .def("seek_for_prev", &Iterator::SeekForPrev, nb::arg("key"))
      .def("next", &Iterator::Next)
      .def("prev", &Iterator::Prev)
      .def_prop_ro("valid", &Iterator::Valid)
      .def_prop_ro("key", &Iterator::Key)
      .def_prop_ro("value", &Iterator::Value)
      .def_prop_ro("failed_key", &Iterator::FailedKey)
      .def("close", &Iterator::Close);
}

}  // namespace mergedb::python
