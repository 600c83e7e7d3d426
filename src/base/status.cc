#include "mergedb/status.h"

#include "base/assert.h"

namespace mergedb {

Status::Status(const Status& other) : rep_(other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr) {}

Status& Status::operator=(const Status& other) {
  if (this != &other) rep_ = other.rep_ ? std::make_unique<Rep>(*other.rep_) : nullptr;
  return *this;
}

Status Status::Make(Code code, std::string_view message) {
  ASSERT(code != Code::kOk, "a failed status needs a code");
  return Status(std::unique_ptr<Rep>(new Rep{.code = code, .outcome_unknown = false, .message = std::string(message)}));
}

Status Status::NotFound(std::string_view message) { return Make(Code::kNotFound, message); }
Status Status::Corruption(std::string_view message) { return Make(Code::kCorruption, message); }
Status Status::InvalidArgument(std::string_view message) { return Make(Code::kInvalidArgument, message); }
Status Status::NotSupported(std::string_view message) { return Make(Code::kNotSupported, message); }
Status Status::IOError(std::string_view message) { return Make(Code::kIOError, message); }
Status Status::NoSpace(std::string_view message) { return Make(Code::kNoSpace, message); }
Status Status::Busy(std::string_view message) { return Make(Code::kBusy, message); }
Status Status::Conflict(std::string_view message) { return Make(Code::kConflict, message); }
Status Status::Aborted(std::string_view message) { return Make(Code::kAborted, message); }
Status Status::ShuttingDown(std::string_view message) { return Make(Code::kShuttingDown, message); }
Status Status::MergeFailed(std::string_view message) { return Make(Code::kMergeFailed, message); }

Status Status::WithOutcomeUnknown() const {
  Status status = *this;
  if (status.rep_) status.rep_->outcome_unknown = true;
  return status;
}

Status Status::WithContext(std::string_view prefix) const {
  Status status = *this;
  if (status.rep_) status.rep_->message.insert(0, std::string(prefix) + ": ");
  return status;
}

std::string Status::ToString() const {
  if (ok()) return "OK";
  std::string text(CodeName(code()));
  text.append(": ").append(message());
  if (outcome_unknown()) text += " (outcome unknown)";
  return text;
}

std::string_view CodeName(Code code) {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kNotFound: return "NotFound";
    case Code::kCorruption: return "Corruption";
    case Code::kInvalidArgument: return "InvalidArgument";
    case Code::kNotSupported: return "NotSupported";
    case Code::kIOError: return "IOError";
    case Code::kNoSpace: return "NoSpace";
    case Code::kBusy: return "Busy";
    case Code::kConflict: return "Conflict";
    case Code::kAborted: return "Aborted";
    case Code::kShuttingDown: return "ShuttingDown";
    case Code::kMergeFailed: return "MergeFailed";
  }
  return "Unknown";
}

}  // namespace mergedb
