// LevelDB's formats: names, logs, batches, VersionEdits, blocks, stored blocks, filters and footers.
#include <algorithm>
#include <cstring>

#include "base/coding.h"
#include "base/crc32c.h"
#include "fuzz/fix_leveldb_checksums.h"
#include "fuzz/target.h"
#include "leveldb/format/batch.h"
#include "leveldb/format/edit.h"
#include "leveldb/format/filter.h"
#include "leveldb/format/log.h"
#include "leveldb/format/name.h"
#include "leveldb/format/table.h"

namespace mergedb::fuzz {

using namespace leveldb_format;

// First byte: which format. Second byte: 1 if checksums are recomputed.
std::vector<std::string> Seeds() {
  const auto seed = [](char which, char has_fixed_checksums, const std::string& bytes) {
    return std::string{which, has_fixed_checksums} + bytes;
  };
  std::string batch, key, log, stored, filter;
  AppendBatchHeader(&batch, 7, 2);
  AppendOperation(&batch, kv::Kind::kPut, "key", "value");
  AppendOperation(&batch, kv::Kind::kDelete, "other", "");
  LogWriter writer;
  writer.Append(batch, &log);
  writer.Append("", &log);
  writer.Append(std::string(40'000, 'r'), &log);
  AppendInternalKey(&key, "key", kv::MakeTag(7, kv::Kind::kPut));
  VersionEdit edit{.comparator = std::string(kBytewiseName),
                   .log = kv::FileNumber{3},
                   .previous_log = kv::FileNumber{0},
                   .next_file = kv::FileNumber{9},
                   .last_sequence = 8,
                   .pointers = {{1, key}},
                   .removed = {{0, kv::FileNumber{5}}},
                   .added = {{2, {.number = kv::FileNumber{6}, .bytes = 99, .smallest = key, .largest = key}}}};
  BlockBuilder block(3);
  for (int i = 100; i < 140; ++i) block.Add("key" + std::to_string(i), std::string(20, 'v'));
  const std::string built(block.Finish());
  SealBlock(built, {.compression = Compression::kSnappy}, &stored);
  BloomPolicy(10).AppendFilter({"a", "b", "c"}, &filter);
  return {seed(0, 0, "MANIFEST-000005\n"),
          seed(1, 1, log),
          seed(2, 0, batch),
          seed(3, 0, EncodeVersionEdit(edit)),
          seed(4, 0, built),
          seed(5, 1, stored),
          seed(6, 0, filter),
          seed(7, 0, EncodeTableFooter({{10, 20}, {30, 40}}))};
}

namespace {

void CheckName(const std::string& bytes) {
  (void)DecodeCurrent(bytes);
  const auto name = ParseName(bytes);
  if (!name || name->kind == NameKind::kTextLog) return;
  const auto again = ParseName(PrintName(name->kind, name->number));
  FUZZ_CHECK(again && again->kind == name->kind && again->number == name->number);
}

void CheckLog(std::string bytes, bool has_fixed_checksums) {
  if (has_fixed_checksums) FixLevelDbLogChecksums(&bytes);
  LogReader reader(
      [&](uint64_t offset, size_t wanted, char* out, size_t* got) -> Status {
        *got = offset < bytes.size() ? std::min<size_t>(wanted, bytes.size() - offset) : 0;
        if (*got > 0) std::memcpy(out, bytes.data() + offset, *got);
        return {};
      },
      [&](uint64_t offset, uint64_t, std::string_view) { FUZZ_CHECK(offset <= bytes.size()); });
  std::string_view record;
  size_t total = 0;
  while (reader.Next(&record)) total += record.size();
  FUZZ_CHECK(total <= bytes.size() && reader.status().ok());
}

void CheckBatch(const std::string& bytes) {
  BatchReader reader(bytes);
  std::string again;
  AppendBatchHeader(&again, reader.first_sequence(), reader.count());
  while (reader.Next()) AppendOperation(&again, reader.kind(), reader.key(), reader.value());
  FUZZ_CHECK(!reader.status().ok() || again.size() <= bytes.size());  // a length may have more bytes than needed
}

void CheckEdit(const std::string& bytes) {
  const auto edit = DecodeVersionEdit(bytes);
  if (!edit) return;
  const auto again = DecodeVersionEdit(EncodeVersionEdit(*edit));
  FUZZ_CHECK(again && *again == *edit);
  State state;
  state.Apply(*edit);
  (void)state.Check();
}

void CheckBlock(const std::string& bytes) {
  const UserOrder user{kv::Order(BytewiseComparator())};
  const InternalOrder internal{user};
  for (const KeyOrder* order : {static_cast<const KeyOrder*>(&user), static_cast<const KeyOrder*>(&internal)}) {
    BlockIterator it(*order, bytes);
    size_t steps = 0;
    for (it.SeekToFirst(); it.Valid(); it.Next()) FUZZ_CHECK(++steps <= bytes.size());
    for (it.SeekToLast(), steps = 0; it.Valid(); it.Prev()) FUZZ_CHECK(++steps <= bytes.size());
    it.Seek("key120xxxxxxxx");
    if (it.Valid()) it.Prev();
  }
}

void CheckStored(std::string bytes, bool has_fixed_checksums) {
  if (has_fixed_checksums && bytes.size() >= kBlockTrailerBytes) {
    char* const crc = bytes.data() + bytes.size() - 4;
    base::StoreFixed32(crc, MaskCrc(base::Crc32c({bytes.data(), bytes.size() - 4})));
  }
  const auto block = OpenBlock(bytes, true);
  if (block) CheckBlock(*block);
}

void CheckFilter(const std::string& bytes) {
  const BloomPolicy policy(10);
  const format::FilterBlock block(policy, bytes);
  for (uint64_t offset = 0; offset < 100'000; offset += 1'777) (void)block.MayContain(offset, "key");
  (void)policy.MayContain("key", bytes);
}

void CheckFooter(const std::string& bytes) {
  const auto footer = DecodeTableFooter(bytes);
  if (!footer) return;
  (void)CheckHandle(footer->index, bytes.size());
  (void)CheckHandle(footer->metaindex, UINT64_MAX);
}

}  // namespace
}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb::fuzz;
  Input input(data, bytes);
  const uint8_t which = input.TakeByte() % 8;
  const bool has_fixed_checksums = input.TakeByte() % 2 == 1;
  const std::string part(input.rest());
  if (which == 0) CheckName(part);
  if (which == 1) CheckLog(part, has_fixed_checksums);
  if (which == 2) CheckBatch(part);
  if (which == 3) CheckEdit(part);
  if (which == 4) CheckBlock(part);
  if (which == 5) CheckStored(part, has_fixed_checksums);
  if (which == 6) CheckFilter(part);
  if (which == 7) CheckFooter(part);
  return 0;
}
