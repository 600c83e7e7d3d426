// Open, close, verify, repair, properties, checkpoints.
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "functions.h"
#include "hooks.h"

namespace mergedb::jni {

namespace {

constexpr size_t kPathBytesMax = size_t{1} << 20;
constexpr size_t kNameBytesMax = size_t{1} << 16;

jstring Version(JNIEnv* env, jclass) { return env->NewStringUTF(mergedb_version()); }

// A path or a name as C text. False: an exception is pending.
bool TakeText(Call& call, jbyteArray given, const char* name, size_t bytes_max, std::string* text) {
  mergedb_slice slice;
  if (!call.Take({In{given, name, bytes_max, &slice}})) return false;
  text->assign(static_cast<const char*>(slice.data), slice.size);
  if (text->find('\0') == std::string::npos) return true;
  call.ThrowArgument("%s: it has a NUL byte", name);
  return false;
}

jlong Open(JNIEnv* env, jclass, jbyteArray path, jbyteArray option_lines, jbyteArray comparator_name,
           jobject callbacks) {
  return Run(env, jlong{0}, [&](Call& call) {
    std::string directory;
    DecodedOptions options;
    if (!TakeText(call, path, "directory", kPathBytesMax, &directory) ||
        !options.Decode(call, option_lines, comparator_name, callbacks)) {
      return jlong{0};
    }
    mergedb_db db = 0;
    const mergedb_code code = mergedb_open(directory.c_str(), options.get(), &db, call.error());
    options.KeepIf(code == MERGEDB_OK);
    call.Done(code);
    return static_cast<jlong>(db);
  });
}

// Kinds of handle, as dev.mergedb.Handle numbers them.
mergedb_code CloseKind(jint kind, uint64_t handle, mergedb_error* error) {
  switch (kind) {
    case 0: return mergedb_close(handle, error);
    case 1: return mergedb_iterator_close(handle, error);
    case 2: return mergedb_snapshot_close(handle, error);
    case 3: return mergedb_batch_close(handle, error);
    case 4: return mergedb_transaction_close(handle, error);
    case 5: return mergedb_cursor_close(handle, error);
    default: return MERGEDB_OK;
  }
}

void Close(JNIEnv* env, jclass, jint kind, jlong handle) {
  Run(env, [&](Call& call) {
    if (kind < 0 || kind > 5) return call.ThrowArgument("unknown kind of handle: %d", kind);
    call.Done(CloseKind(kind, Handle(handle), call.error()));
  });
}

void Destroy(JNIEnv* env, jclass, jbyteArray path) {
  Run(env, [&](Call& call) {
    std::string directory;
    if (TakeText(call, path, "directory", kPathBytesMax, &directory))
      call.Done(mergedb_destroy(directory.c_str(), call.error()));
  });
}

// ---- verify and repair

struct ReportHandle {
  mergedb_report number = 0;
  ~ReportHandle() {
    if (number != 0) mergedb_report_close(number, nullptr);
  }
};

// Null: an exception is pending.
jobjectArray Lines(Call& call, mergedb_report report, int32_t list) {
  std::vector<mergedb_slice> lines;
  const char* text = nullptr;
  for (size_t i = 0; mergedb_report_text(report, list, i, &text, nullptr) == MERGEDB_OK; ++i) {
    lines.push_back({text, std::strlen(text)});
  }
  return call.BytesList(lines.data(), lines.size());
}

jobjectArray Inspect(JNIEnv* env, jclass, jbyteArray path, jboolean repair, jboolean dry_run, jbyteArray option_lines,
                     jbyteArray comparator_name, jobject callbacks) {
  return Run(env, jobjectArray{}, [&](Call& call) -> jobjectArray {
    std::string directory;
    DecodedOptions options;
    if (!TakeText(call, path, "directory", kPathBytesMax, &directory) ||
        !options.Decode(call, option_lines, comparator_name, callbacks)) {
      return nullptr;
    }
    mergedb_repair_options repair_options = {};
    repair_options.struct_size = sizeof repair_options;
    repair_options.options = options.get();
    repair_options.dry_run = dry_run != JNI_FALSE ? MERGEDB_YES : MERGEDB_NO;
    ReportHandle report;
    const mergedb_code code = repair != JNI_FALSE
                                  ? mergedb_repair(directory.c_str(), &repair_options, &report.number, call.error())
                                  : mergedb_verify(directory.c_str(), &repair_options, &report.number, call.error());
    options.KeepIf(code == MERGEDB_OK);
    if (!call.Done(code)) return nullptr;
    jobjectArray lists = env->NewObjectArray(4, java.byte_arrays, nullptr);
    for (int32_t list = MERGEDB_DAMAGES; lists != nullptr && list <= MERGEDB_NOTES; ++list) {
      jobjectArray lines = Lines(call, report.number, list);
      if (lines == nullptr) return nullptr;
      env->SetObjectArrayElement(lists, list, lines);
      env->DeleteLocalRef(lines);
    }
    return lists;
  });
}

// ---- maintenance

void DatabaseDo(JNIEnv* env, jclass, jlong db, jint what) {
  Run(env, [&](Call& call) {
    switch (static_cast<DatabaseCall>(what)) {
      case DatabaseCall::kFlush: call.Done(mergedb_flush(Handle(db), call.error())); return;
      case DatabaseCall::kSyncLog: call.Done(mergedb_sync_wal(Handle(db), call.error())); return;
      case DatabaseCall::kWait: call.Done(mergedb_wait(Handle(db), call.error())); return;
      case DatabaseCall::kCheck: call.Done(mergedb_check(Handle(db), call.error())); return;
    }
    call.ThrowArgument("unknown call: %d", what);
  });
}

void Compact(JNIEnv* env, jclass, jlong db, jint keyspace, jbyteArray lower, jbyteArray upper) {
  Run(env, [&](Call& call) {
    mergedb_slice l, u;
    if (!call.Take({In{lower, "lower", kKeyBytesMax, &l, true}, In{upper, "upper", kKeyBytesMax, &u, true}})) return;
    const mergedb_slice* from = l.data == nullptr ? nullptr : &l;
    const mergedb_slice* until = u.data == nullptr ? nullptr : &u;
    call.Done(keyspace == 0 ? mergedb_compact_range(Handle(db), from, until, call.error())
                            : mergedb_keyspace_compact(Handle(db), static_cast<mergedb_keyspace>(keyspace), from, until,
                                                       call.error()));
  });
}

// Null: an exception is pending.
bool TakeList(Call& call, jobjectArray list, const char* name, std::vector<std::string>* texts) {
  JNIEnv* env = call.env();
  if (list == nullptr) return call.ThrowNull(name), false;
  const jsize count = env->GetArrayLength(list);
  for (jsize i = 0; i < count; ++i) {
    auto element = static_cast<jbyteArray>(env->GetObjectArrayElement(list, i));
    mergedb_slice slice;
    if (!call.Take({In{element, name, kKeyBytesMax, &slice}})) return false;
    texts->emplace_back(static_cast<const char*>(slice.data), slice.size);
    env->DeleteLocalRef(element);
  }
  return true;
}

std::vector<mergedb_slice> Slices(const std::vector<std::string>& texts) {
  std::vector<mergedb_slice> slices;
  for (const std::string& text : texts) slices.push_back({text.data(), text.size()});
  return slices;
}

jlongArray ApproximateSizes(JNIEnv* env, jclass, jlong db, jobjectArray lowers, jobjectArray uppers) {
  return Run(env, jlongArray{}, [&](Call& call) -> jlongArray {
    std::vector<std::string> from, until;
    if (!TakeList(call, lowers, "lower", &from) || !TakeList(call, uppers, "upper", &until)) return nullptr;
    if (from.size() != until.size())
      return call.ThrowArgument("expected as many upper bounds as lower bounds, found %zu lower and %zu upper bounds",
                                from.size(), until.size()),
             nullptr;
    std::vector<uint64_t> bytes(from.size() + 1);
    if (!call.Done(mergedb_approximate_sizes(Handle(db), Slices(from).data(), Slices(until).data(), from.size(),
                                             bytes.data(), call.error()))) {
      return nullptr;
    }
    const auto count = static_cast<jsize>(from.size());
    jlongArray sizes = env->NewLongArray(count);
    static_assert(sizeof(jlong) == sizeof(uint64_t));
    if (sizes != nullptr && count > 0)
      env->SetLongArrayRegion(sizes, 0, count, reinterpret_cast<const jlong*>(bytes.data()));
    return sizes;
  });
}

jbyteArray Property(JNIEnv* env, jclass, jlong db, jbyteArray name) {
  return Run(env, jbyteArray{}, [&](Call& call) -> jbyteArray {
    std::string text;
    if (!TakeText(call, name, "name", kNameBytesMax, &text)) return nullptr;
    char* value = nullptr;
    const mergedb_code code = mergedb_get_property(Handle(db), text.c_str(), &value, call.error());
    const std::unique_ptr<char, decltype(&mergedb_free)> freed(value, mergedb_free);
    if (code == MERGEDB_NOT_FOUND || !call.Done(code)) return nullptr;
    return call.Bytes(value, std::strlen(value));
  });
}

int32_t TakeMetric(void* state, const mergedb_metric* metric) {
  std::string text = metric->type == MERGEDB_GAUGE ? "1" : "0";
  text.append("\t").append(std::to_string(metric->value));
  for (const char* part : {metric->name, metric->unit, metric->help}) text.append("\t").append(part);
  static_cast<std::vector<std::string>*>(state)->push_back(std::move(text));
  return 1;
}

jobjectArray Metrics(JNIEnv* env, jclass, jlong db) {
  return Run(env, jobjectArray{}, [&](Call& call) -> jobjectArray {
    std::vector<std::string> texts;
    if (!call.Done(mergedb_metrics(Handle(db), TakeMetric, &texts, call.error()))) return nullptr;
    return call.BytesList(Slices(texts).data(), texts.size());
  });
}

void StartTrace(JNIEnv* env, jclass, jlong db, jbyteArray path, jint sampling, jboolean record_values,
                jlong bytes_max) {
  Run(env, [&](Call& call) {
    std::string file;
    if (!TakeText(call, path, "file", kPathBytesMax, &file)) return;
    if (sampling < 0 || bytes_max < 0) return call.ThrowArgument("sampling and bytesMax must not be negative");
    mergedb_trace_options options = {};
    options.struct_size = sizeof options;
    options.sampling = static_cast<uint32_t>(sampling);
    options.record_values = record_values != JNI_FALSE ? MERGEDB_YES : MERGEDB_NO;
    options.bytes_max = static_cast<uint64_t>(bytes_max);
    call.Done(mergedb_start_trace(Handle(db), file.c_str(), &options, call.error()));
  });
}

jlongArray EndTrace(JNIEnv* env, jclass, jlong db) {
  return Run(env, jlongArray{}, [&](Call& call) -> jlongArray {
    mergedb_trace_report report = {};
    report.struct_size = sizeof report;
    if (!call.Done(mergedb_end_trace(Handle(db), &report, call.error()))) return nullptr;
    const uint64_t numbers[] = {report.operations, report.lost, report.bytes, static_cast<uint64_t>(report.is_full)};
    jlongArray result = env->NewLongArray(4);
    if (result != nullptr) env->SetLongArrayRegion(result, 0, 4, reinterpret_cast<const jlong*>(numbers));
    return result;
  });
}

jlongArray Checkpoint(JNIEnv* env, jclass, jlong db, jbyteArray target, jboolean may_link, jboolean verify,
                      jobject callbacks) {
  return Run(env, jlongArray{}, [&](Call& call) -> jlongArray {
    std::string directory;
    if (!TakeText(call, target, "target", kPathBytesMax, &directory)) return nullptr;
    if (callbacks == nullptr) return call.ThrowNull("callbacks"), nullptr;
    ProgressCall progress = {env, callbacks};
    const bool has_progress = env->CallBooleanMethod(callbacks, java.has_progress) != JNI_FALSE;
    if (env->ExceptionCheck()) return nullptr;
    mergedb_checkpoint_options options = {};
    options.struct_size = sizeof options;
    options.may_link = may_link != JNI_FALSE ? MERGEDB_YES : MERGEDB_NO;
    options.verify = verify != JNI_FALSE ? MERGEDB_YES : MERGEDB_NO;
    options.progress = has_progress ? GoOn : nullptr;
    options.state = &progress;
    mergedb_checkpoint_report report = {};
    report.struct_size = sizeof report;
    if (!call.Done(mergedb_checkpoint(Handle(db), directory.c_str(), &options, &report, call.error()))) return nullptr;
    const uint64_t numbers[] = {report.files, report.linked, report.copied, report.kept, report.bytes, report.sequence};
    jlongArray result = env->NewLongArray(6);
    if (result != nullptr) env->SetLongArrayRegion(result, 0, 6, reinterpret_cast<const jlong*>(numbers));
    return result;
  });
}

}  // namespace

std::span<const JNINativeMethod> DatabaseFunctions() {
  static const JNINativeMethod methods[] = {
      Method("version", "()Ljava/lang/String;", Version),
      Method("open", "([B[B[B" MERGEDB_CALLBACKS ")J", Open),
      Method("close", "(IJ)V", Close),
      Method("destroy", "([B)V", Destroy),
      Method("inspect", "([BZZ[B[B" MERGEDB_CALLBACKS ")[[[B", Inspect),
      Method("databaseDo", "(JI)V", DatabaseDo),
      Method("compact", "(JI[B[B)V", Compact),
      Method("approximateSizes", "(J[[B[[B)[J", ApproximateSizes),
      Method("property", "(J[B)[B", Property),
      Method("metrics", "(J)[[B", Metrics),
      Method("startTrace", "(J[BIZJ)V", StartTrace),
      Method("endTrace", "(J)[J", EndTrace),
      Method("checkpoint", "(J[BZZ" MERGEDB_CALLBACKS ")[J", Checkpoint),
  };
  return methods;
}

}  // namespace mergedb::jni
