// Write batches, transactions and their cursors.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "database.h"

namespace mergedb::python {

namespace {

mergedb_operand Encoded(const Input& operand) {
  mergedb_operand encoded{};
  encoded.struct_size = sizeof encoded;
  encoded.type = MERGEDB_ENCODED;
  encoded.bytes = operand.slice();
  return encoded;
}

// A batch belongs to no database, so no call of it waits or touches a file.
class Batch {
 public:
  Batch() {
    mergedb_error error;
    Check(mergedb_batch_create(&handle_, &error), error);
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  ~Batch() { mergedb_batch_close(handle_, nullptr); }

  void Put(nb::handle key, nb::handle value, mergedb_keyspace keyspace) {
    const Input k(key), v(value);
    Change(keyspace, [&](mergedb_error* error) {
      return mergedb_batch_put(handle_, k.data(), k.size(), v.data(), v.size(), error);
    });
  }
  void Delete(nb::handle key, mergedb_keyspace keyspace) {
    const Input k(key);
    Change(keyspace, [&](mergedb_error* error) { return mergedb_batch_delete(handle_, k.data(), k.size(), error); });
  }
  void DeleteRange(nb::handle start, nb::handle stop, mergedb_keyspace keyspace) {
    const Input b(start), e(stop);
    Change(keyspace, [&](mergedb_error* error) {
      return mergedb_batch_delete_range(handle_, b.data(), b.size(), e.data(), e.size(), error);
    });
  }
  void Merge(nb::handle key, nb::handle operand, mergedb_keyspace keyspace) {
    const Input k(key), o(operand);
    const mergedb_operand encoded = Encoded(o);
    Change(keyspace,
           [&](mergedb_error* error) { return mergedb_batch_merge(handle_, k.data(), k.size(), &encoded, error); });
  }
  void Append(const Batch& other) {
    mergedb_error error;
    Check(mergedb_batch_append(handle_, other.handle_, &error), error, owner_);
    keyspace_.reset();
  }
  void Clear() {
    mergedb_error error;
    Check(mergedb_batch_clear(handle_, &error), error, owner_);
    keyspace_ = 0;
  }
  uint64_t Count() const { return Size().first; }
  uint64_t Bytes() const { return Size().second; }
  mergedb_batch handle() const { return handle_; }

 private:
  template <typename Function>
  void Change(mergedb_keyspace keyspace, Function&& function) {
    mergedb_error error;
    if (keyspace_ != keyspace) {
      Check(mergedb_batch_set_keyspace(handle_, keyspace, &error), error, owner_);
      keyspace_ = keyspace;
    }
    Check(function(&error), error, owner_);
  }
  std::pair<uint64_t, uint64_t> Size() const {
    uint64_t count = 0, bytes = 0;
    mergedb_error error;
    Check(mergedb_batch_size(handle_, &count, &bytes, &error), error, owner_);
    return {count, bytes};
  }

  mergedb_batch handle_ = 0;
  const pid_t owner_ = getpid();
  std::optional<mergedb_keyspace> keyspace_ = 0;  // of the next change; without a value: unknown
};

// Shared by a transaction and its cursors, since a write of the transaction ends the slices of its cursors.
struct OpenTransaction {
  std::shared_ptr<OpenDatabase> database;
  mergedb_transaction handle = 0;
  bool is_busy = false;
  std::thread::id caller;  // of the newest call
  EndOfCalls ended;
  int rollbacks = 0;       // threads that wait to roll back; no other call may begin
  bool has_ended = false;  // by a commit or a rollback; a closed database ends it at that call

  ~OpenTransaction() {
    WithoutGil([&] { return mergedb_transaction_close(handle, nullptr); });
  }

  template <typename Function>
  mergedb_code Call(Function&& function, mergedb_error* error) {
    if (rollbacks > 0) Raise(MERGEDB_BUSY, "another thread rolls the transaction back");
    return CallNow(std::forward<Function>(function), error);
  }
  template <typename Function>
  void CheckedCall(Function&& function) {
    mergedb_error error;
    const mergedb_code code = Call(std::forward<Function>(function), &error);
    Check(code, error, database->owner);
  }

  // WHY not an error beside another thread's call: the transaction would stay open, and the next single writer would
  // wait for it. A callback of a call of this thread gets Busy.
  void Rollback() {
    ++rollbacks;
    while (is_busy && caller != std::this_thread::get_id() && database->owner == getpid() &&
           mergedb_gil_is_ending() == 0)
      ended.Wait();
    --rollbacks;
    if (database->is_closed) has_ended = true;
    if (has_ended) return;
    mergedb_error error;
    const mergedb_code code =
        CallNow([&](mergedb_error* e) { return mergedb_transaction_rollback(handle, e); }, &error);
    has_ended = true;
    Check(code, error, database->owner);
  }

 private:
  struct Announcement {
    EndOfCalls& ended;
    ~Announcement() { ended.Announce(); }
  };

  template <typename Function>
  mergedb_code CallNow(Function&& function, mergedb_error* error) {
    database->CheckUsable();
    const Announcement announcement{ended};  // after the end of `exclusive`
    const Exclusive exclusive(is_busy);
    caller = std::this_thread::get_id();
    return WithoutGil([&] { return function(error); });
  }
};

class Transaction {
 public:
  Transaction(const Reader& reader, int kind, int durability, uint64_t bytes_max, uint64_t wait_us_max,
              const std::string& name)
      : open_(std::make_shared<OpenTransaction>()) {
    reader.source().CheckUsable();
    open_->database = reader.source().database;
    mergedb_transaction_options options{};
    options.struct_size = sizeof options;
    options.kind = kind;
    options.durability = durability;
    options.bytes_max = bytes_max;
    options.wait_us_max = wait_us_max;
    options.snapshot = reader.source().snapshot == nullptr ? 0 : reader.source().snapshot->handle;
    const std::string text = TextOf(name, "the name of a transaction");
    options.name = text.c_str();
    open_->CheckedCall([&](mergedb_error* error) {
      return mergedb_transaction_begin(open_->database->handle, &options, &open_->handle, error);
    });
  }

  nb::object Get(nb::handle key, nb::object fallback, mergedb_keyspace keyspace) {
    const Input k(key);
    void* value = nullptr;
    size_t size = 0;
    mergedb_error error;
    const mergedb_code code = open_->Call(
        [&](mergedb_error* e) {
          return mergedb_transaction_get(open_->handle, keyspace, k.data(), k.size(), &value, &size, e);
        },
        &error);
    if (code == MERGEDB_NOT_FOUND) return fallback;
    Check(code, error, open_->database->owner);
    std::unique_ptr<void, decltype(&mergedb_free)> owned(value, &mergedb_free);
    return NewBytes(value, size);
  }
  void Put(nb::handle key, nb::handle value, mergedb_keyspace keyspace) {
    const Input k(key), v(value);
    open_->CheckedCall([&](mergedb_error* error) {
      return mergedb_transaction_put(open_->handle, keyspace, k.data(), k.size(), v.data(), v.size(), error);
    });
  }
  void Delete(nb::handle key, mergedb_keyspace keyspace) {
    const Input k(key);
    open_->CheckedCall([&](mergedb_error* error) {
      return mergedb_transaction_delete(open_->handle, keyspace, k.data(), k.size(), error);
    });
  }
  void DeleteRange(nb::handle start, nb::handle stop, mergedb_keyspace keyspace) {
    const Input b(start), e(stop);
    open_->CheckedCall([&](mergedb_error* error) {
      return mergedb_transaction_delete_range(open_->handle, keyspace, b.data(), b.size(), e.data(), e.size(), error);
    });
  }
  void Merge(nb::handle key, nb::handle operand, mergedb_keyspace keyspace) {
    const Input k(key), o(operand);
    const mergedb_operand encoded = Encoded(o);
    open_->CheckedCall([&](mergedb_error* error) {
      return mergedb_transaction_merge(open_->handle, keyspace, k.data(), k.size(), &encoded, error);
    });
  }

  template <mergedb_code (*kFunction)(mergedb_transaction, mergedb_error*)>
  void Simple() {
    open_->CheckedCall([&](mergedb_error* error) { return kFunction(open_->handle, error); });
  }

  // Ends the transaction, whatever it throws, unless another thread is in a call of the transaction. The key of a
  // conflict is that of `conflict_key`.
  void Commit() {
    void* key = nullptr;
    size_t size = 0;
    mergedb_error error;
    if (open_->database->is_closed) open_->has_ended = true;
    const mergedb_code code = open_->Call(
        [&](mergedb_error* e) {
          const mergedb_code result = mergedb_transaction_commit(open_->handle, e);
          if (result == MERGEDB_CONFLICT) mergedb_transaction_conflict(open_->handle, nullptr, &key, &size, nullptr);
          return result;
        },
        &error);
    open_->has_ended = true;
    std::unique_ptr<void, decltype(&mergedb_free)> owned(key, &mergedb_free);
    if (key != nullptr) conflict_key_ = NewBytes(key, size);
    Check(code, error, open_->database->owner);
  }
  void Rollback() { open_->Rollback(); }

  bool is_open() const { return !open_->has_ended; }
  nb::object conflict_key() const { return conflict_key_; }

  const std::shared_ptr<OpenTransaction>& open() const { return open_; }

 private:
  std::shared_ptr<OpenTransaction> open_;
  nb::object conflict_key_ = nb::none();
};

class Cursor {
 public:
  Cursor(const Transaction& transaction, mergedb_keyspace keyspace) : open_(transaction.open()) {
    open_->database->CheckUsable();
    if (open_->has_ended) Raise(MERGEDB_ABORTED, "the transaction has ended");
    open_->CheckedCall(
        [&](mergedb_error* error) { return mergedb_cursor_open(open_->handle, keyspace, &handle_, error); });
  }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  ~Cursor() {
    if (handle_ != 0) mergedb_cursor_close(handle_, nullptr);
  }

  // True if the cursor stands at a key that the move asked for.
  bool Move(int to, nb::handle key) {
    std::optional<Input> bytes;
    if (!key.is_none()) bytes.emplace(key);
    mergedb_error error;
    const mergedb_code code = open_->Call(
        [&](mergedb_error* e) {
          return mergedb_cursor_move(handle_, to, bytes ? bytes->data() : nullptr, bytes ? bytes->size() : 0, e);
        },
        &error);
    if (code != MERGEDB_NOT_FOUND) Check(code, error, open_->database->owner);
    return code == MERGEDB_OK;
  }
  nb::object Key() {
    mergedb_slice key;
    Entry(&key, nullptr);
    return NewBytes(key);
  }
  nb::object Value() {
    mergedb_slice value;
    Entry(nullptr, &value);
    return NewBytes(value);
  }
  void Put(nb::handle value) {
    const Input v(value);
    open_->CheckedCall([&](mergedb_error* error) { return mergedb_cursor_put(handle_, v.data(), v.size(), error); });
  }
  void Delete() {
    open_->CheckedCall([&](mergedb_error* error) { return mergedb_cursor_delete(handle_, error); });
  }

 private:
  void Entry(mergedb_slice* key, mergedb_slice* value) {
    open_->database->CheckUsable();
    if (open_->is_busy) Raise(MERGEDB_BUSY, "another thread uses this transaction");
    mergedb_error error;
    const mergedb_code code = mergedb_cursor_entry(handle_, key, value, &error);
    if (code == MERGEDB_NOT_FOUND) Raise(code, "the cursor stands at no key: move it first");
    Check(code, error, open_->database->owner);
  }

  std::shared_ptr<OpenTransaction> open_;
  mergedb_cursor handle_ = 0;
};

template <int kTo>
bool MoveTo(Cursor& cursor) {
  return cursor.Move(kTo, nb::none());
}
template <int kTo>
bool MoveToKey(Cursor& cursor, nb::handle key) {
  return cursor.Move(kTo, key);
}

}  // namespace

void BindTransactions(nb::module_& module) {
  nb::class_<Batch>(module, "Batch")
      .def(nb::init<>())
      .def("put", &Batch::Put, nb::arg("key"), nb::arg("value"), nb::arg("keyspace") = 0)
      .def("delete", &Batch::Delete, nb::arg("key"), nb::arg("keyspace") = 0)
      .def("delete_range", &Batch::DeleteRange, nb::arg("start"), nb::arg("stop"), nb::arg("keyspace") = 0)
      .def("merge", &Batch::Merge, nb::arg("key"), nb::arg("operand"), nb::arg("keyspace") = 0)
      .def("append", &Batch::Append, nb::arg("other"))
      .def("clear", &Batch::Clear)
      .def_prop_ro("count", &Batch::Count)
      .def_prop_ro("bytes", &Batch::Bytes)
      .def_prop_ro("handle", &Batch::handle);

  nb::class_<Transaction>(module, "Transaction")
      .def(nb::init<const Reader&, int, int, uint64_t, uint64_t, const std::string&>())
      .def("get", &Transaction::Get, nb::arg("key"), nb::arg("default").none(), nb::arg("keyspace") = 0)
      .def("put", &Transaction::Put, nb::arg("key"), nb::arg("value"), nb::arg("keyspace") = 0)
      .def("delete", &Transaction::Delete, nb::arg("key"), nb::arg("keyspace") = 0)
      .def("delete_range", &Transaction::DeleteRange, nb::arg("start"), nb::arg("stop"), nb::arg("keyspace") = 0)
      .def("merge", &Transaction::Merge, nb::arg("key"), nb::arg("operand"), nb::arg("keyspace") = 0)
      .def("commit", &Transaction::Commit)
      .def("rollback", &Transaction::Rollback)
      .def_prop_ro("is_open", &Transaction::is_open)
      .def_prop_ro("conflict_key", &Transaction::conflict_key)
      .def("set_savepoint", &Transaction::Simple<&mergedb_transaction_set_savepoint>)
      .def("rollback_to_savepoint", &Transaction::Simple<&mergedb_transaction_rollback_to_savepoint>)
      .def("release_savepoint", &Transaction::Simple<&mergedb_transaction_release_savepoint>)
      .def("_number_of", [](const Transaction& self, const Reader& keyspace) {
        return Reader::NumberFor(*self.open()->database, keyspace);
      });

  nb::class_<Cursor>(module, "Cursor")
      .def(nb::init<const Transaction&, mergedb_keyspace>())
      .def("first", &MoveTo<MERGEDB_TO_FIRST>)
      .def("last", &MoveTo<MERGEDB_TO_LAST>)
      .def("next", &MoveTo<MERGEDB_TO_NEXT>)
      .def("prev", &MoveTo<MERGEDB_TO_PREV>)
      .def("current", &MoveTo<MERGEDB_TO_CURRENT>)
      .def("seek_exact", &MoveToKey<MERGEDB_TO_KEY>, nb::arg("key"))
      .def("seek", &MoveToKey<MERGEDB_TO_KEY_OR_NEXT>, nb::arg("key"))
      .def("seek_for_prev", &MoveToKey<MERGEDB_TO_KEY_OR_PREV>, nb::arg("key"))
      .def_prop_ro("key", &Cursor::Key)
      .def_prop_ro("value", &Cursor::Value)
      .def("put", &Cursor::Put, nb::arg("value"))
      .def("delete", &Cursor::Delete);
}

}  // namespace mergedb::python
