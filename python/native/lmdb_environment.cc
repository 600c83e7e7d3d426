// Environments and databases of mergedb_kv.lmdb, and how its exceptions are made.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lmdb/names.h"
#include "lmdb_objects.h"

namespace mergedb::python::lmdb {

namespace {

constexpr MDB_dbi kMainDbi = 1;

// Never destroyed: the interpreter may end first.
nb::object* error_factory = nullptr;

std::shared_ptr<OpenEnvironment> OpenPath(const std::string& path, unsigned flags, unsigned mode, size_t map_size,
                                          unsigned readers_max, unsigned dbs_max, size_t spares_max) {
  auto opened = std::make_shared<OpenEnvironment>();
  opened->spares_max = spares_max;
  Check("mdb_env_create", mdb_env_create(&opened->env));
  MDB_env* const env = opened->env;
  Check("mdb_env_set_mapsize", mdb_env_set_mapsize(env, map_size));
  Check("mdb_env_set_maxreaders", mdb_env_set_maxreaders(env, readers_max));
  Check("mdb_env_set_maxdbs", mdb_env_set_maxdbs(env, dbs_max));
  Check(path.c_str(), WithoutGil([&] { return mdb_env_open(env, path.c_str(), flags, mode); }));
  return opened;
}

// Runs a call of LMDB on an environment without the GIL.
template <typename Call>
void Run(OpenEnvironment& environment, const char* what, Call&& call) {
  const auto checked = [&] {
    const EnvironmentCall guard(environment, what);
    return WithoutGil([&] { return call(environment.env); });
  };
  Check(what, checked());
}

nb::dict InfoOf(const Environment& self) {
  MDB_envinfo info{};
  Run(*self.open, "mdb_env_info", [&](MDB_env* env) { return mdb_env_info(env, &info); });
  nb::dict result;
  result["map_addr"] = reinterpret_cast<uintptr_t>(info.me_mapaddr);
  result["map_size"] = info.me_mapsize;
  result["last_pgno"] = info.me_last_pgno;
  result["last_txnid"] = info.me_last_txnid;
  result["max_readers"] = info.me_maxreaders;
  result["num_readers"] = info.me_numreaders;
  return result;
}

nb::dict StatOf(const Environment& self) {
  MDB_stat stat{};
  Run(*self.open, "mdb_env_stat", [&](MDB_env* env) { return mdb_env_stat(env, &stat); });
  return DictOf(stat);
}

std::string ReadersOf(const Environment& self) {
  std::string text;
  const auto append = [](const char* message, void* context) {
    static_cast<std::string*>(context)->append(message);
    return 0;
  };
  Run(*self.open, "mdb_reader_list", [&](MDB_env* env) {
    const int code = mdb_reader_list(env, append, &text);
    return code < 0 ? code : MDB_SUCCESS;
  });
  return text;
}

nb::list NamesOf(const Environment& self, const Transaction& reader) {
  OpenTransaction& transaction = *reader.open;
  if (transaction.environment != self.open) Raise("the transaction belongs to another environment", 0);
  std::vector<std::string> names;
  const int code = transaction.Run("Environment.dbs", [&] {
    MDB_cursor* cursor = nullptr;
    int result = mdb_cursor_open(transaction.txn, kMainDbi, &cursor);
    MDB_val key;
    while (result == MDB_SUCCESS && (result = mdb_cursor_get(cursor, &key, nullptr, MDB_NEXT)) == MDB_SUCCESS) {
      const std::string_view name(static_cast<const char*>(key.mv_data), key.mv_size);
      result = mergedb::lmdb::RefuseName(transaction.txn, kMainDbi, name);
      if (result != MDB_INCOMPATIBLE) continue;
      names.emplace_back(name);
      result = MDB_SUCCESS;
    }
    mdb_cursor_close(cursor);
    return result;
  });
  if (code != MDB_NOTFOUND) Check("mdb_cursor_get", code);
  nb::list list;
  for (const std::string& name : names) list.append(Result(transaction, {name.size(), const_cast<char*>(name.data())}));
  return list;
}

Database OpenNamed(OpenTransaction& transaction, nb::handle name, unsigned flags) {
  const Input bytes(name);
  const std::string_view view(static_cast<const char*>(bytes.data()), bytes.size());
  const std::string text = TextOf(view, "the name of a database");
  Database opened{.environment = transaction.environment, .dbi = 0, .flags = 0};
  Check("mdb_dbi_open", transaction.RunChange("mdb_dbi_open", [&] {
    const int code = mdb_dbi_open(transaction.txn, text.c_str(), flags, &opened.dbi);
    return code != MDB_SUCCESS ? code : mdb_dbi_flags(transaction.txn, opened.dbi, &opened.flags);
  }));
  return opened;
}

}  // namespace

void SetErrorFactory(nb::object factory) {
  if (error_factory == nullptr) error_factory = new nb::object();
  *error_factory = std::move(factory);
}

void Raise(const char* what, int code) {
  nb::str text = nb::steal<nb::str>(PyUnicode_DecodeFSDefault(what));
  if (!text.is_valid()) throw nb::python_error();
  nb::object exception = CallPython(*error_factory, nb::make_tuple(text, code));
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

EnvironmentCall::~EnvironmentCall() {
  --environment_.calls;
  environment_.ended.Announce();
}

void OpenEnvironment::CheckOpen(const char* what) const {
  if (is_forked()) Raise("the environment was opened before a fork; a child process opens its own", 0);
  if (env == nullptr || is_draining) Raise((std::string(what) + ": the environment is closed").c_str(), 0);
}

// WHY again after each wait: a call that ended may have begun a transaction.
void OpenEnvironment::Drain() {
  is_draining = true;
  while (true) {
    for (OpenTransaction* transaction : std::set(transactions)) {
      if (transactions.contains(transaction) && !transaction->family->is_busy) transaction->Abort();
    }
    if (calls == 0) break;
    ended.Wait();
  }
  for (MDB_txn* spare : spares) mdb_txn_abort(spare);
  spares.clear();
  is_draining = false;
}

void OpenEnvironment::Close() {
  if (env == nullptr || is_draining) return;
  // A thread that is parked never ends its call, so a close would wait forever. The process ends now.
  if (calls > 0 && mergedb_gil_is_ending() != 0) return;
  if (is_forked()) {  // the transactions and the locks are the parent's: they stay as they are
    for (OpenTransaction* transaction : transactions) transaction->Forget();
  } else {
    Drain();
  }
  WithoutGil([closing = std::exchange(env, nullptr)] { mdb_env_close(closing); });
}

void OpenEnvironment::SetMapSize(size_t bytes) {
  CheckOpen("Environment.set_mapsize");
  for (const OpenTransaction* each : transactions) {
    if (each->is_write && each->txn != nullptr) Raise("Environment.set_mapsize: a write transaction is open", 0);
  }
  Drain();
  Check("mdb_env_set_mapsize", mdb_env_set_mapsize(env, bytes));
}

nb::dict DictOf(const MDB_stat& stat) {
  nb::dict result;
  result["psize"] = stat.ms_psize;
  result["depth"] = stat.ms_depth;
  result["branch_pages"] = stat.ms_branch_pages;
  result["leaf_pages"] = stat.ms_leaf_pages;
  result["overflow_pages"] = stat.ms_overflow_pages;
  result["entries"] = stat.ms_entries;
  return result;
}

void BindEnvironment(nb::module_& module) {
  module.def("set_lmdb_error_factory", &SetErrorFactory);
  module.def("lmdb_text", [](int code) { return std::string(mdb_strerror(code)); });

  nb::class_<Database>(module, "LmdbDatabase")
      .def("__init__",
           [](Database* self, const Environment& owner) {
             new (self) Database{.environment = owner.open, .dbi = kMainDbi, .flags = 0};
           })
      .def(
          "__init__",
          [](Database* self, const Transaction& transaction, nb::handle name, unsigned flags) {
            new (self) Database(OpenNamed(*transaction.open, name, flags));
          },
          nb::arg("transaction"), nb::arg("name"), nb::arg("flags"))
      .def_ro("_flags", &Database::flags);

  nb::class_<Environment>(module, "LmdbEnvironment")
      .def("__init__",
           [](Environment* self, const nb::bytes& path, unsigned flags, unsigned mode, size_t map_size,
              unsigned readers_max, unsigned dbs_max, size_t spares_max) {
             new (self)
                 Environment{OpenPath(TextOf(path, "a path"), flags, mode, map_size, readers_max, dbs_max, spares_max)};
           })
      .def("_check_open", [](const Environment& self, const char* what) { self.open->CheckOpen(what); })
      .def("_check_same",
           [](const Environment& self, const Transaction& transaction) {
             if (transaction.open->environment != self.open) Raise("the transaction belongs to another environment", 0);
           })
      .def("_names", &NamesOf)
      .def("close", [](const Environment& self) { self.open->Close(); })
      .def("_set_mapsize", [](const Environment& self, size_t bytes) { self.open->SetMapSize(bytes); })
      .def("info", &InfoOf)
      .def("stat", &StatOf)
      .def("readers", &ReadersOf)
      .def("max_key_size",
           [](const Environment& self) {
             self.open->CheckOpen("Environment.max_key_size");
             return mdb_env_get_maxkeysize(self.open->env);
           })
      .def("max_readers",
           [](const Environment& self) {
             unsigned readers = 0;
             Run(*self.open, "mdb_env_get_maxreaders",
                 [&](MDB_env* env) { return mdb_env_get_maxreaders(env, &readers); });
             return readers;
           })
      .def("reader_check",
           [](const Environment& self) {
             int dead = 0;
             Run(*self.open, "mdb_reader_check", [&](MDB_env* env) { return mdb_reader_check(env, &dead); });
             return dead;
           })
      .def(
          "sync",
          [](const Environment& self, nb::handle force) {
            const bool is_forced = IsTrue(force);
            Run(*self.open, "mdb_env_sync", [&](MDB_env* env) { return mdb_env_sync(env, is_forced); });
          },
          nb::arg("force") = false)
      .def("_copy",
           [](const Environment& self, const nb::bytes& path, bool is_compact) {
             const std::string text = TextOf(path, "a path");
             Run(*self.open, "mdb_env_copy2",
                 [&](MDB_env* env) { return mdb_env_copy2(env, text.c_str(), is_compact ? MDB_CP_COMPACT : 0); });
           })
      .def("_copyfd", [](const Environment& self, int fd, bool is_compact) {
        Run(*self.open, "mdb_env_copyfd2",
            [&](MDB_env* env) { return mdb_env_copyfd2(env, fd, is_compact ? MDB_CP_COMPACT : 0); });
      });
}

}  // namespace mergedb::python::lmdb
