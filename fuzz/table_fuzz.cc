// A whole table file: the open succeeds or returns an error. After it succeeds, the target reads the table in
// every way.
#include "base/block_cache.h"
#include "base/hash.h"
#include "fuzz/fix_checksums.h"
#include "fuzz/target.h"
#include "table/reader.h"
#include "table/writer.h"
#include "testing/fault_file_system.h"

namespace mergedb::fuzz {

namespace {

constexpr char kPath[] = "/000007.tbl";
const kv::Order kOrder(BytewiseComparator());

std::string TableOf(int entries, const table::WriterOptions& options, std::vector<kv::RangeTombstone> ranges = {}) {
  testing::FaultFileSystem files;
  auto writer = table::Writer::Create(&files, kPath, kv::FileNumber{7}, 99, kOrder, options);
  FUZZ_CHECK(writer.has_value());
  for (int i = 0; i < entries; ++i) {
    const std::string key = "key" + std::to_string(1000 + i / 2);
    const bool is_delete = i % 5 == 0;
    const std::string value = is_delete ? "" : std::string(20, static_cast<char>('a' + i % 26));
    const kv::Tag tag =
        kv::MakeTag(static_cast<kv::Sequence>(2000 - i), is_delete ? kv::Kind::kDelete : kv::Kind::kPut);
    FUZZ_CHECK((*writer)->Add({.prefix = kOrder.Prefix(key), .key = key, .tag = tag, .value = value}).ok());
  }
  (*writer)->SetRangeTombstones(
      kv::RangeTombstones::Fragment(kOrder, std::move(ranges), {}, kv::RangeTombstones::Keys::kViews));
  FUZZ_CHECK((*writer)->Finish().has_value());
  writer->reset();
  return *files.ReadWhole(kPath);
}

}  // namespace

// First byte: 1 if checksums are recomputed.
std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const char has_fixed_checksums : {'\0', '\1'}) {
    seeds.push_back(has_fixed_checksums + TableOf(60, {.block_bytes = 300}));
    seeds.push_back(has_fixed_checksums + TableOf(3, {.bloom_bits_per_key = 0}));
    seeds.push_back(has_fixed_checksums +
                    TableOf(20, {.block_bytes = 300}, {{"key1003", "key1007", 3000}, {"key1009", "key2", 1995}}));
    seeds.push_back(has_fixed_checksums + TableOf(0, {}, {{"key1003", "key1007", 3000}}));
    seeds.push_back(has_fixed_checksums + TableOf(80, {.compression = Compression::kLz4, .block_bytes = 500}));
  }
  return seeds;
}

namespace {

// More steps than possible entries mean an endless loop.
void WalkForward(kv::ForwardIterator& iterator, uint64_t entries_max) {
  uint64_t steps = 0;
  for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) FUZZ_CHECK(++steps <= entries_max);
}
void Walk(kv::Iterator& iterator, uint64_t entries_max) {
  WalkForward(iterator, entries_max);
  uint64_t steps = 0;
  for (iterator.SeekToLast(); iterator.Valid(); iterator.Prev()) FUZZ_CHECK(++steps <= entries_max);
  iterator.Seek("key1010", kv::kTagMax);
  if (iterator.Valid()) iterator.Prev();
  if (iterator.Valid()) iterator.Next();
}

void ReadAll(const table::Reader& reader, uint64_t entries_max) {
  (void)reader.CheckIntegrity();
  for (const bool verify : {true, false}) {
    for (const std::string key : {"key1000", "key1010", "key1029", "key9", ""}) {
      table::Found found;
      (void)reader.MayContain(base::Hash64(key));
      (void)reader.Get(key, kv::kSequenceMax, {.verify_checksums = verify}, &found);
      (void)reader.Get(key, 1990, {.verify_checksums = verify, .fill_cache = false}, &found);
      (void)reader.ApproximateOffset(key);
    }
    Walk(*reader.NewIterator({.verify_checksums = verify}), entries_max);
  }
  WalkForward(*reader.NewScanIterator(), entries_max);
  const kv::RangeTombstones& ranges = reader.range_tombstones();
  for (size_t i = 0; i < ranges.size(); ++i) {
    FUZZ_CHECK(kOrder.CompareKeys(ranges.begin(i), reader.meta().smallest) >= 0);
    FUZZ_CHECK(kOrder.CompareKeys(ranges.end(i), reader.meta().largest) <= 0);
  }
}

}  // namespace
}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb;
  fuzz::Input input(data, bytes);
  const bool has_fixed_checksums = input.TakeByte() % 2 == 1;
  std::string file(input.rest());
  if (has_fixed_checksums) fuzz::FixTableChecksums(&file);
  testing::FaultFileSystem files;
  FUZZ_CHECK(files.WriteWhole(fuzz::kPath, file).ok());
  base::BlockCache cache(64 << 10);
  auto reader = table::Reader::Open(&files, fuzz::kPath, nullptr, fuzz::kOrder, &cache);
  // An entry has at least one byte of tag before compression, and compression may make it much smaller.
  if (reader) fuzz::ReadAll(**reader, 1'000'000 + 300 * file.size());
  return 0;
}
