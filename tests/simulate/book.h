// What a database may hold after everything that happened to it: the oracle of the simulation. Plain maps and lists; no
// code is shared with the engine.
//
//     commit   1 OK, synced    2 OK    3 unknown outcome    4 failed    5 OK
//     kill:         1 2 5, perhaps 3          power cut:  1, perhaps 2, perhaps 2 and 5, perhaps 3; never 5 without 2
//
// Commits whose calls overlap have no order. If one returned before another began, the second is never there without
// the first.
//
// Each commit sets a key of its own, its marker, in the same batch as its changes. So a scan says which commits are
// there, each as a whole or not at all, and the state follows from them. Which commits are there after a life is a fact
// for all later ones.
//
// THREADS: one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mergedb/options.h"
#include "mergedb/status.h"

namespace mergedb::simulate {

// Values by key; the first byte of a key is the number of its keyspace, '0' or '1'.
using State = std::map<std::string, std::string>;

struct Change {
  enum class Kind : uint8_t { kPut, kDelete, kDeleteRange, kAppend };
  Kind kind = Kind::kPut;
  std::string key;
  std::string value = {};  // of a range delete: its exclusive end, in the same keyspace
};

// How a life ended.
enum class End : uint8_t { kClosed, kKilled, kPowerCut };

class Book {
 public:
  static std::string Marker(uint64_t commit);

  uint64_t next() const { return commits_.size() + 1; }
  // The call begins. Returns the commit's number, next(). Until End its outcome is unknown.
  uint64_t Begin(std::vector<Change> changes, Durability durability);
  void End(uint64_t number, const Status& status);
  // A moment between two calls.
  uint64_t now() const { return now_; }
  // All logged commits whose calls ended before `moment` survive a power cut.
  void Synced(uint64_t moment);
  // All commits whose calls ended before `moment` are in tables and survive a power cut.
  void Flushed(uint64_t moment);
  // What readers see. REQUIRES: no call is in progress, or no two calls change the same key.
  const State& live() const { return live_; }
  // The next life shows `found`. Returns what is wrong with it, or "". Afterwards live() is `found`.
  std::string Reopened(const State& found, simulate::End end);

 private:
  struct Commit {
    std::vector<Change> changes;
    bool is_logged = true;
    bool is_synced = false;  // by its own call
    bool is_durable = false;
    uint64_t begin = 0, end = 0;  // moments; end 0: the call is in progress
    // Readers saw it, or may see it after the next open, or never will.
    enum class Standing : uint8_t { kThere, kUnknown, kGone } standing = Standing::kUnknown;
  };
  std::string Judge(uint64_t number, const Commit& commit, bool is_there, simulate::End end) const;
  std::string JudgeOrder(const State& found) const;

  uint64_t now_ = 1;
  std::vector<Commit> commits_;
  State live_;
};

// How `found` differs from `expected`, in words; "" if they are equal.
std::string Difference(const State& found, const State& expected);

}  // namespace mergedb::simulate
