#include "db/access/write_checks.h"

#include <string>

#include "base/bytes.h"
#include "format/batch.h"
#include "kv/merge_operators.h"
#include "mergedb/db.h"

namespace mergedb::db {

Status CheckKey(std::string_view key) {
  if (key.size() <= kKeyBytesMax) return {};
  return Status::InvalidArgument("key of " + std::to_string(key.size()) + " bytes; the maximum is " +
                                 std::to_string(kKeyBytesMax));
}

Status CheckValue(std::string_view value) {
  if (value.size() <= kValueBytesMax) return {};
  return Status::InvalidArgument("value of " + std::to_string(value.size()) + " bytes; the maximum is " +
                                 std::to_string(kValueBytesMax));
}

// Ranges obey the limits of keys. Equal ends are allowed.
Status CheckRange(const kv::Order& order, std::string_view begin, std::string_view end) {
  RETURN_IF_ERROR(CheckKey(begin));
  RETURN_IF_ERROR(CheckKey(end));
  if (order.CompareKeys(begin, end) <= 0) return {};
  return Status::InvalidArgument("the range begins at '" + base::Escape(begin, 64) + "', after its end '" +
                                 base::Escape(end, 64) + "'");
}

Status CheckMerge(std::string_view operand) {
  static_assert(kv::kMergedValueBytesMax == kValueBytesMax);
  const Status status = kv::CheckNewOperand(operand);
  return status.ok() ? Status() : Status::InvalidArgument(status.message());
}

Status CheckKeyspace(std::string_view name, const KeyspaceOptions& options) {
  if (name.empty() || name.size() > kKeyspaceNameBytesMax) {
    return Status::InvalidArgument("keyspace name of " + std::to_string(name.size()) + " bytes; 1 to " +
                                   std::to_string(kKeyspaceNameBytesMax) + " are allowed");
  }
  if (options.comparator == BytewiseComparator()) return {};
  if (options.comparator == nullptr) return Status::InvalidArgument("options.comparator is null");
  return Status::NotSupported("keyspaces support only the bytewise comparator, not \"" +
                              base::Escape(options.comparator->Name()) + "\"");
}

Status CheckBatch(const kv::Order& order, const WriteBatch& batch, OperatorNames* names, bool* has_keyspaces) {
  if (batch.bytes() > kBatchBytesMax) {
    return Status::InvalidArgument("batch of " + std::to_string(batch.bytes()) + " bytes; the maximum is " +
                                   std::to_string(kBatchBytesMax));
  }
  format::BatchReader reader(batch.rep(), format::BatchReader::Form::kCaller);
  while (reader.Next()) {
    *has_keyspaces |= reader.keyspace() != 0;
    if (reader.kind() == kv::Kind::kRangeDelete) {
      RETURN_IF_ERROR(CheckRange(order, reader.key(), reader.value()));
      continue;
    }
    RETURN_IF_ERROR(CheckKey(reader.key()));
    RETURN_IF_ERROR(CheckValue(reader.value()));
    if (reader.kind() != kv::Kind::kMerge) continue;
    RETURN_IF_ERROR(CheckMerge(reader.value()));
    names->AddOf(reader.value());
  }
  return reader.status();
}

}  // namespace mergedb::db
