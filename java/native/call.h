// What every native function of dev.mergedb.Native does around its one call of the C interface.
//
//     void Flush(JNIEnv* env, jclass, jlong db) {
//       Run(env, [&](Call& call) { call.Done(mergedb_flush(Handle(db), call.error())); });
//     }
//
// Run lets no C++ exception out and frees what the call took. Done turns a code that is not OK into a Java exception.
// A function whose step returned false must return at once: a Java exception is pending.
//
// Bytes of Java arrays are copied into a buffer of the thread: WHY not GetPrimitiveArrayCritical: a call may wait for
// the disk, and the garbage collector would wait with it. The buffer grows and stays, so that a put allocates
// nothing; more than kKeptBytesMax is freed after the call. Direct buffers are read and written where they are.
//
// Sizes and ranges are checked here although Java has checked them: this code never trusts its caller.
//
// Tested by java/mergedb-java/src/test.
#pragma once

#include <jni.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <new>

#include "mergedb/c.h"

namespace mergedb::jni {

constexpr size_t kKeyBytesMax = size_t{8} << 20;
constexpr size_t kValueBytesMax = size_t{1} << 30;
constexpr size_t kKeptBytesMax = size_t{1} << 20;
constexpr size_t kReadBytes = size_t{64} << 10;  // the room of a first read

inline uint64_t Handle(jlong number) { return static_cast<uint64_t>(number); }

// Bytes that the C interface gave.
struct Free {
  void operator()(void* bytes) const { mergedb_free(bytes); }
};
using Freed = std::unique_ptr<void, Free>;

// Memory of one thread that is used again by its next call.
class Scratch {
 public:
  Scratch() = default;
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  char* Room(size_t bytes);  // throws std::bad_alloc; what was there is gone
  void Trim();               // gives back more than kKeptBytesMax
  size_t capacity() const { return capacity_; }

 private:
  char* data_ = nullptr;
  size_t capacity_ = 0;
};

struct ThreadState {
  ~ThreadState();  // detaches a thread that Attach attached
  static ThreadState& Get();

  Scratch in;
  Scratch out;
  int callbacks = 0;         // how many callbacks of Java this thread is in
  bool is_attached = false;  // by Attach
};

// Bytes that Java gave: a whole array, a part of one, or a part of a direct buffer.
struct In {
  jbyteArray array;
  const char* name;
  size_t bytes_max;
  mergedb_slice* slice;      // where the call finds them
  bool is_optional = false;  // null is no bytes: slice->data is then null
  jobject direct = nullptr;
  bool is_part = false;
  jint offset = 0;
  jint size = 0;
};

class Call {
 public:
  explicit Call(JNIEnv* env);
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  JNIEnv* env() const { return env_; }
  mergedb_error* error() { return &error_; }
  Scratch& out() { return state_.out; }
  bool is_refused() const { return is_refused_; }  // a Java exception is pending

  template <size_t N>
  bool Take(const In (&inputs)[N]) {
    return TakeAll(inputs, N);
  }

  // True if `code` is OK; else throws a MergedbException of error().
  bool Done(mergedb_code code);
  void ThrowNull(const char* name);
  void ThrowArgument(const char* format, ...) __attribute__((format(printf, 2, 3)));
  void ThrowCode(int32_t code, const char* message);

  // A new Java array, or null with an exception pending.
  jbyteArray Bytes(const void* data, size_t size);
  // The same of a mergedb_slice list.
  jobjectArray BytesList(const mergedb_slice* slices, size_t count);

 private:
  bool TakeAll(const In* inputs, size_t count);
  bool Measure(const In& input, size_t* bytes);
  bool Copy(const In& input, size_t bytes, char* room);

  JNIEnv* const env_;
  ThreadState& state_;
  bool is_refused_ = false;
  mergedb_error error_;
};

template <typename Result, typename Body>
Result Run(JNIEnv* env, Result failed, Body body) noexcept {
  Call call(env);
  if (call.is_refused()) return failed;
  try {
    return body(call);
  } catch (const std::bad_alloc&) {
    call.ThrowCode(MERGEDB_OUT_OF_MEMORY, "the native part of the call could not allocate memory");
  } catch (const std::exception& e) { call.ThrowCode(-1, e.what()); } catch (...) {
    call.ThrowCode(-1, "an unknown C++ exception");
  }
  return failed;
}

template <typename Body>
void Run(JNIEnv* env, Body body) noexcept {
  Run(env, false, [&](Call& call) {
    body(call);
    return true;
  });
}

// The environment of this thread; a thread of the engine becomes a daemon thread of Java until it ends. Null: the
// virtual machine takes no thread any more, because the process ends.
JNIEnv* Attach();

// What JNI_OnLoad looked up, for the life of the library.
struct Java {
  JavaVM* vm;
  jclass mergedb_exception;
  jmethodID exception_of;
  jclass null_pointer_exception;
  jclass illegal_argument_exception;
  jclass byte_array;
  jclass byte_arrays;
  jmethodID has_logger;
  jmethodID has_listener;
  jmethodID has_progress;
  jmethodID compare;
  jmethodID log;
  jmethodID event;
  jmethodID go_on;
  jfieldID failure;
};
extern Java java;

}  // namespace mergedb::jni
