// The objects of mergedb_kv.lmdb over LMDB's interface as mergedb implements it (include/lmdb.h, src/lmdb/).
//
//   Python                  here              owns
//   Environment             OpenEnvironment   an MDB_env, and readers to use again
//   Transaction             OpenTransaction   an MDB_txn; it shares its environment and its parent
//   Cursor, its iterators   OpenCursor        an MDB_cursor; it shares its transaction
//
// A call of LMDB with a freed handle is undefined. So each handle has one owner, and the owner's pointer becomes null
// when the handle is freed: the end of a transaction ends its cursors and its children, a close ends everything. Every
// call checks the pointer. The pointers change only with the GIL held.
//
// LMDB's results are valid until the transaction writes or ends. They are copied before Python code can run again.
// THREADS: any thread may call any method, with the GIL held; methods release it while the engine works. A second
// thread in the same transaction gets an exception, but abort waits. A close waits for the calls of other threads.
#pragma once

#include <lmdb.h>

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "call.h"

namespace mergedb::python::lmdb {

inline constexpr size_t kPageBytes = 4096;

struct OpenTransaction;
struct OpenCursor;

// Sets the function that makes exceptions: f(what, code).
void SetErrorFactory(nb::object factory);
[[noreturn]] void Raise(const char* what, int code);
inline void Check(const char* what, int code) {
  if (code != MDB_SUCCESS) Raise(what, code);
}

struct OpenEnvironment {
  MDB_env* env = nullptr;  // null: closed
  pid_t owner = getpid();
  std::set<OpenTransaction*> transactions;  // all, also ended ones
  std::vector<MDB_txn*> spares;             // readers that were reset
  size_t spares_max = 0;
  int calls = 0;             // that run without the GIL
  bool is_draining = false;  // someone waits until `calls` is 0, and no call may begin
  EndOfCalls ended;

  OpenEnvironment() = default;
  OpenEnvironment(const OpenEnvironment&) = delete;
  OpenEnvironment& operator=(const OpenEnvironment&) = delete;
  ~OpenEnvironment() { Close(); }

  void CheckOpen(const char* what) const;
  bool is_forked() const { return owner != getpid(); }
  // Ends all transactions and waits for the calls of other threads.
  void Drain();
  void Close();
  void SetMapSize(size_t bytes);
};

// Counts a call that runs without the GIL. Throws if the environment is closed.
class EnvironmentCall {
 public:
  EnvironmentCall(OpenEnvironment& environment, const char* what) : environment_(environment) {
    environment.CheckOpen(what);
    ++environment.calls;
  }
  ~EnvironmentCall();
  EnvironmentCall(const EnvironmentCall&) = delete;
  EnvironmentCall& operator=(const EnvironmentCall&) = delete;

 private:
  OpenEnvironment& environment_;
};

// What a transaction shares with its nested transactions.
struct Family {
  bool is_busy = false;              // a thread is in a call
  int aborting = 0;                  // threads that wait for its end; no call may begin
  uint64_t changes = 1;              // of the data: results from before a change are no longer valid
  std::vector<MDB_cursor*> orphans;  // their owners were destroyed while another thread was in a call
};

struct OpenTransaction {
  std::shared_ptr<OpenEnvironment> environment;
  std::shared_ptr<OpenTransaction> parent;
  std::shared_ptr<Family> family;
  MDB_txn* txn = nullptr;  // null: ended
  bool is_write = false;
  bool gives_views = false;  // results are memoryviews
  MDB_dbi dbi = 0;           // of calls that name no database
  std::set<OpenTransaction*> children;
  std::set<OpenCursor*> cursors;

  OpenTransaction(std::shared_ptr<OpenEnvironment> environment, std::shared_ptr<OpenTransaction> parent, bool is_write);
  OpenTransaction(const OpenTransaction&) = delete;
  OpenTransaction& operator=(const OpenTransaction&) = delete;
  ~OpenTransaction();

  void CheckOpen(const char* what) const;
  // Ends the cursors, aborts the children, and hands over the handle.
  MDB_txn* Detach();
  // In the child of a fork: the handles are the parent's.
  void Forget();
  void Abort();
  void Commit();

  // Runs a call of LMDB without the GIL.
  template <typename Call>
  int Run(const char* what, Call&& call);
  // As Run, for a call that may change data.
  template <typename Call>
  int RunChange(const char* what, Call&& call) {
    ++family->changes;
    return Run(what, std::forward<Call>(call));
  }
};

// Marks the family of a transaction as in use by this thread.
class TransactionCall {
 public:
  TransactionCall(OpenTransaction& transaction, const char* what)
      : call_(*transaction.environment, what), family_(transaction.family) {
    transaction.CheckOpen(what);
    family_->is_busy = true;
  }
  ~TransactionCall() {
    family_->is_busy = false;
    for (MDB_cursor* cursor : family_->orphans) mdb_cursor_close(cursor);
    family_->orphans.clear();
  }
  TransactionCall(const TransactionCall&) = delete;
  TransactionCall& operator=(const TransactionCall&) = delete;

 private:
  EnvironmentCall call_;
  std::shared_ptr<Family> family_;
};

template <typename Call>
int OpenTransaction::Run(const char* what, Call&& call) {
  const TransactionCall guard(*this, what);
  return WithoutGil(std::forward<Call>(call));
}

struct OpenCursor {
  std::shared_ptr<OpenTransaction> transaction;
  MDB_cursor* cursor = nullptr;  // null: closed
  MDB_val key{}, value{};        // of the item, as of `seen_changes`
  bool is_placed = false;        // false: the cursor stands at no item, and both are empty
  bool has_value = false;        // false: a move over keys did not read it
  uint64_t seen_changes = 0;

  explicit OpenCursor(std::shared_ptr<OpenTransaction> owner) : transaction(std::move(owner)) {
    transaction->cursors.insert(this);
  }
  OpenCursor(const OpenCursor&) = delete;
  OpenCursor& operator=(const OpenCursor&) = delete;
  ~OpenCursor() {
    Close();
    transaction->cursors.erase(this);
  }

  void CheckOpen(const char* what) const;
  void Close();
  void CloseNow();  // REQUIRES: no other thread is in a call of the transaction
  // Moves the cursor. False: there is no such item, and the cursor stands nowhere.
  bool Move(MDB_cursor_op op, bool with_value = true);
  bool Seek(MDB_cursor_op op, const Input& wanted_key, const Input* wanted_value = nullptr);
  // Reads the item again if the transaction has changed data since, or if the value is wanted and was not read.
  void Refresh(bool with_value);
  // Call before a copy of the value: a large one may have to be read from the disk.
  void TouchValue();

 private:
  bool Arrive(MDB_cursor_op op, int code, bool with_value);
};

struct Database {
  std::shared_ptr<OpenEnvironment> environment;
  MDB_dbi dbi = 0;
  unsigned flags = 0;
};

// The Python classes.
struct Environment {
  std::shared_ptr<OpenEnvironment> open;
};
struct Transaction {
  std::shared_ptr<OpenTransaction> open;
};

inline MDB_val ValOf(const Input& input) { return {input.size(), const_cast<void*>(input.data())}; }

// As in py-lmdb, any object is a flag.
inline bool IsTrue(nb::handle object) {
  if (object.ptr() == Py_True || object.ptr() == Py_False) return object.ptr() == Py_True;
  const int result = mergedb_gil_is_true(object.ptr());
  if (result < 0) throw nb::python_error();
  return result == 1;
}
// Reads the pages of a result, so that copying it later does not wait for the disk. Call it without the GIL.
void Touch(const MDB_val& value);
// A copy of a result, as the transaction gives it: bytes, or a memoryview of bytes.
nb::object Result(const OpenTransaction& transaction, const MDB_val& value);
nb::object ResultPair(const OpenTransaction& transaction, const MDB_val& first, const MDB_val& second);
nb::dict DictOf(const MDB_stat& stat);
// The handle of a database that may be named by its object; None: that of the transaction.
MDB_dbi DbiOf(const OpenTransaction& transaction, nb::handle database);
unsigned PutFlags(nb::handle dupdata, nb::handle overwrite, nb::handle append);

void BindEnvironment(nb::module_& module);
void BindTransactions(nb::module_& module);
void BindCursors(nb::module_& module);

}  // namespace mergedb::python::lmdb
