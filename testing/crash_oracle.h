// The oracle of crashes: which states a database may be in after one. Plain maps and lists; no code shared with the engine.
//
//     commit      1 put a      2 no-log b     3 put c      4 put d          (in commit order)
//     promised    |--- P may not be less than 3 ---|
//     allowed     {a,c} {a,b,c} {a,c,d} {a,b,c,d}                           not {a,d}: a hole; not {a}: c was promised
//
// A state is right if it is what the logged commits 1..P leave, for some P between what was promised and what was begun, and of
// the commits without a log, beside those promised, any choice, each whole or not at all.
//
// A new kind of change (merge, range delete) joins in three places: Kind, ValueAfter, and the names of a commit's keys in Begin.
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
  enum class Kind : uint8_t { kPut, kDelete };
  struct Change {
    Kind kind = Kind::kPut;
    std::string key;
    std::string value = {};  // unlike every other: it tells which commit it is of
  };
  using State = std::map<std::string, std::string>;

  // What a crash must leave: commits up to and including these numbers.
  struct Owed {
    uint64_t logged = 0;
    uint64_t unlogged = 0;  // of those without a log
  };

  // A commit begins; later changes of a key win. Returns its number, from 1: the order in which they commit.
  uint64_t Begin(const std::vector<Change>& changes, bool is_logged);
  uint64_t begun() const { return logged_.size(); }

  // The P that explains `state`, or none.
  std::optional<uint64_t> Explain(const State& state, const Owed& owed) const;
  // Why none does: where `state` differs from everything that was owed and everything that was begun.
  std::string Difference(const State& state, const Owed& owed) const;

  // Every key that a commit named, in order.
  std::vector<std::string> KeysEverUsed() const;
  // What a reader sees before any crash.
  State Everything() const;

 private:
  struct Version {
    uint64_t commit = 0;
    Change change;
  };
  using Choices = std::map<uint64_t, bool>;  // commit without a log -> is it there?
  using Value = std::optional<std::string>;

  bool IsExplainedBy(uint64_t prefix, const State& state, const Owed& owed) const;
  bool MatchKey(const std::vector<Version>& versions, uint64_t prefix, const Value& found, const Owed& owed,
                Choices* choices) const;
  static Value ValueAfter(const Change& change);
  State StateAt(uint64_t prefix, uint64_t unlogged) const;

  std::vector<bool> logged_;                             // of commit i + 1
  std::map<std::string, std::vector<Version>> history_;  // oldest first
};

// How two states differ, in a few words; empty if they do not.
std::string DescribeDifference(const CrashOracle::State& found, const CrashOracle::State& expected);

}  // namespace mergedb::testing
