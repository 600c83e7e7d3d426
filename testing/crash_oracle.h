// The oracle for crashes: which states of a database are right after a crash. Plain maps and lists; no code is shared
// with the engine.
//
//     commit      1 put a      2 no-WAL b     3 put c      4 put d          (in commit order)
//     promised    |---- P is at least 3 -----------|
//     allowed     {a,c} {a,b,c} {a,c,d} {a,b,c,d}                           not {a,d}: a hole; not {a}: c was promised
//
// A state is right if some P exists, between the last promised and the last begun commit, such that the state holds:
//   - all commits 1..P that were written to the WAL, and no later one;
//   - the promised commits without WAL, and any subset of the other commits without WAL;
//   - any subset of the commits with unknown outcome;
//   - no commit that failed for certain.
// Each commit is there as a whole or not at all.
//
// A merge appends a unique piece, so that a value shows which merges it contains, and how often.
//
// To add a kind of change, extend Kind, MatchKey, ValueOf, and Begin, which notes the keys of a commit.
// A range delete counts as a delete of each key of the range that a change before it named.
// THREADS: one; a test with several writers needs its own lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mergedb::testing {

class CrashOracle {
 public:
  enum class Kind : uint8_t {
    kPut,
    kDelete,
    kDeleteRange,
    kAppend  // a merge that appends `value` to the existing value
  };
  struct Change {
    Kind kind = Kind::kPut;
    std::string key;
    std::string value = {};  // unique, so that it identifies its commit; of a range delete: the end of the range
  };
  using State = std::map<std::string, std::string>;

  // The commits that a crash must leave: all up to and including these numbers.
  struct Owed {
    uint64_t logged = 0;
    uint64_t unlogged = 0;  // of the commits without WAL
  };

  // Begins a commit; later changes of a key win. Returns its number, from 1. The numbers are the commit order.
  uint64_t Begin(const std::vector<Change>& changes, bool is_logged);
  uint64_t begun() const { return commits_.size(); }
  // A commit returned an error: it is absent, or its outcome is unknown.
  void Failed(uint64_t commit, bool outcome_unknown) {
    commits_[commit - 1] = outcome_unknown ? Standing::kUnknown : Standing::kFailed;
  }

  // The largest P that explains `state`; nullopt if no P does.
  std::optional<uint64_t> Explain(const State& state, const Owed& owed) const;
  // Describes why no P explains `state`: its differences from all owed commits and from all begun commits.
  std::string Difference(const State& state, const Owed& owed) const;

  // Every key that a commit named, in order.
  std::vector<std::string> KeysEverUsed() const;
  // The state that a reader sees before any crash. Commits with unknown outcome are not in it.
  State Everything() const;

 private:
  void Note(const Change& change, uint64_t commit);
  enum class Standing : uint8_t { kLogged, kUnlogged, kUnknown, kFailed };
  struct Version {
    uint64_t commit = 0;
    Change change;
  };
  using Choices = std::map<uint64_t, bool>;  // a commit that may be missing -> whether the state holds it
  using Value = std::optional<std::string>;

  bool IsExplainedBy(uint64_t prefix, const State& state, const Owed& owed) const;
  bool MatchKey(const std::vector<Version>& versions, uint64_t prefix, const Value& found, const Owed& owed,
                Choices* choices) const;
  // The value of a key if it has exactly those versions for which `is_there` returns true.
  template <typename IsThere>
  static Value ValueOf(const std::vector<Version>& versions, const IsThere& is_there);
  State StateAt(const Owed& owed) const;

  // Whether a commit must, may or must not be in the state if P is `prefix`.
  enum class Presence : uint8_t { kMust, kMay, kNever };
  Presence PresenceOf(uint64_t commit, uint64_t prefix, const Owed& owed) const;

  std::vector<Standing> commits_;                        // element i belongs to commit i + 1
  std::map<std::string, std::vector<Version>> history_;  // oldest first
};

// Describes how two states differ; empty if they are equal.
std::string DescribeDifference(const CrashOracle::State& found, const CrashOracle::State& expected);

}  // namespace mergedb::testing
