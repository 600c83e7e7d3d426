#include "read/next_step.h"

#include <string>
#include <utility>

namespace mergedb::read {
namespace {

// A message with these bytes names a command already.
constexpr std::string_view kCommand = "`mergedb ";

Status Extended(const Status& status, Code code, const std::string& more) {
  Status extended = Status::Make(code, std::string(status.message()) + more);
  return status.outcome_unknown() ? extended.WithOutcomeUnknown() : extended;
}

}  // namespace

Status WithNextStep(Status status, std::string_view directory) {
  if (!status.IsCorruption() || directory.empty() || status.message().find(kCommand) != std::string_view::npos)
    return status;
  const std::string name(directory);
  return Extended(status, Code::kCorruption,
                  "; close the database, then run `mergedb verify " + name +
                      "` to find all damage and `mergedb repair " + name + "` to keep all intact data");
}

Status OfWrite(Status status, std::string_view directory) {
  if (!status.IsNotFound()) return WithNextStep(std::move(status), directory);
  const std::string name(directory);
  return Extended(
      status, Code::kIOError,
      "; a file in the directory " + name +
          ", or the directory, was renamed or removed while the database is open; restore its name, or close the "
          "database and run `mergedb verify " +
          name + "` to see what is missing");
}

}  // namespace mergedb::read
