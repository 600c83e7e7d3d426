// Transactions and their cursors.
#include <string>
#include <string_view>

#include "functions.h"

namespace mergedb::jni {

namespace {

constexpr size_t kNameBytesMax = size_t{1} << 16;

jlong Begin(JNIEnv* env, jclass, jlong db, jint kind, jint durability, jlong bytes_max, jlong wait_us_max,
            jlong snapshot, jbyteArray name) {
  return Run(env, jlong{0}, [&](Call& call) {
    mergedb_slice n;
    if (!call.Take({In{name, "name", kNameBytesMax, &n, true}})) return jlong{0};
    if (bytes_max < 0 || wait_us_max < 0) return call.ThrowArgument("a limit of the transaction is negative"), jlong{0};
    std::string_view text(static_cast<const char*>(n.data), n.size);
    if (text.find('\0') != std::string_view::npos) return call.ThrowArgument("name: it has a NUL byte"), jlong{0};
    const std::string copy(text);
    mergedb_transaction_options options = {};
    options.struct_size = sizeof options;
    options.kind = kind;
    options.durability = durability;
    options.bytes_max = static_cast<uint64_t>(bytes_max);
    options.wait_us_max = static_cast<uint64_t>(wait_us_max);
    options.snapshot = Handle(snapshot);
    options.name = name == nullptr ? nullptr : copy.c_str();
    mergedb_transaction transaction = 0;
    call.Done(mergedb_transaction_begin(Handle(db), &options, &transaction, call.error()));
    return static_cast<jlong>(transaction);
  });
}

void TransactionDo(JNIEnv* env, jclass, jlong transaction, jint what) {
  Run(env, [&](Call& call) {
    const uint64_t handle = Handle(transaction);
    switch (static_cast<TransactionCall>(what)) {
      case TransactionCall::kCommit: call.Done(mergedb_transaction_commit(handle, call.error())); return;
      case TransactionCall::kRollback: call.Done(mergedb_transaction_rollback(handle, call.error())); return;
      case TransactionCall::kSetSavepoint: call.Done(mergedb_transaction_set_savepoint(handle, call.error())); return;
      case TransactionCall::kRollbackToSavepoint:
        call.Done(mergedb_transaction_rollback_to_savepoint(handle, call.error()));
        return;
      case TransactionCall::kReleaseSavepoint:
        call.Done(mergedb_transaction_release_savepoint(handle, call.error()));
        return;
    }
    call.ThrowArgument("unknown call: %d", what);
  });
}

jbyteArray TransactionGet(JNIEnv* env, jclass, jlong transaction, jint keyspace, jbyteArray key) {
  return Run(env, jbyteArray{}, [&](Call& call) -> jbyteArray {
    mergedb_slice k;
    if (!call.Take({In{key, "key", kKeyBytesMax, &k}})) return nullptr;
    void* value = nullptr;
    size_t size = 0;
    const mergedb_code code = mergedb_transaction_get(Handle(transaction), static_cast<mergedb_keyspace>(keyspace),
                                                      k.data, k.size, &value, &size, call.error());
    const Freed freed(value);
    if (code == MERGEDB_NOT_FOUND || !call.Done(code)) return nullptr;
    return call.Bytes(value, size);
  });
}

void TransactionChange(JNIEnv* env, jclass, jlong transaction, jint keyspace, jint kind, jbyteArray key,
                       jbyteArray value) {
  Run(env, [&](Call& call) {
    ChangeSlices slices;
    if (!TakeChange(call, kind, key, value, &slices)) return;
    const auto& [k, v] = slices;
    const uint64_t handle = Handle(transaction);
    const auto space = static_cast<mergedb_keyspace>(keyspace);
    switch (static_cast<Change>(kind)) {
      case Change::kPut:
        call.Done(mergedb_transaction_put(handle, space, k.data, k.size, v.data, v.size, call.error()));
        return;
      case Change::kDelete: call.Done(mergedb_transaction_delete(handle, space, k.data, k.size, call.error())); return;
      case Change::kDeleteRange:
        call.Done(mergedb_transaction_delete_range(handle, space, k.data, k.size, v.data, v.size, call.error()));
        return;
    }
  });
}

void TransactionMerge(JNIEnv* env, jclass, jlong transaction, jint keyspace, jbyteArray key, jint type, jint keep,
                      jlong u64, jlong i64, jdouble f64, jlong cap_bytes, jbyteArray bytes, jbyteArray delimiter,
                      jbyteArray name) {
  Run(env, [&](Call& call) {
    mergedb_slice k;
    OperandName text;
    mergedb_operand operand;
    if (!TakeOperand(call, key, {type, keep, u64, i64, f64, cap_bytes, bytes, delimiter, name}, &k, &text, &operand))
      return;
    call.Done(mergedb_transaction_merge(Handle(transaction), static_cast<mergedb_keyspace>(keyspace), k.data, k.size,
                                        &operand, call.error()));
  });
}

jbyteArray TransactionConflict(JNIEnv* env, jclass, jlong transaction, jintArray keyspace) {
  return Run(env, jbyteArray{}, [&](Call& call) -> jbyteArray {
    if (keyspace == nullptr || env->GetArrayLength(keyspace) < 1) return call.ThrowNull("keyspace"), nullptr;
    mergedb_keyspace space = 0;
    void* key = nullptr;
    size_t size = 0;
    const mergedb_code code = mergedb_transaction_conflict(Handle(transaction), &space, &key, &size, call.error());
    const Freed freed(key);
    if (code == MERGEDB_NOT_FOUND || !call.Done(code)) return nullptr;
    const auto number = static_cast<jint>(space);
    env->SetIntArrayRegion(keyspace, 0, 1, &number);
    return call.Bytes(key, size);
  });
}

jlong TransactionSize(JNIEnv* env, jclass, jlong transaction, jint which) {
  return Run(env, jlong{0}, [&](Call& call) {
    uint64_t numbers[3] = {};
    call.Done(mergedb_transaction_size(Handle(transaction), &numbers[0], &numbers[1], &numbers[2], call.error()));
    return static_cast<jlong>(numbers[which >= 0 && which < 3 ? which : 0]);
  });
}

// ---- cursors

jlong CursorOpen(JNIEnv* env, jclass, jlong transaction, jint keyspace) {
  return Run(env, jlong{0}, [&](Call& call) {
    mergedb_cursor cursor = 0;
    call.Done(mergedb_cursor_open(Handle(transaction), static_cast<mergedb_keyspace>(keyspace), &cursor, call.error()));
    return static_cast<jlong>(cursor);
  });
}

jboolean CursorMove(JNIEnv* env, jclass, jlong cursor, jint to, jbyteArray key) {
  return Run(env, jboolean{JNI_FALSE}, [&](Call& call) -> jboolean {
    const bool needs_key = to >= MERGEDB_TO_KEY && to <= MERGEDB_TO_KEY_OR_PREV;
    mergedb_slice k;
    if (!call.Take({In{needs_key ? key : nullptr, "key", kKeyBytesMax, &k, !needs_key}})) return JNI_FALSE;
    const mergedb_code code = mergedb_cursor_move(Handle(cursor), to, k.data, k.size, call.error());
    if (code == MERGEDB_NOT_FOUND || !call.Done(code)) return JNI_FALSE;
    return JNI_TRUE;
  });
}

jbyteArray CursorEntry(JNIEnv* env, jclass, jlong cursor, jint which) {
  return Run(env, jbyteArray{}, [&](Call& call) -> jbyteArray {
    mergedb_slice slice = {};
    const mergedb_code code = which == 0 ? mergedb_cursor_entry(Handle(cursor), &slice, nullptr, call.error())
                                         : mergedb_cursor_entry(Handle(cursor), nullptr, &slice, call.error());
    if (code == MERGEDB_NOT_FOUND || !call.Done(code)) return nullptr;
    return call.Bytes(slice.data, slice.size);
  });
}

void CursorPut(JNIEnv* env, jclass, jlong cursor, jbyteArray value) {
  Run(env, [&](Call& call) {
    mergedb_slice v;
    if (!call.Take({In{value, "value", kValueBytesMax, &v}})) return;
    call.Done(mergedb_cursor_put(Handle(cursor), v.data, v.size, call.error()));
  });
}

void CursorDelete(JNIEnv* env, jclass, jlong cursor) {
  Run(env, [&](Call& call) { call.Done(mergedb_cursor_delete(Handle(cursor), call.error())); });
}

}  // namespace

std::span<const JNINativeMethod> TransactionFunctions() {
  static const JNINativeMethod methods[] = {
      Method("transactionBegin", "(JIIJJJ[B)J", Begin),
      Method("transactionDo", "(JI)V", TransactionDo),
      Method("transactionGet", "(JI[B)[B", TransactionGet),
      Method("transactionChange", "(JII[B[B)V", TransactionChange),
      Method("transactionMerge", "(JI[B" MERGEDB_OPERAND ")V", TransactionMerge),
      Method("transactionConflict", "(J[I)[B", TransactionConflict),
      Method("transactionSize", "(JI)J", TransactionSize),
      Method("cursorOpen", "(JI)J", CursorOpen),
      Method("cursorMove", "(JI[B)Z", CursorMove),
      Method("cursorEntry", "(JI)[B", CursorEntry),
      Method("cursorPut", "(J[B)V", CursorPut),
      Method("cursorDelete", "(J)V", CursorDelete),
  };
  return methods;
}

}  // namespace mergedb::jni
