#include "kv/operand.h"

#include <bit>
#include <limits>

#include "base/bytes.h"
#include "base/coding.h"
#include "kv/json_patch.h"
#include "mergedb/merge.h"

namespace mergedb::kv {
namespace {

constexpr std::string_view kNames[] = {
    {},        "add-u64", "add-i64", "add-i64-failing", "add-f64", "max-u64", "max-i64",
    "max-f64", "max",     "min-u64", "min-i64",         "min-f64", "min",     "and",
    "or",      "xor",     "append",  "first",           "last",    "json",    "put",
};

Status Malformed(std::string_view operand, std::string_view expected) {
  return Status::InvalidArgument(OperandName(operand) + ": expected " + std::string(expected) + ", found " +
                                 std::to_string(operand.size() - 1) + " bytes");
}

}  // namespace

std::string OperandName(std::string_view operand) {
  if (operand.empty()) return "an empty operand";
  const auto type = static_cast<uint8_t>(operand[0]);
  if (type != 0 && type < std::size(kNames)) return std::string(kNames[type]);
  ProgramParts program;
  if (TypeOf(operand) == OperandType::kProgram && ParseProgram(operand, &program)) {
    return "operator \"" + base::Escape(program.name) + "\"";
  }
  return "operand type " + std::to_string(type);
}

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

Status CheckOperand(std::string_view operand) {
  if (operand.empty()) return Status::InvalidArgument("an empty operand; use the functions of include/mergedb/merge.h");
  const std::string_view body = operand.substr(1);
  switch (TypeOf(operand)) {
    case OperandType::kAddU64:
    case OperandType::kAddF64:
    case OperandType::kMaxU64:
    case OperandType::kMaxI64:
    case OperandType::kMaxF64:
    case OperandType::kMinU64:
    case OperandType::kMinI64:
    case OperandType::kMinF64: return body.size() == 8 ? Status() : Malformed(operand, "8 bytes");
    case OperandType::kAddI64Saturating:
    case OperandType::kAddI64Failing:
      return body.size() == 8 || body.size() == 16 ? Status() : Malformed(operand, "8 or 16 bytes");
    case OperandType::kMaxBytes:
    case OperandType::kMinBytes:
    case OperandType::kAnd:
    case OperandType::kOr:
    case OperandType::kXor:
    case OperandType::kPut: return {};
    case OperandType::kAppend: {
      AppendParts parts;
      return ParseAppend(operand, &parts) ? Status() : Malformed(operand, "cap, delimiter and bytes");
    }
    case OperandType::kFirst:
    case OperandType::kLast: return body.size() >= 8 ? Status() : Malformed(operand, "a timestamp of 8 bytes");
    case OperandType::kJsonPatch:
      return !body.empty() && static_cast<uint8_t>(body[0]) <= 1 ? Status() : Malformed(operand, "form 0 or 1");
    case OperandType::kProgram: {
      ProgramParts parts;
      return ParseProgram(operand, &parts) ? Status() : Malformed(operand, "a name of 1 to 255 bytes");
    }
  }
  return Status::NotSupported(OperandName(operand) +
                              " is unknown to this version; use the functions of include/mergedb/merge.h");
}

}  // namespace mergedb::kv

namespace mergedb::merge {
namespace {

using kv::OperandType;

std::string Make(OperandType type, std::string_view body) {
  std::string operand;
  operand.reserve(1 + body.size());
  operand.push_back(static_cast<char>(type));
  return operand.append(body);
}

std::string MakeFixed(OperandType type, uint64_t bits) {
  char body[8];
  base::StoreFixed64(body, bits);
  return Make(type, {body, sizeof body});
}

std::string MakeStamped(OperandType type, uint64_t timestamp, std::string_view value) {
  std::string operand = MakeFixed(type, timestamp);
  return operand.append(value);
}

std::string MakeProgram(std::string_view name, std::string_view operand) {
  // WHY length 0 for a name that is too long: Merge refuses the operand.
  const size_t name_bytes = name.size() <= kv::kOperatorNameBytesMax ? name.size() : 0;
  std::string made = Make(OperandType::kProgram, {});
  made.push_back(static_cast<char>(name_bytes));
  return made.append(name.substr(0, name_bytes)).append(operand);
}

}  // namespace

std::string AddU64(uint64_t delta) { return MakeFixed(OperandType::kAddU64, delta); }
std::string AddI64(int64_t delta, Overflow overflow) {
  const OperandType type =
      overflow == Overflow::kSaturate ? OperandType::kAddI64Saturating : OperandType::kAddI64Failing;
  return MakeFixed(type, static_cast<uint64_t>(delta));
}
std::string AddF64(double delta) { return MakeFixed(OperandType::kAddF64, std::bit_cast<uint64_t>(delta)); }
std::string MaxU64(uint64_t value) { return MakeFixed(OperandType::kMaxU64, value); }
std::string MaxI64(int64_t value) { return MakeFixed(OperandType::kMaxI64, static_cast<uint64_t>(value)); }
std::string MaxF64(double value) { return MakeFixed(OperandType::kMaxF64, std::bit_cast<uint64_t>(value)); }
std::string MinU64(uint64_t value) { return MakeFixed(OperandType::kMinU64, value); }
std::string MinI64(int64_t value) { return MakeFixed(OperandType::kMinI64, static_cast<uint64_t>(value)); }
std::string MinF64(double value) { return MakeFixed(OperandType::kMinF64, std::bit_cast<uint64_t>(value)); }
std::string MaxBytes(std::string_view value) { return Make(OperandType::kMaxBytes, value); }
std::string MinBytes(std::string_view value) { return Make(OperandType::kMinBytes, value); }
std::string And(std::string_view mask) { return Make(OperandType::kAnd, mask); }
std::string Or(std::string_view mask) { return Make(OperandType::kOr, mask); }
std::string Xor(std::string_view mask) { return Make(OperandType::kXor, mask); }
std::string Put(std::string_view value) { return Make(OperandType::kPut, value); }

std::string Append(std::string_view bytes, const AppendOptions& options) {
  using Cap = kv::AppendParts::Cap;
  const Cap cap = options.cap_bytes == 0          ? Cap::kNone
                  : options.keep == Keep::kNewest ? Cap::kKeepNewest
                                                  : Cap::kKeepOldest;
  std::string operand = Make(OperandType::kAppend, {});
  operand.push_back(static_cast<char>(cap));
  if (cap != Cap::kNone) base::AppendVarint64(&operand, options.cap_bytes);
  base::AppendLengthPrefixed(&operand, options.delimiter);
  return operand.append(bytes);
}

std::string First(uint64_t timestamp, std::string_view value) {
  return MakeStamped(OperandType::kFirst, timestamp, value);
}
std::string Last(uint64_t timestamp, std::string_view value) {
  return MakeStamped(OperandType::kLast, timestamp, value);
}

std::string JsonPatch(std::string_view patch) {
  std::string operand = Make(OperandType::kJsonPatch, {});
  operand.push_back(static_cast<char>(kv::kJsonPlain));
  return operand.append(patch);
}

std::string Named(std::string_view name, std::string_view operand) {
  // WHY built-in types under RocksDB's names: the encodings are the same. Merge refuses a uint64add of another size.
  if (name == "uint64add") return Make(OperandType::kAddU64, operand);
  if (name == "stringappend") return Append(operand, {.delimiter = ","});
  if (name == "max") return MaxBytes(operand);
  if (name == "put") return Put(operand);
  if (name == "bytesxor") return Xor(operand);
  return MakeProgram(name, operand);
}

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
