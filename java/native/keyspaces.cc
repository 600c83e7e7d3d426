// Keyspaces, of a database or within a transaction.
#include <memory>
#include <vector>

#include "functions.h"

namespace mergedb::jni {

namespace {

constexpr size_t kNameBytesMax = size_t{1} << 16;  // the engine says 1,024 and names the limit

jlong KeyspaceOpen(JNIEnv* env, jclass, jlong owner, jboolean in_transaction, jbyteArray name, jboolean create,
                   jboolean may_exist) {
  return Run(env, jlong{-1}, [&](Call& call) {
    mergedb_slice n;
    if (!call.Take({In{name, "name", kNameBytesMax, &n}})) return jlong{-1};
    mergedb_keyspace keyspace = 0;
    const int32_t exist = may_exist != JNI_FALSE ? MERGEDB_YES : MERGEDB_NO;
    mergedb_code code = MERGEDB_OK;
    if (create != JNI_FALSE) {
      code = in_transaction != JNI_FALSE
                 ? mergedb_transaction_keyspace_create(Handle(owner), n.data, n.size, exist, &keyspace, call.error())
                 : mergedb_keyspace_create(Handle(owner), n.data, n.size, exist, &keyspace, call.error());
    } else {
      code = in_transaction != JNI_FALSE
                 ? mergedb_transaction_keyspace_open(Handle(owner), n.data, n.size, &keyspace, call.error())
                 : mergedb_keyspace_open(Handle(owner), nullptr, n.data, n.size, &keyspace, call.error());
      if (code == MERGEDB_NOT_FOUND) return jlong{-1};
    }
    return call.Done(code) ? static_cast<jlong>(keyspace) : jlong{-1};
  });
}

jobjectArray KeyspaceList(JNIEnv* env, jclass, jlong owner, jboolean in_transaction) {
  return Run(env, jobjectArray{}, [&](Call& call) -> jobjectArray {
    mergedb_keyspace_entry* entries = nullptr;
    size_t count = 0;
    const mergedb_code code = in_transaction != JNI_FALSE
                                  ? mergedb_transaction_keyspace_list(Handle(owner), &entries, &count, call.error())
                                  : mergedb_keyspace_list(Handle(owner), nullptr, &entries, &count, call.error());
    const std::unique_ptr<void, decltype(&mergedb_free)> freed(entries, mergedb_free);
    if (!call.Done(code)) return nullptr;
    std::vector<mergedb_slice> names, numbers;
    std::vector<unsigned char> bytes(count * 4 + 1);
    for (size_t i = 0; i < count; ++i) {
      names.push_back(entries[i].name);
      for (size_t b = 0; b < 4; ++b) bytes[4 * i + b] = static_cast<unsigned char>(entries[i].keyspace >> (24 - 8 * b));
      numbers.push_back({bytes.data() + 4 * i, 4});
    }
    jobjectArray lists = env->NewObjectArray(2, java.byte_arrays, nullptr);
    if (lists == nullptr) return nullptr;
    for (jsize i = 0; i < 2; ++i) {
      const std::vector<mergedb_slice>& list = i == 0 ? names : numbers;
      jobjectArray array = call.BytesList(list.data(), list.size());
      if (array == nullptr) return nullptr;
      env->SetObjectArrayElement(lists, i, array);
    }
    return lists;
  });
}

void KeyspaceDrop(JNIEnv* env, jclass, jlong owner, jboolean in_transaction, jint durability, jint options_keyspace,
                  jint keyspace, jboolean clear) {
  Run(env, [&](Call& call) {
    const auto space = static_cast<mergedb_keyspace>(keyspace);
    if (in_transaction != JNI_FALSE) {
      call.Done(clear != JNI_FALSE ? mergedb_transaction_keyspace_clear(Handle(owner), space, call.error())
                                   : mergedb_transaction_keyspace_drop(Handle(owner), space, call.error()));
      return;
    }
    const mergedb_write_options options = {sizeof options, durability, static_cast<mergedb_keyspace>(options_keyspace)};
    call.Done(clear != JNI_FALSE ? mergedb_keyspace_clear(Handle(owner), &options, space, call.error())
                                 : mergedb_keyspace_drop(Handle(owner), &options, space, call.error()));
  });
}

}  // namespace

std::span<const JNINativeMethod> KeyspaceFunctions() {
  static const JNINativeMethod methods[] = {
      Method("keyspaceOpen", "(JZ[BZZ)J", KeyspaceOpen),
      Method("keyspaceList", "(JZ)[[[B", KeyspaceList),
      Method("keyspaceDrop", "(JZIIIZ)V", KeyspaceDrop),
  };
  return methods;
}

}  // namespace mergedb::jni
