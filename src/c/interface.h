// The frame of every function of the C interface around its one line of C++: check the handles, catch
// exceptions, fill the error.
//
//     mergedb_code mergedb_flush(mergedb_db db, mergedb_error* error) {
//       return On<Database>(db, error, [](Database& database) { return database.db().Flush(); });
//     }
//
// This folder only translates: include/mergedb/db.h defines what each call means.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/closing.h"
#include "c/handles.h"
#include "mergedb/c.h"
#include "mergedb/db.h"
#include "mergedb/transaction.h"

namespace mergedb::c {

// REQUIRES: not kPinned. Its code is MERGEDB_BAD_HANDLE, which only the C interface has, or kBusy.
Status BadHandle(PinOutcome outcome, HandleKind kind);

template <typename T>
Status CheckPinned(const Pinned<T>& pinned) {
  return pinned.outcome() == PinOutcome::kPinned ? Status() : BadHandle(pinned.outcome(), T::kKind);
}

// Fills `error` (may be null) and returns the code.
mergedb_code Report(mergedb_error* error, const Status& status) noexcept;
mergedb_code ReportException(mergedb_error* error) noexcept;  // REQUIRES: called in a catch block

template <typename Body>
mergedb_code Call(mergedb_error* error, Body body) noexcept {
  try {
    return Report(error, body());
  } catch (...) { return ReportException(error); }
}

template <typename T, typename Body>
mergedb_code On(uint64_t handle, mergedb_error* error, Body body) noexcept {
  return Call(error, [&]() -> Status {
    Pinned<T> object(handle);
    RETURN_IF_ERROR(CheckPinned(object));
    return body(*object.get());
  });
}

// In scope while a call on a database runs a callback of the program, in the calling thread. The call has the database
// pinned, so a close by this thread would wait for its own caller.
class CallbackScope {
 public:
  explicit CallbackScope(mergedb_db db) : db_(db), outer_(innermost_) { innermost_ = this; }
  ~CallbackScope() { innermost_ = outer_; }
  CallbackScope(const CallbackScope&) = delete;
  CallbackScope& operator=(const CallbackScope&) = delete;

  // True if a callback of this database runs in the calling thread.
  static bool Covers(mergedb_db db);

 private:
  static thread_local const CallbackScope* innermost_;
  const mergedb_db db_;
  const CallbackScope* const outer_;
};

// Closes a handle of a kind whose destruction cannot fail.
mergedb_code CloseHandle(uint64_t handle, HandleKind kind, mergedb_error* error) noexcept;

Status GiveHandle(HandleKind kind, std::unique_ptr<Object> object, uint64_t* handle);

// Sets what a call returns through pointers to 0, so that a failed call leaves no old value. A pointer may be null.
template <typename... T>
void Clear(T*... outputs) {
  ((outputs != nullptr ? void(*outputs = T{}) : void()), ...);
}

// InvalidArgument for a null pointer with a size other than 0.
Status CheckBytes(const void* data, size_t size, const char* name);
inline Status CheckBytes(const mergedb_slice& bytes, const char* name) {
  return CheckBytes(bytes.data, bytes.size, name);
}
Status CheckPointer(const void* pointer, const char* name);
inline std::string_view ToStringView(const void* data, size_t size) { return {static_cast<const char*>(data), size}; }
inline std::string_view ToStringView(const mergedb_slice& slice) { return ToStringView(slice.data, slice.size); }
inline mergedb_slice SliceOf(std::string_view bytes) { return {bytes.data(), bytes.size()}; }

// A copy with a NUL at the end; the caller frees it. Throws std::bad_alloc.
void* CopyOut(std::string_view bytes);
void CopyOut(std::string_view bytes, void** copy, size_t* size);

// Returns a list of keyspaces as copies that the caller frees.
Status GiveEntries(const std::vector<KeyspaceEntry>& list, mergedb_keyspace_entry** entries, size_t* count);

// ---- the objects behind handles

// Objects that the options point to: a comparator, null for the bytewise order; a logger, null for no logging.
struct Borrowed {
  std::unique_ptr<Comparator> comparator;
  std::unique_ptr<Logger> logger;
};

// An open database and the objects that it borrows. WHY shared: an iterator or a snapshot may be closed after
// its database, so each keeps the closed database alive.
struct Opened {
  Borrowed borrowed;  // outlives db: declared before it
  std::unique_ptr<DB> db;
};

struct Database final : Object {
  static constexpr HandleKind kKind = HandleKind::kDatabase;
  explicit Database(std::shared_ptr<Opened> given) : opened(std::move(given)) {}
  DB& db() const { return *opened->db; }
  // A write may wait for a transaction of the thread that closes the database.
  void BeginClose() override {
    if (auto* const closing = dynamic_cast<base::Closing*>(opened->db.get())) closing->BeginClose();
  }
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
  std::shared_ptr<const Snapshot> snapshot;  // the snapshot that it reads, or null
  std::unique_ptr<Iterator> iterator;
};

// A transaction, shared by its own handle and those of its cursors. Any thread may close any of these handles first.
struct SharedTransaction {
  std::shared_ptr<Opened> opened;            // outlives the transaction: declared before it
  base::Mutex mutex;                         // held during each call on the transaction or on a cursor
  std::unique_ptr<Transaction> transaction;  // null after its handle is closed
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
  Keyspace keyspace;  // of the next changes
};

}  // namespace mergedb::c
