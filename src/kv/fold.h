// Folding applies the merge operands of a key to the base below them, or combines operands with each other.
//
//   newest  MERGE 9  append "c"    ┐
//           MERGE 8  append "b"    ├ Chain          Fold(base, chain)    = PUT "abc", or MERGED, or an error
//           MERGE 5  append "a"    ┘                chain.Combine()      = MERGE append "abc"
//   base    DELETE 4
//   oldest  PUT 2 ...
//
// INVARIANT: folding is a left fold. Each operand is applied to the result of the older ones. Two shortcuts
// do not change the result (f64 sums: except for rounding). Neighbouring operands may be combined first, if
// their type has an operand that does the work of both. The oldest operands may be applied to the base first.
// Flushes and compactions take these shortcuts whenever they can. If an operator is missing or fails, they
// keep the operands as they are.
// A `put` operand replaces everything older, also a failure: folding begins at the newest `put`.
//
// If the base is a blob index, the caller resolves it first: Base holds bytes.
// Tests: tests/unit/kv/fold_test.cc.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kv/key.h"
#include "kv/merge_operators.h"
#include "kv/program_operators.h"
#include "mergedb/status.h"

namespace mergedb::kv {

// True if a version of this kind determines the value, whatever the older versions are.
constexpr bool IsBase(Kind kind) { return kind != Kind::kMerge; }

// A chain takes this many operands that cannot be combined, or this many bytes of them. A reader that meets more folds
// them from the oldest on, one full chain after the other (iterator/key_versions.cc).
inline constexpr size_t kChainOperandsMax = size_t{1} << 20;
inline constexpr size_t kChainBytesMax = kMergedValueBytesMax;

// The result of a fold.
struct Folded {
  Kind kind = Kind::kDelete;  // kPut or kMerged
  std::string bytes;
};

// The operands of one key, each a copy. They come newest first (AddOlder), as versions are ordered, or oldest
// first (AddNewer), but not both. Numbers are combined at once, other operands when their number and their bytes have
// doubled. WHY both: a combination copies all bytes, and appends leave one long operand, above which a few short ones
// come soon. So n operands of b bytes cost n calls and b * log(n) copied bytes.
class Chain {
 public:
  // `operators` may be null: there are none. It must outlive the chain.
  explicit Chain(const ProgramOperators* operators, size_t operands_max = kChainOperandsMax)
      : operators_(operators), operands_max_(operands_max) {}

  void Clear();
  bool empty() const { return operands_.empty(); }
  size_t count() const { return operands_.size(); }

  // `key` as in Fold. `tag` is the tag of the version. A combined operand has the tag of its newest part.
  void AddOlder(std::string_view key, Tag tag, std::string_view operand) { Add(key, tag, operand, true); }
  void AddNewer(std::string_view key, Tag tag, std::string_view operand) { Add(key, tag, operand, false); }

  // Combines all neighbours that can be combined.
  void Combine(std::string_view key);

  struct Operand {
    Tag tag;
    std::string bytes;
  };
  // Moves the operands to *operands, newest first, and takes the memory of *operands in exchange.
  void Take(std::vector<Operand>* operands);
  std::vector<std::string_view> OldestFirst() const;
  // As kv::Fold, for all operands of the chain.
  Status Fold(std::string_view key, const Base& base, Folded* folded) const;
  Tag newest_tag() const;
  // A full chain takes no more operands, so that memory is bounded. A compaction then keeps the key's versions as they
  // are.
  bool is_full() const { return operands_.size() >= operands_max_ || bytes_ >= kChainBytesMax; }

 private:
  void Add(std::string_view key, Tag tag, std::string_view operand, bool is_older);
  bool CombineTwo(std::string_view key, std::string_view older, std::string_view newer, std::string* combined) const;
  bool CombinePairs(std::string_view key);

  const ProgramOperators* operators_;
  size_t operands_max_;
  std::vector<Operand> operands_;  // in the order of the Add calls
  bool is_newest_first_ = true;
  size_t bytes_ = 0;
  // Combine when there are this many operands and bytes, or `combine_at_most_` operands.
  size_t combine_at_ = 0;
  size_t combine_at_bytes_ = 0;
  size_t combine_at_most_ = 0;
};

// *folded = `operands`, oldest first, applied to `base`. The Status of a failure names the key.
Status Fold(const ProgramOperators* operators, std::string_view key, const Base& base,
            std::span<const std::string_view> operands, Folded* folded);
// The same for a chain. *value is the result as a reader sees it.
Status FoldAndShow(std::string_view key, const Base& base, const Chain& chain, std::string* value);
// The same for operands, newest first, however many.
Status FoldAndShow(const ProgramOperators* operators, std::string_view key, const Base& base,
                   std::span<const std::string_view> newest_first, std::string* value);

// True if the operand replaces everything older.
inline bool IsPut(std::string_view operand) { return !operand.empty() && TypeOf(operand) == OperandType::kPut; }

}  // namespace mergedb::kv
