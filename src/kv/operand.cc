#include "kv/operand.h"

#include <bit>
#include <optional>

#include "base/coding.h"
#include "mergedb/merge.h"

namespace mergedb::kv {

std::string_view FamilyName(Family family) {
  switch (family) {
    case Family::kNothing: return "nothing";
    case Family::kBytes: return "bytes";
    case Family::kU64: return "u64";
    case Family::kI64: return "i64";
    case Family::kI64Saturating: return "saturating i64 sum";
    case Family::kI64Failing: return "failing i64 sum";
    case Family::kF64: return "f64";
    case Family::kJson: return "JSON";
    case Family::kStamped: return "stamped bytes";
  }
  return "value of a newer mergedb";
}

bool ParseAppend(std::string_view operand, AppendParts* parts) {
  std::string_view rest = operand.substr(1);
  if (rest.empty() || static_cast<uint8_t>(rest[0]) > 2) return false;
  parts->cap = static_cast<AppendParts::Cap>(rest[0]);
  rest.remove_prefix(1);
  if (parts->cap != AppendParts::Cap::kNone &&
      (!base::TakeVarint64(&rest, &parts->cap_bytes) || parts->cap_bytes == 0)) {
    return false;
  }
  if (!base::TakeLengthPrefixed(&rest, &parts->delimiter)) return false;
  parts->bytes = rest;
  parts->head_bytes = operand.size() - rest.size();
  return true;
}

bool ParseProgram(std::string_view operand, ProgramParts* parts) {
  const std::string_view body = operand.substr(1);
  if (body.empty()) return false;
  const size_t name_bytes = static_cast<uint8_t>(body[0]);
  if (name_bytes == 0 || name_bytes > body.size() - 1) return false;
  parts->name = body.substr(1, name_bytes);
  parts->operand = body.substr(1 + name_bytes);
  return true;
}

bool ParseStamped(std::string_view stamped, uint64_t* timestamp, std::string_view* bytes) {
  if (!base::TakeFixed64(&stamped, timestamp)) return false;
  *bytes = stamped;
  return true;
}

void AppendWide(std::string* out, Wide number) {
  base::AppendFixed64(out, static_cast<uint64_t>(number));
  if (number != static_cast<int64_t>(number)) base::AppendFixed64(out, static_cast<uint64_t>(number >> 64));
}

bool ParseWide(std::string_view bytes, Wide* number) {
  if (bytes.size() == 8) {
    *number = static_cast<int64_t>(base::LoadFixed64(bytes.data()));
    return true;
  }
  if (bytes.size() != 16) return false;
  const auto high = static_cast<Wide>(static_cast<int64_t>(base::LoadFixed64(bytes.data() + 8)));
  *number = static_cast<Wide>(static_cast<unsigned __int128>(high) << 64 | base::LoadFixed64(bytes.data()));
  return true;
}

}  // namespace mergedb::kv

namespace mergedb::merge {

std::optional<uint64_t> ToU64(std::string_view value) {
  if (value.size() != 8) return std::nullopt;
  return base::LoadFixed64(value.data());
}
std::optional<int64_t> ToI64(std::string_view value) {
  if (value.size() != 8) return std::nullopt;
  return static_cast<int64_t>(base::LoadFixed64(value.data()));
}
std::optional<double> ToF64(std::string_view value) {
  if (value.size() != 8) return std::nullopt;
  return std::bit_cast<double>(base::LoadFixed64(value.data()));
}
std::string FromU64(uint64_t number) {
  std::string value;
  base::AppendFixed64(&value, number);
  return value;
}
std::string FromI64(int64_t number) { return FromU64(static_cast<uint64_t>(number)); }
std::string FromF64(double number) { return FromU64(std::bit_cast<uint64_t>(number)); }

}  // namespace mergedb::merge
