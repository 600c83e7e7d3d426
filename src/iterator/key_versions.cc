#include "iterator/key_versions.h"

#include <utility>

#include "base/bytes.h"

namespace mergedb::iterator {

Status KeyVersions::Collect() {
  kv::Iterator& input = *in_.input;
  Clear();
  kv::Tag last = 0;
  for (; input.Valid(); input.Next()) {
    const kv::Entry& entry = input.entry();
    if (!Has(entry)) return {};
    if (!IsKnownKind(kv::KindOf(entry.tag))) return ReservedKind(entry);
    if (IsWhole(entry)) {
      TakeBase(entry);
      return {};
    }
    if (chain_.is_full()) [[unlikely]]
      return CollectFromBelow();
    // An equal tag is the same write, replayed twice.
    if (entry.tag != last) chain_.AddOlder(key(), entry.tag, entry.value);
    last = entry.tag;
  }
  return input.status();
}

// The rest of Collect for a key with more operands than the chain takes: finds the base, and folds the operands onto
// it from the oldest on, as many at a time as the chain takes. So their number is not limited.
[[gnu::noinline, gnu::cold]] Status KeyVersions::CollectFromBelow() {
  kv::Iterator& input = *in_.input;
  chain_ = kv::Chain(in_.options.operators, in_.options.operands_max);
  for (; input.Valid() && Has(input.entry()); input.Next()) {
    if (!IsKnownKind(kv::KindOf(input.entry().tag))) return ReservedKind(input.entry());
    if (!IsWhole(input.entry())) continue;
    TakeBase(input.entry());
    break;
  }
  if (in_.HasFailed()) return input.status();
  in_.StepBack();
  RETURN_IF_ERROR(FoldFromBelow());
  input.Seek(key(), kv::Tag{0});
  return input.Valid() ? Status() : input.status();
}

// The input stands at the oldest operand.
Status KeyVersions::FoldFromBelow() {
  kv::Iterator& input = *in_.input;
  Status failure;  // of a fold; a newer `put` operand replaces everything older, also a failure
  kv::Tag last = 0;
  for (; input.Valid(); input.Prev()) {
    const kv::Entry& entry = input.entry();
    if (!Has(entry) || !in_.IsVisible(entry)) break;
    if (entry.tag == last) continue;  // the same write, replayed twice
    last = entry.tag;
    if (kv::IsPut(entry.value)) {
      chain_.Clear();
      base_ = {};
      base_value_ = {};
      failure = {};
    }
    if (!failure.ok()) continue;
    if (chain_.is_full()) failure = FoldOntoBase();
    if (failure.ok()) AddNewer(entry);
  }
  return in_.HasFailed() ? input.status() : failure;
}

// chain_ becomes a part of base_.
Status KeyVersions::FoldOntoBase() {
  kv::Base below{base_.kind, base_value_};
  RETURN_IF_ERROR(ResolveBase(&below));
  kv::Folded folded;
  RETURN_IF_ERROR(chain_.Fold(key(), below, &folded));
  base_ = std::move(folded);
  base_value_ = base_.bytes;
  chain_.Clear();
  return {};
}

Status KeyVersions::ShowWhole(const kv::Entry& entry, std::string_view* shown) {
  if (kv::KindOf(entry.tag) == kv::Kind::kPutBlobIndex) return Resolve(entry, shown);
  Status status = kv::ShowValue({kv::Kind::kMerged, entry.value}, &value_, shown);
  return status.ok() ? status : status.WithContext("key \"" + base::Escape(entry.key) + "\"");
}

Status KeyVersions::Fold(std::string_view* shown) {
  kv::Base below{base_.kind, base_value_};
  RETURN_IF_ERROR(ResolveBase(&below));
  *shown = below.bytes;
  if (chain_.empty() && below.kind == kv::Kind::kPut) return {};
  RETURN_IF_ERROR(kv::FoldAndShow(key(), below, chain_, &value_));
  *shown = value_;
  return {};
}

// If *base, which is base_, is a blob index, it becomes the value.
Status KeyVersions::ResolveBase(kv::Base* base) {
  if (base->kind != kv::Kind::kPutBlobIndex) return {};
  base->kind = kv::Kind::kPut;
  return Resolve({.prefix = key_.prefix(), .key = key(), .tag = base_tag_, .value = base_value_}, &base->bytes);
}

Status KeyVersions::Resolve(const kv::Entry& entry, std::string_view* value) const {
  return in_.options.values == nullptr ? ReservedKind(entry) : in_.options.values->Resolve(entry, value);
}

}  // namespace mergedb::iterator
