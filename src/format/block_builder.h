// Builds a block from entries in order (format in block.h).
//
// Values are appended at their final place. Keys and tags are buffered until Finish() knows the shared prefix and
// the smallest widths. So each value is copied once and each key twice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "kv/key.h"

namespace mergedb::format {

class BlockBuilder {
 public:
  // `shares_prefix`: store the common prefix of all keys once. Use it only with the bytewise order: only there is
  // the common prefix of the first and the last key the common prefix of all keys.
  explicit BlockBuilder(bool shares_prefix) : shares_prefix_(shares_prefix) {}

  // REQUIRES: entries are added in order; the block stays below 4 GiB.
  void Add(std::string_view key, kv::Tag tag, std::string_view value);

  // The block is nearer to `target` bytes without one more entry than with it. An empty block is never full.
  bool IsFullFor(size_t key_bytes, size_t value_bytes, size_t target) const;

  bool empty() const { return marks_.empty(); }
  uint32_t count() const { return static_cast<uint32_t>(marks_.size()); }
  size_t bytes() const { return value_bytes_ + keys_.used + marks_.size() * kEntryBytes; }  // an estimate
  std::string_view first_key() const { return {keys_.bytes(), marks_.front().key_end}; }
  std::string_view last_key() const;

  // Returns the block, which lives until Reset(). REQUIRES: the block is not empty.
  std::string_view Finish();
  void Reset();

 private:
  static constexpr size_t kEntryBytes = 8;  // an estimate: a tag and two offsets

  struct Mark {
    kv::Tag tag;
    uint32_t key_end;
    uint32_t value_end;
  };
  // Does not zero new bytes.
  struct Buffer {
    std::unique_ptr<char[]> memory;
    size_t room = 0;
    size_t used = 0;
    char* bytes() { return memory.get(); }
    const char* bytes() const { return memory.get(); }
    char* Reserve(size_t more) {
      if (room - used < more) [[unlikely]]
        Grow(used + more);
      return memory.get() + used;
    }
    void Grow(size_t room_least);
    void Reset();
  };

  char* StoreSuffixes(char* out, size_t prefix_bytes) const;
  char* StoreTags(char* out, kv::Tag base, uint32_t width) const;

  bool shares_prefix_;
  Buffer block_;  // the values; after Finish() the whole block
  Buffer keys_;
  std::vector<Mark> marks_;
  size_t value_bytes_ = 0;
};

}  // namespace mergedb::format
