// Checks whether a history of transactions is serializable, by what the transactions read (the method of Elle:
// Kingsbury, Alvaro 2020).
//
// Each key is a list, and each write appends a number that is used only once. So a read shows which writes came
// before it and in which order, and the dependencies need no guessing. T and U are transactions:
//
//   ww   T appended 7 directly behind the 5 of U     T comes after U
//   wr   T read [.. 5], and U appended the 5         T comes after U
//   rw   T read [.. 5], and U appended the 7 behind  T comes before U (T did not see the 7)
//   rt   T began after U had ended                   T comes after U (strict serializability; for one key:
//                                                    linearizability)
//
// A serial order of all committed transactions exists if and only if these edges have no cycle. The check also
// requires that no committed transaction reads a number of a rolled-back transaction or only a part of the appends of
// another transaction, and that all reads of a key are prefixes of one list.
// A read of an absent key is a read of [], so a scan that records absent keys covers phantoms.
//
// Tests: tests/unit/testing/history_test.cc. THREADS: one; each thread records its own operations.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mergedb::testing {

using List = std::vector<uint64_t>;

// Encodes a list as a value, "5,7,", and back. An absent value and an empty list are the same.
std::string EncodeList(const List& list);
List DecodeList(const std::string& value);

struct HistoryTransaction {
  struct Op {
    std::string key;
    bool is_read = false;
    List read = {};       // of a read; includes the earlier appends of the same transaction
    uint64_t append = 0;  // of an append; unique
  };
  enum class Fate : uint8_t { kCommitted, kRolledBack, kUnknown };

  uint64_t began = 0;  // `began` and `ended` come from one counter for all transactions
  uint64_t ended = 0;
  Fate fate = Fate::kRolledBack;
  std::vector<Op> ops;
};

// Describes what is wrong with the history; nullopt if nothing is. `final_state` is the final content of the
// database. A transaction of unknown fate counts as committed if a read or the final state holds one of its numbers.
std::optional<std::string> FindAnomaly(std::vector<HistoryTransaction> history,
                                       const std::map<std::string, List>& final_state);

}  // namespace mergedb::testing
