// Helpers for the tests of the parts that read blocks: stored blocks in a file in memory, and a BlockSource over them,
// without the rest of a table.
#pragma once

#include <string>
#include <vector>

#include "format/block_builder.h"
#include "format/compression.h"
#include "format/index.h"
#include "format/table_layout.h"
#include "table/block_source.h"
#include "tests/unit/table/table_rows.h"

namespace mergedb::testing {

inline constexpr char kBlocksPath[] = "7.tbl";

class StoredBlocks {
 public:
  using Blocks = std::vector<std::vector<Row>>;

  explicit StoredBlocks(const Blocks& blocks, Compression codec = Compression::kNone) {
    format::Compressor compressor(codec);
    format::IndexBuilder index(true);
    for (size_t i = 0; i < blocks.size(); ++i) {
      const uint64_t before = file_.size();
      Append(blocks[i], &compressor);
      index.AddBlock(static_cast<uint32_t>(file_.size() - before));
      const std::string_view next = i + 1 < blocks.size() ? std::string_view(blocks[i + 1].front().key) : "";
      index.AddFence(blocks[i].back().key, i + 1 < blocks.size() ? &next : nullptr);
    }
    index_ = index.Finish(blocks.front().front().key, blocks.back().back().key);
    EXPECT_TRUE(files.Open(kBlocksPath, {.access = Access::kCreate}).has_value());
    files.bytes(kBlocksPath) = file_;
  }

  // `cache` may be null.
  table::BlockSource Source(base::BlockCache* cache, bool is_mapped = false) {
    table::BlockSource source{.file_system = &files, .path = kBlocksPath, .order = Bytewise(), .cache = cache};
    source.file = std::move(files.Open(kBlocksPath, {.access = Access::kRead}).value());
    source.number = 7;
    source.unique_id = kUniqueId;
    EXPECT_TRUE(source.index.Decode(index_, file_.size(), source.order).ok());
    source.around = env::ReadAround(file_.size());
    if (!is_mapped) return source;
    source.mapping = std::make_unique<env::MappedFile>(std::move(source.file->MapForReading(file_.size()).value()),
                                                       kBlocksPath, std::make_shared<base::MappedFaults>(), false);
    source.checked = table::CheckedBlocks(source.index.count());
    return source;
  }

  // Changes a byte of block `block`, `from_end` bytes before its end.
  void Damage(const table::BlockSource& source, uint32_t block, size_t from_end = 1) {
    char& byte = files.bytes(kBlocksPath)[source.index.offset(block + 1) - from_end];
    byte = static_cast<char>(byte ^ 1);
  }

  MemoryFiles files;

 private:
  void Append(const std::vector<Row>& rows, format::Compressor* compressor) {
    format::BlockBuilder builder(true);
    for (const Row& row : rows) builder.Add(row.key, row.tag, row.value);
    const std::string_view raw = builder.Finish(), compressed = compressor->Compress(raw);
    const std::string_view payload = compressed.empty() ? raw : compressed;
    char trailer[format::kTrailerBytes];
    format::StoreTrailer(trailer, payload, compressed.empty() ? Compression::kNone : compressor->codec(),
                         {.unique_id = kUniqueId, .offset = file_.size()});
    file_.append(payload).append(trailer, sizeof trailer);
  }

  std::string file_, index_;
};

inline Row PutRow(const std::string& key, kv::Sequence sequence, const std::string& value) {
  return {key, kv::MakeTag(sequence, kv::Kind::kPut), value};
}

inline std::string KeyOfBlock(size_t block) { return std::to_string(100'000 + block); }

// Blocks of one row each, of exactly `stored_bytes` bytes in the file.
inline StoredBlocks::Blocks EqualBlocks(size_t count, size_t stored_bytes) {
  format::BlockBuilder empty(true);
  const Row row = PutRow(KeyOfBlock(0), 1, std::string(1000, 'v'));
  empty.Add(row.key, row.tag, row.value);
  const size_t value_bytes = 1000 + stored_bytes - format::kTrailerBytes - empty.Finish().size();
  StoredBlocks::Blocks blocks;
  for (size_t i = 0; i < count; ++i) {
    const std::string value(value_bytes, static_cast<char>('a' + i % 26));
    blocks.push_back({PutRow(KeyOfBlock(i), i + 1, value)});
  }
  return blocks;
}

}  // namespace mergedb::testing
