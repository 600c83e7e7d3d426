// FORMAT: LevelDB's bloom filter (docs/formats/leveldb.md). format/filter_block.h holds the filters of a table.
//
//   bloom := bits | probes u8
//
// Tests: tests/unit/leveldb/format/table_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/filter_block.h"

namespace mergedb::leveldb_format {

class BloomPolicy final : public format::FilterPolicy {
 public:
  explicit BloomPolicy(int bits_per_key);
  std::string_view Name() const override { return "leveldb.BuiltinBloomFilter2"; }
  void AppendFilter(const std::vector<std::string_view>& keys, std::string* out) const override;
  bool MayContain(std::string_view key, std::string_view filter) const override;

 private:
  size_t bits_per_key_;
  size_t probes_;
};

uint32_t BloomHash(std::string_view key);

}  // namespace mergedb::leveldb_format
