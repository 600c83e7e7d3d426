#include "hooks.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

namespace mergedb::jni {

namespace {

constexpr int kNumbers = 15;  // of dev.mergedb.Options.numbers()
constexpr int kAllocationTries = 100;
constexpr auto kAllocationPause = std::chrono::milliseconds(10);

class InCallback {
 public:
  InCallback() { ++ThreadState::Get().callbacks; }
  ~InCallback() { --ThreadState::Get().callbacks; }
};

int CompareBytes(const void* a, size_t a_size, const void* b, size_t b_size) {
  const size_t common = std::min(a_size, b_size);
  const int order = common == 0 ? 0 : std::memcmp(a, b, common);
  if (order != 0) return order;
  return a_size < b_size ? -1 : a_size > b_size ? 1 : 0;
}

// Null: no memory; an exception is pending.
jbyteArray Copy(JNIEnv* env, const void* data, size_t size) {
  jbyteArray array = env->NewByteArray(static_cast<jsize>(size));
  if (array != nullptr && size > 0) {
    env->SetByteArrayRegion(array, 0, static_cast<jsize>(size), static_cast<const jbyte*>(data));
  }
  return array;
}

// WHY it tries again: another thread may have filled the heap for a moment, and an order that is wrong once is wrong
// for ever.
jbyteArray CopyWithRetries(JNIEnv* env, const void* data, size_t size) {
  for (int i = 0;; ++i) {
    jbyteArray array = Copy(env, data, size);
    if (array != nullptr || i == kAllocationTries) return array;
    env->ExceptionClear();
    std::this_thread::sleep_for(kAllocationPause);
  }
}

// An exception that Java's side could not take itself: no memory, or no stack to call it.
void Remember(JNIEnv* env, jobject callbacks) {
  jthrowable thrown = env->ExceptionOccurred();
  env->ExceptionClear();
  if (thrown == nullptr) return;
  env->SetObjectField(callbacks, java.failure, thrown);
  env->DeleteLocalRef(thrown);
}

int CompareInJava(JNIEnv* env, jobject callbacks, const mergedb_slice& a, const mergedb_slice& b) {
  jint order = 0;
  jbyteArray first = CopyWithRetries(env, a.data, a.size);
  jbyteArray second = first == nullptr ? nullptr : CopyWithRetries(env, b.data, b.size);
  if (second != nullptr) order = env->CallIntMethod(callbacks, java.compare, first, second);
  if (env->ExceptionCheck()) {
    Remember(env, callbacks);
    order = CompareBytes(a.data, a.size, b.data, b.size);
  }
  if (first != nullptr) env->DeleteLocalRef(first);
  if (second != nullptr) env->DeleteLocalRef(second);
  return order;
}

int Compare(void* state, const void* a, size_t a_size, const void* b, size_t b_size) {
  JNIEnv* env = Attach();
  while (env == nullptr) {  // the process ends: what is compared now must not reach the disk in a wrong order
    std::this_thread::sleep_for(kAllocationPause);
    env = Attach();
  }
  InCallback in_callback;
  return CompareInJava(env, static_cast<Hook*>(state)->callbacks(), {a, a_size}, {b, b_size});
}

void Log(void* state, const char* line, size_t size) {
  JNIEnv* env = Attach();
  if (env == nullptr) return;
  InCallback in_callback;
  jbyteArray text = Copy(env, line, size);
  if (text != nullptr) env->CallVoidMethod(static_cast<Hook*>(state)->callbacks(), java.log, text);
  env->ExceptionClear();
  if (text != nullptr) env->DeleteLocalRef(text);
}

void Destroy(void* state) { static_cast<Hook*>(state)->Drop(); }

bool FillNumbers(const jlong* n, mergedb_options* options) {
  auto fits = [](jlong value) { return value >= INT32_MIN && value <= INT32_MAX; };
  for (int i : {0, 1, 4, 5, 6, 7, 10, 11}) {
    if (!fits(n[i])) return false;
  }
  for (int i : {2, 3, 8, 9, 14}) {
    if (n[i] < 0) return false;
  }
  options->mode = static_cast<int32_t>(n[0]);
  options->style = static_cast<int32_t>(n[1]);
  options->memory_bytes = static_cast<uint64_t>(n[2]);
  options->write_buffer_bytes = static_cast<uint64_t>(n[3]);
  options->compression_upper = static_cast<int32_t>(n[4]);
  options->compression_bottom = static_cast<int32_t>(n[5]);
  options->bloom_bits_per_key = static_cast<int32_t>(n[6]);
  options->open_tables_max = static_cast<int32_t>(n[7]);
  options->block_bytes = static_cast<uint64_t>(n[8]);
  options->write_delay_us_max = static_cast<uint64_t>(n[9]);
  options->finish_compactions_on_close = static_cast<int32_t>(n[10]);
  options->use_mapped_wal_buffer = static_cast<int32_t>(n[11]);
  options->blob_value_bytes_min = n[12];
  options->wal_sync_interval_ms = n[13];
  options->mapped_read_bytes_max = static_cast<uint64_t>(n[14]);
  return true;
}

}  // namespace

Hook* Hook::Create(JNIEnv* env, jobject callbacks) {
  jobject reference = env->NewGlobalRef(callbacks);
  if (reference == nullptr) throw std::bad_alloc();
  Hook* hook = new (std::nothrow) Hook(reference);
  if (hook != nullptr) return hook;
  env->DeleteGlobalRef(reference);
  throw std::bad_alloc();
}

void Hook::Drop() {
  if (owners_.fetch_sub(1) != 1) return;
  if (JNIEnv* env = Attach(); env != nullptr) env->DeleteGlobalRef(callbacks_);
  delete this;
}

void Hook::KeepIf(bool has_succeeded) {
  if (!has_succeeded && owners_.load() == 2) Drop();  // options that are refused as such are not taken
  Drop();
}

bool DecodedOptions::Decode(Call& call, jlongArray numbers, jbyteArray comparator_name, jobject callbacks) {
  JNIEnv* env = call.env();
  jlong values[kNumbers] = {};
  if (numbers == nullptr || env->GetArrayLength(numbers) != kNumbers)
    return call.ThrowArgument("options have %d numbers", kNumbers), false;
  env->GetLongArrayRegion(numbers, 0, kNumbers, values);
  options_.struct_size = sizeof options_;
  if (!FillNumbers(values, &options_)) return call.ThrowArgument("an option is out of range"), false;
  if (comparator_name != nullptr) {
    const jsize size = env->GetArrayLength(comparator_name);
    if (size < 1 || size > 255)
      return call.ThrowArgument("the comparator's name has %d bytes; it must have 1 to 255", size), false;
    env->GetByteArrayRegion(comparator_name, 0, size, reinterpret_cast<jbyte*>(name_));
    if (std::strlen(name_) != static_cast<size_t>(size))
      return call.ThrowArgument("the comparator's name has a NUL byte"), false;
    if (callbacks == nullptr) return call.ThrowNull("callbacks"), false;
    comparator_hook_ = Hook::Create(env, callbacks);
    comparator_ = {sizeof comparator_, name_, Compare, Destroy, comparator_hook_};
    options_.comparator = &comparator_;
  }
  if (callbacks == nullptr) return true;
  const bool has_logger = env->CallBooleanMethod(callbacks, java.has_logger) != JNI_FALSE;
  if (env->ExceptionCheck()) return false;
  if (!has_logger) return true;
  logger_hook_ = Hook::Create(env, callbacks);
  logger_ = {sizeof logger_, Log, Destroy, logger_hook_};
  options_.logger = &logger_;
  return true;
}

void DecodedOptions::KeepIf(bool has_succeeded) {
  if (comparator_hook_ != nullptr) comparator_hook_->KeepIf(has_succeeded);
  if (logger_hook_ != nullptr) logger_hook_->KeepIf(has_succeeded);
  comparator_hook_ = nullptr;
  logger_hook_ = nullptr;
}

int32_t GoOn(void* state, uint64_t bytes_done, uint64_t bytes_all) {
  const auto* progress = static_cast<const ProgressCall*>(state);
  InCallback in_callback;
  const jboolean goes_on = progress->env->CallBooleanMethod(
      progress->callbacks, java.go_on, static_cast<jlong>(bytes_done), static_cast<jlong>(bytes_all));
  if (!progress->env->ExceptionCheck()) return goes_on != JNI_FALSE ? 1 : 0;
  Remember(progress->env, progress->callbacks);
  return 0;
}

}  // namespace mergedb::jni
