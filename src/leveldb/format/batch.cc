#include "leveldb/format/batch.h"

#include "base/assert.h"
#include "base/coding.h"

namespace mergedb::leveldb_format {

BatchReader::BatchReader(std::string_view batch) : rest_(batch) {
  if (batch.size() < kBatchHeaderBytes) {
    status_ = Status::Corruption("a batch of " + std::to_string(batch.size()) + " bytes, the least is " +
                                 std::to_string(kBatchHeaderBytes));
    return;
  }
  (void)base::TakeFixed64(&rest_, &first_);
  (void)base::TakeFixed32(&rest_, &count_);
  if (first_ > kv::kSequenceMax - count_)
    status_ = Status::Corruption("a batch of sequence " + std::to_string(first_) + ", beyond the largest");
}

bool BatchReader::Next() {
  if (!status_.ok()) return false;
  if (rest_.empty()) {
    if (done_ != count_) {
      status_ = Status::Corruption("a batch of " + std::to_string(done_) + " operations says that it has " +
                                   std::to_string(count_));
    }
    return false;
  }
  const auto kind = static_cast<uint8_t>(rest_.front());
  rest_.remove_prefix(1);
  const bool is_put = kind == static_cast<uint8_t>(kv::Kind::kPut);
  if (!is_put && kind != static_cast<uint8_t>(kv::Kind::kDelete)) {
    status_ = Status::Corruption("a batch with an operation of the unknown kind " + std::to_string(kind));
    return false;
  }
  kind_ = static_cast<kv::Kind>(kind);
  value_ = {};
  if (!base::TakeLengthPrefixed(&rest_, &key_) || (is_put && !base::TakeLengthPrefixed(&rest_, &value_))) {
    status_ = Status::Corruption("a batch whose operation " + std::to_string(done_) + " is cut short");
    return false;
  }
  if (done_ == count_) {
    status_ =
        Status::Corruption("a batch of more operations than the " + std::to_string(count_) + " that it says it has");
    return false;
  }
  ++done_;
  return true;
}

void AppendBatchHeader(std::string* out, kv::Sequence first, uint32_t count) {
  base::AppendFixed64(out, first);
  base::AppendFixed32(out, count);
}

void AppendOperation(std::string* out, kv::Kind kind, std::string_view key, std::string_view value) {
  ASSERT(kind == kv::Kind::kPut || kind == kv::Kind::kDelete, "LevelDB has no other kinds");
  out->push_back(static_cast<char>(kind));
  base::AppendLengthPrefixed(out, key);
  if (kind == kv::Kind::kPut) base::AppendLengthPrefixed(out, value);
}

}  // namespace mergedb::leveldb_format
