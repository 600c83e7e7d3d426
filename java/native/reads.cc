// Gets, snapshots and iterators.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "functions.h"

namespace mergedb::jni {

namespace {

constexpr jint kTrustDisk = 1;  // dev.mergedb.ReadOptions
constexpr jint kLeaveCache = 2;

// The options of a read; null where all of them are defaults.
class Options {
 public:
  Options(jint keyspace, jlong snapshot, jint flags)
      : is_default_(keyspace == 0 && snapshot == 0 && flags == 0),
        options_{sizeof options_,
                 Handle(snapshot),
                 (flags & kTrustDisk) != 0 ? MERGEDB_NO : MERGEDB_DEFAULT,
                 (flags & kLeaveCache) != 0 ? MERGEDB_NO : MERGEDB_DEFAULT,
                 static_cast<mergedb_keyspace>(keyspace),
                 0} {}
  const mergedb_read_options* get() const { return is_default_ ? nullptr : &options_; }

 private:
  bool is_default_;
  mergedb_read_options options_;
};

// A value that the thread's buffer is too small to keep. `is_there` false: an exception is pending, or it was deleted
// meanwhile.
jbyteArray GetLarge(Call& call, uint64_t db, const mergedb_read_options* options, const mergedb_slice& key) {
  void* value = nullptr;
  size_t size = 0;
  const mergedb_code code = mergedb_get(db, options, key.data, key.size, &value, &size, call.error());
  const Freed freed(value);
  if (code == MERGEDB_NOT_FOUND || !call.Done(code)) return nullptr;
  return call.Bytes(value, size);
}

jbyteArray Get(JNIEnv* env, jclass, jlong db, jint keyspace, jlong snapshot, jint flags, jbyteArray key) {
  return Run(env, jbyteArray{}, [&](Call& call) -> jbyteArray {
    mergedb_slice k;
    if (!call.Take({In{key, "key", kKeyBytesMax, &k}})) return nullptr;
    const Options options(keyspace, snapshot, flags);
    for (size_t room = kReadBytes;;) {
      char* buffer = call.out().Room(room);
      size_t size = 0;
      const mergedb_code code = mergedb_get_into(Handle(db), options.get(), k.data, k.size, buffer,
                                                 call.out().capacity(), &size, call.error());
      if (code == MERGEDB_NOT_FOUND || !call.Done(code)) return nullptr;
      if (size <= call.out().capacity()) return call.Bytes(buffer, size);
      if (size > kKeptBytesMax) return GetLarge(call, Handle(db), options.get(), k);
      room = size;
    }
  });
}

// Where a value goes.
struct Target {
  jobject direct;
  jbyteArray array;
  jint offset;
  jint size;
};

// False: an exception is pending.
bool CheckTarget(Call& call, const Target& target, char** address) {
  *address = nullptr;
  jlong available = -1;
  if (target.direct != nullptr) {
    available = call.env()->GetDirectBufferCapacity(target.direct);
    *address = static_cast<char*>(call.env()->GetDirectBufferAddress(target.direct));
  } else if (target.array != nullptr) {
    available = call.env()->GetArrayLength(target.array);
  } else {
    return call.ThrowNull("value"), false;
  }
  if (available < 0 || (target.direct != nullptr && available > 0 && *address == nullptr)) {
    return call.ThrowArgument("value: the buffer is not direct"), false;
  }
  if (target.size < 0 || target.offset < 0 || jlong{target.offset} + target.size > available) {
    call.ThrowArgument("value: %d bytes at offset %d, of %lld", target.size, target.offset,
                       static_cast<long long>(available));
    return false;
  }
  if (*address != nullptr) *address += target.offset;
  return true;
}

jint GetBuffers(JNIEnv* env, jclass, jlong db, jint keyspace, jlong snapshot, jint flags, jobject key_buffer,
                jbyteArray key_array, jint key_offset, jint key_size, jobject value_buffer, jbyteArray value_array,
                jint value_offset, jint value_size) {
  return Run(env, jint{-1}, [&](Call& call) -> jint {
    mergedb_slice k;
    char* direct = nullptr;
    if (!call.Take({In{key_array, "key", kKeyBytesMax, &k, false, key_buffer, true, key_offset, key_size}}) ||
        !CheckTarget(call, {value_buffer, value_array, value_offset, value_size}, &direct)) {
      return -1;
    }
    const Options options(keyspace, snapshot, flags);
    const auto wanted = static_cast<size_t>(value_size);
    for (size_t room = std::min(wanted, kReadBytes);;) {
      char* buffer = value_buffer != nullptr ? direct : call.out().Room(room);
      const size_t capacity = value_buffer != nullptr ? wanted : room;
      size_t size = 0;
      const mergedb_code code =
          mergedb_get_into(Handle(db), options.get(), k.data, k.size, buffer, capacity, &size, call.error());
      if (code == MERGEDB_NOT_FOUND || !call.Done(code)) return -1;
      const size_t copied = std::min(size, wanted);
      if (value_buffer == nullptr) {
        if (copied > room) {
          room = copied;
          continue;
        }
        if (copied > 0) {
          env->SetByteArrayRegion(value_array, value_offset, static_cast<jsize>(copied),
                                  reinterpret_cast<jbyte*>(buffer));
        }
      }
      return static_cast<jint>(size);  // at most kValueBytesMax
    }
  });
}

// The keys one behind the other in `bytes`, which is sized first. False: an exception is pending.
bool TakeKeys(Call& call, jobjectArray keys, std::vector<char>* bytes, std::vector<mergedb_slice>* slices) {
  JNIEnv* env = call.env();
  if (keys == nullptr) return call.ThrowNull("keys"), false;
  const jsize count = env->GetArrayLength(keys);
  slices->resize(static_cast<size_t>(count));
  std::vector<size_t> offsets(slices->size());
  for (jsize i = 0; i < count; ++i) {
    auto key = static_cast<jbyteArray>(env->GetObjectArrayElement(keys, i));
    if (key == nullptr) return call.ThrowNull("key"), false;
    const jsize size = env->GetArrayLength(key);
    if (static_cast<size_t>(size) > kKeyBytesMax) {
      return call.ThrowCode(MERGEDB_INVALID_ARGUMENT, "a key has more than 8 MiB"), false;
    }
    const size_t offset = bytes->size();
    bytes->resize(offset + static_cast<size_t>(size));
    if (size > 0) env->GetByteArrayRegion(key, 0, size, reinterpret_cast<jbyte*>(bytes->data() + offset));
    env->DeleteLocalRef(key);
    offsets[static_cast<size_t>(i)] = offset;
    (*slices)[static_cast<size_t>(i)].size = static_cast<size_t>(size);
  }
  for (size_t i = 0; i < slices->size(); ++i) (*slices)[i].data = bytes->data() + offsets[i];
  return true;
}

jobjectArray MultiGet(JNIEnv* env, jclass, jlong db, jint keyspace, jlong snapshot, jint flags, jobjectArray keys) {
  return Run(env, jobjectArray{}, [&](Call& call) -> jobjectArray {
    std::vector<char> bytes(1);
    std::vector<mergedb_slice> slices;
    if (!TakeKeys(call, keys, &bytes, &slices)) return nullptr;
    const size_t count = slices.size();
    std::vector<void*> values(count + 1);
    std::vector<size_t> sizes(count + 1);
    std::vector<int32_t> codes(count + 1);
    const Options options(keyspace, snapshot, flags);
    const mergedb_code code = mergedb_multi_get(Handle(db), options.get(), slices.data(), count, values.data(),
                                                sizes.data(), codes.data(), call.error());
    std::vector<Freed> freed(count);
    for (size_t i = 0; i < count; ++i) freed[i].reset(values[i]);
    if (!call.Done(code)) return nullptr;
    for (size_t i = 0; i < count; ++i) slices[i] = {values[i], sizes[i]};
    return call.BytesList(slices.data(), count);
  });
}

// ---- snapshots

jlong SnapshotCreate(JNIEnv* env, jclass, jlong db) {
  return Run(env, jlong{0}, [&](Call& call) {
    mergedb_snapshot snapshot = 0;
    call.Done(mergedb_snapshot_create(Handle(db), &snapshot, call.error()));
    return static_cast<jlong>(snapshot);
  });
}

jlong SnapshotSequence(JNIEnv* env, jclass, jlong snapshot) {
  return Run(env, jlong{0}, [&](Call& call) {
    uint64_t sequence = 0;
    call.Done(mergedb_snapshot_sequence(Handle(snapshot), &sequence, call.error()));
    return static_cast<jlong>(sequence);
  });
}

// ---- iterators

// Moves, as dev.mergedb.EntryIterator numbers them.
enum class To : jint { kFirst = 1, kLast, kNext, kPrev, kSeek, kSeekForPrev, kPrevOf, kNextOf, kStay };

jlong IteratorCreate(JNIEnv* env, jclass, jlong db, jint keyspace, jlong snapshot, jint flags, jbyteArray prefix,
                     jbyteArray lower, jbyteArray upper, jboolean keys_only) {
  return Run(env, jlong{0}, [&](Call& call) {
    mergedb_slice p, l, u;
    if (!call.Take({In{prefix, "prefix", kKeyBytesMax, &p, true}, In{lower, "lower", kKeyBytesMax, &l, true},
                    In{upper, "upper", kKeyBytesMax, &u, true}})) {
      return jlong{0};
    }
    const Options read(0, snapshot, flags);
    mergedb_iterator_options options = {};
    options.struct_size = sizeof options;
    options.prefix = p;
    options.lower = l.data == nullptr ? nullptr : &l;
    options.upper = u.data == nullptr ? nullptr : &u;
    options.read = read.get();
    options.keys_only = keys_only != JNI_FALSE ? MERGEDB_YES : MERGEDB_NO;
    options.keyspace = static_cast<mergedb_keyspace>(keyspace);
    mergedb_iterator iterator = 0;
    call.Done(mergedb_iterator_create(Handle(db), &options, &iterator, call.error()));
    return static_cast<jlong>(iterator);
  });
}

mergedb_code Move(Call& call, uint64_t it, To to, const mergedb_slice& key) {
  mergedb_error* error = call.error();
  switch (to) {
    case To::kFirst: return mergedb_iterator_seek_to_first(it, error);
    case To::kLast: return mergedb_iterator_seek_to_last(it, error);
    case To::kNext: return mergedb_iterator_next(it, error);
    case To::kPrev: return mergedb_iterator_prev(it, error);
    case To::kSeek: return mergedb_iterator_seek(it, key.data, key.size, error);
    case To::kSeekForPrev: return mergedb_iterator_seek_for_prev(it, key.data, key.size, error);
    case To::kPrevOf: {
      const mergedb_code code = mergedb_iterator_seek(it, key.data, key.size, error);
      return code != MERGEDB_OK ? code : mergedb_iterator_prev(it, error);
    }
    case To::kNextOf: {
      const mergedb_code code = mergedb_iterator_seek_for_prev(it, key.data, key.size, error);
      return code != MERGEDB_OK ? code : mergedb_iterator_next(it, error);
    }
    case To::kStay: return MERGEDB_OK;
  }
  return MERGEDB_OK;
}

// The entry where it stands, in the form of mergedb_iterator_read, without a move.
jint ReadOne(Call& call, uint64_t it, jbyteArray buffer) {
  JNIEnv* env = call.env();
  mergedb_slice key, value;
  const mergedb_code code = mergedb_iterator_entry(it, &key, &value, call.error());
  if (code == MERGEDB_NOT_FOUND || !call.Done(code)) return -1;
  const uint32_t sizes[2] = {static_cast<uint32_t>(key.size), static_cast<uint32_t>(value.size)};
  const size_t used = sizeof sizes + key.size + value.size;
  if (key.size > kKeyBytesMax || value.size > kValueBytesMax)
    return call.ThrowCode(-1, "an entry is larger than the limits"), -1;
  if (used > static_cast<size_t>(env->GetArrayLength(buffer))) return -2 - static_cast<jint>(used);
  jsize at = 0;
  auto append = [&](const void* data, size_t size) {
    if (size > 0) env->SetByteArrayRegion(buffer, at, static_cast<jsize>(size), static_cast<const jbyte*>(data));
    at += static_cast<jsize>(size);
  };
  append(sizes, sizeof sizes);
  append(key.data, key.size);
  append(value.data, value.size);
  return at;
}

// -1: there is no entry. Less: an entry that `buffer` has no room for.
jint Read(Call& call, uint64_t it, bool is_backwards, jbyteArray buffer, size_t budget) {
  const auto room = static_cast<size_t>(call.env()->GetArrayLength(buffer));
  for (size_t capacity = std::min(budget, room);;) {
    char* bytes = call.out().Room(std::max<size_t>(capacity, 1));
    size_t used = 0, count = 0;
    const mergedb_code code = mergedb_iterator_read(it, is_backwards ? MERGEDB_YES : MERGEDB_NO, bytes, capacity, &used,
                                                    &count, call.error());
    if (code == MERGEDB_NOT_FOUND || !call.Done(code)) return -1;
    if (count > 0) {
      call.env()->SetByteArrayRegion(buffer, 0, static_cast<jsize>(used), reinterpret_cast<jbyte*>(bytes));
      return static_cast<jint>(used);
    }
    if (used > static_cast<size_t>(INT32_MAX) - 2)
      return call.ThrowCode(-1, "an entry is larger than a Java array"), -1;
    if (used > room) return -2 - static_cast<jint>(used);
    capacity = used;
  }
}

jint IteratorMove(JNIEnv* env, jclass, jlong iterator, jint to, jbyteArray key, jint key_offset, jint key_size,
                  jboolean is_backwards, jbyteArray buffer, jint budget) {
  return Run(env, jint{-1}, [&](Call& call) -> jint {
    mergedb_slice k;
    if (to < static_cast<jint>(To::kFirst) || to > static_cast<jint>(To::kStay)) {
      return call.ThrowArgument("unknown move: %d", to), -1;
    }
    const auto move = static_cast<To>(to);
    const bool needs_key = move == To::kSeek || move == To::kSeekForPrev || move == To::kPrevOf || move == To::kNextOf;
    if (buffer == nullptr) return call.ThrowNull("buffer"), -1;
    if (budget < 0) return call.ThrowArgument("budget: expected 0 or more, found %d", budget), -1;
    if (!call.Take(
            {In{needs_key ? key : nullptr, "key", kKeyBytesMax, &k, !needs_key, nullptr, true, key_offset, key_size}}))
      return -1;
    const mergedb_code code = Move(call, Handle(iterator), move, k);
    if (code == MERGEDB_NOT_FOUND || !call.Done(code)) return -1;
    if (budget == 0) return ReadOne(call, Handle(iterator), buffer);
    return Read(call, Handle(iterator), is_backwards != JNI_FALSE, buffer, static_cast<size_t>(budget));
  });
}

jbyteArray IteratorFailedKey(JNIEnv* env, jclass, jlong iterator) {
  return Run(env, jbyteArray{}, [&](Call& call) -> jbyteArray {
    mergedb_slice key = {};
    const mergedb_code code = mergedb_iterator_failed_key(Handle(iterator), &key, call.error());
    if (code == MERGEDB_NOT_FOUND || !call.Done(code)) return nullptr;
    return call.Bytes(key.data, key.size);
  });
}

}  // namespace

std::span<const JNINativeMethod> ReadFunctions() {
  static const JNINativeMethod methods[] = {
      Method("get", "(JIJI[B)[B", Get),
      Method("getBuffers", "(JIJI" MERGEDB_BUFFER "[BII" MERGEDB_BUFFER "[BII)I", GetBuffers),
      Method("multiGet", "(JIJI[[B)[[B", MultiGet),
      Method("snapshotCreate", "(J)J", SnapshotCreate),
      Method("snapshotSequence", "(J)J", SnapshotSequence),
      Method("iteratorCreate", "(JIJI[B[B[BZ)J", IteratorCreate),
      Method("iteratorMove", "(JI[BIIZ[BI)I", IteratorMove),
      Method("iteratorFailedKey", "(J)[B", IteratorFailedKey),
  };
  return methods;
}

}  // namespace mergedb::jni
