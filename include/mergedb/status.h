// The outcome of an operation: OK, or a code from a closed set and a message.
//
// The message names what a person needs to act: the file, the offset, what was expected and what was found.
// An OK status is one null pointer: returning it costs nothing. A failed one owns its message on the heap.
//
//     Status status = db->Put({}, "key", "value");
//     if (!status.ok()) fprintf(stderr, "%s\n", status.ToString().c_str());
//
// THREADS: a Status is a value; two threads may read one, not change it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "mergedb/export.h"

namespace mergedb {

enum class Code : uint8_t {
  kOk = 0,
  kNotFound = 1,         // the key, the file or the database is not there
  kCorruption = 2,       // stored bytes are not what was written
  kInvalidArgument = 3,  // the caller asked for something that can never work
  kNotSupported = 4,     // valid, but not by this build, file or style
  kIOError = 5,          // the operating system refused
  kNoSpace = 6,          // the disk or the quota is full; goes away when space returns
  kBusy = 7,             // somebody else holds it; try again
  kConflict = 8,         // a transaction met another one's write
  kAborted = 9,          // given up on request
  kShuttingDown = 10,    // the database is closed or closing
  kMergeFailed = 11,     // this key's operands cannot be applied; other keys are fine, and Put or Delete heals it
};

class [[nodiscard]] MERGEDB_EXPORT Status {
 public:
  Status() = default;  // OK
  Status(const Status& other);
  Status(Status&&) noexcept = default;
  Status& operator=(const Status& other);
  Status& operator=(Status&&) noexcept = default;
  ~Status() = default;

  static Status Ok() { return {}; }
  static Status NotFound(std::string_view message);
  static Status Corruption(std::string_view message);
  static Status InvalidArgument(std::string_view message);
  static Status NotSupported(std::string_view message);
  static Status IOError(std::string_view message);
  static Status NoSpace(std::string_view message);
  static Status Busy(std::string_view message);
  static Status Conflict(std::string_view message);
  static Status Aborted(std::string_view message);
  static Status ShuttingDown(std::string_view message);
  static Status MergeFailed(std::string_view message);
  // REQUIRES: code is not kOk.
  static Status Make(Code code, std::string_view message);

  bool ok() const { return rep_ == nullptr; }
  Code code() const { return rep_ ? rep_->code : Code::kOk; }
  bool IsNotFound() const { return code() == Code::kNotFound; }
  bool IsCorruption() const { return code() == Code::kCorruption; }
  bool IsInvalidArgument() const { return code() == Code::kInvalidArgument; }
  bool IsNotSupported() const { return code() == Code::kNotSupported; }
  bool IsIOError() const { return code() == Code::kIOError; }
  bool IsNoSpace() const { return code() == Code::kNoSpace; }
  bool IsBusy() const { return code() == Code::kBusy; }
  bool IsConflict() const { return code() == Code::kConflict; }
  bool IsAborted() const { return code() == Code::kAborted; }
  bool IsShuttingDown() const { return code() == Code::kShuttingDown; }
  bool IsMergeFailed() const { return code() == Code::kMergeFailed; }

  // A failed write is surely absent unless this is true: then it may be there, whole or not at all, after the
  // next open. (A sync that failed leaves what reached the disk unknown.)
  bool outcome_unknown() const { return rep_ && rep_->outcome_unknown; }
  Status WithOutcomeUnknown() const;

  // The same code with "prefix: " before the message.
  Status WithContext(std::string_view prefix) const;

  std::string_view message() const { return rep_ ? std::string_view(rep_->message) : std::string_view(); }
  std::string ToString() const;  // "Corruption: 000012.tbl: block at 4096: ..."; "OK"

 private:
  struct Rep {
    Code code;
    bool outcome_unknown;
    std::string message;
  };
  explicit Status(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
  std::unique_ptr<Rep> rep_;
};

// "NotFound", "Corruption", ...
MERGEDB_EXPORT std::string_view CodeName(Code code);

}  // namespace mergedb

#define MERGEDB_CONCAT_INNER(a, b) a##b
#define MERGEDB_CONCAT(a, b) MERGEDB_CONCAT_INNER(a, b)

// Return from the calling function when `expr` yields a failed Status.
#define RETURN_IF_ERROR(expr)                                                           \
  do {                                                                                  \
    if (::mergedb::Status returned_status = (expr); !returned_status.ok()) [[unlikely]] \
      return returned_status;                                                           \
  } while (0)

// `ASSIGN_OR_RETURN(auto file, fs.Open(path))`: unwrap a Result or return its Status.
#define ASSIGN_OR_RETURN(target, expr) ASSIGN_OR_RETURN_INNER(MERGEDB_CONCAT(result_, __LINE__), target, expr)
#define ASSIGN_OR_RETURN_INNER(result, target, expr) \
  auto result = (expr);                              \
  if (!result.has_value()) [[unlikely]]              \
    return std::move(result).error();                \
  target = std::move(result).value()
