// The index of a table. An index that decodes must answer a search for any key.
#include "format/index.h"
#include "fuzz/target.h"

namespace mergedb::fuzz {

// First byte: 1 if the order is bytewise. Then u32: the size of the data, which the blocks must fill.
std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const bool is_bytewise : {true, false}) {
    for (const int blocks : {1, 9}) {
      format::IndexBuilder builder(is_bytewise);
      uint32_t data_bytes = 0;
      for (int i = 0; i < blocks; ++i) {
        const std::string last = "key" + std::to_string(100 + 2 * i), next = "key" + std::to_string(101 + 2 * i);
        const std::string_view next_view = next;
        builder.AddBlock(500);
        data_bytes += 500;
        builder.AddFence(last, i + 1 == blocks ? nullptr : &next_view);
      }
      std::string seed(1, is_bytewise ? '\1' : '\0');
      for (int i = 0; i < 4; ++i) seed += static_cast<char>(data_bytes >> (8 * i));
      seeds.push_back(seed + builder.Finish("key100", "key999"));
    }
  }
  return seeds;
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
  const uint64_t data_bytes = input.TakeNumber(4);
  const std::string raw(input.rest());
  format::Index index;
  if (!index.Decode(raw, data_bytes, order).ok()) return 0;
  FUZZ_CHECK(index.offset(index.count()) == data_bytes);
  for (uint32_t i = 0; i < index.count(); ++i) {
    const std::string fence = index.fence(i);
    FUZZ_CHECK(index.offset(i) + index.stored_bytes(i) == index.offset(i + 1));
    // A key below fence i is in block i or an earlier one.
    FUZZ_CHECK(index.Find(order, fence) <= index.count());
    if (!fence.empty()) FUZZ_CHECK(index.Find(order, fence.substr(0, fence.size() - 1)) <= i);
  }
  FUZZ_CHECK(index.Find(order, "") <= index.count());
  FUZZ_CHECK(index.Find(order, std::string(20, '\xff')) <= index.count());
  return 0;
}
