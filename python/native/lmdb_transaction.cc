// Transactions of mergedb_kv.lmdb.
#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "lmdb_objects.h"

namespace mergedb::python::lmdb {

namespace {

nb::object CopyOf(const MDB_val& value) { return NewBytes(value.mv_data, value.mv_size); }

// `bytes` as the transaction gives results.
nb::object AsGiven(const OpenTransaction& transaction, nb::object bytes) {
  if (!transaction.gives_views) return bytes;
  PyObject* view = PyMemoryView_FromObject(bytes.ptr());
  if (view == nullptr) throw nb::python_error();
  return nb::steal(view);
}

// A reader that was reset is begun again, since that is cheaper than a new one.
int BeginHandle(OpenEnvironment& environment, MDB_txn* parent, bool is_write, MDB_txn** txn) {
  if (!is_write && parent == nullptr && !environment.spares.empty()) {
    MDB_txn* const spare = environment.spares.back();
    environment.spares.pop_back();
    const int code = WithoutGil([&] { return mdb_txn_renew(spare); });
    if (code == MDB_SUCCESS) {
      *txn = spare;
    } else {
      mdb_txn_abort(spare);
    }
    return code;
  }
  return WithoutGil([&] { return mdb_txn_begin(environment.env, parent, is_write ? 0 : MDB_RDONLY, txn); });
}

std::shared_ptr<OpenTransaction> Begin(const std::shared_ptr<OpenEnvironment>& environment,
                                       std::shared_ptr<OpenTransaction> parent, bool is_write) {
  const EnvironmentCall guard(*environment, "mdb_txn_begin");
  auto begun = std::make_shared<OpenTransaction>(environment, parent, is_write);
  MDB_txn* txn = nullptr;
  int code = 0;
  if (parent != nullptr) {
    if (parent->environment != environment) Raise("the parent belongs to another environment", 0);
    const TransactionCall parent_guard(*parent, "mdb_txn_begin");
    code = BeginHandle(*environment, parent->txn, is_write, &txn);
    ++parent->family->changes;
  } else {
    code = BeginHandle(*environment, nullptr, is_write, &txn);
  }
  Check("mdb_txn_begin", code);
  begun->txn = txn;
  if (environment->is_draining) {  // a close began meanwhile
    begun->Abort();
    environment->CheckOpen("mdb_txn_begin");
  }
  return begun;
}

nb::object Get(const Transaction& self, nb::handle key, nb::object fallback, nb::handle database) {
  OpenTransaction& transaction = *self.open;
  const Input bytes(key);
  transaction.CheckOpen("mdb_get");
  const MDB_dbi dbi = DbiOf(transaction, database);
  MDB_val k = ValOf(bytes), value{};
  const int code = transaction.Run("mdb_get", [&] {
    const int result = mdb_get(transaction.txn, dbi, &k, &value);
    if (result == MDB_SUCCESS) Touch(value);
    return result;
  });
  if (code == MDB_NOTFOUND) return fallback;
  Check("mdb_get", code);
  return Result(transaction, value);
}

bool Put(const Transaction& self, nb::handle key, nb::handle value, nb::handle dupdata, nb::handle overwrite,
         nb::handle append, nb::handle database) {
  OpenTransaction& transaction = *self.open;
  const Input k(key), v(value);
  transaction.CheckOpen("mdb_put");
  const MDB_dbi dbi = DbiOf(transaction, database);
  const unsigned flags = PutFlags(dupdata, overwrite, append);
  MDB_val key_val = ValOf(k), value_val = ValOf(v);
  const int code =
      transaction.RunChange("mdb_put", [&] { return mdb_put(transaction.txn, dbi, &key_val, &value_val, flags); });
  if (code == MDB_KEYEXIST) return false;
  Check("mdb_put", code);
  return true;
}

bool Delete(const Transaction& self, nb::handle key, nb::handle /*value*/, nb::handle database) {
  OpenTransaction& transaction = *self.open;
  const Input bytes(key);
  transaction.CheckOpen("mdb_del");
  const MDB_dbi dbi = DbiOf(transaction, database);
  MDB_val k = ValOf(bytes);
  const int code = transaction.RunChange("mdb_del", [&] { return mdb_del(transaction.txn, dbi, &k, nullptr); });
  if (code == MDB_NOTFOUND) return false;
  Check("mdb_del", code);
  return true;
}

// The old value is copied first, since the change ends it.
template <typename Change>
nb::object Exchange(const Transaction& self, const char* what, nb::handle key, nb::handle database, bool needs_old,
                    Change&& change) {
  OpenTransaction& transaction = *self.open;
  const Input bytes(key);
  transaction.CheckOpen(what);
  if (!transaction.is_write && !needs_old) Raise(what, EACCES);
  const MDB_dbi dbi = DbiOf(transaction, database);
  MDB_val k = ValOf(bytes), value{};
  const int found = transaction.Run(what, [&] { return mdb_get(transaction.txn, dbi, &k, &value); });
  if (found != MDB_NOTFOUND) Check(what, found);
  nb::object old = found == MDB_SUCCESS ? CopyOf(value) : nb::object(nb::none());
  if (found == MDB_SUCCESS || !needs_old) {
    Check(what, transaction.RunChange(what, [&] { return change(transaction.txn, dbi, &k); }));
  }
  return found == MDB_SUCCESS ? AsGiven(transaction, std::move(old)) : old;
}

nb::object Replace(const Transaction& self, nb::handle key, nb::handle value, nb::handle database) {
  const Input bytes(value);
  MDB_val v = ValOf(bytes);
  return Exchange(self, "Transaction.replace", key, database, false,
                  [&](MDB_txn* txn, MDB_dbi dbi, MDB_val* k) { return mdb_put(txn, dbi, k, &v, 0); });
}

nb::object Pop(const Transaction& self, nb::handle key, nb::handle database) {
  return Exchange(self, "Transaction.pop", key, database, true,
                  [&](MDB_txn* txn, MDB_dbi dbi, MDB_val* k) { return mdb_del(txn, dbi, k, nullptr); });
}

nb::dict StatOf(const Transaction& self, nb::handle database) {
  OpenTransaction& transaction = *self.open;
  transaction.CheckOpen("mdb_stat");
  const MDB_dbi dbi = DbiOf(transaction, database);
  MDB_stat stat{};
  Check("mdb_stat", transaction.Run("mdb_stat", [&] { return mdb_stat(transaction.txn, dbi, &stat); }));
  return DictOf(stat);
}

void Drop(const Transaction& self, nb::handle database, nb::handle deletes) {
  OpenTransaction& transaction = *self.open;
  if (database.is_none()) throw nb::type_error("drop() needs a database");
  transaction.CheckOpen("mdb_drop");
  const MDB_dbi dbi = DbiOf(transaction, database);
  const int del = IsTrue(deletes);
  Check("mdb_drop", transaction.RunChange("mdb_drop", [&] { return mdb_drop(transaction.txn, dbi, del); }));
}

}  // namespace

void Touch(const MDB_val& value) {
  const auto* const bytes = static_cast<const volatile char*>(value.mv_data);
  for (size_t at = 0; at < value.mv_size; at += kPageBytes) (void)bytes[at];
  if (value.mv_size > 0) (void)bytes[value.mv_size - 1];
}

nb::object Result(const OpenTransaction& transaction, const MDB_val& value) {
  return AsGiven(transaction, CopyOf(value));
}

nb::object ResultPair(const OpenTransaction& transaction, const MDB_val& first, const MDB_val& second) {
  nb::object a = CopyOf(first), b = CopyOf(second);
  return nb::make_tuple(AsGiven(transaction, std::move(a)), AsGiven(transaction, std::move(b)));
}

MDB_dbi DbiOf(const OpenTransaction& transaction, nb::handle database) {
  if (database.is_none()) return transaction.dbi;
  const auto& named = ArgumentOf<Database>(database, "db", "a database of open_db()");
  if (named.environment != transaction.environment) Raise("the database belongs to another environment", 0);
  return named.dbi;
}

unsigned PutFlags(nb::handle dupdata, nb::handle overwrite, nb::handle append) {
  return (IsTrue(dupdata) ? 0u : MDB_NODUPDATA) | (IsTrue(overwrite) ? 0u : MDB_NOOVERWRITE) |
         (IsTrue(append) ? MDB_APPEND : 0u);
}

OpenTransaction::OpenTransaction(std::shared_ptr<OpenEnvironment> owner, std::shared_ptr<OpenTransaction> outer,
                                 bool writes)
    : environment(std::move(owner)),
      parent(std::move(outer)),
      family(parent != nullptr ? parent->family : std::make_shared<Family>()),
      is_write(writes) {
  environment->transactions.insert(this);
  if (parent != nullptr) parent->children.insert(this);
}

OpenTransaction::~OpenTransaction() {
  if (environment->is_forked()) {
    Forget();
  } else if (txn != nullptr && family->is_busy) {
    txn = nullptr;  // another thread is in a call of the parent, whose end ends this transaction too
  } else {
    Abort();
  }
  environment->transactions.erase(this);
  if (parent != nullptr) parent->children.erase(this);
}

void OpenTransaction::CheckOpen(const char* what) const {
  environment->CheckOpen(what);
  if (txn == nullptr) Raise((std::string(what) + ": the transaction has ended").c_str(), 0);
  if (family->aborting > 0) Raise((std::string(what) + ": the transaction is being aborted").c_str(), 0);
  if (family->is_busy) Raise((std::string(what) + ": another thread uses the transaction").c_str(), 0);
}

void OpenTransaction::Forget() {
  txn = nullptr;
  for (OpenCursor* cursor : cursors) cursor->cursor = nullptr;
}

MDB_txn* OpenTransaction::Detach() {
  for (OpenTransaction* child : children) child->Abort();
  for (OpenCursor* cursor : cursors) cursor->CloseNow();
  return std::exchange(txn, nullptr);
}

void OpenTransaction::Abort() {
  if (txn == nullptr) return;
  if (environment->is_forked()) return Forget();
  MDB_txn* const ended = Detach();
  ++family->changes;
  OpenEnvironment& owner = *environment;
  if (!is_write && !owner.is_draining && owner.spares.size() < owner.spares_max) {
    mdb_txn_reset(ended);
    owner.spares.push_back(ended);
  } else {
    mdb_txn_abort(ended);
  }
}

void OpenTransaction::Commit() {
  CheckOpen("mdb_txn_commit");
  if (!is_write) return Abort();
  int code = 0;
  {
    const TransactionCall guard(*this, "mdb_txn_commit");
    MDB_txn* const ended = Detach();
    ++family->changes;
    code = WithoutGil([&] { return mdb_txn_commit(ended); });
  }
  Check("mdb_txn_commit", code);
}

void BindTransactions(nb::module_& module) {
  nb::class_<Transaction>(module, "LmdbTransaction")
      .def(
          "__init__",
          [](Transaction* self, const Environment& environment, nb::handle parent, bool is_write, bool gives_views,
             const Database* database) {
            auto open = Begin(
                environment.open,
                parent.is_none() ? nullptr : ArgumentOf<Transaction>(parent, "parent", "a Transaction").open, is_write);
            open->gives_views = gives_views;
            if (database != nullptr) {
              if (database->environment != open->environment) Raise("the database belongs to another environment", 0);
              open->dbi = database->dbi;
            }
            new (self) Transaction{std::move(open)};
          },
          nb::arg("environment"), nb::arg("parent").none(), nb::arg("write"), nb::arg("buffers"), nb::arg("db").none())
      .def("get", &Get, nb::arg("key"), nb::arg("default") = nb::none(), nb::arg("db") = nb::none())
      .def("put", &Put, nb::arg("key"), nb::arg("value"), nb::arg("dupdata") = true, nb::arg("overwrite") = true,
           nb::arg("append") = false, nb::arg("db") = nb::none())
      .def("delete", &Delete, nb::arg("key"), nb::arg("value") = nb::bytes("", 0), nb::arg("db") = nb::none())
      .def("replace", &Replace, nb::arg("key"), nb::arg("value"), nb::arg("db") = nb::none())
      .def("pop", &Pop, nb::arg("key"), nb::arg("db") = nb::none())
      .def("stat", &StatOf, nb::arg("db") = nb::none())
      .def("drop", &Drop, nb::arg("db"), nb::arg("delete") = true)
      .def("id",
           [](const Transaction& self) {
             self.open->CheckOpen("mdb_txn_id");
             return mdb_txn_id(self.open->txn);
           })
      .def("commit", [](const Transaction& self) { self.open->Commit(); })
      .def("abort", [](const Transaction& self) {
        const std::shared_ptr<OpenTransaction> open = self.open;
        // WHY not an error: the transaction would stay open, and the next one would wait for it.
        ++open->family->aborting;
        const auto is_in_use = [&] {
          return open->txn != nullptr && !open->environment->is_forked() && open->family->is_busy;
        };
        while (is_in_use() && mergedb_gil_is_ending() == 0) open->environment->ended.Wait();
        --open->family->aborting;
        if (!is_in_use()) open->Abort();
      });
}

}  // namespace mergedb::python::lmdb
