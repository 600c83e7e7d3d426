// The outcome of an operation: OK, or a code and a message.
//
// The message says what a person needs to act: the file, the offset, what was expected and what was found. An
// OK status is one null pointer and costs nothing to return. A failed status owns its message on the heap.
//
//     Status status = db->Put({}, "key", "value");
//     if (!status.ok()) fprintf(stderr, "%s\n", status.ToString().c_str());
//
// THREADS: a value. Several threads may read one Status at the same time; a change needs exclusive access.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "mergedb/export.h"

namespace mergedb {

enum class Code : uint8_t {
  kOk = 0,
  kNotFound = 1,         // the key, the file or the database does not exist
  kCorruption = 2,       // the stored bytes are not the bytes that were written
  kInvalidArgument = 3,  // the caller asked for something that can never work
  kNotSupported = 4,     // valid, but not supported by this build, file or compaction style
  kIOError = 5,          // the operating system returned an error
  kNoSpace = 6,          // the disk or the quota is full; writes work again when there is space
  kBusy = 7,             // in use by another process, thread or transaction; try again
  kConflict = 8,         // another write conflicts with the transaction
  kAborted = 9,          // the caller ended the operation, or the transaction has ended
  kShuttingDown = 10,    // the database is closed or is closing
  kMergeFailed = 11,     // the operands of this key cannot be applied; other keys work; Put or Delete repairs the key
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

  // True: the failed write may be present after the next open, completely or not at all. (A failed sync
  // leaves the state of the disk unknown.) False: the failed write is absent.
  bool outcome_unknown() const { return rep_ && rep_->outcome_unknown; }
  Status WithOutcomeUnknown() const;

  // The same code with "prefix: " before the message. OK stays OK.
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

// The name of the code: "NotFound", "Corruption", ... The text is static.
MERGEDB_EXPORT std::string_view CodeName(Code code);

}  // namespace mergedb

#define MERGEDB_CONCAT_INNER(a, b) a##b
#define MERGEDB_CONCAT(a, b) MERGEDB_CONCAT_INNER(a, b)
#if __cplusplus >= 202002L
#define MERGEDB_UNLIKELY [[unlikely]]
#else
#define MERGEDB_UNLIKELY
#endif

// Returns from the calling function if `expr` yields a failed Status.
#define RETURN_IF_ERROR(expr)                                                               \
  do {                                                                                      \
    if (::mergedb::Status returned_status = (expr); !returned_status.ok()) MERGEDB_UNLIKELY \
    return returned_status;                                                                 \
  } while (0)

// `ASSIGN_OR_RETURN(auto file, fs.Open(path))`: takes the value out of a Result, or returns its Status.
#define ASSIGN_OR_RETURN(target, expr) ASSIGN_OR_RETURN_INNER(MERGEDB_CONCAT(result_, __LINE__), target, expr)
#define ASSIGN_OR_RETURN_INNER(result, target, expr) \
  auto result = (expr);                              \
  if (!result.has_value()) MERGEDB_UNLIKELY          \
  return std::move(result).error();                  \
  target = std::move(result).value()
