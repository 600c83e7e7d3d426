#include "call.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace mergedb::jni {

Java java = {};

Scratch::~Scratch() { std::free(data_); }

char* Scratch::Room(size_t bytes) {
  if (bytes <= capacity_ && data_ != nullptr) return data_;
  std::free(data_);
  data_ = nullptr;
  capacity_ = 0;
  size_t wanted = 4096;
  while (wanted < bytes) wanted = wanted < kKeptBytesMax ? wanted * 2 : bytes;
  data_ = static_cast<char*>(std::malloc(wanted));
  if (data_ == nullptr) throw std::bad_alloc();
  capacity_ = wanted;
  return data_;
}

void Scratch::Trim() {
  if (capacity_ <= kKeptBytesMax) return;
  std::free(data_);
  data_ = nullptr;
  capacity_ = 0;
}

ThreadState& ThreadState::Get() {
  static thread_local ThreadState state;
  return state;
}

ThreadState::~ThreadState() {
  if (is_attached) java.vm->DetachCurrentThread();
}

JNIEnv* Attach() {
  void* env = nullptr;
  if (java.vm->GetEnv(&env, JNI_VERSION_1_8) == JNI_OK) return static_cast<JNIEnv*>(env);
  char name[] = "mergedb";
  JavaVMAttachArgs arguments = {JNI_VERSION_1_8, name, nullptr};
  if (java.vm->AttachCurrentThreadAsDaemon(&env, &arguments) != JNI_OK) return nullptr;
  ThreadState::Get().is_attached = true;
  return static_cast<JNIEnv*>(env);
}

Call::Call(JNIEnv* env) : env_(env), state_(ThreadState::Get()) {
  if (state_.callbacks == 0) return;
  is_refused_ = true;
  ThrowCode(MERGEDB_INVALID_ARGUMENT, "a comparator, logger or progress listener called into mergedb; it must not");
}

Call::~Call() {
  if (is_refused_) return;
  state_.in.Trim();
  state_.out.Trim();
}

bool Call::Done(mergedb_code code) {
  if (code == MERGEDB_OK) [[likely]]
    return true;
  jbyteArray message = Bytes(error_.message, strnlen(error_.message, sizeof error_.message));
  if (message == nullptr) return false;
  jobject exception = env_->CallStaticObjectMethod(java.mergedb_exception, java.exception_of, static_cast<jint>(code),
                                                   static_cast<jboolean>(error_.outcome_unknown != 0), message);
  env_->DeleteLocalRef(message);
  if (env_->ExceptionCheck() || exception == nullptr) return false;
  env_->Throw(static_cast<jthrowable>(exception));
  env_->DeleteLocalRef(exception);
  return false;
}

void Call::ThrowCode(int32_t code, const char* message) {
  error_ = {};
  error_.outcome_unknown = code == MERGEDB_OUT_OF_MEMORY ? 1 : 0;
  std::snprintf(error_.message, sizeof error_.message, "%s", message);
  Done(static_cast<mergedb_code>(code));
}

void Call::ThrowNull(const char* name) { env_->ThrowNew(java.null_pointer_exception, name); }

void Call::ThrowArgument(const char* format, ...) {
  char message[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  env_->ThrowNew(java.illegal_argument_exception, message);
}

bool Call::Measure(const In& input, size_t* bytes) {
  *bytes = 0;
  if (input.array == nullptr && input.direct == nullptr) {
    if (!input.is_optional) ThrowNull(input.name);
    return input.is_optional;
  }
  jlong available = 0;
  if (input.direct != nullptr) {
    available = env_->GetDirectBufferCapacity(input.direct);
    if (available < 0 || (available > 0 && env_->GetDirectBufferAddress(input.direct) == nullptr)) {
      ThrowArgument("%s: the buffer is not direct", input.name);
      return false;
    }
  } else {
    available = env_->GetArrayLength(input.array);
  }
  const jlong size = input.is_part ? jlong{input.size} : available;
  if (size < 0 || input.offset < 0 || jlong{input.offset} + size > available) {
    ThrowArgument("%s: %lld bytes at offset %d, of %lld", input.name, static_cast<long long>(size), input.offset,
                  static_cast<long long>(available));
    return false;
  }
  if (static_cast<size_t>(size) > input.bytes_max) {
    char message[160];
    std::snprintf(message, sizeof message, "the %s has %lld bytes; it may have at most %zu", input.name,
                  static_cast<long long>(size), input.bytes_max);
    ThrowCode(MERGEDB_INVALID_ARGUMENT, message);
    return false;
  }
  *bytes = static_cast<size_t>(size);
  return true;
}

bool Call::Copy(const In& input, size_t bytes, char* room) {
  input.slice->size = bytes;
  if (input.direct != nullptr) {
    input.slice->data = static_cast<const char*>(env_->GetDirectBufferAddress(input.direct)) + input.offset;
    return true;
  }
  input.slice->data = input.array == nullptr ? nullptr : room;
  if (bytes == 0) return true;
  env_->GetByteArrayRegion(input.array, input.offset, static_cast<jsize>(bytes), reinterpret_cast<jbyte*>(room));
  return !env_->ExceptionCheck();
}

bool Call::TakeAll(const In* inputs, size_t count) {
  constexpr size_t kInputsMax = 4;
  size_t sizes[kInputsMax] = {};
  size_t all = 0;
  if (count > kInputsMax) return ThrowCode(-1, "too many inputs"), false;
  for (size_t i = 0; i < count; ++i) {
    if (!Measure(inputs[i], &sizes[i])) return false;
    if (inputs[i].direct == nullptr) all += sizes[i];
  }
  char* room = state_.in.Room(all);
  for (size_t i = 0; i < count; ++i) {
    if (!Copy(inputs[i], sizes[i], room)) return false;
    if (inputs[i].direct == nullptr) room += sizes[i];
  }
  return true;
}

jbyteArray Call::Bytes(const void* data, size_t size) {
  if (size > static_cast<size_t>(INT32_MAX)) {
    ThrowCode(MERGEDB_INVALID_ARGUMENT, "more bytes than a Java array holds");
    return nullptr;
  }
  jbyteArray array = env_->NewByteArray(static_cast<jsize>(size));
  if (array == nullptr || size == 0) return array;
  env_->SetByteArrayRegion(array, 0, static_cast<jsize>(size), static_cast<const jbyte*>(data));
  return array;
}

jobjectArray Call::BytesList(const mergedb_slice* slices, size_t count) {
  if (count > static_cast<size_t>(INT32_MAX)) {
    ThrowCode(MERGEDB_INVALID_ARGUMENT, "more elements than a Java array holds");
    return nullptr;
  }
  jobjectArray list = env_->NewObjectArray(static_cast<jsize>(count), java.byte_array, nullptr);
  for (size_t i = 0; list != nullptr && i < count; ++i) {
    if (slices[i].data == nullptr) continue;
    jbyteArray bytes = Bytes(slices[i].data, slices[i].size);
    if (bytes == nullptr) return nullptr;
    env_->SetObjectArrayElement(list, static_cast<jsize>(i), bytes);
    env_->DeleteLocalRef(bytes);
  }
  return list;
}

}  // namespace mergedb::jni
