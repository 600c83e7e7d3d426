#include "c/interface.h"

#include <cstdlib>
#include <cstring>
#include <new>

namespace mergedb::c {

namespace {

// The codes that only the C interface has.
constexpr auto kBadHandle = static_cast<Code>(MERGEDB_BAD_HANDLE);
constexpr auto kOutOfMemory = static_cast<Code>(MERGEDB_OUT_OF_MEMORY);

const char* NameOf(HandleKind kind) {
  switch (kind) {
    case HandleKind::kDatabase: return "database";
    case HandleKind::kIterator: return "iterator";
    case HandleKind::kSnapshot: return "snapshot";
    case HandleKind::kBatch: return "batch";
    case HandleKind::kReport: return "report";
    case HandleKind::kTransaction: return "transaction";
    case HandleKind::kCursor: return "cursor";
  }
  return "object";
}

void FillError(mergedb_error* error, int32_t code, bool is_outcome_unknown, std::string_view message) noexcept {
  if (error == nullptr) return;
  error->code = code;
  error->outcome_unknown = is_outcome_unknown ? 1 : 0;
  const size_t bytes = message.size() < sizeof error->message ? message.size() : sizeof error->message - 1;
  if (bytes > 0) std::memcpy(error->message, message.data(), bytes);
  error->message[bytes] = '\0';
}

}  // namespace

Status BadHandle(PinOutcome outcome, HandleKind kind) {
  const std::string name = NameOf(kind);
  if (outcome == PinOutcome::kInUse) return Status::Busy(name + " is in use by another thread");
  return Status::Make(kBadHandle, "not the handle of an open " + name);
}

thread_local const CallbackScope* CallbackScope::innermost_ = nullptr;

bool CallbackScope::Covers(mergedb_db db) {
  for (const CallbackScope* scope = innermost_; scope != nullptr; scope = scope->outer_) {
    if (scope->db_ == db) return true;
  }
  return false;
}

mergedb_code Report(mergedb_error* error, const Status& status) noexcept {
  const auto code = static_cast<int32_t>(status.code());
  FillError(error, code, status.outcome_unknown(), status.message());
  return static_cast<mergedb_code>(code);
}

mergedb_code ReportException(mergedb_error* error) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    FillError(error, MERGEDB_OUT_OF_MEMORY, true, "out of memory");
    return MERGEDB_OUT_OF_MEMORY;
  } catch (const std::exception& exception) { FillError(error, MERGEDB_ABORTED, true, exception.what()); } catch (...) {
    FillError(error, MERGEDB_ABORTED, true, "unknown exception");
  }
  return MERGEDB_ABORTED;
}

mergedb_code CloseHandle(uint64_t handle, HandleKind kind, mergedb_error* error) noexcept {
  return Call(error, [&] {
    std::unique_ptr<Object> object;
    const PinOutcome outcome = HandleTable::Global().Close(handle, kind, &object);
    return outcome == PinOutcome::kPinned ? Status() : BadHandle(outcome, kind);
  });
}

Status GiveHandle(HandleKind kind, std::unique_ptr<Object> object, uint64_t* handle) {
  *handle = HandleTable::Global().Add(kind, std::move(object));
  return *handle != 0 ? Status() : Status::Make(kOutOfMemory, "no handle is free");
}

Status CheckBytes(const void* data, size_t size, const char* name) {
  if (data != nullptr || size == 0) [[likely]]
    return Status::Ok();
  return Status::InvalidArgument(std::string(name) + " is NULL but its size is " + std::to_string(size));
}

Status CheckPointer(const void* pointer, const char* name) {
  if (pointer != nullptr) [[likely]]
    return Status::Ok();
  return Status::InvalidArgument(std::string(name) + " is NULL");
}

void* CopyOut(std::string_view bytes) {
  char* copy = static_cast<char*>(std::malloc(bytes.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  if (!bytes.empty()) std::memcpy(copy, bytes.data(), bytes.size());
  copy[bytes.size()] = '\0';
  return copy;
}

void CopyOut(std::string_view bytes, void** copy, size_t* size) {
  *copy = CopyOut(bytes);
  *size = bytes.size();
}

}  // namespace mergedb::c
