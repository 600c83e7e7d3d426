#include "env/posix_status.h"

#include <string>
#include <system_error>

namespace mergedb::env {
namespace {

Code CodeOf(int error) {
  switch (error) {
    case ENOENT: return Code::kNotFound;
    case ENOSPC:
    case EDQUOT:
    case EFBIG: return Code::kNoSpace;
    case EMFILE:
    case ENFILE: return Code::kBusy;
    case EEXIST: return Code::kInvalidArgument;
    default: return Code::kIOError;
  }
}

}  // namespace

Status PosixStatus(int error, std::string_view path, std::string_view what) {
  std::string message(path);
  message.append(": ").append(what).append(": ");
  message += std::generic_category().message(error);  // as strerror, but safe in threads
  return Status::Make(CodeOf(error), message);
}

Status PosixStatus(int error, std::string_view path, std::string_view what, uint64_t bytes, uint64_t offset) {
  std::string act(what);
  act.append(" ").append(std::to_string(bytes)).append(" bytes at ").append(std::to_string(offset));
  return PosixStatus(error, path, act);
}

}  // namespace mergedb::env
