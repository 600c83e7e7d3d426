#include "fuzz/fix_leveldb_checksums.h"

#include <algorithm>

#include "base/coding.h"
#include "base/crc32c.h"
#include "leveldb/format/log.h"
#include "leveldb/format/table.h"

namespace mergedb::fuzz {

using namespace leveldb_format;

void FixLevelDbLogChecksums(std::string* bytes) {
  for (size_t at = 0; at + kFragmentHeaderBytes <= bytes->size();) {
    const size_t left = kLogBlockBytes - at % kLogBlockBytes;
    if (left < kFragmentHeaderBytes) {
      at += left;
      continue;
    }
    const size_t length = base::LoadFixed16(bytes->data() + at + 4);
    if (length > std::min(left, bytes->size() - at) - kFragmentHeaderBytes) return;
    base::StoreFixed32(bytes->data() + at, MaskCrc(base::Crc32cExtend(0, bytes->data() + at + 6, 1 + length)));
    at += kFragmentHeaderBytes + length;
  }
}

namespace {

void FixBlockChecksums(std::string* bytes, const Handle& handle) {
  if (!CheckHandle(handle, bytes->size()).ok()) return;
  char* const block = bytes->data() + handle.offset;
  base::StoreFixed32(block + handle.bytes + 1, MaskCrc(base::Crc32c({block, handle.bytes + 1})));
}

}  // namespace

void FixLevelDbTableChecksums(std::string* bytes) {
  const auto footer = DecodeTableFooter(*bytes);
  if (!footer) return;
  FixBlockChecksums(bytes, footer->metaindex);
  FixBlockChecksums(bytes, footer->index);
  if (!CheckHandle(footer->index, bytes->size()).ok()) return;
  const auto index = OpenBlock(bytes->substr(footer->index.offset, footer->index.bytes + kBlockTrailerBytes), false);
  if (!index) return;
  const UserOrder order{kv::Order(BytewiseComparator())};
  BlockIterator it(order, *index);
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    if (const auto handle = DecodeHandle(it.value())) FixBlockChecksums(bytes, *handle);
  }
}

}  // namespace mergedb::fuzz
