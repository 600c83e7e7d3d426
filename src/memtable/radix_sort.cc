#include "memtable/radix_sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/assert.h"

namespace mergedb::memtable {
namespace {

constexpr size_t kInsertionMax = 24;  // a group of at most this length is sorted by insertion
constexpr int kDepthMax = 64;         // steps of 8 bytes; keys that agree for longer are compared as a whole
constexpr int kDigitBitsMax = 11;
constexpr int kDigitsMax = 3;
constexpr int kFieldsMax = 3;

// A digit gathers up to three fields of the rank. Bits only move right, because the gaps between the fields close.
struct Field {
  uint64_t mask = 0;
  int shift = 0;
};
struct Digit {
  std::array<Field, kFieldsMax> fields;
  int bits = 0;

  uint32_t Of(uint64_t rank) const {
    uint64_t digit = 0;
    for (const Field& field : fields) digit |= (rank & field.mask) >> field.shift;
    return static_cast<uint32_t>(digit);
  }
};
struct Digits {
  std::array<Digit, kDigitsMax> digits;  // the most significant first
  int count = 0;
  uint64_t mask = 0;  // all bits that they use
};

// Adds a digit. `fields`: its fields, the highest first, as (lowest bit in the rank, width).
void CloseDigit(std::span<const std::pair<int, int>> fields, Digits* out) {
  Digit& digit = out->digits[out->count++];
  for (size_t i = fields.size(); i-- > 0;) {
    const auto [low, width] = fields[i];
    const uint64_t mask = ((uint64_t{1} << width) - 1) << low;
    digit.fields[i] = {mask, low - digit.bits};
    digit.bits += width;
    out->mask |= mask;
  }
}

// Chooses the top bits that vary, enough to tell most of `count` ranks apart. A digit has not many more
// values than `count`.
Digits ChooseDigits(uint64_t varying, size_t count) {
  const int count_bits = std::bit_width(count);
  const int bits_wanted = count_bits + 5;
  const int digit_bits_max = std::min(count_bits, kDigitBitsMax);
  const int digit_count = std::min((bits_wanted + digit_bits_max - 1) / digit_bits_max, kDigitsMax);
  const int digit_bits = std::min(digit_bits_max, (bits_wanted + digit_count - 1) / digit_count);
  Digits out;
  std::array<std::pair<int, int>, kFieldsMax> fields;
  size_t field_count = 0;
  int bits = 0;
  for (int byte = 7; byte >= 0 && out.count < digit_count; --byte) {
    const uint32_t varies = (varying >> (8 * byte)) & 0xff;
    if (varies == 0) continue;
    const int low = 8 * byte + std::countr_zero(varies);
    for (int high = 8 * byte + std::bit_width(varies); high > low && out.count < digit_count;) {
      const int width = std::min(high - low, digit_bits - bits);
      high -= width;
      bits += width;
      fields[field_count++] = {high, width};
      if (bits == digit_bits || field_count == kFieldsMax) {
        CloseDigit({fields.data(), field_count}, &out);
        field_count = 0;
        bits = 0;
      }
    }
  }
  if (field_count > 0 && out.count < digit_count) CloseDigit({fields.data(), field_count}, &out);
  return out;
}

void Scatter(const Digit& digit, uint32_t* starts, std::span<const Ref> source, Ref* target) {
  for (const Ref& ref : source) target[starts[digit.Of(ref.rank)]++] = ref;
}

void SortByDigits(const Digits& digits, std::span<Ref> refs, std::span<Ref> scratch) {
  ASSERT(digits.count >= 1 && digits.count <= kDigitsMax, "some digits");
  std::array<std::array<uint32_t, 1 << kDigitBitsMax>, kDigitsMax> starts;  // 24 KiB; only the used part is cleared
  for (int d = 0; d < digits.count; ++d) std::fill_n(starts[d].begin(), size_t{1} << digits.digits[d].bits, 0);
  for (const Ref& ref : refs) {
    for (int d = 0; d < digits.count; ++d) ++starts[d][digits.digits[d].Of(ref.rank)];
  }
  std::span<Ref> source = refs;
  std::span<Ref> target = scratch.first(refs.size());
  for (int d = digits.count; d-- > 0;) {
    uint32_t start = 0;
    for (size_t i = 0; i < size_t{1} << digits.digits[d].bits; ++i) start += std::exchange(starts[d][i], start);
    Scatter(digits.digits[d], starts[d].data(), source, target.data());
    std::swap(source, target);
  }
  if (source.data() != refs.data()) std::copy(source.begin(), source.end(), refs.begin());
}

void SortByInsertion(const Ranking& ranking, std::span<Ref> refs) {
  for (size_t i = 1; i < refs.size(); ++i) {
    const Ref moving = refs[i];
    size_t at = i;
    for (; at > 0 && ranking.IsBefore(moving, refs[at - 1]); --at) refs[at] = refs[at - 1];
    refs[at] = moving;
  }
}

void SortGroup(const Ranking& ranking, std::span<Ref> refs, std::span<Ref> scratch, int depth);

// All ranks are equal: sorts by the next bytes in which the keys differ.
void SortByNextBytes(const Ranking& ranking, std::span<Ref> refs, std::span<Ref> scratch, int depth) {
  const auto is_newer = [](const Ref& a, const Ref& b) { return a.offset > b.offset; };
  if (ranking.is_exact) return std::sort(refs.begin(), refs.end(), is_newer);
  const std::string_view first = ranking.KeyOf(refs.front());
  size_t shared = first.size();
  size_t shortest = first.size();
  size_t longest = first.size();
  for (const Ref& ref : refs) {
    const std::string_view key = ranking.KeyOf(ref);
    shared = std::min(shared, base::CommonPrefixBytes(first, key));
    shortest = std::min(shortest, key.size());
    longest = std::max(longest, key.size());
  }
  if (shortest == longest && shared == longest) return std::sort(refs.begin(), refs.end(), is_newer);
  if (shared < ranking.skip + 8 || depth == kDepthMax) {
    return std::sort(refs.begin(), refs.end(),
                     [&ranking](const Ref& a, const Ref& b) { return ranking.IsBefore(a, b); });
  }
  const Ranking next = {ranking.arena, shared, shortest == longest && longest <= shared + 8};
  const uint64_t rank = refs.front().rank;
  for (Ref& ref : refs) ref.rank = next.RankOf(next.KeyOf(ref));
  SortGroup(next, refs, scratch, depth + 1);
  for (Ref& ref : refs) ref.rank = rank;
}

void SortGroup(const Ranking& ranking, std::span<Ref> refs, std::span<Ref> scratch, int depth) {
  if (refs.size() <= kInsertionMax) return SortByInsertion(ranking, refs);
  uint64_t varying = 0;
  for (const Ref& ref : refs) varying |= ref.rank ^ refs.front().rank;
  if (varying == 0) return SortByNextBytes(ranking, refs, scratch, depth);

  const Digits digits = ChooseDigits(varying, refs.size());
  SortByDigits(digits, refs, scratch);
  for (size_t begin = 0, end = 0; begin < refs.size(); begin = end) {
    const uint64_t top = refs[begin].rank & digits.mask;
    for (end = begin + 1; end < refs.size() && (refs[end].rank & digits.mask) == top;) ++end;
    if (end - begin > 1) SortGroup(ranking, refs.subspan(begin, end - begin), scratch, depth);
  }
}

}  // namespace

void RadixSort(const Ranking& ranking, std::span<Ref> refs, std::span<Ref> scratch) {
  DCHECK(scratch.size() >= refs.size(), "scratch is as long as refs");
  SortGroup(ranking, refs, scratch, 0);
}

}  // namespace mergedb::memtable
