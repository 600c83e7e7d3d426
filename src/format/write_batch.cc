#include "mergedb/write_batch.h"

#include "format/batch.h"

namespace mergedb {
namespace {

void AppendIn(std::string* rep, Keyspace keyspace, kv::Kind kind, std::string_view key, std::string_view value) {
  if (keyspace.is_default()) return format::AppendRecord(rep, kind, key, value);
  format::AppendRecord(rep, keyspace.id(), kind, key, value);
}

}  // namespace

void WriteBatch::Put(std::string_view key, std::string_view value) { Put(Keyspace(), key, value); }

void WriteBatch::Delete(std::string_view key) { Delete(Keyspace(), key); }

void WriteBatch::DeleteRange(std::string_view begin, std::string_view end) { DeleteRange(Keyspace(), begin, end); }

void WriteBatch::Merge(std::string_view key, std::string_view operand) { Merge(Keyspace(), key, operand); }

void WriteBatch::Put(Keyspace keyspace, std::string_view key, std::string_view value) {
  AppendIn(&rep_, keyspace, kv::Kind::kPut, key, value);
  ++count_;
}

void WriteBatch::Delete(Keyspace keyspace, std::string_view key) {
  AppendIn(&rep_, keyspace, kv::Kind::kDelete, key, {});
  ++count_;
}

void WriteBatch::DeleteRange(Keyspace keyspace, std::string_view begin, std::string_view end) {
  AppendIn(&rep_, keyspace, kv::Kind::kRangeDelete, begin, end);
  ++count_;
}

void WriteBatch::Merge(Keyspace keyspace, std::string_view key, std::string_view operand) {
  AppendIn(&rep_, keyspace, kv::Kind::kMerge, key, operand);
  ++count_;
}

void WriteBatch::Append(const WriteBatch& other) {
  rep_.append(other.rep_);
  count_ += other.count_;
}

void WriteBatch::Clear() {
  rep_.clear();
  count_ = 0;
}

Status WriteBatch::Visit(Visitor& visitor) const {
  format::BatchReader reader(rep_, format::BatchReader::Form::kCaller);
  uint32_t keyspace = 0;
  while (reader.Next()) {
    if (reader.keyspace() != keyspace) {
      keyspace = reader.keyspace();
      if (!visitor.EnterKeyspace(Keyspace(keyspace))) {
        return Status::NotSupported("the batch writes to keyspace " + std::to_string(keyspace) +
                                    ", which its visitor does not know");
      }
    }
    switch (reader.kind()) {
      case kv::Kind::kPut: visitor.Put(reader.key(), reader.value()); break;
      case kv::Kind::kMerge: visitor.Merge(reader.key(), reader.value()); break;
      case kv::Kind::kRangeDelete: visitor.DeleteRange(reader.key(), reader.value()); break;
      default: visitor.Delete(reader.key()); break;
    }
  }
  return reader.status();
}

}  // namespace mergedb
