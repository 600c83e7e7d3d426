#include "kv/merge_operators.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/coding.h"
#include "kv/json_patch.h"

namespace mergedb::kv {
namespace {

using merge::Argument;
using merge::Arguments;

// ---- bodies -----------------------------------------------------------------------------------------------

uint64_t BitsOf(std::string_view operand) { return base::LoadFixed64(operand.data() + 1); }

bool HasNumber(std::string_view operand) { return operand.size() == 9; }
bool HasSum(std::string_view operand) { return operand.size() == 9 || operand.size() == 17; }
bool HasBytes(std::string_view) { return true; }
bool HasTimestamp(std::string_view operand) { return operand.size() >= 9; }
bool HasForm(std::string_view operand) { return operand.size() > 1 && static_cast<uint8_t>(operand[1]) <= 1; }
template <typename Parts, bool (*parse)(std::string_view operand, Parts* parts)>
bool HasParts(std::string_view operand) {
  Parts parts;
  return parse(operand, &parts);
}

void AppendU64(const Arguments& given, std::string* operand) { base::AppendFixed64(operand, given.u64); }
void AppendI64(const Arguments& given, std::string* operand) {
  base::AppendFixed64(operand, static_cast<uint64_t>(given.i64));
}
void AppendF64(const Arguments& given, std::string* operand) {
  base::AppendFixed64(operand, std::bit_cast<uint64_t>(given.f64));
}
void AppendBytes(const Arguments& given, std::string* operand) { operand->append(given.bytes); }
void AppendStamped(const Arguments& given, std::string* operand) {
  base::AppendFixed64(operand, given.u64);
  operand->append(given.bytes);
}
void AppendPatch(const Arguments& given, std::string* operand) {
  operand->push_back(static_cast<char>(kJsonPlain));
  operand->append(given.bytes);
}
void AppendAppend(const Arguments& given, std::string* operand) {
  using Cap = AppendParts::Cap;
  const Cap cap = given.append.cap_bytes == 0                 ? Cap::kNone
                  : given.append.keep == merge::Keep::kNewest ? Cap::kKeepNewest
                                                              : Cap::kKeepOldest;
  operand->push_back(static_cast<char>(cap));
  if (cap != Cap::kNone) base::AppendVarint64(operand, given.append.cap_bytes);
  base::AppendLengthPrefixed(operand, given.append.delimiter);
  operand->append(given.bytes);
}

std::string Quote(std::string_view bytes) { return "\"" + base::Escape(bytes) + "\""; }

std::string PrintU64(std::string_view operand) { return std::to_string(BitsOf(operand)); }
std::string PrintF64(std::string_view operand) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, std::bit_cast<double>(BitsOf(operand))).ptr;
  return {text, end};
}
std::string PrintBytes(std::string_view operand) { return Quote(operand.substr(1)); }
std::string PrintStamped(std::string_view operand) {
  return "at " + PrintU64(operand) + " " + Quote(operand.substr(9));
}
std::string PrintPatch(std::string_view operand) { return base::Escape(operand.substr(2)); }
std::string PrintProgram(std::string_view operand) {
  ProgramParts parts;
  return ParseProgram(operand, &parts) ? Quote(parts.operand) : "?";
}
std::string PrintAppend(std::string_view operand) {
  AppendParts parts;
  if (!ParseAppend(operand, &parts)) return "?";
  std::string text = Quote(parts.bytes);
  if (!parts.delimiter.empty()) text += " delimiter " + Quote(parts.delimiter);
  if (parts.cap == AppendParts::Cap::kNone) return text;
  const bool keeps_newest = parts.cap == AppendParts::Cap::kKeepNewest;
  return text + (keeps_newest ? " newest " : " oldest ") + std::to_string(parts.cap_bytes);
}

// A combined sum may need more than 64 bits.
std::string PrintWide(std::string_view operand) {
  Wide number = 0;
  if (!ParseWide(operand.substr(1), &number)) return "?";
  const bool is_negative = number < 0;
  auto rest = is_negative ? -static_cast<unsigned __int128>(number) : static_cast<unsigned __int128>(number);
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  return is_negative ? "-" + digits : digits;
}

// WHY a new patch is parsed: if it were no JSON, every later read of its key would fail.
Status CheckPatch(std::string_view operand) { return CheckJsonPatch(operand.substr(1)); }

constexpr Body kU64 = {Argument::kU64, "8 bytes", HasNumber, AppendU64, PrintU64};
constexpr Body kI64 = {Argument::kI64, "8 bytes", HasNumber, AppendI64, PrintWide};
constexpr Body kI64Sum = {Argument::kI64, "8 or 16 bytes", HasSum, AppendI64, PrintWide};
constexpr Body kF64 = {Argument::kF64, "8 bytes", HasNumber, AppendF64, PrintF64};
constexpr Body kBytes = {Argument::kBytes, "bytes", HasBytes, AppendBytes, PrintBytes};
constexpr Body kAppend = {Argument::kBytes, "cap, delimiter and bytes", HasParts<AppendParts, ParseAppend>,
                          AppendAppend, PrintAppend};
constexpr Body kStamped = {Argument::kBytes, "a timestamp of 8 bytes", HasTimestamp, AppendStamped, PrintStamped};
constexpr Body kJson = {Argument::kBytes, "form 0 or 1", HasForm, AppendPatch, PrintPatch, CheckPatch};
constexpr Body kProgramBody = {Argument::kBytes, "a name of 1 to 255 bytes", HasParts<ProgramParts, ParseProgram>,
                               nullptr, PrintProgram};

// ---- effects ----------------------------------------------------------------------------------------------

Status WrongSize(std::string_view operand, size_t bytes) {
  return Status::MergeFailed(OperandName(operand) + " needs a value of 8 bytes; the one there has " +
                             std::to_string(bytes));
}

Status TooLarge(std::string_view operand) {
  return Status::MergeFailed(OperandName(operand) + " makes a value of more than " +
                             std::to_string(kMergedValueBytesMax) + " bytes");
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
  return value->family == family ? Status() : Clash(operand, value->family);
}

Status EnterBytes(std::string_view operand, Value* value, bool* is_first) {
  *is_first = value->family == Family::kNothing;
  if (*is_first) value->family = Family::kBytes;
  return value->family == Family::kBytes ? Status() : Clash(operand, value->family);
}

// max and min accept all three i64 families. A sum accepts plain i64 and its own family.
Status EnterI64(std::string_view operand, Family family, Value* value, bool* is_first) {
  const bool is_i64 =
      value->family == Family::kI64 || value->family == Family::kI64Saturating || value->family == Family::kI64Failing;
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
  const uint64_t delta = BitsOf(operand);
  value->number = static_cast<Wide>(is_first ? delta : static_cast<uint64_t>(value->number) + delta);
  return {};
}

template <Family family>
Status AddI64(std::string_view operand, Value* value) {
  bool is_first = false;
  RETURN_IF_ERROR(EnterI64(operand, family, value, &is_first));
  Wide delta = 0;
  ASSERT(ParseWide(operand.substr(1), &delta), "the operand was checked");
  if (is_first) value->number = 0;
  if (!__builtin_add_overflow(value->number, delta, &value->number)) return {};
  return Status::MergeFailed(OperandName(operand) + ": the exact sum needs more than 128 bits");
}

Status AddF64(std::string_view operand, Value* value) {
  bool is_first = false;
  RETURN_IF_ERROR(EnterNumber(operand, Family::kF64, value, &is_first));
  const auto delta = std::bit_cast<double>(BitsOf(operand));
  value->real = is_first ? delta : value->real + delta;
  return {};
}

// IEEE 754 totalOrder, as an order of integers.
int64_t TotalOrder(double number) {
  const auto bits = std::bit_cast<int64_t>(number);
  return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
}

template <Family family, bool is_max>
Status TakeNumber(std::string_view operand, Value* value) {
  bool is_first = false;
  RETURN_IF_ERROR(family == Family::kI64 ? EnterI64(operand, family, value, &is_first)
                                         : EnterNumber(operand, family, value, &is_first));
  Value given;
  SetNumber(family, BitsOf(operand), &given);
  const bool is_larger =
      family == Family::kF64 ? TotalOrder(given.real) > TotalOrder(value->real) : given.number > value->number;
  if (!is_first && is_larger != is_max) return {};
  value->number = given.number;
  value->real = given.real;
  return {};
}

template <bool is_max>
Status TakeBytes(std::string_view operand, Value* value) {
  bool is_first = false;
  RETURN_IF_ERROR(EnterBytes(operand, value, &is_first));
  const std::string_view given = operand.substr(1);
  if (is_first || (base::CompareBytes(given, value->bytes) > 0) == is_max) value->bytes.assign(given);
  return {};
}

template <typename Operation>
Status ApplyBits(std::string_view operand, Value* value) {
  bool is_first = false;
  RETURN_IF_ERROR(EnterBytes(operand, value, &is_first));
  const std::string_view mask = operand.substr(1);
  const size_t shared = std::min(mask.size(), value->bytes.size());
  for (size_t i = 0; i < shared; ++i) value->bytes[i] = static_cast<char>(Operation()(value->bytes[i], mask[i]));
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

template <bool is_last>
Status TakeStamped(std::string_view operand, Value* value) {
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
    default: return Clash(operand, value->family);
  }
  value->family = Family::kStamped;
  value->timestamp = timestamp;
  value->bytes.assign(bytes);
  return {};
}

Status Put(std::string_view operand, Value* value) {
  value->family = Family::kBytes;
  value->bytes.assign(operand.substr(1));
  return {};
}

template <Status (*apply)(std::string_view operand, Value* value)>
Status Each(Run run, Value* value) {
  for (const std::string_view operand : run) RETURN_IF_ERROR(apply(operand, value));
  return {};
}

std::vector<std::string_view> PatchesOf(Run run) {
  std::vector<std::string_view> patches;
  for (const std::string_view operand : run) patches.push_back(operand.substr(1));
  return patches;
}

Status ApplyJson(Run run, Value* value) {
  const bool is_text = value->family == Family::kBytes || value->family == Family::kJson;
  if (!is_text && value->family != Family::kNothing) return Clash(run[0], value->family);
  std::string result;
  RETURN_IF_ERROR(ApplyJsonPatches(is_text ? std::optional<std::string_view>(value->bytes) : std::nullopt,
                                   PatchesOf(run), &result));
  value->family = Family::kJson;
  value->bytes = std::move(result);
  return {};
}

// ---- combining --------------------------------------------------------------------------------------------

// The operands applied to nothing make the state of one operand that has the effect of all.
bool CombineValues(Run run, std::string* combined) {
  Value value;
  if (!ApplyRun(run, &value).ok()) return false;
  combined->assign(1, run[0][0]);
  AppendState(value, combined);
  return true;
}

// Appends with different caps or delimiters cannot be combined.
bool CombineAppends(Run run, std::string* combined) {
  AppendParts parts;
  if (!ParseAppend(run[0], &parts)) return false;
  const std::string_view head = run[0].substr(0, parts.head_bytes);
  for (const std::string_view operand : run.subspan(1)) {
    if (!ParseAppend(operand, &parts) || operand.substr(0, parts.head_bytes) != head) return false;
  }
  Value value;
  if (!ApplyRun(run, &value).ok()) return false;
  combined->assign(head).append(value.bytes);
  return true;
}

bool CombineJson(Run run, std::string* combined) {
  std::string body;
  if (!CombineJsonPatches(PatchesOf(run), &body).ok()) return false;
  combined->assign(1, run[0][0]).append(body);
  return true;
}

// ---- the table --------------------------------------------------------------------------------------------

using std::bit_and, std::bit_or, std::bit_xor;

// Row i has id i + 1.
constexpr MergeType kMergeTypes[] = {
    {1, "add-u64", kU64, Each<AddU64>, CombineValues, "uint64add"},
    {2, "add-i64", kI64Sum, Each<AddI64<Family::kI64Saturating>>, CombineValues},
    {3, "add-i64-failing", kI64Sum, Each<AddI64<Family::kI64Failing>>, CombineValues},
    {4, "add-f64", kF64, Each<AddF64>, CombineValues},
    {5, "max-u64", kU64, Each<TakeNumber<Family::kU64, true>>, CombineValues},
    {6, "max-i64", kI64, Each<TakeNumber<Family::kI64, true>>, CombineValues},
    {7, "max-f64", kF64, Each<TakeNumber<Family::kF64, true>>, CombineValues},
    {8, "max", kBytes, Each<TakeBytes<true>>, CombineValues, "max"},
    {9, "min-u64", kU64, Each<TakeNumber<Family::kU64, false>>, CombineValues},
    {10, "min-i64", kI64, Each<TakeNumber<Family::kI64, false>>, CombineValues},
    {11, "min-f64", kF64, Each<TakeNumber<Family::kF64, false>>, CombineValues},
    {12, "min", kBytes, Each<TakeBytes<false>>, CombineValues},
    {13, "and", kBytes, Each<ApplyBits<bit_and<>>>, CombineValues},
    {14, "or", kBytes, Each<ApplyBits<bit_or<>>>, CombineValues},
    {15, "xor", kBytes, Each<ApplyBits<bit_xor<>>>, CombineValues, "bytesxor"},
    {16, "append", kAppend, Each<Append>, CombineAppends, "stringappend", {"\0\1,", 3}},
    {17, "first", kStamped, Each<TakeStamped<false>>, CombineValues},
    {18, "last", kStamped, Each<TakeStamped<true>>, CombineValues},
    {19, "json", kJson, ApplyJson, CombineJson},
    {20, "put", kBytes, Each<Put>, CombineValues, "put"},
};

// src/kv/fold.cc applies and combines the operands of a program's operator.
constexpr MergeType kProgram = {30, "operand type 30", kProgramBody, nullptr, nullptr};

const MergeType* Find(OperandType type) {
  const size_t index = static_cast<size_t>(type) - 1;
  if (index < std::size(kMergeTypes)) return &kMergeTypes[index];
  return type == OperandType::kProgram ? &kProgram : nullptr;
}

// A row by its name. A wrong name or a row with a wrong id does not compile.
consteval const MergeType& Row(std::string_view name) {
  for (size_t i = 0; i < std::size(kMergeTypes); ++i) {
    if (kMergeTypes[i].id != i + 1) throw "a row with a wrong id";
    if (kMergeTypes[i].name == name) return kMergeTypes[i];
  }
  throw "no such row";
}
static_assert(OperandType{Row("add-u64").id} == OperandType::kAddU64);
static_assert(OperandType{Row("json").id} == OperandType::kJsonPatch);
static_assert(OperandType{Row("put").id} == OperandType::kPut);

std::string MakeOf(const MergeType& type, const Arguments& given) {
  std::string operand(1, static_cast<char>(type.id));
  type.body.append(given, &operand);
  return operand;
}

}  // namespace

std::span<const MergeType> MergeTypes() { return kMergeTypes; }

const MergeType* FindRocksDbType(std::string_view name) {
  if (name.empty()) return nullptr;
  const auto* const found = std::ranges::find(kMergeTypes, name, &MergeType::rocksdb_name);
  return found == std::end(kMergeTypes) ? nullptr : found;
}

std::string OperandName(std::string_view operand) {
  if (operand.empty()) return "an empty operand";
  ProgramParts program;
  if (TypeOf(operand) == OperandType::kProgram && ParseProgram(operand, &program)) {
    return "operator \"" + base::Escape(program.name) + "\"";
  }
  const MergeType* const type = Find(TypeOf(operand));
  return type != nullptr ? std::string(type->name) : "operand type " + std::to_string(static_cast<uint8_t>(operand[0]));
}

Status Clash(std::string_view operand, Family family) {
  return Status::MergeFailed(OperandName(operand) + " meets " + std::string(FamilyName(family)) + ": a clash of types");
}

Status CheckOperand(std::string_view operand) {
  if (operand.empty()) return Status::InvalidArgument("an empty operand; use the functions of include/mergedb/merge.h");
  const MergeType* const type = Find(TypeOf(operand));
  if (type == nullptr) {
    return Status::NotSupported(OperandName(operand) +
                                " is unknown to this version; use the functions of include/mergedb/merge.h");
  }
  if (type->body.is_valid(operand)) return {};
  return Status::InvalidArgument(OperandName(operand) + ": expected " + std::string(type->body.expected) + ", found " +
                                 std::to_string(operand.size() - 1) + " bytes");
}

Status CheckNewOperand(std::string_view operand) {
  RETURN_IF_ERROR(CheckOperand(operand));
  const auto check = Find(TypeOf(operand))->body.check_new;
  return check == nullptr ? Status() : check(operand);
}

Status ApplyRun(Run operands, Value* value) {
  for (const std::string_view operand : operands) {
    const Status status = CheckOperand(operand);
    if (!status.ok()) return status.IsNotSupported() ? status : Status::MergeFailed(status.message());
  }
  const MergeType* const type = Find(TypeOf(operands[0]));
  if (type->apply != nullptr) return type->apply(operands, value);
  return Status::NotSupported(OperandName(operands[0]) + " is not built in");
}

bool CombineRun(Run operands, std::string* combined) {
  for (const std::string_view operand : operands) {
    if (operand.empty() || operand[0] != operands[0][0]) return false;
  }
  const MergeType* const type = Find(TypeOf(operands[0]));
  return type != nullptr && type->combine != nullptr && type->combine(operands, combined);
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
  const MergeType* const found = Find(type);
  return found != nullptr && found->body.argument != Argument::kBytes;
}

}  // namespace mergedb::kv

namespace mergedb::merge {

using kv::MakeOf, kv::Row;

std::string AddU64(uint64_t delta) { return MakeOf(Row("add-u64"), {.u64 = delta}); }
std::string AddI64(int64_t delta, Overflow overflow) {
  return MakeOf(overflow == Overflow::kSaturate ? Row("add-i64") : Row("add-i64-failing"), {.i64 = delta});
}
std::string AddF64(double delta) { return MakeOf(Row("add-f64"), {.f64 = delta}); }
std::string MaxU64(uint64_t value) { return MakeOf(Row("max-u64"), {.u64 = value}); }
std::string MaxI64(int64_t value) { return MakeOf(Row("max-i64"), {.i64 = value}); }
std::string MaxF64(double value) { return MakeOf(Row("max-f64"), {.f64 = value}); }
std::string MinU64(uint64_t value) { return MakeOf(Row("min-u64"), {.u64 = value}); }
std::string MinI64(int64_t value) { return MakeOf(Row("min-i64"), {.i64 = value}); }
std::string MinF64(double value) { return MakeOf(Row("min-f64"), {.f64 = value}); }
std::string MaxBytes(std::string_view value) { return MakeOf(Row("max"), {.bytes = value}); }
std::string MinBytes(std::string_view value) { return MakeOf(Row("min"), {.bytes = value}); }
std::string And(std::string_view mask) { return MakeOf(Row("and"), {.bytes = mask}); }
std::string Or(std::string_view mask) { return MakeOf(Row("or"), {.bytes = mask}); }
std::string Xor(std::string_view mask) { return MakeOf(Row("xor"), {.bytes = mask}); }
std::string Append(std::string_view bytes, const AppendOptions& options) {
  return MakeOf(Row("append"), {.bytes = bytes, .append = options});
}
std::string Put(std::string_view value) { return MakeOf(Row("put"), {.bytes = value}); }
std::string First(uint64_t timestamp, std::string_view value) {
  return MakeOf(Row("first"), {.u64 = timestamp, .bytes = value});
}
std::string Last(uint64_t timestamp, std::string_view value) {
  return MakeOf(Row("last"), {.u64 = timestamp, .bytes = value});
}
std::string JsonPatch(std::string_view patch) { return MakeOf(Row("json"), {.bytes = patch}); }

std::string Named(std::string_view name, std::string_view operand) {
  // WHY built-in types under RocksDB's names: the encodings are the same. Merge refuses a uint64add of another size.
  if (const kv::MergeType* const type = kv::FindRocksDbType(name); type != nullptr) {
    return std::string(1, static_cast<char>(type->id)).append(type->rocksdb_head).append(operand);
  }
  // WHY length 0 for a name that is too long: Merge refuses the operand.
  const size_t name_bytes = name.size() <= kv::kOperatorNameBytesMax ? name.size() : 0;
  const char head[] = {static_cast<char>(kv::OperandType::kProgram), static_cast<char>(name_bytes)};
  return std::string(head, sizeof head).append(name.substr(0, name_bytes)).append(operand);
}

std::vector<Type> Types() {
  std::vector<Type> types;
  for (const kv::MergeType& type : kv::kMergeTypes) types.push_back({type.id, type.name, type.body.argument});
  return types;
}

std::optional<std::string> Make(int type, const Arguments& arguments) {
  if (type < 1 || static_cast<size_t>(type) > std::size(kv::kMergeTypes)) return std::nullopt;
  return MakeOf(kv::kMergeTypes[type - 1], arguments);
}

std::string Print(std::string_view operand) {
  if (!kv::CheckOperand(operand).ok()) return "no operand: " + base::ToHex(operand.substr(0, 32));
  return kv::OperandName(operand) + " " + kv::Find(kv::TypeOf(operand))->body.print(operand);
}

}  // namespace mergedb::merge
