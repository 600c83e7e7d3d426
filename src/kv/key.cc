#include "kv/key.h"

#include <charconv>

#include "base/bytes.h"

namespace mergedb::kv {
namespace {

std::optional<Kind> KindByName(std::string_view name) {
  for (uint8_t value = 0; value <= static_cast<uint8_t>(kKindMax); ++value) {
    if (KindName(static_cast<Kind>(value)) == name) return static_cast<Kind>(value);
  }
  return std::nullopt;
}

std::optional<Sequence> ParseSequence(std::string_view text) {
  Sequence sequence = 0;
  const char* end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(text.data(), end, sequence);
  if (error != std::errc() || parsed != end || sequence > kSequenceMax) return std::nullopt;
  return sequence;
}

}  // namespace

std::string_view KindName(Kind kind) {
  switch (kind) {
    case Kind::kDelete: return "DELETE";
    case Kind::kPut: return "PUT";
    case Kind::kMerge: return "MERGE";
    case Kind::kRangeDelete: return "RANGE_DELETE";
    case Kind::kPutBlobIndex: return "PUT_REF";
    case Kind::kMerged: return "MERGED";
  }
  return "?";
}

std::string PrintKey(std::string_view key, Tag tag) {
  std::string text = base::Escape(key, std::string_view::npos);
  text.append("#").append(std::to_string(SequenceOf(tag))).append(",").append(KindName(KindOf(tag)));
  return text;
}

std::optional<ParsedKey> ParseKey(std::string_view text) {
  // Searches from the right: the key itself may contain '#' and ','.
  const size_t comma = text.rfind(',');
  const size_t hash = text.substr(0, comma).rfind('#');
  if (comma == std::string_view::npos || hash == std::string_view::npos) return std::nullopt;
  const auto sequence = ParseSequence(text.substr(hash + 1, comma - hash - 1));
  const auto kind = KindByName(text.substr(comma + 1));
  ParsedKey parsed;
  if (!sequence || !kind || !base::Unescape(text.substr(0, hash), &parsed.key)) return std::nullopt;
  parsed.tag = MakeTag(*sequence, *kind);
  return parsed;
}

}  // namespace mergedb::kv
