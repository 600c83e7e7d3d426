// The native functions of dev.mergedb.Native, by file. load.cc registers them with the virtual machine, so that the
// library exports nothing but JNI_OnLoad, and a signature that Java does not have fails the load and not a call.
#pragma once

#include <jni.h>

#include <span>

#include "call.h"

namespace mergedb::jni {

std::span<const JNINativeMethod> DatabaseFunctions();
std::span<const JNINativeMethod> ReadFunctions();
std::span<const JNINativeMethod> WriteFunctions();
std::span<const JNINativeMethod> TransactionFunctions();
std::span<const JNINativeMethod> KeyspaceFunctions();

template <typename Function>
JNINativeMethod Method(const char* name, const char* signature, Function* function) {
  return {const_cast<char*>(name), const_cast<char*>(signature), reinterpret_cast<void*>(function)};
}

#define MERGEDB_BYTES "[B"
#define MERGEDB_BUFFER "Ljava/nio/ByteBuffer;"
#define MERGEDB_CALLBACKS "Ldev/mergedb/Callbacks;"
#define MERGEDB_OPERAND "IIJJDJ[B[B[B"

// The parts of a dev.mergedb.Merge.
struct Operand {
  jint type;
  jint keep;
  jlong u64;
  jlong i64;
  jdouble f64;
  jlong cap_bytes;
  jbyteArray bytes;
  jbyteArray delimiter;
  jbyteArray name;
};

// Takes `key` and the operand. `name` holds the operator's name and outlives *operand. False: an exception is pending.
struct OperandName {
  char text[256];
};
bool TakeOperand(Call& call, jbyteArray key, const Operand& given, mergedb_slice* key_slice, OperandName* name,
                 mergedb_operand* operand);

// Kinds of change, as dev.mergedb.Native numbers them.
enum class Change : jint { kPut = 0, kDelete = 1, kDeleteRange = 2 };

// Takes the key and the value of a put, the key of a delete, or the begin and the end of a range. False: an exception
// is pending.
struct ChangeSlices {
  mergedb_slice key, value;
};
bool TakeChange(Call& call, jint kind, jbyteArray key, jbyteArray value, ChangeSlices* slices);

enum class DatabaseCall : jint { kFlush = 0, kSyncLog = 1, kWait = 2, kCheck = 3 };
enum class TransactionCall : jint {
  kCommit = 0,
  kRollback = 1,
  kSetSavepoint = 2,
  kRollbackToSavepoint = 3,
  kReleaseSavepoint = 4
};

}  // namespace mergedb::jni
