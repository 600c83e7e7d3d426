// Folding: a key's operands applied to what is below them, or to each other. The one place that knows how.
//
//   newest  MERGE 9  append "c"    ┐
//           MERGE 8  append "b"    ├ Chain          Fold(base, chain)    = PUT "abc", or MERGED, or the reason why not
//           MERGE 5  append "a"    ┘                chain.Combine()      = MERGE append "abc"
//   base    DELETE 4
//   oldest  PUT 2 ...
//
// The law that everything rests on: a left fold. Each operand is applied to what those before it made. Operands next to
// each other may be combined first, where their type has an operand that does what both do; a prefix may be applied to
// the base first. Neither changes the result (f64 sums: but for rounding). So flushes and merges do either whenever they
// can, and whoever cannot, since an operator is missing or fails, keeps the operands as they are.
// A `put` operand ends what is older, a failure too: folding begins at the newest one.
//
// Where the base is a reference (kind PUT_REF) the caller resolves it first: Base holds bytes.
// Tests: tests/unit/kv/fold_test.cc.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kv/key.h"
#include "kv/merge_operators.h"
#include "kv/program_operators.h"
#include "mergedb/status.h"

namespace mergedb::kv {

// Does a version of this kind say what the value is, whatever is older?
constexpr bool IsBase(Kind kind) { return kind != Kind::kMerge; }

// So many operands that cannot be combined, or so many bytes of them, are an error of the key.
inline constexpr size_t kChainOperandsMax = size_t{1} << 20;
inline constexpr size_t kChainBytesMax = kMergedValueBytesMax;

// What a version says that needs no more folding.
struct Folded {
  Kind kind = Kind::kDelete;  // kPut or kMerged
  std::string bytes;
};

// The operands of one key, each a copy. They come newest first (AddOlder), as the order of versions has it, or oldest
// first (AddNewer); not both. Numbers are combined as they come, others when many have gathered.
class Chain {
 public:
  // `operators` may be null: none. Both must outlive the chain.
  explicit Chain(const ProgramOperators* operators) : operators_(operators) {}

  void Clear();
  bool empty() const { return operands_.empty(); }
  size_t count() const { return operands_.size(); }

  // `key` as in Fold. The tag is of the version, and stays with what becomes of it: of operands that are combined, the
  // newest one's counts.
  void AddOlder(std::string_view key, Tag tag, std::string_view operand) { Add(key, tag, operand, true); }
  void AddNewer(std::string_view key, Tag tag, std::string_view operand) { Add(key, tag, operand, false); }

  // Combine all that can be.
  void Combine(std::string_view key);

  struct Operand {
    Tag tag;
    std::string bytes;
  };
  // Newest first, in exchange for the room that *operands has.
  void Take(std::vector<Operand>* operands);
  std::vector<std::string_view> OldestFirst() const;
  // As kv::Fold does, of all of them.
  Status Fold(std::string_view key, const Base& base, Folded* folded) const;
  Tag newest_tag() const;
  // It takes no more: memory is bounded. A reader then fails with CheckBounds(), a merge lets the key's versions pass.
  bool is_full() const { return operands_.size() >= kChainOperandsMax || bytes_ >= kChainBytesMax; }
  Status CheckBounds() const;  // MergeFailed if it is full

 private:
  void Add(std::string_view key, Tag tag, std::string_view operand, bool is_older);
  bool CombineTwo(std::string_view key, std::string_view older, std::string_view newer, std::string* combined) const;
  bool CombinePairs(std::string_view key);

  const ProgramOperators* operators_;
  std::vector<Operand> operands_;  // in the order in which they came
  bool is_newest_first_ = true;
  size_t bytes_ = 0;
  size_t combine_at_ = 0;  // as soon as so many have gathered
};

// *folded = `operands`, oldest first, applied to `base`. The Status of a failure names the key.
Status Fold(const ProgramOperators* operators, std::string_view key, const Base& base,
            std::span<const std::string_view> operands, Folded* folded);
// The same of a chain, and what a reader sees of it.
Status FoldAndShow(std::string_view key, const Base& base, const Chain& chain, std::string* value);

}  // namespace mergedb::kv
