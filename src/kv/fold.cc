#include "kv/fold.h"

#include <algorithm>
#include <iterator>

#include "base/assert.h"
#include "base/bytes.h"

namespace mergedb::kv {
namespace {

// The first attempt to combine operands that do not stay small waits for this many operands.
constexpr size_t kCombineFirst = 64;
// After this share of the most operands more they are combined, however few bytes they have. WHY: the chain must not
// become full of operands that can be combined.
constexpr size_t kCombineAgainShare = 4;

Status Name(std::string_view key, const Status& status) {
  return status.ok() ? status : status.WithContext("key \"" + base::Escape(key) + "\"");
}

bool IsOfType(std::string_view operand, OperandType type) { return !operand.empty() && TypeOf(operand) == type; }

// True if one call can apply both operands: they have one type and, for a program's operator, one name.
bool AreOneRun(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty() || a[0] != b[0]) return false;
  if (TypeOf(a) != OperandType::kProgram) return true;
  ProgramParts first, second;
  return ParseProgram(a, &first) && ParseProgram(b, &second) && first.name == second.name;
}

Status ApplyProgram(const ProgramOperators* operators, std::string_view key, std::span<const std::string_view> run,
                    Value* value) {
  static const ProgramOperators none;
  if (value->family != Family::kNothing && value->family != Family::kBytes) { return Clash(run[0], value->family); }
  std::vector<std::string_view> given;
  given.reserve(run.size());
  ProgramParts parts;
  for (const std::string_view operand : run) {
    if (!ParseProgram(operand, &parts))
      return Status::MergeFailed(OperandName(operand) + ": an operand without a name");
    given.push_back(parts.operand);
  }
  const bool has_base = value->family == Family::kBytes;
  std::string result;
  RETURN_IF_ERROR((operators != nullptr ? operators : &none)
                      ->Apply(parts.name, key, has_base ? std::optional<std::string_view>(value->bytes) : std::nullopt,
                              given, &result));
  value->family = Family::kBytes;
  value->bytes = std::move(result);
  return {};
}

Status ApplyAll(const ProgramOperators* operators, std::string_view key, std::span<const std::string_view> operands,
                Value* value) {
  while (!operands.empty()) {
    size_t count = 1;
    while (count < operands.size() && AreOneRun(operands[0], operands[count])) ++count;
    const auto run = operands.first(count);
    RETURN_IF_ERROR(IsOfType(run[0], OperandType::kProgram) ? ApplyProgram(operators, key, run, value)
                                                            : ApplyRun(run, value));
    operands = operands.subspan(count);
  }
  return {};
}

}  // namespace

void Chain::Clear() {
  operands_.clear();
  bytes_ = 0;
  combine_at_ = combine_at_bytes_ = combine_at_most_ = 0;
}

void Chain::Add(std::string_view key, Tag tag, std::string_view operand, bool is_older) {
  DCHECK(!is_full(), "a full chain accepts no more operands");
  is_newest_first_ = is_older;
  if (!operands_.empty() && !operand.empty() && StaysSmall(TypeOf(operand))) {
    Operand& last = operands_.back();
    std::string combined;
    const std::string_view older = is_older ? operand : std::string_view(last.bytes);
    const std::string_view newer = is_older ? std::string_view(last.bytes) : operand;
    if (CombineTwo(key, older, newer, &combined)) {
      bytes_ += combined.size() - last.bytes.size();
      last.bytes = std::move(combined);
      if (!is_older) last.tag = tag;
      return;
    }
  }
  bytes_ += operand.size();
  operands_.push_back({.tag = tag, .bytes = std::string(operand)});
  if (operands_.size() < kCombineFirst) return;
  const bool is_due = operands_.size() >= combine_at_ && bytes_ >= combine_at_bytes_;
  if (!is_due && (combine_at_most_ == 0 || operands_.size() < combine_at_most_)) return;
  Combine(key);
  combine_at_ = 2 * operands_.size();
  combine_at_bytes_ = 2 * bytes_;
  combine_at_most_ = operands_.size() + operands_max_ / kCombineAgainShare;
}

bool Chain::CombineTwo(std::string_view key, std::string_view older, std::string_view newer,
                       std::string* combined) const {
  if (!AreOneRun(older, newer)) return false;
  if (TypeOf(older) != OperandType::kProgram) {
    const std::string_view both[] = {older, newer};
    return CombineRun(both, combined);
  }
  ProgramParts first, second;
  if (operators_ == nullptr || !ParseProgram(older, &first) || !ParseProgram(newer, &second)) return false;
  std::string operand;
  if (!operators_->Combine(first.name, key, first.operand, second.operand, &operand)) return false;
  combined->assign(older.substr(0, older.size() - first.operand.size())).append(operand);
  return true;
}

// Combines neighbours in pairs, then pairs of pairs, as long as the chain gets shorter. WHY not one after the
// other: appends would copy the growing result each time.
void Chain::Combine(std::string_view key) {
  if (operands_.size() < 2) return;
  while (CombinePairs(key)) {}
  bytes_ = 0;
  for (const Operand& operand : operands_) bytes_ += operand.bytes.size();
}

// True if the chain got shorter.
bool Chain::CombinePairs(std::string_view key) {
  std::vector<Operand> next;
  next.reserve(operands_.size());
  for (size_t i = 0; i < operands_.size(); ++i) {
    Operand& here = operands_[i];
    if (i + 1 < operands_.size()) {
      const Operand& there = operands_[i + 1];
      const Operand& older = is_newest_first_ ? there : here;
      const Operand& newer = is_newest_first_ ? here : there;
      std::string combined;
      if (CombineTwo(key, older.bytes, newer.bytes, &combined)) {
        next.push_back({.tag = newer.tag, .bytes = std::move(combined)});
        ++i;
        continue;
      }
    }
    next.push_back(std::move(here));
  }
  const bool is_shorter = next.size() < operands_.size();
  operands_ = std::move(next);
  return is_shorter;
}

void Chain::Take(std::vector<Operand>* operands) {
  if (!is_newest_first_) std::ranges::reverse(operands_);
  operands_.swap(*operands);
  Clear();
}

std::vector<std::string_view> Chain::OldestFirst() const {
  std::vector<std::string_view> views(operands_.size());
  for (size_t i = 0; i < views.size(); ++i) { views[is_newest_first_ ? views.size() - 1 - i : i] = operands_[i].bytes; }
  return views;
}

Tag Chain::newest_tag() const {
  ASSERT(!operands_.empty(), "a chain without operands has no tag");
  return is_newest_first_ ? operands_.front().tag : operands_.back().tag;
}

Status Fold(const ProgramOperators* operators, std::string_view key, const Base& base,
            std::span<const std::string_view> operands, Folded* folded) {
  if (Counter counter; operands.size() == 1 && AddToCounter(base, operands[0], &counter)) {
    folded->kind = counter.kind;
    folded->bytes.assign(counter.view());
    return {};
  }
  Value value;
  const auto last_put = std::find_if(operands.rbegin(), operands.rend(), IsPut);
  if (last_put == operands.rend()) {
    RETURN_IF_ERROR(Name(key, DecodeBase(base, &value)));
  } else {
    operands = operands.subspan(static_cast<size_t>(std::distance(last_put, operands.rend()) - 1));
  }
  RETURN_IF_ERROR(Name(key, ApplyAll(operators, key, operands, &value)));
  folded->kind = EncodeValue(value, &folded->bytes);
  return {};
}

Status Chain::Fold(std::string_view key, const Base& base, Folded* folded) const {
  if (operands_.size() != 1) return kv::Fold(operators_, key, base, OldestFirst(), folded);
  const std::string_view only = operands_.front().bytes;
  return kv::Fold(operators_, key, base, {&only, 1}, folded);
}

namespace {

Status Show(std::string_view key, Folded&& folded, std::string* value) {
  std::string scratch;
  std::string_view shown;
  RETURN_IF_ERROR(Name(key, ShowValue({folded.kind, folded.bytes}, &scratch, &shown)));
  if (shown.data() == folded.bytes.data() && shown.size() == folded.bytes.size()) {
    *value = std::move(folded.bytes);
  } else {
    value->assign(shown);
  }
  return {};
}

}  // namespace

Status FoldAndShow(std::string_view key, const Base& base, const Chain& chain, std::string* value) {
  if (chain.empty()) {
    std::string_view shown;
    RETURN_IF_ERROR(Name(key, ShowValue(base, value, &shown)));
    if (shown.data() != value->data()) value->assign(shown);
    return {};
  }
  Folded folded;
  RETURN_IF_ERROR(chain.Fold(key, base, &folded));
  return Show(key, std::move(folded), value);
}

Status FoldAndShow(const ProgramOperators* operators, std::string_view key, const Base& base,
                   std::span<const std::string_view> newest_first, std::string* value) {
  const std::vector<std::string_view> operands(newest_first.rbegin(), newest_first.rend());
  Folded folded;
  RETURN_IF_ERROR(Fold(operators, key, base, operands, &folded));
  return Show(key, std::move(folded), value);
}

}  // namespace mergedb::kv
