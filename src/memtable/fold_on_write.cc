#include "memtable/fold_on_write.h"

#include <algorithm>
#include <span>

#include "base/coding.h"

namespace mergedb::memtable {
namespace {

void StoreFold(kv::Kind kind, std::string_view bytes, std::string* trailer) {
  char header[kFoldHeaderBytes];
  header[0] = static_cast<char>(kind);
  base::StoreFixed32(header + 1, static_cast<uint32_t>(bytes.size()));
  trailer->assign(header, sizeof header).append(bytes);
}

// The number of operands since the last fold, and the bytes that they lack to be as large as the fold.
struct Counts {
  uint32_t operands;
  uint32_t bytes_missing;

  void Add(size_t bytes) {
    ++operands;
    bytes_missing -= static_cast<uint32_t>(std::min<size_t>(bytes, bytes_missing));
  }
};

void StoreCounts(const Counts& counts, std::string* trailer) {
  char bytes[kCountsBytes];
  bytes[0] = static_cast<char>(kNoFold);
  base::StoreFixed32(bytes + 1, counts.operands);
  base::StoreFixed32(bytes + 5, counts.bytes_missing);
  trailer->assign(bytes, sizeof bytes);
}

bool CountsAbove(const Record& older, Counts* counts) {
  kv::Base fold;
  if (FoldOf(older, &fold)) {
    *counts = {.operands = 0, .bytes_missing = static_cast<uint32_t>(fold.bytes.size())};
    return true;
  }
  const std::string_view trailer = older.trailer();
  if (trailer.empty()) return false;
  *counts = {.operands = base::LoadFixed32(trailer.data() + 1), .bytes_missing = base::LoadFixed32(trailer.data() + 5)};
  return true;
}

// Folds `operands`, oldest first, onto `below`.
bool StoreFoldOf(std::string_view key, const kv::Base& below, std::span<const std::string_view> operands,
                 std::string* trailer) {
  if (below.kind == kv::Kind::kMerge) {
    std::string combined;
    if (!kv::CombineRun(operands, &combined)) return false;
    StoreFold(kv::Kind::kMerge, combined, trailer);
    return true;
  }
  kv::Folded folded;
  if (!kv::Fold(nullptr, key, below, operands, &folded).ok()) return false;
  StoreFold(folded.kind, folded.bytes, trailer);
  return true;
}

// Folds everything from the new operand down to the last fold.
bool FoldAll(const char* arena, const Record& older, std::string_view key, std::string_view operand,
             std::string* trailer) {
  const bool is_json = kv::TypeOf(operand) == kv::OperandType::kJsonPatch;
  const size_t bytes_max = is_json ? kJsonFoldOnWriteBytesMax : kFoldOnWriteBytesMax;
  size_t bytes = operand.size();
  std::vector<std::string_view> operands = {operand};
  kv::Base below;
  for (Record record = older;; record = Record(arena, record.older())) {
    const bool is_last = FoldOf(record, &below);
    const std::string_view next = is_last ? below.bytes : record.value();
    bytes += next.size();
    if (bytes > bytes_max || (!is_last && record.older() == 0)) return false;
    if (!is_last || below.kind == kv::Kind::kMerge) operands.push_back(next);
    if (is_last) break;
  }
  std::ranges::reverse(operands);
  return StoreFoldOf(key, below, operands, trailer);
}

}  // namespace

bool FoldOf(const Record& record, kv::Base* fold) {
  const std::string_view trailer = record.trailer();
  if (!trailer.empty() && static_cast<uint8_t>(trailer[0]) != kNoFold) {
    *fold = {static_cast<kv::Kind>(trailer[0]), trailer.substr(kFoldHeaderBytes)};
    return true;
  }
  const kv::Kind kind = kv::KindOf(record.tag());
  *fold = {kind, record.value()};
  return kind == kv::Kind::kPut || kind == kv::Kind::kDelete || (kind == kv::Kind::kMerge && record.older() == 0);
}

bool MakeTrailer(const char* arena, const Record& older, std::string_view key, std::string_view operand,
                 std::string* trailer) {
  if (operand.empty() || kv::TypeOf(operand) == kv::OperandType::kProgram) return false;
  if (kv::StaysSmall(kv::TypeOf(operand))) {
    kv::Base below;
    if (!FoldOf(older, &below)) return false;
    if (below.bytes.size() > kFoldOnWriteBytesMax) return false;
    if (below.kind != kv::Kind::kMerge) return StoreFoldOf(key, below, {&operand, 1}, trailer);
    const std::string_view both[] = {below.bytes, operand};
    return StoreFoldOf(key, below, both, trailer);
  }
  Counts counts;
  if (!CountsAbove(older, &counts)) return false;
  counts.Add(operand.size());
  if (counts.operands >= kOperandsBetweenFolds && counts.bytes_missing == 0) {
    return FoldAll(arena, older, key, operand, trailer);
  }
  StoreCounts(counts, trailer);
  return true;
}

}  // namespace mergedb::memtable
