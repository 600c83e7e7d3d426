// The same work for every engine: numbered atomic batches, each a marker key of its own beside one to three changes to forty keys
// (a fifth of them deletes, values of 20 to 1,500 bytes), every fifth synced where the engine has the choice. A batch is a function
// of seed and number, so that whoever holds the seed can say what a database must hold.
#pragma once

#include <string>

#include "torture/engine.h"

namespace mergedb::torture {

class Workload {
 public:
  explicit Workload(uint64_t seed) : seed_(seed) {}
  Batch BatchOf(uint64_t number) const;  // from 1
  static std::string MarkerOf(uint64_t number);

 private:
  const uint64_t seed_;
};

enum class Verdict : uint8_t {
  kRight,
  kLost,     // a promised batch is missing, and all after it: a prefix, but too short
  kHole,     // a batch is missing and a later one is there
  kWrong,    // values that no set of whole batches explains, or two reads that disagree
  kRefused,  // an error from open, scan or read, after the engine had promised something
  kEarly,    // the same before it had promised anything: no data, but somebody has to clean up
  kDied,
  kHung,
  kPoisoned,  // right so far, but it does not take and keep new writes
};
const char* VerdictName(Verdict verdict);

struct Expectation {
  uint64_t begun = 0;      // numbers of batches: the last that may be there
  uint64_t promised = 0;   // the last that must be
  bool was_ready = false;  // the engine had returned from its first open
};

struct Finding {
  Verdict verdict = Verdict::kRight;
  std::string detail = {};
  uint64_t last = 0;        // the last batch found
  bool complained = false;  // of damage, by a call of its own
};

// Open `directory`, read everything both ways, compare; with `write_on`, write more, reopen, and compare again. In this process: it
// may die of it.
Finding Judge(Engine& engine, const std::string& directory, const Workload& workload, const Expectation& expected,
              bool write_on);

// The same in a process of its own that has `seconds` of CPU to live. `make` makes the engine there.
Finding JudgeApart(const std::string& engine_name, const std::string& directory, const Workload& workload,
                   const Expectation& expected, bool write_on, unsigned seconds = 30);

}  // namespace mergedb::torture
