// The C interface of transactions and their cursors.
#include <mutex>

#include "c/interface.h"
#include "c/options.h"
#include "mergedb/c.h"

using namespace mergedb;
using namespace mergedb::c;

namespace {

// The lock of a shared transaction, held for the length of one call. A second caller gets Busy.
using InUse = std::unique_lock<base::Mutex>;

Status Busy() { return Status::Busy("another call on this transaction or one of its cursors is in progress"); }

template <typename Body>
mergedb_code OnTransaction(mergedb_transaction handle, mergedb_error* error, Body body) {
  return On<TransactionHolder>(handle, error, [&](TransactionHolder& holder) {
    const InUse in_use(holder.shared->mutex, std::try_to_lock);
    if (!in_use.owns_lock()) return Busy();
    return body(*holder.shared->transaction);
  });
}

template <typename Body>
mergedb_code OnCursor(mergedb_cursor handle, mergedb_error* error, Body body) {
  return On<CursorHolder>(handle, error, [&](CursorHolder& holder) {
    const InUse in_use(holder.shared->mutex, std::try_to_lock);
    if (!in_use.owns_lock()) return Busy();
    return body(*holder.cursor);
  });
}

Status MoveTo(Cursor& cursor, int32_t to, std::string_view key) {
  switch (to) {
    case MERGEDB_TO_FIRST: return cursor.First();
    case MERGEDB_TO_LAST: return cursor.Last();
    case MERGEDB_TO_NEXT: return cursor.Next();
    case MERGEDB_TO_PREV: return cursor.Prev();
    case MERGEDB_TO_KEY: return cursor.Set(key);
    case MERGEDB_TO_KEY_OR_NEXT: return cursor.SetRange(key);
    case MERGEDB_TO_KEY_OR_PREV: return cursor.SetForPrev(key);
    case MERGEDB_TO_CURRENT: return cursor.Current();
    default:
      return Status::InvalidArgument("to is " + std::to_string(to) +
                                     ", expected MERGEDB_TO_FIRST to MERGEDB_TO_CURRENT");
  }
}

bool TakesKey(int32_t to) { return to >= MERGEDB_TO_KEY && to <= MERGEDB_TO_KEY_OR_PREV; }

}  // namespace

extern "C" {

mergedb_code mergedb_transaction_begin(mergedb_db db, const mergedb_transaction_options* options,
                                       mergedb_transaction* transaction, mergedb_error* error) {
  Clear(transaction);
  return On<Database>(db, error, [&](Database& database) {
    RETURN_IF_ERROR(CheckPointer(transaction, "transaction"));
    TransactionOptions decoded;
    RETURN_IF_ERROR(DecodeTransactionOptions(options, database.opened.get(), &decoded));
    auto shared = std::make_shared<SharedTransaction>();
    shared->opened = database.opened;
    ASSIGN_OR_RETURN(shared->transaction, Transaction::Begin(database.db(), decoded));
    return GiveHandle(HandleKind::kTransaction, std::make_unique<TransactionHolder>(std::move(shared)), transaction);
  });
}

mergedb_code mergedb_transaction_commit(mergedb_transaction transaction, mergedb_error* error) {
  return OnTransaction(transaction, error, [](Transaction& target) { return target.Commit(); });
}

mergedb_code mergedb_transaction_rollback(mergedb_transaction transaction, mergedb_error* error) {
  return OnTransaction(transaction, error, [](Transaction& target) {
    target.Rollback();
    return Status::Ok();
  });
}

mergedb_code mergedb_transaction_close(mergedb_transaction transaction, mergedb_error* error) {
  return CloseHandle(transaction, HandleKind::kTransaction, error);
}

mergedb_code mergedb_transaction_get(mergedb_transaction transaction, mergedb_keyspace keyspace, const void* key,
                                     size_t key_size, void** value, size_t* value_size, mergedb_error* error) {
  Clear(value, value_size);
  return OnTransaction(transaction, error, [&](Transaction& target) {
    RETURN_IF_ERROR(CheckBytes(key, key_size, "key"));
    RETURN_IF_ERROR(CheckPointer(value, "value"));
    RETURN_IF_ERROR(CheckPointer(value_size, "value_size"));
    std::string found;
    RETURN_IF_ERROR(target.Get(Keyspace(keyspace), ToStringView(key, key_size), &found));
    CopyOut(found, value, value_size);
    return Status::Ok();
  });
}

mergedb_code mergedb_transaction_put(mergedb_transaction transaction, mergedb_keyspace keyspace, const void* key,
                                     size_t key_size, const void* value, size_t value_size, mergedb_error* error) {
  return OnTransaction(transaction, error, [&](Transaction& target) {
    RETURN_IF_ERROR(CheckBytes(key, key_size, "key"));
    RETURN_IF_ERROR(CheckBytes(value, value_size, "value"));
    return target.Put(Keyspace(keyspace), ToStringView(key, key_size), ToStringView(value, value_size));
  });
}

mergedb_code mergedb_transaction_delete(mergedb_transaction transaction, mergedb_keyspace keyspace, const void* key,
                                        size_t key_size, mergedb_error* error) {
  return OnTransaction(transaction, error, [&](Transaction& target) {
    RETURN_IF_ERROR(CheckBytes(key, key_size, "key"));
    return target.Delete(Keyspace(keyspace), ToStringView(key, key_size));
  });
}

mergedb_code mergedb_transaction_delete_range(mergedb_transaction transaction, mergedb_keyspace keyspace,
                                              const void* begin, size_t begin_size, const void* end, size_t end_size,
                                              mergedb_error* error) {
  return OnTransaction(transaction, error, [&](Transaction& target) {
    RETURN_IF_ERROR(CheckBytes(begin, begin_size, "begin"));
    RETURN_IF_ERROR(CheckBytes(end, end_size, "end"));
    return target.DeleteRange(Keyspace(keyspace), ToStringView(begin, begin_size), ToStringView(end, end_size));
  });
}

mergedb_code mergedb_transaction_merge(mergedb_transaction transaction, mergedb_keyspace keyspace, const void* key,
                                       size_t key_size, const mergedb_operand* operand, mergedb_error* error) {
  return OnTransaction(transaction, error, [&](Transaction& target) {
    RETURN_IF_ERROR(CheckBytes(key, key_size, "key"));
    std::string encoded;
    RETURN_IF_ERROR(DecodeOperand(operand, &encoded));
    return target.Merge(Keyspace(keyspace), ToStringView(key, key_size), encoded);
  });
}

mergedb_code mergedb_transaction_keyspace_create(mergedb_transaction transaction, const void* name, size_t name_size,
                                                 int32_t may_exist, mergedb_keyspace* keyspace, mergedb_error* error) {
  Clear(keyspace);
  return OnTransaction(transaction, error, [&](Transaction& target) {
    RETURN_IF_ERROR(CheckBytes(name, name_size, "name"));
    RETURN_IF_ERROR(CheckPointer(keyspace, "keyspace"));
    KeyspaceOptions options;
    RETURN_IF_ERROR(DecodeMayExist(may_exist, &options));
    ASSIGN_OR_RETURN(const Keyspace created, target.CreateKeyspace(ToStringView(name, name_size), options));
    *keyspace = created.id();
    return Status::Ok();
  });
}

mergedb_code mergedb_transaction_keyspace_open(mergedb_transaction transaction, const void* name, size_t name_size,
                                               mergedb_keyspace* keyspace, mergedb_error* error) {
  Clear(keyspace);
  return OnTransaction(transaction, error, [&](Transaction& target) {
    RETURN_IF_ERROR(CheckBytes(name, name_size, "name"));
    RETURN_IF_ERROR(CheckPointer(keyspace, "keyspace"));
    ASSIGN_OR_RETURN(const Keyspace found, target.OpenKeyspace(ToStringView(name, name_size)));
    *keyspace = found.id();
    return Status::Ok();
  });
}

mergedb_code mergedb_transaction_keyspace_list(mergedb_transaction transaction, mergedb_keyspace_entry** entries,
                                               size_t* count, mergedb_error* error) {
  Clear(entries, count);
  return OnTransaction(transaction, error, [&](Transaction& target) {
    RETURN_IF_ERROR(CheckPointer(entries, "entries"));
    RETURN_IF_ERROR(CheckPointer(count, "count"));
    ASSIGN_OR_RETURN(const auto list, target.ListKeyspaces());
    return GiveEntries(list, entries, count);
  });
}

mergedb_code mergedb_transaction_keyspace_drop(mergedb_transaction transaction, mergedb_keyspace keyspace,
                                               mergedb_error* error) {
  return OnTransaction(transaction, error,
                       [&](Transaction& target) { return target.DropKeyspace(Keyspace(keyspace)); });
}

mergedb_code mergedb_transaction_keyspace_clear(mergedb_transaction transaction, mergedb_keyspace keyspace,
                                                mergedb_error* error) {
  return OnTransaction(transaction, error,
                       [&](Transaction& target) { return target.ClearKeyspace(Keyspace(keyspace)); });
}

mergedb_code mergedb_transaction_set_savepoint(mergedb_transaction transaction, mergedb_error* error) {
  return OnTransaction(transaction, error, [](Transaction& target) { return target.SetSavepoint(); });
}

mergedb_code mergedb_transaction_rollback_to_savepoint(mergedb_transaction transaction, mergedb_error* error) {
  return OnTransaction(transaction, error, [](Transaction& target) { return target.RollbackToSavepoint(); });
}

mergedb_code mergedb_transaction_release_savepoint(mergedb_transaction transaction, mergedb_error* error) {
  return OnTransaction(transaction, error, [](Transaction& target) { return target.ReleaseSavepoint(); });
}

mergedb_code mergedb_transaction_conflict(mergedb_transaction transaction, mergedb_keyspace* keyspace, void** key,
                                          size_t* key_size, mergedb_error* error) {
  Clear(keyspace, key, key_size);
  return OnTransaction(transaction, error, [&](Transaction& target) {
    RETURN_IF_ERROR(CheckPointer(key, "key"));
    RETURN_IF_ERROR(CheckPointer(key_size, "key_size"));
    const auto& conflict = target.conflict();
    if (!conflict) return Status::NotFound("");
    CopyOut(conflict->key, key, key_size);
    if (keyspace != nullptr) *keyspace = conflict->keyspace.id();
    return Status::Ok();
  });
}

mergedb_code mergedb_transaction_size(mergedb_transaction transaction, uint64_t* sequence, uint64_t* writes,
                                      uint64_t* bytes, mergedb_error* error) {
  Clear(sequence, writes, bytes);
  return OnTransaction(transaction, error, [&](Transaction& target) {
    if (sequence != nullptr) *sequence = target.sequence();
    if (writes != nullptr) *writes = target.writes();
    if (bytes != nullptr) *bytes = target.bytes();
    return Status::Ok();
  });
}

mergedb_code mergedb_cursor_open(mergedb_transaction transaction, mergedb_keyspace keyspace, mergedb_cursor* cursor,
                                 mergedb_error* error) {
  Clear(cursor);
  return On<TransactionHolder>(transaction, error, [&](TransactionHolder& holder) {
    RETURN_IF_ERROR(CheckPointer(cursor, "cursor"));
    std::unique_ptr<CursorHolder> opened;
    {
      const InUse in_use(holder.shared->mutex, std::try_to_lock);
      if (!in_use.owns_lock()) return Busy();
      opened =
          std::make_unique<CursorHolder>(holder.shared, holder.shared->transaction->OpenCursor(Keyspace(keyspace)));
    }
    return GiveHandle(HandleKind::kCursor, std::move(opened), cursor);
  });
}

mergedb_code mergedb_cursor_move(mergedb_cursor cursor, int32_t to, const void* key, size_t key_size,
                                 mergedb_error* error) {
  return OnCursor(cursor, error, [&](Cursor& target) {
    if (!TakesKey(to)) return MoveTo(target, to, {});
    RETURN_IF_ERROR(CheckBytes(key, key_size, "key"));
    return MoveTo(target, to, ToStringView(key, key_size));
  });
}

mergedb_code mergedb_cursor_entry(mergedb_cursor cursor, mergedb_slice* key, mergedb_slice* value,
                                  mergedb_error* error) {
  Clear(key, value);
  return OnCursor(cursor, error, [&](Cursor& target) {
    if (!target.Valid()) return Status::NotFound("");
    if (key != nullptr) *key = SliceOf(target.key());
    if (value != nullptr) *value = SliceOf(target.value());
    return Status::Ok();
  });
}

mergedb_code mergedb_cursor_put(mergedb_cursor cursor, const void* value, size_t value_size, mergedb_error* error) {
  return OnCursor(cursor, error, [&](Cursor& target) {
    RETURN_IF_ERROR(CheckBytes(value, value_size, "value"));
    return target.Put(ToStringView(value, value_size));
  });
}

mergedb_code mergedb_cursor_delete(mergedb_cursor cursor, mergedb_error* error) {
  return OnCursor(cursor, error, [](Cursor& target) { return target.Delete(); });
}

mergedb_code mergedb_cursor_close(mergedb_cursor cursor, mergedb_error* error) {
  return CloseHandle(cursor, HandleKind::kCursor, error);
}

}  // extern "C"
