// Which tables form the tree: immutable runs, newest first. All sums are taken once, when the Version is made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tree/run.h"

namespace mergedb::tree {

class Version {
 public:
  Version() = default;
  explicit Version(std::vector<RunPtr> runs);

  const std::vector<RunPtr>& runs() const { return runs_; }  // newest first
  RunPtr FindRun(kv::Position position) const;               // null if none
  uint64_t file_count() const { return weight_.files; }      // of files shown, each once
  uint64_t bytes() const { return weight_.bytes; }           // of all of them
  uint64_t entries() const { return weight_.entries; }
  uint64_t tombstones() const { return weight_.tombstones; }
  uint64_t range_tombstones() const { return weight_.range_tombstones; }
  uint64_t covered_bytes() const { return weight_.covered_bytes; }
  std::set<kv::FileNumber> files() const;
  // Files by number, each once.
  std::vector<format::FileMetaPtr> file_metas() const;
  // "position 9 level 0: 000012[a..f) 000015[f..m]", one line a run; for people and tests.
  std::string ToString() const;

 private:
  std::vector<RunPtr> runs_;
  Weight weight_;
};
using VersionPtr = std::shared_ptr<const Version>;

// A merge of the runs from `newest` to `oldest`, in `bounds`, sees every version there with a sequence up to this one: newer runs,
// and what is not in tables yet, have none of them. Nothing if runs below `oldest` may have some.
std::optional<kv::Sequence> SettledSequence(const kv::Order& order, const Version& version, kv::Position newest,
                                            kv::Position oldest, const format::Bounds& bounds);

}  // namespace mergedb::tree
