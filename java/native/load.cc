// JNI_OnLoad: looks up what native code needs of Java, and registers the functions. A failure is an
// UnsatisfiedLinkError or the error that the look-up threw.
#include <jni.h>

#include <span>

#include "call.h"
#include "functions.h"

namespace mergedb::jni {

namespace {

constexpr jint kVersion = JNI_VERSION_1_8;

jclass Class(JNIEnv* env, const char* name) {
  jclass local = env->FindClass(name);
  return local == nullptr ? nullptr : static_cast<jclass>(env->NewGlobalRef(local));
}

bool LookUp(JNIEnv* env) {
  java.mergedb_exception = Class(env, "dev/mergedb/MergedbException");
  java.null_pointer_exception = Class(env, "java/lang/NullPointerException");
  java.illegal_argument_exception = Class(env, "java/lang/IllegalArgumentException");
  java.byte_array = Class(env, "[B");
  java.byte_arrays = Class(env, "[[B");
  jclass callbacks = Class(env, "dev/mergedb/Callbacks");
  if (env->ExceptionCheck()) return false;
  java.exception_of = env->GetStaticMethodID(java.mergedb_exception, "of", "(IZ[B)Ldev/mergedb/MergedbException;");
  java.has_logger = env->GetMethodID(callbacks, "hasLogger", "()Z");
  java.has_listener = env->GetMethodID(callbacks, "hasListener", "()Z");
  java.has_progress = env->GetMethodID(callbacks, "hasProgress", "()Z");
  java.compare = env->GetMethodID(callbacks, "compare", "([B[B)I");
  java.log = env->GetMethodID(callbacks, "log", "([B)V");
  java.event = env->GetMethodID(callbacks, "event", "([BJ[[B[J[[B[B)V");
  java.go_on = env->GetMethodID(callbacks, "goOn", "(JJ)Z");
  java.failure = env->GetFieldID(callbacks, "failure", "Ljava/lang/Throwable;");
  return !env->ExceptionCheck();
}

bool Register(JNIEnv* env, jclass native, std::span<const JNINativeMethod> methods) {
  return env->RegisterNatives(native, methods.data(), static_cast<jint>(methods.size())) == JNI_OK;
}

}  // namespace

}  // namespace mergedb::jni

extern "C" JNIEXPORT jint JNICALL JNI_OnLoad(JavaVM* vm, void*) {
  using namespace mergedb::jni;
  void* raw = nullptr;
  if (vm->GetEnv(&raw, kVersion) != JNI_OK) return JNI_ERR;
  auto* env = static_cast<JNIEnv*>(raw);
  java.vm = vm;
  if (!LookUp(env)) return JNI_ERR;
  jclass native = env->FindClass("dev/mergedb/Native");
  if (native == nullptr) return JNI_ERR;
  for (std::span<const JNINativeMethod> methods :
       {DatabaseFunctions(), ReadFunctions(), WriteFunctions(), TransactionFunctions(), KeyspaceFunctions()}) {
    if (!Register(env, native, methods)) return JNI_ERR;
  }
  return kVersion;
}
