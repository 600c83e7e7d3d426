#include "kv/merge_value.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/assert.h"
#include "base/coding.h"

namespace mergedb::kv {
namespace {

Status BadState(Family family, size_t bytes) {
  return Status::Corruption("a merged value of family " + std::to_string(static_cast<int>(family)) + " with " +
                            std::to_string(bytes) + " bytes");
}

Status UnknownFamily(Family family) {
  return Status::NotSupported("a merged value of family " + std::to_string(static_cast<int>(family)) +
                              " needs a newer version of mergedb");
}

// A sum as a reader sees it.
Status ShowSum(Family family, std::string_view state, std::string* scratch, std::string_view* shown) {
  constexpr Wide kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  Wide sum = 0;
  if (!ParseWide(state, &sum)) return BadState(family, state.size());
  const Wide nearest = std::clamp(sum, kLeast, kMost);
  if (nearest != sum && family == Family::kI64Failing) {
    return Status::MergeFailed("add-i64-failing: the sum does not fit an int64");
  }
  scratch->clear();
  base::AppendFixed64(scratch, static_cast<uint64_t>(nearest));
  *shown = *scratch;
  return {};
}

}  // namespace

void SetNumber(Family family, uint64_t bits, Value* value) {
  value->family = family;
  if (family == Family::kF64) {
    value->real = std::bit_cast<double>(bits);
  } else {
    value->number = family == Family::kU64 ? static_cast<Wide>(bits) : static_cast<Wide>(static_cast<int64_t>(bits));
  }
}

Status DecodeBase(const Base& base, Value* value) {
  if (base.kind == Kind::kDelete) {
    value->family = Family::kNothing;
    return {};
  }
  if (base.kind == Kind::kPut) {
    value->family = Family::kBytes;
    value->bytes.assign(base.bytes);
    return {};
  }
  ASSERT(base.kind == Kind::kMerged, "a base is nothing, bytes or a merged value");
  if (base.bytes.empty()) return BadState(Family::kNothing, 0);
  value->family = static_cast<Family>(base.bytes[0]);
  const std::string_view state = base.bytes.substr(1);
  switch (value->family) {
    case Family::kU64:
    case Family::kI64:
    case Family::kF64:
      if (state.size() != 8) return BadState(value->family, state.size());
      SetNumber(value->family, base::LoadFixed64(state.data()), value);
      return {};
    case Family::kI64Saturating:
    case Family::kI64Failing:
      return ParseWide(state, &value->number) ? Status() : BadState(value->family, state.size());
    case Family::kJson: value->bytes.assign(state); return {};
    case Family::kStamped: {
      std::string_view bytes;
      if (!ParseStamped(state, &value->timestamp, &bytes)) return BadState(value->family, state.size());
      value->bytes.assign(bytes);
      return {};
    }
    default: break;
  }
  return UnknownFamily(value->family);
}

void AppendState(const Value& value, std::string* out) {
  switch (value.family) {
    case Family::kU64:
    case Family::kI64: base::AppendFixed64(out, static_cast<uint64_t>(value.number)); break;
    case Family::kI64Saturating:
    case Family::kI64Failing: AppendWide(out, value.number); break;
    case Family::kF64: base::AppendFixed64(out, std::bit_cast<uint64_t>(value.real)); break;
    case Family::kStamped: base::AppendFixed64(out, value.timestamp); [[fallthrough]];
    case Family::kBytes:
    case Family::kJson: out->append(value.bytes); break;
    case Family::kNothing: break;
  }
}

Kind EncodeValue(const Value& value, std::string* bytes) {
  bytes->clear();
  if (value.family == Family::kNothing) return Kind::kDelete;
  const bool is_typed = value.family != Family::kBytes;
  if (is_typed) bytes->push_back(static_cast<char>(value.family));
  AppendState(value, bytes);
  return is_typed ? Kind::kMerged : Kind::kPut;
}

Status ShowValue(const Base& base, std::string* scratch, std::string_view* shown) {
  *shown = base.bytes;
  if (base.kind == Kind::kPut) return {};
  ASSERT(base.kind == Kind::kMerged, "nothing cannot be shown");
  if (base.bytes.empty()) return BadState(Family::kNothing, 0);
  const auto family = static_cast<Family>(base.bytes[0]);
  const std::string_view state = base.bytes.substr(1);
  *shown = state;
  switch (family) {
    case Family::kU64:
    case Family::kI64:
    case Family::kF64: return state.size() == 8 ? Status() : BadState(family, state.size());
    case Family::kI64Saturating:
    case Family::kI64Failing: return ShowSum(family, state, scratch, shown);
    case Family::kJson: return {};
    case Family::kStamped:
      if (state.size() < 8) return BadState(family, state.size());
      *shown = state.substr(8);
      return {};
    default: return UnknownFamily(family);
  }
}

}  // namespace mergedb::kv
