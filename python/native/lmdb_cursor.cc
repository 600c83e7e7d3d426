// Cursors of mergedb_kv.lmdb and the iterators over them.
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "lmdb_objects.h"

namespace mergedb::python::lmdb {

namespace {

struct Cursor {
  std::shared_ptr<OpenCursor> open;
};

enum class Gives : uint8_t { kItems, kKeys, kValues };

struct Iterator {
  std::shared_ptr<OpenCursor> cursor;
  MDB_cursor_op step;
  Gives gives;
  bool has_begun = false;  // the first item is that of the cursor
};

nb::object KeyOf(OpenCursor& cursor) {
  cursor.Refresh(false);
  return Result(*cursor.transaction, cursor.key);
}

nb::object ValueOf(OpenCursor& cursor) {
  cursor.Refresh(true);
  cursor.TouchValue();
  return Result(*cursor.transaction, cursor.value);
}

nb::object ItemOf(OpenCursor& cursor) {
  cursor.Refresh(true);
  cursor.TouchValue();
  return ResultPair(*cursor.transaction, cursor.key, cursor.value);
}

nb::object Next(Iterator& self) {
  OpenCursor& cursor = *self.cursor;
  const bool with_value = self.gives != Gives::kKeys;
  cursor.CheckOpen("Cursor.iternext");
  if (cursor.is_placed) self.has_begun ? (void)cursor.Move(self.step, with_value) : cursor.Refresh(with_value);
  if (!cursor.is_placed) throw nb::stop_iteration();
  self.has_begun = true;
  if (with_value) cursor.TouchValue();
  switch (self.gives) {
    case Gives::kKeys: return Result(*cursor.transaction, cursor.key);
    case Gives::kValues: return Result(*cursor.transaction, cursor.value);
    default: return ResultPair(*cursor.transaction, cursor.key, cursor.value);
  }
}

// An iterator from the cursor's item on; a cursor that stands nowhere goes to `start` first.
Iterator IteratorFrom(const Cursor& self, MDB_cursor_op start, MDB_cursor_op step, bool keys, bool values) {
  OpenCursor& cursor = *self.open;
  cursor.CheckOpen("Cursor.iternext");
  const Gives gives = keys && values ? Gives::kItems : values ? Gives::kValues : Gives::kKeys;
  const bool can_start = step != MDB_NEXT_DUP && step != MDB_PREV_DUP;
  if (can_start && !cursor.is_placed) cursor.Move(start, gives != Gives::kKeys);
  return {.cursor = self.open, .step = step, .gives = gives};
}

template <MDB_cursor_op start, MDB_cursor_op step>
Iterator IteratorOf(const Cursor& self, nb::handle keys, nb::handle values) {
  return IteratorFrom(self, start, step, IsTrue(keys), IsTrue(values));
}

// From `key` on, or, backward, from the last item that is not behind it.
Iterator IteratorAt(const Cursor& self, nb::handle key, nb::handle backward) {
  const bool reverse = IsTrue(backward);
  OpenCursor& cursor = *self.open;
  const Input wanted(key);
  if (wanted.size() == 0 && !reverse) {
    cursor.Move(MDB_FIRST);
  } else if (!(wanted.size() > 0 && cursor.Seek(MDB_SET_RANGE, wanted)) && reverse) {
    cursor.Move(MDB_LAST);
  }
  return {.cursor = self.open, .step = reverse ? MDB_PREV : MDB_NEXT, .gives = Gives::kItems};
}

template <MDB_cursor_op op>
bool MoveTo(const Cursor& self) {
  return self.open->Move(op);
}

template <MDB_cursor_op op>
bool SeekKey(const Cursor& self, nb::handle key) {
  const Input wanted(key);
  if (op == MDB_SET_RANGE && wanted.size() == 0) return self.open->Move(MDB_FIRST);
  return self.open->Seek(op, wanted);
}

template <MDB_cursor_op op>
bool SeekItem(const Cursor& self, nb::handle key, nb::handle value) {
  const Input wanted_key(key), wanted_value(value);
  return self.open->Seek(op, wanted_key, &wanted_value);
}

nb::object Get(const Cursor& self, nb::handle key, nb::object fallback) {
  const Input wanted(key);
  if (!self.open->Seek(MDB_SET_KEY, wanted)) return fallback;
  self.open->TouchValue();
  return Result(*self.open->transaction, self.open->value);
}

bool PutOne(OpenCursor& cursor, const Input& key, const Input& value, unsigned flags) {
  cursor.CheckOpen("mdb_cursor_put");
  MDB_val k = ValOf(key), v = ValOf(value);
  const int code =
      cursor.transaction->RunChange("mdb_cursor_put", [&] { return mdb_cursor_put(cursor.cursor, &k, &v, flags); });
  if (code == MDB_KEYEXIST) return false;
  Check("mdb_cursor_put", code);
  return true;
}

bool Put(const Cursor& self, nb::handle key, nb::handle value, nb::handle dupdata, nb::handle overwrite,
         nb::handle append) {
  const Input k(key), v(value);
  return PutOne(*self.open, k, v, PutFlags(dupdata, overwrite, append));
}

nb::object PutMany(const Cursor& self, nb::handle items, nb::handle dupdata, nb::handle overwrite, nb::handle append) {
  const unsigned flags = PutFlags(dupdata, overwrite, append);
  size_t consumed = 0, added = 0;
  ForEach(items, [&](const nb::object& item) {
    if (!nb::isinstance<nb::tuple>(item) || nb::len(item) != 2)
      throw nb::type_error("putmulti() takes tuples of a key and a value");
    const nb::object first = nb::borrow<nb::tuple>(item)[0], second = nb::borrow<nb::tuple>(item)[1];
    const Input k(first), v(second);
    added += PutOne(*self.open, k, v, flags);
    ++consumed;
  });
  return nb::make_tuple(consumed, added);
}

void DeleteCurrent(OpenCursor& cursor, unsigned flags) {
  Check("mdb_cursor_del",
        cursor.transaction->RunChange("mdb_cursor_del", [&] { return mdb_cursor_del(cursor.cursor, flags); }));
}

// The cursor then stands at the item behind.
bool Delete(const Cursor& self, nb::handle dupdata) {
  OpenCursor& cursor = *self.open;
  cursor.CheckOpen("mdb_cursor_del");
  if (!cursor.is_placed) return false;
  DeleteCurrent(cursor, IsTrue(dupdata) ? MDB_NODUPDATA : 0);
  cursor.Refresh(false);
  return true;
}

nb::object Pop(const Cursor& self, nb::handle key) {
  OpenCursor& cursor = *self.open;
  const Input wanted(key);
  if (!cursor.Seek(MDB_SET_KEY, wanted)) return nb::none();
  nb::object old = Result(*cursor.transaction, cursor.value);
  DeleteCurrent(cursor, 0);
  return old;
}

nb::object Replace(const Cursor& self, nb::handle key, nb::handle value) {
  OpenCursor& cursor = *self.open;
  const Input k(key), v(value);
  if (PutOne(cursor, k, v, MDB_NOOVERWRITE)) return nb::none();
  MDB_val found_key{}, found_value{};
  Check("mdb_cursor_get", cursor.transaction->Run("mdb_cursor_get", [&] {
    return mdb_cursor_get(cursor.cursor, &found_key, &found_value, MDB_GET_CURRENT);
  }));
  nb::object old = Result(*cursor.transaction, found_value);
  PutOne(cursor, k, v, 0);
  return old;
}

size_t Count(const Cursor& self) {
  OpenCursor& cursor = *self.open;
  cursor.CheckOpen("mdb_cursor_count");
  size_t count = 0;
  Check("mdb_cursor_count",
        cursor.transaction->Run("mdb_cursor_count", [&] { return mdb_cursor_count(cursor.cursor, &count); }));
  return count;
}

// Databases have one value for each key, so `dupdata` changes nothing, and LMDB refuses what needs MDB_DUPFIXED.
nb::object GetMany(const Cursor& self, nb::handle keys, nb::handle with_dupdata, nb::handle dupfixed_bytes,
                   nb::handle with_keyfixed, nb::handle with_values) {
  const bool dupdata = IsTrue(with_dupdata), keyfixed = IsTrue(with_keyfixed), values = IsTrue(with_values);
  const bool is_fixed = !dupfixed_bytes.is_none();
  if (is_fixed && !nb::isinstance<nb::int_>(dupfixed_bytes)) throw nb::type_error("dupfixed_bytes must be an int");
  if (is_fixed && nb::cast<int64_t>(dupfixed_bytes) < 0) throw nb::type_error("dupfixed_bytes must not be negative");
  if (keyfixed && !is_fixed) throw nb::type_error("keyfixed needs dupfixed_bytes");
  if (is_fixed && !dupdata) throw nb::type_error("dupfixed_bytes needs dupdata");
  if (!values && dupdata) throw nb::type_error("without values, dupdata must be false");
  OpenCursor& cursor = *self.open;
  nb::list found;
  ForEach(keys, [&](const nb::object& key) {
    const Input wanted(key);
    if (!cursor.Seek(MDB_SET_KEY, wanted)) return;
    if (is_fixed) cursor.Move(MDB_GET_MULTIPLE);
    found.append(values ? ResultPair(*cursor.transaction, cursor.key, cursor.value)
                        : Result(*cursor.transaction, cursor.key));
  });
  return found;
}

}  // namespace

void OpenCursor::CheckOpen(const char* what) const {
  transaction->CheckOpen(what);
  if (cursor == nullptr) Raise((std::string(what) + ": the cursor is closed").c_str(), 0);
}

void OpenCursor::Close() {
  is_placed = false;
  if (cursor == nullptr) return;
  if (transaction->environment->is_forked()) {
    cursor = nullptr;
  } else if (transaction->family->is_busy) {
    transaction->family->orphans.push_back(std::exchange(cursor, nullptr));
  } else {
    CloseNow();
  }
}

void OpenCursor::CloseNow() {
  is_placed = false;
  mdb_cursor_close(std::exchange(cursor, nullptr));
}

bool OpenCursor::Arrive(MDB_cursor_op op, int code, bool with_value) {
  seen_changes = transaction->family->changes;
  is_placed = code == MDB_SUCCESS;
  has_value = with_value;
  if (!is_placed) {
    key = value = {};
    has_value = true;
    const bool is_nowhere = code == MDB_NOTFOUND || (code == EINVAL && op == MDB_GET_CURRENT);
    if (!is_nowhere) Raise("mdb_cursor_get", code);
  }
  return is_placed;
}

bool OpenCursor::Move(MDB_cursor_op op, bool with_value) {
  CheckOpen("mdb_cursor_get");
  MDB_val found_key{}, found_value{};
  const int code = transaction->Run(
      "mdb_cursor_get", [&] { return mdb_cursor_get(cursor, &found_key, with_value ? &found_value : nullptr, op); });
  key = found_key;
  value = found_value;
  return Arrive(op, code, with_value);
}

bool OpenCursor::Seek(MDB_cursor_op op, const Input& wanted_key, const Input* wanted_value) {
  CheckOpen("mdb_cursor_get");
  MDB_val found_key = ValOf(wanted_key), found_value{};
  if (wanted_value != nullptr) found_value = ValOf(*wanted_value);
  const int code =
      transaction->Run("mdb_cursor_get", [&] { return mdb_cursor_get(cursor, &found_key, &found_value, op); });
  key = found_key;
  value = found_value;
  return Arrive(op, code, true);
}

void OpenCursor::Refresh(bool with_value) {
  CheckOpen("mdb_cursor_get");
  if (seen_changes == transaction->family->changes && (has_value || !with_value)) return;
  Move(MDB_GET_CURRENT, with_value);
}

void OpenCursor::TouchValue() {
  if (value.mv_size <= kPageBytes) return;
  (void)transaction->Run("mdb_cursor_get", [&] { return Touch(value), MDB_SUCCESS; });
}

void BindCursors(nb::module_& module) {
  nb::class_<Iterator>(module, "LmdbIterator")
      .def("__iter__", [](nb::handle self) { return nb::borrow(self); })
      .def("__next__", &Next);

  const auto keys_and_values = [](bool keys, bool values) {
    return std::pair(nb::arg("keys") = keys, nb::arg("values") = values);
  };
  const auto both = keys_and_values(true, true), only_values = keys_and_values(false, true),
             only_keys = keys_and_values(true, false);

  nb::class_<Cursor>(module, "LmdbCursor")
      .def("__init__",
           [](Cursor* self, const Database& database, const Transaction& owner) {
             OpenTransaction& transaction = *owner.open;
             transaction.CheckOpen("mdb_cursor_open");
             if (database.environment != transaction.environment)
               Raise("the database belongs to another environment", 0);
             auto open = std::make_shared<OpenCursor>(owner.open);
             MDB_cursor* cursor = nullptr;
             Check("mdb_cursor_open", transaction.Run("mdb_cursor_open", [&] {
               return mdb_cursor_open(transaction.txn, database.dbi, &cursor);
             }));
             open->cursor = cursor;
             new (self) Cursor{std::move(open)};
           })
      .def("close", [](const Cursor& self) { self.open->Close(); })
      .def("key", [](const Cursor& self) { return KeyOf(*self.open); })
      .def("value", [](const Cursor& self) { return ValueOf(*self.open); })
      .def("item", [](const Cursor& self) { return ItemOf(*self.open); })
      .def("first", &MoveTo<MDB_FIRST>)
      .def("first_dup", &MoveTo<MDB_FIRST_DUP>)
      .def("last", &MoveTo<MDB_LAST>)
      .def("last_dup", &MoveTo<MDB_LAST_DUP>)
      .def("next", &MoveTo<MDB_NEXT>)
      .def("next_dup", &MoveTo<MDB_NEXT_DUP>)
      .def("next_nodup", &MoveTo<MDB_NEXT_NODUP>)
      .def("prev", &MoveTo<MDB_PREV>)
      .def("prev_dup", &MoveTo<MDB_PREV_DUP>)
      .def("prev_nodup", &MoveTo<MDB_PREV_NODUP>)
      .def("set_key", &SeekKey<MDB_SET_KEY>)
      .def("set_range", &SeekKey<MDB_SET_RANGE>)
      .def("set_key_dup", &SeekItem<MDB_GET_BOTH>, nb::arg("key"), nb::arg("value"))
      .def("set_range_dup", &SeekItem<MDB_GET_BOTH_RANGE>, nb::arg("key"), nb::arg("value"))
      .def("get", &Get, nb::arg("key"), nb::arg("default") = nb::none())
      .def("getmulti", &GetMany, nb::arg("keys"), nb::arg("dupdata") = false, nb::arg("dupfixed_bytes") = nb::none(),
           nb::arg("keyfixed") = false, nb::arg("values") = true)
      .def("put", &Put, nb::arg("key"), nb::arg("val"), nb::arg("dupdata") = true, nb::arg("overwrite") = true,
           nb::arg("append") = false)
      .def("putmulti", &PutMany, nb::arg("items"), nb::arg("dupdata") = true, nb::arg("overwrite") = true,
           nb::arg("append") = false)
      .def("delete", &Delete, nb::arg("dupdata") = false)
      .def("replace", &Replace, nb::arg("key"), nb::arg("val"))
      .def("pop", &Pop, nb::arg("key"))
      .def("count", &Count)
      .def("__iter__", [](const Cursor& self) { return IteratorFrom(self, MDB_FIRST, MDB_NEXT, true, true); })
      .def("iternext", &IteratorOf<MDB_FIRST, MDB_NEXT>, both.first, both.second)
      .def("iternext_dup", &IteratorOf<MDB_FIRST, MDB_NEXT_DUP>, only_values.first, only_values.second)
      .def("iternext_nodup", &IteratorOf<MDB_FIRST, MDB_NEXT_NODUP>, only_keys.first, only_keys.second)
      .def("iterprev", &IteratorOf<MDB_LAST, MDB_PREV>, both.first, both.second)
      .def("iterprev_dup", &IteratorOf<MDB_LAST, MDB_PREV_DUP>, only_values.first, only_values.second)
      .def("iterprev_nodup", &IteratorOf<MDB_LAST, MDB_PREV_NODUP>, only_keys.first, only_keys.second)
      .def("_iter_from", &IteratorAt);
}

}  // namespace mergedb::python::lmdb
