#include "leveldb/interface/adapters.h"

namespace leveldb {
namespace {

constexpr std::string_view kLevelDbBytewise = "leveldb.BytewiseComparator";

}  // namespace

Status ErrorFromCore(const mergedb::Status& status) {
  using mergedb::Code;
  std::string message(status.message());
  if (status.outcome_unknown()) message += " (outcome unknown)";
  switch (status.code()) {
    case Code::kNotFound: return Status::NotFound(message);
    case Code::kCorruption:
    case Code::kMergeFailed: return Status::Corruption(message);
    case Code::kInvalidArgument: return Status::InvalidArgument(message);
    case Code::kNotSupported: return Status::NotSupported(message);
    case Code::kOk:
    case Code::kIOError:
    case Code::kNoSpace:
    case Code::kBusy:
    case Code::kConflict:
    case Code::kAborted:
    case Code::kShuttingDown: break;
  }
  return Status::IOError(message);
}

mergedb::Status ToCore(const Status& status) {
  if (status.ok()) return {};
  const std::string text = status.ToString();
  const size_t colon = text.find(": ");
  const std::string message = colon == std::string::npos ? text : text.substr(colon + 2);
  if (status.IsNotFound()) return mergedb::Status::NotFound(message);
  if (status.IsNotSupportedError()) return mergedb::Status::NotSupported(message);
  return mergedb::Status::IOError(message);
}

std::string_view CoreNameOf(std::string_view leveldb_name) {
  return leveldb_name == kLevelDbBytewise ? mergedb::BytewiseComparator()->Name() : leveldb_name;
}

std::string_view LevelDbNameOf(std::string_view core_name) {
  return core_name == mergedb::BytewiseComparator()->Name() ? kLevelDbBytewise : core_name;
}

}  // namespace leveldb
