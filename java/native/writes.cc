// Puts, deletes, merges and batches.
#include <cstring>

#include "functions.h"

namespace mergedb::jni {

namespace {

// The options of a write; null where all of them are defaults, which saves the engine from reading them.
class Options {
 public:
  Options(jint durability, jint keyspace)
      : options_{sizeof options_, durability, static_cast<mergedb_keyspace>(keyspace)} {}
  const mergedb_write_options* get() const {
    return options_.durability == 0 && options_.keyspace == 0 ? nullptr : &options_;
  }

 private:
  mergedb_write_options options_;
};

void Put(JNIEnv* env, jclass, jlong db, jint durability, jint keyspace, jbyteArray key, jbyteArray value) {
  Run(env, [&](Call& call) {
    mergedb_slice k, v;
    if (!call.Take({In{key, "key", kKeyBytesMax, &k}, In{value, "value", kValueBytesMax, &v}})) return;
    call.Done(
        mergedb_put(Handle(db), Options(durability, keyspace).get(), k.data, k.size, v.data, v.size, call.error()));
  });
}

void PutBuffers(JNIEnv* env, jclass, jlong db, jint durability, jint keyspace, jobject key_buffer, jbyteArray key_array,
                jint key_offset, jint key_size, jobject value_buffer, jbyteArray value_array, jint value_offset,
                jint value_size) {
  Run(env, [&](Call& call) {
    mergedb_slice k, v;
    if (!call.Take(
            {In{key_array, "key", kKeyBytesMax, &k, false, key_buffer, true, key_offset, key_size},
             In{value_array, "value", kValueBytesMax, &v, false, value_buffer, true, value_offset, value_size}})) {
      return;
    }
    call.Done(
        mergedb_put(Handle(db), Options(durability, keyspace).get(), k.data, k.size, v.data, v.size, call.error()));
  });
}

void Delete(JNIEnv* env, jclass, jlong db, jint durability, jint keyspace, jbyteArray key) {
  Run(env, [&](Call& call) {
    mergedb_slice k;
    if (!call.Take({In{key, "key", kKeyBytesMax, &k}})) return;
    call.Done(mergedb_delete(Handle(db), Options(durability, keyspace).get(), k.data, k.size, call.error()));
  });
}

void DeleteBuffer(JNIEnv* env, jclass, jlong db, jint durability, jint keyspace, jobject key_buffer,
                  jbyteArray key_array, jint key_offset, jint key_size) {
  Run(env, [&](Call& call) {
    mergedb_slice k;
    if (!call.Take({In{key_array, "key", kKeyBytesMax, &k, false, key_buffer, true, key_offset, key_size}})) return;
    call.Done(mergedb_delete(Handle(db), Options(durability, keyspace).get(), k.data, k.size, call.error()));
  });
}

void DeleteRange(JNIEnv* env, jclass, jlong db, jint durability, jint keyspace, jbyteArray begin, jbyteArray end) {
  Run(env, [&](Call& call) {
    mergedb_slice b, e;
    if (!call.Take({In{begin, "begin", kKeyBytesMax, &b}, In{end, "end", kKeyBytesMax, &e}})) return;
    call.Done(mergedb_delete_range(Handle(db), Options(durability, keyspace).get(), b.data, b.size, e.data, e.size,
                                   call.error()));
  });
}

void DeletePrefix(JNIEnv* env, jclass, jlong db, jint durability, jint keyspace, jbyteArray prefix) {
  Run(env, [&](Call& call) {
    mergedb_slice p;
    if (!call.Take({In{prefix, "prefix", kKeyBytesMax, &p}})) return;
    call.Done(mergedb_delete_prefix(Handle(db), Options(durability, keyspace).get(), p.data, p.size, call.error()));
  });
}

void Merge(JNIEnv* env, jclass, jlong db, jint durability, jint keyspace, jbyteArray key, jint type, jint keep,
           jlong u64, jlong i64, jdouble f64, jlong cap_bytes, jbyteArray bytes, jbyteArray delimiter,
           jbyteArray name) {
  Run(env, [&](Call& call) {
    mergedb_slice k;
    OperandName text;
    mergedb_operand operand;
    if (!TakeOperand(call, key, {type, keep, u64, i64, f64, cap_bytes, bytes, delimiter, name}, &k, &text, &operand))
      return;
    call.Done(mergedb_merge(Handle(db), Options(durability, keyspace).get(), k.data, k.size, &operand, call.error()));
  });
}

void AddU64(JNIEnv* env, jclass, jlong db, jint durability, jint keyspace, jbyteArray key, jlong delta) {
  Run(env, [&](Call& call) {
    mergedb_slice k;
    if (!call.Take({In{key, "key", kKeyBytesMax, &k}})) return;
    call.Done(mergedb_add_u64(Handle(db), Options(durability, keyspace).get(), k.data, k.size,
                              static_cast<uint64_t>(delta), call.error()));
  });
}

void Write(JNIEnv* env, jclass, jlong db, jint durability, jint keyspace, jlong batch) {
  Run(env, [&](Call& call) {
    call.Done(mergedb_write(Handle(db), Options(durability, keyspace).get(), Handle(batch), call.error()));
  });
}

// ---- batches

jlong BatchCreate(JNIEnv* env, jclass) {
  return Run(env, jlong{0}, [&](Call& call) {
    mergedb_batch batch = 0;
    call.Done(mergedb_batch_create(&batch, call.error()));
    return static_cast<jlong>(batch);
  });
}

bool SetKeyspace(Call& call, jlong batch, jboolean set, jint keyspace) {
  if (set == JNI_FALSE) return true;
  return call.Done(mergedb_batch_set_keyspace(Handle(batch), static_cast<mergedb_keyspace>(keyspace), call.error()));
}

void BatchChange(JNIEnv* env, jclass, jlong batch, jboolean set_keyspace, jint keyspace, jint kind, jbyteArray key,
                 jbyteArray value) {
  Run(env, [&](Call& call) {
    ChangeSlices slices;
    if (!TakeChange(call, kind, key, value, &slices) || !SetKeyspace(call, batch, set_keyspace, keyspace)) return;
    const auto& [k, v] = slices;
    switch (static_cast<Change>(kind)) {
      case Change::kPut:
        call.Done(mergedb_batch_put(Handle(batch), k.data, k.size, v.data, v.size, call.error()));
        return;
      case Change::kDelete: call.Done(mergedb_batch_delete(Handle(batch), k.data, k.size, call.error())); return;
      case Change::kDeleteRange:
        call.Done(mergedb_batch_delete_range(Handle(batch), k.data, k.size, v.data, v.size, call.error()));
        return;
    }
  });
}

void BatchMerge(JNIEnv* env, jclass, jlong batch, jboolean set_keyspace, jint keyspace, jbyteArray key, jint type,
                jint keep, jlong u64, jlong i64, jdouble f64, jlong cap_bytes, jbyteArray bytes, jbyteArray delimiter,
                jbyteArray name) {
  Run(env, [&](Call& call) {
    mergedb_slice k;
    OperandName text;
    mergedb_operand operand;
    if (!TakeOperand(call, key, {type, keep, u64, i64, f64, cap_bytes, bytes, delimiter, name}, &k, &text, &operand) ||
        !SetKeyspace(call, batch, set_keyspace, keyspace)) {
      return;
    }
    call.Done(mergedb_batch_merge(Handle(batch), k.data, k.size, &operand, call.error()));
  });
}

void BatchAppend(JNIEnv* env, jclass, jlong batch, jlong source) {
  Run(env, [&](Call& call) { call.Done(mergedb_batch_append(Handle(batch), Handle(source), call.error())); });
}

void BatchClear(JNIEnv* env, jclass, jlong batch) {
  Run(env, [&](Call& call) { call.Done(mergedb_batch_clear(Handle(batch), call.error())); });
}

jlong BatchSize(JNIEnv* env, jclass, jlong batch, jint which) {
  return Run(env, jlong{0}, [&](Call& call) {
    uint64_t count = 0, bytes = 0;
    call.Done(mergedb_batch_size(Handle(batch), &count, &bytes, call.error()));
    return static_cast<jlong>(which == 0 ? count : bytes);
  });
}

}  // namespace

bool TakeOperand(Call& call, jbyteArray key, const Operand& given, mergedb_slice* key_slice, OperandName* name,
                 mergedb_operand* operand) {
  mergedb_slice bytes, delimiter, operator_name;
  if (!call.Take({In{key, "key", kKeyBytesMax, key_slice}, In{given.bytes, "operand", kValueBytesMax, &bytes},
                  In{given.delimiter, "delimiter", kValueBytesMax, &delimiter},
                  In{given.name, "name", sizeof name->text - 1, &operator_name, true}})) {
    return false;
  }
  *operand = {};
  operand->struct_size = sizeof *operand;
  operand->type = given.type;
  operand->keep = given.keep;
  operand->u64 = static_cast<uint64_t>(given.u64);
  operand->i64 = given.i64;
  operand->f64 = given.f64;
  operand->bytes = bytes;
  operand->delimiter = delimiter;
  operand->cap_bytes = static_cast<uint64_t>(given.cap_bytes);
  if (operator_name.data == nullptr) return true;
  std::memcpy(name->text, operator_name.data, operator_name.size);
  name->text[operator_name.size] = '\0';
  operand->name = name->text;
  return true;
}

bool TakeChange(Call& call, jint kind, jbyteArray key, jbyteArray value, ChangeSlices* slices) {
  In second{value, "value", kValueBytesMax, &slices->value};
  switch (static_cast<Change>(kind)) {
    case Change::kPut: break;
    case Change::kDelete: second.is_optional = true; break;
    case Change::kDeleteRange:
      second.name = "end";
      second.bytes_max = kKeyBytesMax;
      break;
    default: return call.ThrowArgument("unknown kind of change: %d", kind), false;
  }
  return call.Take({In{key, "key", kKeyBytesMax, &slices->key}, second});
}

std::span<const JNINativeMethod> WriteFunctions() {
  static const JNINativeMethod methods[] = {
      Method("put", "(JII[B[B)V", Put),
      Method("putBuffers", "(JII" MERGEDB_BUFFER "[BII" MERGEDB_BUFFER "[BII)V", PutBuffers),
      Method("delete", "(JII[B)V", Delete),
      Method("deleteBuffer", "(JII" MERGEDB_BUFFER "[BII)V", DeleteBuffer),
      Method("deleteRange", "(JII[B[B)V", DeleteRange),
      Method("deletePrefix", "(JII[B)V", DeletePrefix),
      Method("merge", "(JII[B" MERGEDB_OPERAND ")V", Merge),
      Method("addU64", "(JII[BJ)V", AddU64),
      Method("write", "(JIIJ)V", Write),
      Method("batchCreate", "()J", BatchCreate),
      Method("batchChange", "(JZII[B[B)V", BatchChange),
      Method("batchMerge", "(JZI[B" MERGEDB_OPERAND ")V", BatchMerge),
      Method("batchAppend", "(JJ)V", BatchAppend),
      Method("batchClear", "(J)V", BatchClear),
      Method("batchSize", "(JI)J", BatchSize),
  };
  return methods;
}

}  // namespace mergedb::jni
