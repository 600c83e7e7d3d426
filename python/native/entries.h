// EntryReader reads the entries of an iterator by blocks: a call of the C interface returns many entries.
//
// It uses nothing of Python, so its methods need no GIL. The constructor and the destructor require the GIL.
// python/tests/test_columns.py covers it.
#pragma once

#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "database.h"

namespace mergedb::python {

// An entry as mergedb_iterator_read writes it.
struct Entry {
  std::string_view key, value;

  explicit Entry(const char* begin) {
    uint32_t sizes[2];
    std::memcpy(sizes, begin, sizeof sizes);
    key = {begin + sizeof sizes, sizes[0]};
    value = {key.data() + sizes[0], sizes[1]};
  }
  const char* end() const { return value.data() + value.size(); }
};

class EntryReader {
 public:
  EntryReader(const Source& source, const Bounds& bounds, bool reverse)
      : source_(source), handle_(OpenIterator(source, bounds)), is_reverse_(reverse) {}
  EntryReader(const EntryReader&) = delete;
  EntryReader& operator=(const EntryReader&) = delete;
  ~EntryReader() {
    WithoutGil([&] { return mergedb_iterator_close(handle_, nullptr); });
  }

  pid_t owner() const { return source_.database->owner; }

  // MERGEDB_NOT_FOUND at the end. The key and the value are valid until the next call.
  mergedb_code Next(std::string_view* key, std::string_view* value, mergedb_error* error) {
    if (count_ == 0) {
      const mergedb_code code = Fill(error);
      if (code != MERGEDB_OK) return code;
    }
    const Entry entry(block_.data() + offset_);
    *key = entry.key;
    *value = entry.value;
    offset_ += static_cast<size_t>(entry.end() - (block_.data() + offset_));
    --count_;
    return MERGEDB_OK;
  }

  // The entries of a block that lie one after another, at least one. They are valid until the next call.
  struct Block {
    const char* begin = nullptr;
    size_t count = 0;
  };
  // The entries that are already read, or else those of the next block. MERGEDB_NOT_FOUND at the end.
  mergedb_code NextBlock(Block* block, mergedb_error* error) {
    if (count_ == 0) {
      const mergedb_code code = Fill(error);
      if (code != MERGEDB_OK) return code;
    }
    *block = {block_.data() + offset_, std::exchange(count_, 0)};
    return MERGEDB_OK;
  }

 private:
  static constexpr size_t kBlockBytes = 256 << 10;  // WHY: it fits into the second-level cache

  mergedb_code Fill(mergedb_error* error) {
    if (block_.empty()) {
      const mergedb_code code =
          is_reverse_ ? mergedb_iterator_seek_to_last(handle_, error) : mergedb_iterator_seek_to_first(handle_, error);
      if (code != MERGEDB_OK) return code;
      block_.resize(kBlockBytes);
    }
    size_t used = 0;
    mergedb_code code = Read(&used, error);
    if (code == MERGEDB_OK && count_ == 0) {  // one large entry
      block_.resize(used);
      code = Read(&used, error);
    }
    offset_ = 0;
    return code;
  }

  mergedb_code Read(size_t* used, mergedb_error* error) {
    return mergedb_iterator_read(handle_, is_reverse_ ? MERGEDB_YES : MERGEDB_DEFAULT, block_.data(), block_.size(),
                                 used, &count_, error);
  }

  const Source source_;
  const mergedb_iterator handle_;
  const bool is_reverse_;
  std::vector<char> block_;
  size_t offset_ = 0;  // of the next entry in block_
  size_t count_ = 0;   // entries at offset_ and after it
};

}  // namespace mergedb::python
