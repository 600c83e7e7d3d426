// merge::Print: operands as text.
#include <bit>
#include <charconv>

#include "base/bytes.h"
#include "base/coding.h"
#include "kv/operand.h"
#include "mergedb/merge.h"

namespace mergedb::merge {
namespace {

using kv::OperandType;

std::string PrintReal(uint64_t bits) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, std::bit_cast<double>(bits)).ptr;
  return {text, end};
}

// A combined sum may need more than 64 bits.
std::string PrintWide(std::string_view body) {
  kv::Wide number = 0;
  if (!kv::ParseWide(body, &number)) return "?";
  const bool is_negative = number < 0;
  auto rest = is_negative ? -static_cast<unsigned __int128>(number) : static_cast<unsigned __int128>(number);
  std::string digits;
  do {
    digits.insert(digits.begin(), static_cast<char>('0' + static_cast<int>(rest % 10)));
    rest /= 10;
  } while (rest != 0);
  return is_negative ? "-" + digits : digits;
}

std::string Quote(std::string_view bytes) { return "\"" + base::Escape(bytes) + "\""; }

std::string PrintAppend(std::string_view operand) {
  kv::AppendParts parts;
  if (!kv::ParseAppend(operand, &parts)) return "?";
  std::string text = Quote(parts.bytes);
  if (!parts.delimiter.empty()) text += " delimiter " + Quote(parts.delimiter);
  if (parts.cap == kv::AppendParts::Cap::kNone) return text;
  const bool keeps_newest = parts.cap == kv::AppendParts::Cap::kKeepNewest;
  return text + (keeps_newest ? " newest " : " oldest ") + std::to_string(parts.cap_bytes);
}

std::string PrintBody(std::string_view operand) {
  const std::string_view body = operand.substr(1);
  switch (kv::TypeOf(operand)) {
    case OperandType::kAddU64:
    case OperandType::kMaxU64:
    case OperandType::kMinU64: return std::to_string(base::LoadFixed64(body.data()));
    case OperandType::kAddF64:
    case OperandType::kMaxF64:
    case OperandType::kMinF64: return PrintReal(base::LoadFixed64(body.data()));
    case OperandType::kAddI64Saturating:
    case OperandType::kAddI64Failing:
    case OperandType::kMaxI64:
    case OperandType::kMinI64: return PrintWide(body);
    case OperandType::kAppend: return PrintAppend(operand);
    case OperandType::kFirst:
    case OperandType::kLast:
      return "at " + std::to_string(base::LoadFixed64(body.data())) + " " + Quote(body.substr(8));
    case OperandType::kJsonPatch: return base::Escape(body.substr(1));
    case OperandType::kProgram: {
      kv::ProgramParts parts;
      return kv::ParseProgram(operand, &parts) ? Quote(parts.operand) : "?";
    }
    default: return Quote(body);
  }
}

}  // namespace

std::string Print(std::string_view operand) {
  if (!kv::CheckOperand(operand).ok()) return "no operand: " + base::ToHex(operand.substr(0, 32));
  return kv::OperandName(operand) + " " + PrintBody(operand);
}

}  // namespace mergedb::merge
