#include "kv/merge_operators.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/coding.h"
#include "kv/json_patch.h"

namespace mergedb::kv {
namespace {

Status Clash(std::string_view operand, const Value& value) {
  return Status::MergeFailed(OperandName(operand) + " meets " + std::string(FamilyName(value.family)) +
                             ": a clash of types");
}

Status WrongSize(std::string_view operand, size_t bytes) {
  return Status::MergeFailed(OperandName(operand) + " needs a value of 8 bytes; the one there has " +
                             std::to_string(bytes));
}

Status TooLarge(std::string_view operand) {
  return Status::MergeFailed(OperandName(operand) + " makes a value of more than " +
                             std::to_string(kMergedValueBytesMax) + " bytes");
}

bool IsWholeNumber(Family family) {
  return family == Family::kU64 || family == Family::kI64 || family == Family::kI64Saturating ||
         family == Family::kI64Failing;
}

void SetNumber(Family family, uint64_t bits, Value* value) {
  value->family = family;
  if (family == Family::kF64) {
    value->real = std::bit_cast<double>(bits);
  } else {
    value->number = family == Family::kU64 ? static_cast<Wide>(bits) : static_cast<Wide>(static_cast<int64_t>(bits));
  }
}

// If *value is nothing or bytes, makes it a number of `family`. *is_first: it was nothing, so the operand
// itself is the result.
Status EnterNumber(std::string_view operand, Family family, Value* value, bool* is_first) {
  *is_first = value->family == Family::kNothing;
  if (*is_first) {
    value->family = family;
    return {};
  }
  if (value->family == Family::kBytes) {
    if (value->bytes.size() != 8) return WrongSize(operand, value->bytes.size());
    SetNumber(family, base::LoadFixed64(value->bytes.data()), value);
    return {};
  }
  return value->family == family ? Status() : Clash(operand, *value);
}

Status EnterBytes(std::string_view operand, Value* value, bool* is_first) {
  *is_first = value->family == Family::kNothing;
  if (*is_first) value->family = Family::kBytes;
  return value->family == Family::kBytes ? Status() : Clash(operand, *value);
}

// max and min accept all three i64 families. A sum accepts plain i64 and its own family.
Status EnterI64(std::string_view operand, Family family, Value* value, bool* is_first) {
  const bool is_i64 = IsWholeNumber(value->family) && value->family != Family::kU64;
  if (is_i64 && (family == Family::kI64 || value->family == Family::kI64)) {
    *is_first = false;
    if (family != Family::kI64) value->family = family;
    return {};
  }
  return EnterNumber(operand, family, value, is_first);
}

Status AddU64(std::string_view operand, Value* value) {
  bool is_first = false;
  RETURN_IF_ERROR(EnterNumber(operand, Family::kU64, value, &is_first));
  const uint64_t delta = base::LoadFixed64(operand.data() + 1);
  value->number = static_cast<Wide>(is_first ? delta : static_cast<uint64_t>(value->number) + delta);
  return {};
}

Status AddI64(std::string_view operand, Value* value) {
  const bool saturates = TypeOf(operand) == OperandType::kAddI64Saturating;
  bool is_first = false;
  RETURN_IF_ERROR(EnterI64(operand, saturates ? Family::kI64Saturating : Family::kI64Failing, value, &is_first));
  Wide delta = 0;
  ASSERT(ParseWide(operand.substr(1), &delta), "the operand was checked");
  if (is_first) value->number = 0;
  if (!__builtin_add_overflow(value->number, delta, &value->number)) return {};
  return Status::MergeFailed(OperandName(operand) + ": the exact sum needs more than 128 bits");
}

Status AddF64(std::string_view operand, Value* value) {
  bool is_first = false;
  RETURN_IF_ERROR(EnterNumber(operand, Family::kF64, value, &is_first));
  const auto delta = std::bit_cast<double>(base::LoadFixed64(operand.data() + 1));
  value->real = is_first ? delta : value->real + delta;
  return {};
}

// IEEE 754 totalOrder, as an order of integers.
int64_t TotalOrder(double number) {
  const auto bits = std::bit_cast<int64_t>(number);
  return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}

Status TakeExtremeNumber(std::string_view operand, Family family, bool is_max, Value* value) {
  bool is_first = false;
  RETURN_IF_ERROR(family == Family::kI64 ? EnterI64(operand, family, value, &is_first)
                                         : EnterNumber(operand, family, value, &is_first));
  Value given;
  SetNumber(family, base::LoadFixed64(operand.data() + 1), &given);
  const bool is_larger =
      family == Family::kF64 ? TotalOrder(given.real) > TotalOrder(value->real) : given.number > value->number;
  if (!is_first && is_larger != is_max) return {};
  value->number = given.number;
  value->real = given.real;
  return {};
}

Status TakeExtremeBytes(std::string_view operand, bool is_max, Value* value) {
  bool is_first = false;
  RETURN_IF_ERROR(EnterBytes(operand, value, &is_first));
  const std::string_view given = operand.substr(1);
  if (is_first || (base::CompareBytes(given, value->bytes) > 0) == is_max) value->bytes.assign(given);
  return {};
}

Status ApplyBits(std::string_view operand, Value* value) {
  bool is_first = false;
  RETURN_IF_ERROR(EnterBytes(operand, value, &is_first));
  const std::string_view mask = operand.substr(1);
  const size_t shared = std::min(mask.size(), value->bytes.size());
  const OperandType type = TypeOf(operand);
  for (size_t i = 0; i < shared; ++i) {
    const char was = value->bytes[i];
    value->bytes[i] = static_cast<char>(type == OperandType::kAnd  ? was & mask[i]
                                        : type == OperandType::kOr ? was | mask[i]
                                                                   : was ^ mask[i]);
  }
  value->bytes.append(mask.substr(shared));
  return {};
}

Status Append(std::string_view operand, Value* value) {
  AppendParts parts;
  ASSERT(ParseAppend(operand, &parts), "the operand was checked");
  bool is_first = false;
  RETURN_IF_ERROR(EnterBytes(operand, value, &is_first));
  if (!is_first) value->bytes.append(parts.delimiter);
  value->bytes.append(parts.bytes);
  if (parts.cap != AppendParts::Cap::kNone && value->bytes.size() > parts.cap_bytes) {
    const bool keeps_newest = parts.cap == AppendParts::Cap::kKeepNewest;
    value->bytes.erase(keeps_newest ? 0 : parts.cap_bytes, value->bytes.size() - parts.cap_bytes);
  }
  return value->bytes.size() <= kMergedValueBytesMax ? Status() : TooLarge(operand);
}

Status TakeStamped(std::string_view operand, Value* value) {
  const bool is_last = TypeOf(operand) == OperandType::kLast;
  uint64_t timestamp = 0;
  std::string_view bytes;
  ASSERT(ParseStamped(operand.substr(1), &timestamp, &bytes), "the operand was checked");
  switch (value->family) {
    case Family::kNothing: break;
    case Family::kBytes:  // bytes are older than every timestamp
      if (!is_last) return {};
      break;
    case Family::kStamped:
      if (is_last ? timestamp < value->timestamp : timestamp >= value->timestamp) return {};
      break;
    default: return Clash(operand, *value);
  }
  value->family = Family::kStamped;
  value->timestamp = timestamp;
  value->bytes.assign(bytes);
  return {};
}

Status ApplyOne(std::string_view operand, Value* value) {
  const OperandType type = TypeOf(operand);
  switch (type) {
    case OperandType::kAddU64: return AddU64(operand, value);
    case OperandType::kAddI64Saturating:
    case OperandType::kAddI64Failing: return AddI64(operand, value);
    case OperandType::kAddF64: return AddF64(operand, value);
    case OperandType::kMaxU64:
    case OperandType::kMinU64: return TakeExtremeNumber(operand, Family::kU64, type == OperandType::kMaxU64, value);
    case OperandType::kMaxI64:
    case OperandType::kMinI64: return TakeExtremeNumber(operand, Family::kI64, type == OperandType::kMaxI64, value);
    case OperandType::kMaxF64:
    case OperandType::kMinF64: return TakeExtremeNumber(operand, Family::kF64, type == OperandType::kMaxF64, value);
    case OperandType::kMaxBytes:
    case OperandType::kMinBytes: return TakeExtremeBytes(operand, type == OperandType::kMaxBytes, value);
    case OperandType::kAnd:
    case OperandType::kOr:
    case OperandType::kXor: return ApplyBits(operand, value);
    case OperandType::kAppend: return Append(operand, value);
    case OperandType::kFirst:
    case OperandType::kLast: return TakeStamped(operand, value);
    case OperandType::kPut:
      value->family = Family::kBytes;
      value->bytes.assign(operand.substr(1));
      return {};
    case OperandType::kJsonPatch:
    case OperandType::kProgram: break;
  }
  return Status::NotSupported(OperandName(operand) + " needs a newer version of mergedb");
}

Status ApplyJson(std::span<const std::string_view> operands, Value* value) {
  const bool is_text = value->family == Family::kBytes || value->family == Family::kJson;
  if (!is_text && value->family != Family::kNothing) return Clash(operands[0], *value);
  std::vector<std::string_view> patches;
  for (const std::string_view operand : operands) patches.push_back(operand.substr(1));
  std::string result;
  RETURN_IF_ERROR(
      ApplyJsonPatches(is_text ? std::optional<std::string_view>(value->bytes) : std::nullopt, patches, &result));
  value->family = Family::kJson;
  value->bytes = std::move(result);
  return {};
}

Status BadState(Family family, size_t bytes) {
  return Status::Corruption("a merged value of family " + std::to_string(static_cast<int>(family)) + " with " +
                            std::to_string(bytes) + " bytes");
}

Status UnknownFamily(Family family) {
  return Status::NotSupported("a merged value of family " + std::to_string(static_cast<int>(family)) +
                              " needs a newer version of mergedb");
}

// The operand that makes `value` of nothing. `like` has its type.
bool EncodeOperand(std::string_view like, const Value& value, std::string* operand) {
  operand->assign(1, like[0]);
  switch (value.family) {
    case Family::kU64:
    case Family::kI64: base::AppendFixed64(operand, static_cast<uint64_t>(value.number)); return true;
    case Family::kI64Saturating:
    case Family::kI64Failing: AppendWide(operand, value.number); return true;
    case Family::kF64: base::AppendFixed64(operand, std::bit_cast<uint64_t>(value.real)); return true;
    case Family::kStamped:
      base::AppendFixed64(operand, value.timestamp);
      operand->append(value.bytes);
      return true;
    case Family::kBytes: {
      AppendParts parts;
      const bool is_append = TypeOf(like) == OperandType::kAppend;
      if (is_append && !ParseAppend(like, &parts)) return false;
      if (is_append) operand->assign(like.substr(0, parts.head_bytes));
      operand->append(value.bytes);
      return true;
    }
    case Family::kJson:
    case Family::kNothing: break;
  }
  return false;
}

// True if the operands can be combined. Appends with different caps or delimiters cannot.
bool AreAlike(std::string_view a, std::string_view b) {
  if (a[0] != b[0]) return false;
  AppendParts first, second;
  if (TypeOf(a) != OperandType::kAppend) return true;
  if (!ParseAppend(a, &first) || !ParseAppend(b, &second)) return false;
  return a.substr(0, first.head_bytes) == b.substr(0, second.head_bytes);
}

}  // namespace

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

Kind EncodeValue(const Value& value, std::string* bytes) {
  bytes->clear();
  if (value.family == Family::kNothing) return Kind::kDelete;
  if (value.family == Family::kBytes) {
    bytes->assign(value.bytes);
    return Kind::kPut;
  }
  bytes->push_back(static_cast<char>(value.family));
  switch (value.family) {
    case Family::kI64Saturating:
    case Family::kI64Failing: AppendWide(bytes, value.number); break;
    case Family::kF64: base::AppendFixed64(bytes, std::bit_cast<uint64_t>(value.real)); break;
    case Family::kStamped:
      base::AppendFixed64(bytes, value.timestamp);
      bytes->append(value.bytes);
      break;
    case Family::kJson: bytes->append(value.bytes); break;
    default: base::AppendFixed64(bytes, static_cast<uint64_t>(value.number)); break;
  }
  return Kind::kMerged;
}

namespace {

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

Status ApplyRun(std::span<const std::string_view> operands, Value* value) {
  for (const std::string_view operand : operands) {
    const Status status = CheckOperand(operand);
    if (!status.ok()) return status.IsNotSupported() ? status : Status::MergeFailed(status.message());
  }
  if (TypeOf(operands[0]) == OperandType::kJsonPatch) return ApplyJson(operands, value);
  for (const std::string_view operand : operands) RETURN_IF_ERROR(ApplyOne(operand, value));
  return {};
}

bool CombineRun(std::span<const std::string_view> operands, std::string* combined) {
  for (const std::string_view operand : operands) {
    if (operand.empty() || !AreAlike(operands[0], operand)) return false;
  }
  if (TypeOf(operands[0]) == OperandType::kJsonPatch) {
    std::vector<std::string_view> patches;
    for (const std::string_view operand : operands) patches.push_back(operand.substr(1));
    std::string body;
    if (!CombineJsonPatches(patches, &body).ok()) return false;
    combined->assign(1, operands[0][0]).append(body);
    return true;
  }
  Value value;
  return ApplyRun(operands, &value).ok() && EncodeOperand(operands[0], value, combined);
}

bool Counter::Take(std::string_view operand) {
  if (operand.size() != sizeof bytes || operand[0] != static_cast<char>(OperandType::kAddU64)) return false;
  kind = Kind::kMerge;
  std::memcpy(bytes, operand.data(), sizeof bytes);
  return true;
}

bool AddToCounter(const Base& below, std::string_view operand, Counter* made) {
  constexpr char kType = static_cast<char>(OperandType::kAddU64), kFamily = static_cast<char>(Family::kU64);
  if (operand.size() != 9 || operand[0] != kType) return false;
  uint64_t sum = base::LoadFixed64(operand.data() + 1);
  const bool is_operand = below.kind == Kind::kMerge;
  if (below.kind == Kind::kPut && below.bytes.size() == 8) {
    sum += base::LoadFixed64(below.bytes.data());
  } else if ((is_operand || below.kind == Kind::kMerged) && below.bytes.size() == 9 &&
             below.bytes[0] == (is_operand ? kType : kFamily)) {
    sum += base::LoadFixed64(below.bytes.data() + 1);
  } else if (below.kind != Kind::kDelete) {
    return false;
  }
  made->kind = is_operand ? Kind::kMerge : Kind::kMerged;
  made->bytes[0] = is_operand ? kType : kFamily;
  base::StoreFixed64(made->bytes + 1, sum);
  return true;
}

bool StaysSmall(OperandType type) {
  return type >= OperandType::kAddU64 && type <= OperandType::kMinF64 && type != OperandType::kMaxBytes;
}

}  // namespace mergedb::kv
