// A block of a table. After CheckBlock returns OK, iteration and seeks must not read outside of the block.
#include "format/block.h"
#include "format/block_builder.h"
#include "fuzz/target.h"

namespace mergedb::fuzz {

namespace {

std::string BlockOf(int entries, const std::string& key_start, size_t value_bytes, bool is_bytewise) {
  format::BlockBuilder builder(is_bytewise);
  for (int i = 0; i < entries; ++i) {
    builder.Add(key_start + std::to_string(100 + i / 2),
                kv::MakeTag(static_cast<kv::Sequence>(1000 - i), i % 3 == 0 ? kv::Kind::kDelete : kv::Kind::kPut),
                i % 3 == 0 ? "" : std::string(value_bytes, static_cast<char>('a' + i % 26)));
  }
  return std::string(builder.Finish());
}

}  // namespace

// First byte: 1 if the order is bytewise.
std::vector<std::string> Seeds() {
  return {'\1' + BlockOf(12, "user:", 5, true), '\1' + BlockOf(1, "", 0, true),
          '\0' + BlockOf(5, "long/common/beginning/", 30, false), '\1' + BlockOf(3, "big", 1'000, true)};
}

}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb;
  class Other final : public Comparator {
    int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
    std::string_view Name() const override { return "fuzz.other"; }
  };
  static const Other other;
  fuzz::Input input(data, bytes);
  const kv::Order order(input.TakeByte() % 2 == 1 ? BytewiseComparator() : &other);
  const std::string raw(input.rest());  // a copy, so that a sanitizer detects reads beyond its ends
  if (!format::CheckBlock(raw).ok()) return 0;
  const format::Block block(raw);
  format::BlockCursor cursor(order);
  cursor.Open(block);
  kv::Entry entry;
  size_t sum = 0;
  for (uint32_t i = 0; i < block.count(); ++i) {
    cursor.Show(i, &entry);
    FUZZ_CHECK(entry.key == block.Key(i) && entry.prefix == order.Prefix(entry.key));
    for (const char byte : entry.value) sum += static_cast<uint8_t>(byte);
    if (block.count() < 64 || i % 32 == 0) {
      // The keys may be out of order: any index is a valid answer, but none outside of the block.
      const std::string key = block.Key(i);
      FUZZ_CHECK(block.Seek(order, key, entry.tag) <= block.count());
      FUZZ_CHECK(block.Seek(order, key + '\xff', 0) <= block.count());
      FUZZ_CHECK(block.HasKey(order, i, key));
    }
  }
  return sum == SIZE_MAX ? 1 : 0;
}
