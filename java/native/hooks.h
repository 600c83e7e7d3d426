// What the engine calls back in Java: comparators, loggers, listeners of events and of progress.
//
// A hook is a global reference to a dev.mergedb.Callbacks object, which lets no exception out. The engine's threads
// become daemon threads of Java the first time that they call back. Calls into mergedb from a callback are refused
// (ThreadState::callbacks), but those of a listener of events, for which no thread of the engine waits.
//
// A comparison that Java cannot answer, because the comparator threw or there is no memory for the two arrays, is
// answered in bytewise order: the engine has no way to give up inside a comparison. The exception is remembered in
// the Callbacks object, and Java refuses every later call.
#pragma once

#include <jni.h>

#include <atomic>

#include "call.h"

namespace mergedb::jni {

// Owned twice: by the native function that made it and by the engine, which gives its share back by `destroy`.
class Hook {
 public:
  static Hook* Create(JNIEnv* env, jobject callbacks);  // null: an exception is pending
  void Drop();
  // A call of the engine failed or is over: our share, and the engine's as well if the engine never took it.
  void KeepIf(bool has_succeeded);
  jobject callbacks() const { return callbacks_; }

 private:
  explicit Hook(jobject callbacks) : callbacks_(callbacks) {}
  ~Hook() = default;

  const jobject callbacks_;
  std::atomic<int> owners_{2};
};

// The options of an open, of a verification or of a repair.
class DecodedOptions {
 public:
  ~DecodedOptions() { KeepIf(false); }
  // False: an exception is pending. `lines` has the options that are numbers: NAME=VALUE, by their names in C. The name
  // of the comparator is read from `comparator_name`.
  bool Decode(Call& call, jbyteArray lines, jbyteArray comparator_name, jobject callbacks);
  void KeepIf(bool has_succeeded);
  const mergedb_options* get() const { return &options_; }

 private:
  mergedb_options options_ = {};
  mergedb_comparator comparator_ = {};
  mergedb_logger logger_ = {};
  mergedb_event_listener listener_ = {};
  char name_[256] = {};
  Hook* comparator_hook_ = nullptr;
  Hook* logger_hook_ = nullptr;
  Hook* listener_hook_ = nullptr;
};

// Of mergedb_checkpoint_options; `state` is a ProgressCall.
struct ProgressCall {
  JNIEnv* env;
  jobject callbacks;
};
int32_t GoOn(void* state, uint64_t bytes_done, uint64_t bytes_all);

}  // namespace mergedb::jni
