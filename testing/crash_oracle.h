// The oracle of crashes: which states a database may be in after one. Plain maps and lists; no code shared with the engine.
//
//     commit      1 put a      2 no-log b     3 put c      4 put d          (in commit order)
//     promised    |--- P may not be less than 3 ---|
//     allowed     {a,c} {a,b,c} {a,c,d} {a,b,c,d}                           not {a,d}: a hole; not {a}: c was promised
//
// A state is right if it is what the logged commits 1..P leave, for some P between what was promised and what was begun, and of
// the commits without a log, beside those promised, any choice, each whole or not at all. So too of those whose outcome is unknown;
// one that surely failed is never there.
//
// A merge appends a piece that is unlike every other, so that a value tells which merges it went through, and how often each.
//
// A new kind of change joins in four places: Kind, MatchKey, ValueOf, and the names of a commit's keys in Begin.
// A range delete is a delete of each key in it that any commit before named.
// THREADS: none; whoever has several writers locks.
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
    kAppend
  };  // kAppend: a merge, which puts `value` behind what is there
  struct Change {
    Kind kind = Kind::kPut;
    std::string key;
    std::string value = {};  // unlike every other: it tells which commit it is of. Of a range delete: the range's end
  };
  using State = std::map<std::string, std::string>;

  // What a crash must leave: commits up to and including these numbers.
  struct Owed {
    uint64_t logged = 0;
    uint64_t unlogged = 0;  // of those without a log
  };

  // A commit begins; later changes of a key win. Returns its number, from 1: the order in which they commit.
  uint64_t Begin(const std::vector<Change>& changes, bool is_logged);
  uint64_t begun() const { return commits_.size(); }
  // A commit returned an error: it is not there, or nobody knows.
  void Failed(uint64_t commit, bool outcome_unknown) {
    commits_[commit - 1] = outcome_unknown ? Standing::kUnknown : Standing::kFailed;
  }

  // The P that explains `state`, or none.
  std::optional<uint64_t> Explain(const State& state, const Owed& owed) const;
  // Why none does: where `state` differs from everything that was owed and everything that was begun.
  std::string Difference(const State& state, const Owed& owed) const;

  // Every key that a commit named, in order.
  std::vector<std::string> KeysEverUsed() const;
  // What a reader sees as long as the process lives: what is unknown shows after a restart, or never.
  State Everything() const;

 private:
  void Note(const Change& change, uint64_t commit);
  enum class Standing : uint8_t { kLogged, kUnlogged, kUnknown, kFailed };
  struct Version {
    uint64_t commit = 0;
    Change change;
  };
  using Choices = std::map<uint64_t, bool>;  // commit that may be missing -> is it there?
  using Value = std::optional<std::string>;

  bool IsExplainedBy(uint64_t prefix, const State& state, const Owed& owed) const;
  bool MatchKey(const std::vector<Version>& versions, uint64_t prefix, const Value& found, const Owed& owed,
                Choices* choices) const;
  // What the versions of a key amount to of which `is_there` says so.
  template <typename IsThere>
  static Value ValueOf(const std::vector<Version>& versions, const IsThere& is_there);
  State StateAt(const Owed& owed) const;

  // Must, may, or must it not be there, in the first `prefix` commits?
  enum class Presence : uint8_t { kMust, kMay, kNever };
  Presence PresenceOf(uint64_t commit, uint64_t prefix, const Owed& owed) const;

  std::vector<Standing> commits_;                        // of commit i + 1
  std::map<std::string, std::vector<Version>> history_;  // oldest first
};

// How two states differ, in a few words; empty if they do not.
std::string DescribeDifference(const CrashOracle::State& found, const CrashOracle::State& expected);

}  // namespace mergedb::testing
