// Were the transactions that ran serializable? An answer from what they saw, after the method of Elle (Kingsbury, Alvaro 2020).
//
// Every key is a list, and every write appends a number that is used once. So a read tells by itself which writes came before
// it and in which order, and what depends on what needs no guessing:
//
//   ww   who appended 7 directly behind 5  comes after  who appended 5
//   wr   who read [.. 5]                   comes after  who appended 5
//   rw   who read [.. 5]                   comes before who appended the 7 behind it (it did not see it)
//   rt   who began after another had ended comes after it (strict serializability: linearizability, if there is one key)
//
// A serial order of all that committed exists if and only if these have no cycle. Besides: nobody sees a number of one that
// was rolled back, or of a part of one; all reads of a key are beginnings of one list.
// Reading that a key is absent is reading [], so a scan that says what was not there covers phantoms.
//
// Tests: tests/unit/testing/history_test.cc. THREADS: none; each thread keeps its own list of what it did.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mergedb::testing {

using List = std::vector<uint64_t>;

// A list as a value, and back. "5,7,"; absent and empty are the same.
std::string EncodeList(const List& list);
List DecodeList(const std::string& value);

struct HistoryTransaction {
  struct Op {
    std::string key;
    bool is_read = false;
    List read = {};       // of a read: with the transaction's own appends, if it had any
    uint64_t append = 0;  // else; unique
  };
  enum class Fate : uint8_t { kCommitted, kRolledBack, kUnknown };

  uint64_t began = 0;  // by one counter for all
  uint64_t ended = 0;
  Fate fate = Fate::kRolledBack;
  std::vector<Op> ops;
};

// What is wrong with the history, in words, or nothing. `final_state`: what the database held in the end. One of unknown fate
// counts as committed if anybody saw a number of it.
std::optional<std::string> FindAnomaly(std::vector<HistoryTransaction> history,
                                       const std::map<std::string, List>& final_state);

}  // namespace mergedb::testing
