// Entries in order -> the bytes of a block (format in block.h).
//
// Values are appended where they will stay; keys and tags wait beside them until Finish knows the shared prefix and the
// narrowest widths that hold them. So a value is copied once, a key twice.
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
  // `shares_prefix`: store once what all keys of a block begin with. Only under the bytewise order do the first and the last key tell what
  // that is.
  explicit BlockBuilder(bool shares_prefix) : shares_prefix_(shares_prefix) {}

  // REQUIRES: in order; the block stays below 4 GiB.
  void Add(std::string_view key, kv::Tag tag, std::string_view value);

  // Is the block nearer to `target` bytes as it is than with one more entry? Never if it is empty.
  bool IsFullFor(size_t key_bytes, size_t value_bytes, size_t target) const;

  bool empty() const { return marks_.empty(); }
  uint32_t count() const { return static_cast<uint32_t>(marks_.size()); }
  size_t bytes() const { return value_bytes_ + keys_.used + marks_.size() * kEntryBytes; }  // about
  std::string_view first_key() const { return {keys_.bytes(), marks_.front().key_end}; }
  std::string_view last_key() const;

  // The block; lives until Reset. REQUIRES: not empty.
  std::string_view Finish();
  void Reset();

 private:
  static constexpr size_t kEntryBytes = 8;  // a tag and two offsets, about

  struct Mark {
    kv::Tag tag;
    uint32_t key_end;
    uint32_t value_end;
  };
  // Bytes that grow without being zeroed first.
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
  Buffer block_;  // the values, and after Finish all of the block
  Buffer keys_;
  std::vector<Mark> marks_;
  size_t value_bytes_ = 0;
};

}  // namespace mergedb::format
