#include "format/range_tombstones.h"

#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/coding.h"

namespace mergedb::format {
namespace {

Status Damaged(std::string_view bytes, std::string_view rest, const char* expected) {
  return Status::Corruption("range tombstones at offset " + std::to_string(bytes.size() - rest.size()) + " of " +
                            std::to_string(bytes.size()) + ": expected " + expected + ", found " +
                            (rest.empty() ? "the end" : base::ToHex(rest.substr(0, 16))));
}

// Returns null on success, else a description of the expected bytes.
const char* TakeSequences(std::string_view* in, std::vector<kv::Sequence>* sequences) {
  uint32_t count = 0;
  if (!base::TakeVarint32(in, &count) || count == 0) return "a number of sequences";
  if (count > in->size()) return "as many sequences as the count";  // a sequence takes at least one byte
  sequences->clear();
  for (uint32_t i = 0; i < count; ++i) {
    uint64_t number = 0;
    if (!base::TakeVarint64(in, &number)) return "a sequence";
    if (i > 0 && (number == 0 || number > sequences->back())) return "sequences that descend";
    const kv::Sequence sequence = i == 0 ? number : sequences->back() - number;
    if (sequence == 0 || sequence > kv::kSequenceMax) return "sequences from 1 on, of 56 bits";
    sequences->push_back(sequence);
  }
  return nullptr;
}

}  // namespace

std::string EncodeRangeTombstones(const kv::RangeTombstones& tombstones) {
  std::string out;
  base::AppendVarint32(&out, static_cast<uint32_t>(tombstones.size()));
  for (size_t i = 0; i < tombstones.size(); ++i) {
    base::AppendLengthPrefixed(&out, tombstones.begin(i));
    base::AppendLengthPrefixed(&out, tombstones.end(i));
    const auto sequences = tombstones.sequences(i);
    base::AppendVarint32(&out, static_cast<uint32_t>(sequences.size()));
    base::AppendVarint64(&out, sequences[0]);
    for (size_t s = 1; s < sequences.size(); ++s) base::AppendVarint64(&out, sequences[s - 1] - sequences[s]);
  }
  return out;
}

Status DecodeRangeTombstones(std::string_view bytes, const kv::Order& order, kv::RangeTombstones* tombstones) {
  const auto copy = std::make_shared<const std::string>(bytes);
  std::string_view rest = *copy;
  uint32_t count = 0;
  if (!base::TakeVarint32(&rest, &count)) return Damaged(bytes, rest, "a number of fragments");
  kv::RangeTombstones::Builder builder;
  std::vector<kv::Sequence> sequences;
  for (; count > 0; --count) {
    const std::string_view before = rest;
    std::string_view begin, end;
    if (!base::TakeLengthPrefixed(&rest, &begin) || !base::TakeLengthPrefixed(&rest, &end)) {
      return Damaged(bytes, before, "two lengths, each with as many bytes");
    }
    if (const char* expected = TakeSequences(&rest, &sequences)) return Damaged(bytes, rest, expected);
    if (!builder.Add(order, begin, end, sequences)) return Damaged(bytes, before, "fragments that ascend");
  }
  if (!rest.empty()) return Damaged(bytes, rest, "the end");
  *tombstones = builder.Finish(order, copy, copy->size());
  return {};
}

void SetLimits(const kv::Order& order, const TableSpan& span, FileMeta* meta) {
  meta->smallest = span.first_key;
  meta->largest = span.last_key;
  meta->largest_is_open = false;
  if (meta->range_tombstones == 0) return;
  const bool has_entries = meta->entries > 0;
  if (!has_entries || order.CompareKeys(span.ranges_begin, span.first_key) < 0) meta->smallest = span.ranges_begin;
  meta->largest_is_open = !has_entries || order.CompareKeys(span.ranges_end, span.last_key) > 0;
  if (meta->largest_is_open) meta->largest = span.ranges_end;
}

}  // namespace mergedb::format
