// FORMAT: LevelDB's batch: sequence u64 | count u32 | records
//         record := 1 | key | value, a put; or 0 | key, a delete; key and value with a varint32 length before them
#include "leveldb/write_batch.h"

#include <cstdint>
#include <string_view>

#include "base/coding.h"
#include "leveldb/slice.h"

namespace leveldb {
namespace {

namespace base = mergedb::base;

constexpr size_t kHeadBytes = 12;
constexpr size_t kCountAt = 8;
constexpr char kDeleteRecord = 0;
constexpr char kPutRecord = 1;

std::string_view View(const Slice& slice) { return {slice.data(), slice.size()}; }

uint32_t CountOf(const std::string& rep) { return base::LoadFixed32(rep.data() + kCountAt); }
void AddToCount(std::string* rep, uint32_t more) { base::StoreFixed32(rep->data() + kCountAt, CountOf(*rep) + more); }

}  // namespace

WriteBatch::WriteBatch() { Clear(); }
WriteBatch::~WriteBatch() = default;

void WriteBatch::Clear() { rep_.assign(kHeadBytes, '\0'); }
size_t WriteBatch::ApproximateSize() const { return rep_.size(); }

void WriteBatch::Put(const Slice& key, const Slice& value) {
  AddToCount(&rep_, 1);
  rep_.push_back(kPutRecord);
  base::AppendLengthPrefixed(&rep_, View(key));
  base::AppendLengthPrefixed(&rep_, View(value));
}

void WriteBatch::Delete(const Slice& key) {
  AddToCount(&rep_, 1);
  rep_.push_back(kDeleteRecord);
  base::AppendLengthPrefixed(&rep_, View(key));
}

void WriteBatch::Append(const WriteBatch& source) {
  const std::string other = source.rep_;  // WHY a copy: a batch may be appended to itself
  AddToCount(&rep_, CountOf(other));
  rep_.append(other, kHeadBytes, std::string::npos);
}

Status WriteBatch::Iterate(Handler* handler) const {
  if (rep_.size() < kHeadBytes) return Status::Corruption("malformed WriteBatch (too small)");
  std::string_view rest = std::string_view(rep_).substr(kHeadBytes);
  uint32_t found = 0;
  for (; !rest.empty(); ++found) {
    const char kind = rest.front();
    rest.remove_prefix(1);
    std::string_view key;
    std::string_view value;
    if (kind != kPutRecord && kind != kDeleteRecord) return Status::Corruption("unknown WriteBatch tag");
    if (!base::TakeLengthPrefixed(&rest, &key) || (kind == kPutRecord && !base::TakeLengthPrefixed(&rest, &value))) {
      return Status::Corruption(kind == kPutRecord ? "bad WriteBatch Put" : "bad WriteBatch Delete");
    }
    if (kind == kPutRecord) {
      handler->Put({key.data(), key.size()}, {value.data(), value.size()});
    } else {
      handler->Delete({key.data(), key.size()});
    }
  }
  return found == CountOf(rep_) ? Status::OK() : Status::Corruption("WriteBatch has wrong count");
}

}  // namespace leveldb
