// FORMAT: the filter block of a program's own filter policy, in tables of mergedb (docs/formats/table.md) and of
// LevelDB (docs/formats/leveldb.md), which have the same layout.
//
//   filter block := filter* | offset u32 of each | offset u32 of these offsets | 0x0b
//   filter i holds the keys of blocks that begin at offsets [2048 i, 2048 (i + 1)); an empty filter passes no key
//
// A damaged filter block passes every key. A filter only saves reads.
// Tests: tests/unit/leveldb/format/table_test.cc, tests/unit/table/reader_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mergedb::format {

// Decides which keys a block may contain. THREADS: any.
class FilterPolicy {
 public:
  virtual ~FilterPolicy() = default;
  virtual std::string_view Name() const = 0;
  virtual void AppendFilter(const std::vector<std::string_view>& keys, std::string* out) const = 0;
  virtual bool MayContain(std::string_view key, std::string_view filter) const = 0;
};

class FilterBlockBuilder {
 public:
  explicit FilterBlockBuilder(const FilterPolicy& policy) : policy_(policy) {}
  // Tells that the data block of the next keys begins at this offset of the file.
  void StartBlock(uint64_t offset);
  void AddKey(std::string_view key);
  // The view lives as long as the builder.
  std::string_view Finish();

 private:
  void EndFilter();

  const FilterPolicy& policy_;
  std::string keys_;  // keys of the current filter, concatenated
  std::vector<size_t> key_ends_;
  std::string bytes_;
  std::vector<uint32_t> offsets_;
};

class FilterBlock {
 public:
  FilterBlock(const FilterPolicy& policy, std::string_view block);
  // Returns whether the data block at this offset may contain the key.
  bool MayContain(uint64_t block_offset, std::string_view key) const;

 private:
  const FilterPolicy& policy_;
  std::string_view filters_;  // the whole block: filters, then their offsets
  size_t offsets_at_ = 0;
  size_t count_ = 0;
  uint32_t shift_ = 0;
};

}  // namespace mergedb::format
