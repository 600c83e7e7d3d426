#include "hooks.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace mergedb::jni {

namespace {

constexpr jsize kLinesBytesMax = 1 << 16;  // of dev.mergedb.Options.lines()
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

// A list of texts; null texts stay null. Null: an exception is pending.
template <typename Text>
jobjectArray Texts(JNIEnv* env, const mergedb_event& event, Text text) {
  jobjectArray list = env->NewObjectArray(static_cast<jsize>(event.field_count), java.byte_array, nullptr);
  for (size_t i = 0; list != nullptr && i < event.field_count; ++i) {
    const mergedb_slice bytes = text(event.fields[i]);
    if (bytes.data == nullptr) continue;
    jbyteArray element = Copy(env, bytes.data, bytes.size);
    if (element == nullptr) return nullptr;
    env->SetObjectArrayElement(list, static_cast<jsize>(i), element);
    env->DeleteLocalRef(element);
  }
  return list;
}

// Without memory the event is lost, and an exception is pending.
void TellJava(JNIEnv* env, jobject callbacks, const mergedb_event& event) {
  jbyteArray name = Copy(env, event.name, std::strlen(event.name));
  jbyteArray json = name == nullptr ? nullptr : Copy(env, event.json, std::strlen(event.json));
  if (json == nullptr) return;
  jobjectArray names = Texts(env, event, [](const mergedb_event_field& f) {
    return mergedb_slice{f.name, std::strlen(f.name)};
  });
  if (names == nullptr) return;
  jobjectArray texts = Texts(env, event, [](const mergedb_event_field& f) {
    return mergedb_slice{f.text, f.text_size};
  });
  jlongArray numbers = texts == nullptr ? nullptr : env->NewLongArray(static_cast<jsize>(event.field_count));
  if (numbers == nullptr) return;
  for (size_t i = 0; i < event.field_count; ++i) {
    const auto number = static_cast<jlong>(event.fields[i].number);
    env->SetLongArrayRegion(numbers, static_cast<jsize>(i), 1, &number);
  }
  env->CallVoidMethod(callbacks, java.event, name, static_cast<jlong>(event.time_us), names, numbers, texts, json);
}

// WHY no InCallback: a listener may call the database.
void OnEvent(void* state, const mergedb_event* event) {
  JNIEnv* env = Attach();
  if (env == nullptr) return;
  if (env->PushLocalFrame(16) == 0) {
    TellJava(env, static_cast<Hook*>(state)->callbacks(), *event);
    env->ExceptionClear();
    env->PopLocalFrame(nullptr);
  }
  env->ExceptionClear();
}

// An option that is a number. `set` returns false if the field cannot hold the value.
struct Number {
  std::string_view name;
  bool (*set)(mergedb_options& options, int64_t value);
};

template <typename Field>
bool Store(int64_t value, Field* field) {
  if (!std::in_range<Field>(value)) return false;
  *field = static_cast<Field>(value);
  return true;
}

#define MERGEDB_NUMBER(field)                                                                     \
  {                                                                                               \
#field, [](mergedb_options & options, int64_t value) { return Store(value, &options.field); } \
  }
constexpr Number kNumbers[] = {
    // options: begin names (scripts/options.toml)
    MERGEDB_NUMBER(mode),
    MERGEDB_NUMBER(memory_bytes),
    MERGEDB_NUMBER(write_buffer_bytes),
    MERGEDB_NUMBER(style),
    MERGEDB_NUMBER(compression_upper),
    MERGEDB_NUMBER(compression_bottom),
    MERGEDB_NUMBER(bloom_bits_per_key),
    MERGEDB_NUMBER(block_bytes),
    MERGEDB_NUMBER(blob_value_bytes_min),
    MERGEDB_NUMBER(open_tables_max),
    MERGEDB_NUMBER(mapped_read_bytes_max),
    MERGEDB_NUMBER(write_delay_us_max),
    MERGEDB_NUMBER(finish_compactions_on_close),
    MERGEDB_NUMBER(keep_space_at_rest),
    MERGEDB_NUMBER(use_mapped_wal_buffer),
    MERGEDB_NUMBER(wal_sync_interval_ms),
    MERGEDB_NUMBER(log_bytes_max),
    MERGEDB_NUMBER(slow_call_us),
    // options: end
};
#undef MERGEDB_NUMBER

// A line NAME=VALUE.
bool FillNumber(std::string_view line, mergedb_options* options) {
  const size_t equals = line.find('=');
  if (equals == std::string_view::npos) return false;
  int64_t value = 0;
  const std::string_view digits = line.substr(equals + 1);
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc() || end != digits.data() + digits.size()) return false;
  for (const Number& each : kNumbers) {
    if (each.name == line.substr(0, equals)) return each.set(*options, value);
  }
  return false;
}

bool FillNumbers(Call& call, std::string_view lines, mergedb_options* options) {
  for (int number = 1; !lines.empty(); ++number) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    if (!FillNumber(lines.substr(0, end), options))
      return call.ThrowArgument("line %d of the options is not NAME=VALUE of an option within its range", number),
             false;
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
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

bool DecodedOptions::Decode(Call& call, jbyteArray lines, jbyteArray comparator_name, jobject callbacks) {
  JNIEnv* env = call.env();
  if (lines == nullptr) return call.ThrowNull("options"), false;
  const jsize bytes = env->GetArrayLength(lines);
  if (bytes > kLinesBytesMax) return call.ThrowArgument("the options have %d bytes", bytes), false;
  std::string text(static_cast<size_t>(bytes), '\0');
  env->GetByteArrayRegion(lines, 0, bytes, reinterpret_cast<jbyte*>(text.data()));
  options_.struct_size = sizeof options_;
  if (!FillNumbers(call, text, &options_)) return false;
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
  const bool has_listener = !env->ExceptionCheck() && env->CallBooleanMethod(callbacks, java.has_listener) != JNI_FALSE;
  if (env->ExceptionCheck()) return false;
  if (has_logger) {
    logger_hook_ = Hook::Create(env, callbacks);
    logger_ = {sizeof logger_, Log, Destroy, logger_hook_};
    options_.logger = &logger_;
  }
  if (has_listener) {
    listener_hook_ = Hook::Create(env, callbacks);
    listener_ = {sizeof listener_, OnEvent, Destroy, listener_hook_};
    options_.listener = &listener_;
  }
  return true;
}

void DecodedOptions::KeepIf(bool has_succeeded) {
  for (Hook** hook : {&comparator_hook_, &logger_hook_, &listener_hook_}) {
    if (*hook != nullptr) (*hook)->KeepIf(has_succeeded);
    *hook = nullptr;
  }
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
