// What every function of the C face does around its one line of C++: check handles, keep exceptions in, fill the error.
//
//     mergedb_code mergedb_flush(mergedb_db db, mergedb_error* error) {
//       return On<Database>(db, error, [](Database& database) -> Outcome { return database.db().Flush(); });
//     }
//
// The files of this folder translate and never decide: what a call means is said in include/mergedb/db.h.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "c/handles.h"
#include "mergedb/c.h"
#include "mergedb/db.h"
#include "mergedb/transaction.h"

namespace mergedb::c {

// A Status, or one of the failures that only this face has.
struct Outcome {
  Outcome(Status given) : status(std::move(given)) {}  // NOLINT: implicit
  Outcome(mergedb_code face_code, Status given) : code(face_code), status(std::move(given)) {}

  int32_t code = 0;  // of the face; 0: the status's own
  Status status;
};

Outcome BadHandle(PinOutcome outcome, HandleKind kind);

// Fill `error` (may be null) and return the code.
mergedb_code Report(mergedb_error* error, const Outcome& outcome) noexcept;
mergedb_code ReportException(mergedb_error* error) noexcept;  // REQUIRES: called in a catch block

template <typename Body>
mergedb_code Call(mergedb_error* error, Body body) noexcept {
  try {
    return Report(error, body());
  } catch (...) { return ReportException(error); }
}

template <typename T, typename Body>
mergedb_code On(uint64_t handle, mergedb_error* error, Body body) noexcept {
  return Call(error, [&]() -> Outcome {
    Pinned<T> object(handle);
    if (object.outcome() != PinOutcome::kPinned) return BadHandle(object.outcome(), T::kKind);
    return body(*object.get());
  });
}

// A handle's end, for those whose end cannot fail otherwise.
mergedb_code CloseHandle(uint64_t handle, HandleKind kind, mergedb_error* error) noexcept;

// Put `object` in the table and its handle in *handle.
Outcome GiveHandle(HandleKind kind, std::unique_ptr<Object> object, uint64_t* handle);

// A null pointer with a size is the caller's mistake.
Status CheckBytes(const void* data, size_t size, const char* name);
Status CheckPointer(const void* pointer, const char* name);
inline std::string_view View(const void* data, size_t size) { return {static_cast<const char*>(data), size}; }
inline std::string_view View(const mergedb_slice& slice) { return View(slice.data, slice.size); }

// A copy for the caller to free, with a NUL behind it. Throws std::bad_alloc.
void* CopyOut(std::string_view bytes);

// The same of a list of keyspaces.
Status GiveEntries(const std::vector<KeyspaceEntry>& list, mergedb_keyspace_entry** entries, size_t* count);

// ---- what handles stand for

// What options point to: a comparator, null for the bytewise order; a logger, null for silence.
struct Borrowed {
  std::unique_ptr<Comparator> comparator;
  std::unique_ptr<Logger> logger;
};

// An open database and what it borrows. WHY shared: an iterator or snapshot may be closed after its database, so each
// keeps the closed shell alive.
struct Opened {
  Borrowed borrowed;  // outlives db: declared before it
  std::unique_ptr<DB> db;
};

struct Database final : Object {
  static constexpr HandleKind kKind = HandleKind::kDatabase;
  explicit Database(std::shared_ptr<Opened> given) : opened(std::move(given)) {}
  DB& db() const { return *opened->db; }
  const std::shared_ptr<Opened> opened;
};

struct SnapshotHolder final : Object {
  static constexpr HandleKind kKind = HandleKind::kSnapshot;
  SnapshotHolder(std::shared_ptr<Opened> database, std::shared_ptr<const Snapshot> given)
      : opened(std::move(database)), snapshot(std::move(given)) {}
  const std::shared_ptr<Opened> opened;
  const std::shared_ptr<const Snapshot> snapshot;
};

struct IteratorHolder final : Object {
  static constexpr HandleKind kKind = HandleKind::kIterator;
  std::shared_ptr<Opened> opened;
  std::shared_ptr<const Snapshot> snapshot;  // the one that it reads as of, or null
  std::unique_ptr<Iterator> iterator;
};

// A transaction that its own handle and those of its cursors share: any of them may be closed first, by any thread.
struct SharedTransaction {
  std::shared_ptr<Opened> opened;            // outlives the transaction: declared before it
  base::Mutex mutex;                         // held for the length of a call, of the transaction or of a cursor
  std::unique_ptr<Transaction> transaction;  // null once its handle is closed
};

struct TransactionHolder final : Object {
  static constexpr HandleKind kKind = HandleKind::kTransaction;
  explicit TransactionHolder(std::shared_ptr<SharedTransaction> given) : shared(std::move(given)) {}
  ~TransactionHolder() override {
    base::Lock lock(shared->mutex);
    shared->transaction = nullptr;
  }
  const std::shared_ptr<SharedTransaction> shared;
};

struct CursorHolder final : Object {
  static constexpr HandleKind kKind = HandleKind::kCursor;
  CursorHolder(std::shared_ptr<SharedTransaction> transaction, std::unique_ptr<Cursor> given)
      : shared(std::move(transaction)), cursor(std::move(given)) {}
  ~CursorHolder() override {
    base::Lock lock(shared->mutex);
    cursor = nullptr;
  }
  const std::shared_ptr<SharedTransaction> shared;
  std::unique_ptr<Cursor> cursor;
};

struct BatchHolder final : Object {
  static constexpr HandleKind kKind = HandleKind::kBatch;
  WriteBatch batch;
  Keyspace keyspace;  // of the changes to come
};

}  // namespace mergedb::c
