// Records of recent writes: of a key, always as a delete, and of a range.
#pragma once

#include <string>
#include <string_view>

#include "format/batch.h"

namespace mergedb::testing::written {

inline std::string Key(std::string_view key) {
  std::string written;
  format::AppendRecord(&written, kv::Kind::kDelete, key, {});
  return written;
}

inline std::string Range(std::string_view begin, std::string_view end) {
  std::string written;
  format::AppendRecord(&written, kv::Kind::kRangeDelete, begin, end);
  return written;
}

}  // namespace mergedb::testing::written
