// The range tombstones of a table. Those that decode must be in order, mask the keys of their ranges, and
// survive another encoding.
#include "format/range_tombstones.h"
#include "fuzz/target.h"

namespace mergedb::fuzz {

// First byte: 1 if the order is bytewise.
std::vector<std::string> Seeds() {
  const kv::Order order(BytewiseComparator());
  const auto encode = [&](std::vector<kv::RangeTombstone> tombstones, std::vector<kv::Sequence> snapshots) {
    return '\1' +
           format::EncodeRangeTombstones(kv::RangeTombstones::Fragment(
               order, std::move(tombstones), kv::Stripes(std::move(snapshots)), kv::RangeTombstones::Keys::kViews));
  };
  return {encode({}, {}), encode({{"a", "m", 5}}, {}),
          encode({{"apple", "fig", 300}, {"banana", "cherry", 7}, {"fig", "plum", 9}, {"quince", "rose", 1000}},
                 {8, 10, 500})};
}

}  // namespace mergedb::fuzz

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace mergedb;
  class Reverse final : public Comparator {
    int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
    std::string_view Name() const override { return "fuzz.reverse"; }
  };
  static const Reverse reverse;
  fuzz::Input input(data, bytes);
  const kv::Order order(input.TakeByte() % 2 == 1 ? BytewiseComparator() : &reverse);
  kv::RangeTombstones list;
  if (!format::DecodeRangeTombstones(input.rest(), order, &list).ok()) return 0;
  for (size_t i = 0; i < list.size(); ++i) {
    FUZZ_CHECK(order.CompareKeys(list.begin(i), list.end(i)) < 0);
    FUZZ_CHECK(i == 0 || order.CompareKeys(list.end(i - 1), list.begin(i)) <= 0);
    const auto sequences = list.sequences(i);
    const kv::Mask cover = list.Find(order, list.begin(i), sequences[0]);
    FUZZ_CHECK(cover.sequence == sequences[0] && *cover.lower == list.begin(i) && *cover.upper == list.end(i));
    FUZZ_CHECK(list.MaskingSequence(order, list.begin(i), sequences.back() - 1) == 0);
    size_t hint = list.size() / 2;
    FUZZ_CHECK(list.FindNear(order, list.begin(i), sequences[0], &hint).sequence == sequences[0]);
  }
  kv::RangeTombstones again;
  const std::string encoded = format::EncodeRangeTombstones(list);
  FUZZ_CHECK(format::DecodeRangeTombstones(encoded, order, &again).ok());
  FUZZ_CHECK(format::EncodeRangeTombstones(again) == encoded);
  return 0;
}
