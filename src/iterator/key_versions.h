// The key that a user iterator looks at, and the versions that decide its value: a base, and the operands above it.
//
//   b#9 MERGE ┐ operands, in a kv::Chain; more than the chain takes are folded onto the base
//   b#7 MERGE ┘ from the oldest on
//   b#4 PUT     the base; the older versions are not needed
//   b#2 ...
//
// A reverse scan meets the versions oldest first and gives them one by one (BeginAt, AddNewer). Collect reads them
// newest first.
#pragma once

#include <string>
#include <string_view>

#include "iterator/bounded_input.h"
#include "iterator/saved_key.h"
#include "kv/fold.h"

namespace mergedb::iterator {

class KeyVersions {
 public:
  // `in` outlives the object.
  explicit KeyVersions(BoundedInput& in) : in_(in), chain_(in.options.operators, in.options.operands_max) {}

  // The scan decides the key of `entry`, whose bytes may be gone after the next move.
  void KeepKey(const kv::Entry& entry) { key_.Keep(entry); }
  void ForgetKey() { key_.Clear(); }
  bool Has(const kv::Entry& entry) const { return key_.Matches(in_.order, entry); }
  std::string_view key() const { return key_.key(); }
  // As an entry, for comparisons.
  kv::Entry Version(kv::Tag tag) const { return {.prefix = key_.prefix(), .key = key(), .tag = tag, .value = {}}; }

  // As KeepKey, for a key whose value Show gives.
  void BeginKey(const kv::Entry& entry) {
    key_.Keep(entry);
    lasting_key_ = Lasting(entry.key);
  }
  void Clear() {
    base_.kind = kv::Kind::kDelete;
    chain_.Clear();
  }
  // Forgets the older versions: `entry` replaces them.
  void BeginAt(const kv::Entry& entry) {
    chain_.Clear();
    TakeBase(entry);
  }
  // REQUIRES: !is_full()
  void AddNewer(const kv::Entry& entry) { chain_.AddNewer(key(), entry.tag, entry.value); }
  bool is_full() const { return chain_.is_full(); }
  // The key has no value.
  bool is_deleted() const { return base_.kind == kv::Kind::kDelete && chain_.empty(); }

  // True if no version older than `entry` is needed. With keys_only an operand is enough: it shows that the key exists.
  bool IsWhole(const kv::Entry& entry) const { return in_.options.keys_only || kv::IsBase(kv::KindOf(entry.tag)); }

  // The input stands at the newest visible version of the key. Takes it and the older ones, down to the base. The input
  // then stands at the base, or after the last operand. An error is one of the key if the input has none.
  Status Collect();

  // The key and its value as a PUT of `sequence`. *shown lives until the next call, or longer if its bytes last.
  Status Show(kv::Sequence sequence, kv::Entry* shown) {
    std::string_view value = in_.options.keys_only ? std::string_view() : base_value_;
    if (!in_.options.keys_only && !(chain_.empty() && base_.kind == kv::Kind::kPut)) RETURN_IF_ERROR(Fold(&value));
    *shown = {.prefix = key_.prefix(),
              .key = lasting_key_.data() == nullptr ? key() : lasting_key_,
              .tag = kv::MakeTag(sequence, kv::Kind::kPut),
              .value = value};
    return {};
  }
  // The value of `entry`, a version that needs no older one: a blob index or the result of a merge. As of Show.
  Status ShowWhole(const kv::Entry& entry, std::string_view* shown);

 private:
  Status CollectFromBelow();
  Status FoldFromBelow();
  Status FoldOntoBase();
  Status Fold(std::string_view* shown);
  Status ResolveBase(kv::Base* base);
  Status Resolve(const kv::Entry& entry, std::string_view* value) const;

  void TakeBase(const kv::Entry& entry) {
    base_.kind = kv::KindOf(entry.tag);
    base_tag_ = entry.tag;
    const std::string_view value = in_.options.keys_only ? std::string_view() : entry.value;
    base_value_ = Lasting(value);
    if (base_value_.data() != nullptr) return;
    base_.bytes.assign(value);
    base_value_ = base_.bytes;
  }
  // `shown`, if it outlives the moves of the input; else a view of nothing.
  std::string_view Lasting(std::string_view shown) const {
    return in_.options.shows_lasting && in_.options.values->Lasts(shown) ? shown : std::string_view();
  }

  BoundedInput& in_;
  SavedKey key_;
  std::string_view lasting_key_;  // `key_` where it outlives the moves of the input; null: nowhere
  kv::Folded base_;               // its bytes as stored, unless they last; also a blob index
  std::string_view base_value_;
  kv::Tag base_tag_ = 0;
  kv::Chain chain_;
  std::string value_;
};

}  // namespace mergedb::iterator
