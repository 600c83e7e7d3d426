// The databases, keyspaces and snapshots of the extension: what they share, and the classes that Python extends.
//
//   Python                     here                 owns
//   Database, Keyspace         Store                an OpenDatabase, shared
//   Snapshot                   Reader               an OpenDatabase and an OpenSnapshot, shared
//   Scan, Iterator             Scan, Iterator       an iterator, and shares of both
//
// Every object holds a number of the C interface, which checks it at each call. So a close in one thread while
// another thread reads is an exception in the reader, and a handle from before a fork is an exception in the child.
// An open database is closed when the last object that shares it ends, or by close.
// THREADS: any thread may call any method, with the GIL held; methods release it while the engine works.
#pragma once

#include <memory>
#include <string>

#include "call.h"
#include "comparator.h"
#include "listener.h"

namespace mergedb::python {

struct OpenDatabase {
  mergedb_db handle = 0;
  pid_t owner = 0;
  bool is_closed = false;             // guarded by the GIL
  CompareHook* comparator = nullptr;  // null: bytewise. It lives until the engine no longer calls it.
  bool listens = false;               // a thread of the engine calls a listener

  OpenDatabase() = default;
  OpenDatabase(const OpenDatabase&) = delete;
  OpenDatabase& operator=(const OpenDatabase&) = delete;
  ~OpenDatabase();

  void Close();
  // False at the end of the interpreter if a thread of the engine may wait for the comparator or the listener forever.
  bool CanWait() const;
  // Throws if the database is closed, or if its comparator has failed.
  void CheckUsable() const;
};

struct OpenSnapshot {
  mergedb_snapshot handle = 0;
  pid_t owner = 0;
  bool is_closed = false;

  OpenSnapshot() = default;
  OpenSnapshot(const OpenSnapshot&) = delete;
  OpenSnapshot& operator=(const OpenSnapshot&) = delete;
  ~OpenSnapshot();
  void Close();
};

// Where and how a read goes.
struct Source {
  std::shared_ptr<OpenDatabase> database;
  std::shared_ptr<OpenSnapshot> snapshot;  // null: the newest state
  mergedb_keyspace keyspace = 0;

  void CheckUsable() const;
  mergedb_read_options ReadOptions(bool verify_checksums, bool fill_cache) const;
};

// The bounds of an iterator. Absent bounds are None.
struct Bounds {
  nb::handle start, stop, prefix;
  bool keys_only = false, verify_checksums = true, fill_cache = true;
};
mergedb_iterator OpenIterator(const Source& source, const Bounds& bounds);

class Reader {
 public:
  explicit Reader(Source source) : source_(std::move(source)) {}

  nb::object Get(nb::handle key, nb::object fallback, bool verify_checksums, bool fill_cache) const;
  nb::object GetItem(nb::handle key) const;
  bool Contains(nb::handle key) const;
  // A memoryview of the value, without a copy of what the engine returned; `fallback` if the key is absent.
  nb::object GetView(nb::handle key, nb::object fallback) const;
  nb::object GetMany(nb::handle keys) const;

  // The number of a keyspace for calls on the database of `self`. InvalidArgument if the handle is of another database,
  // or of the same directory before a close.
  static mergedb_keyspace NumberFor(const OpenDatabase& self, const Reader& keyspace);

  const Source& source() const { return source_; }
  mergedb_keyspace keyspace() const { return source_.keyspace; }
  bool is_closed() const;

 protected:
  Source source_;
};

void BindDatabase(nb::module_& module);
void BindIterators(nb::module_& module);
void BindTransactions(nb::module_& module);
void BindColumns(nb::module_& module);
void BindArrow(nb::module_& module);
void BindArrowImport(nb::module_& module);

}  // namespace mergedb::python
