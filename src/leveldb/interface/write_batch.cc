// FORMAT: the string of a batch is LevelDB's batch (src/leveldb/format/batch.h) with the sequence 0. The
// database assigns the sequence when it writes the batch.
#include "leveldb/write_batch.h"

#include <cstdint>

#include "base/coding.h"
#include "leveldb/format/batch.h"
#include "leveldb/interface/adapters.h"

namespace leveldb {
namespace {

namespace base = mergedb::base;
namespace format = mergedb::leveldb_format;
using mergedb::kv::Kind;

constexpr size_t kCountAt = 8;

uint32_t CountOf(const std::string& rep) { return base::LoadFixed32(rep.data() + kCountAt); }
void AddToCount(std::string* rep, uint32_t more) { base::StoreFixed32(rep->data() + kCountAt, CountOf(*rep) + more); }

}  // namespace

WriteBatch::WriteBatch() { Clear(); }
WriteBatch::~WriteBatch() = default;

void WriteBatch::Clear() { rep_.assign(format::kBatchHeaderBytes, '\0'); }
size_t WriteBatch::ApproximateSize() const { return rep_.size(); }

void WriteBatch::Put(const Slice& key, const Slice& value) {
  AddToCount(&rep_, 1);
  format::AppendOperation(&rep_, Kind::kPut, ToStringView(key), ToStringView(value));
}

void WriteBatch::Delete(const Slice& key) {
  AddToCount(&rep_, 1);
  format::AppendOperation(&rep_, Kind::kDelete, ToStringView(key), {});
}

void WriteBatch::Append(const WriteBatch& source) {
  const std::string other = source.rep_;  // WHY a copy: a batch may be appended to itself
  AddToCount(&rep_, CountOf(other));
  rep_.append(other, format::kBatchHeaderBytes, std::string::npos);
}

Status WriteBatch::Iterate(Handler* handler) const {
  format::BatchReader batch(rep_);
  while (batch.Next()) {
    if (batch.kind() == Kind::kPut) {
      handler->Put(ToSlice(batch.key()), ToSlice(batch.value()));
    } else {
      handler->Delete(ToSlice(batch.key()));
    }
  }
  return FromCore(batch.status());
}

}  // namespace leveldb
