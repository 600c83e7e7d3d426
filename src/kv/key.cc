#include "kv/key.h"

#include "base/bytes.h"

namespace mergedb::kv {

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kDelete: return "DELETE";
    case Kind::kPut: return "PUT";
    case Kind::kMerge: return "MERGE";
    case Kind::kRangeDelete: return "RANGE_DELETE";
    case Kind::kPutBlobIndex: return "PUT_REF";
    case Kind::kMerged: return "MERGED";
  }
  return "?";
}

std::string PrintKey(std::string_view key, Tag tag) {
  std::string text = base::Escape(key, std::string_view::npos);
  text.append("#").append(std::to_string(SequenceOf(tag))).append(",").append(KindName(KindOf(tag)));
  return text;
}

}  // namespace mergedb::kv
