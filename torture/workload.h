// The same work for every engine: numbered atomic batches. A batch puts a marker key of its own and makes one
// to three changes to forty keys (one fifth are deletes, values have 20 to 1,500 bytes). Every fifth batch is
// synced if the engine has the choice. A batch is a function of seed and number, so the seed gives the expected
// contents of a database.
#pragma once

#include <string>

#include "torture/engine.h"

namespace mergedb::torture {

class Workload {
 public:
  explicit Workload(uint64_t seed) : seed_(seed) {}
  Batch BatchOf(uint64_t number) const;  // numbers start at 1
  static std::string MarkerOf(uint64_t number);

 private:
  const uint64_t seed_;
};

enum class Verdict : uint8_t {
  kRight,
  kLost,     // a promised batch and all later ones are missing: a prefix that is too short
  kHole,     // a batch is missing, but a later one exists
  kWrong,    // no set of whole batches explains the values, or two reads disagree
  kRefused,  // open, scan or read returned an error after the engine had made a promise
  kEarly,    // as kRefused, but before any promise: no data is lost, but a person must clean up
  kDied,
  kHung,
  kPoisoned,  // all reads are right, but new writes fail or are lost
};
const char* VerdictName(Verdict verdict);

struct Expectation {
  uint64_t begun = 0;      // the last batch number that may exist
  uint64_t promised = 0;   // the last batch number that must exist
  bool was_ready = false;  // the first open had returned
};

struct Finding {
  Verdict verdict = Verdict::kRight;
  std::string detail = {};
  uint64_t last = 0;        // the last batch found
  bool complained = false;  // the engine reported damage by a call of its own
};

// Opens `directory`, reads everything by scan and by get, and compares. With `write_on`, also writes more,
// reopens, and compares again. An engine that crashes here ends this process.
Finding Judge(Engine& engine, const std::string& directory, const Workload& workload, const Expectation& expected,
              bool write_on);

// As Judge, but in a child process with a limit of `seconds` of CPU. The child makes the engine by its name.
Finding JudgeApart(const std::string& engine_name, const std::string& directory, const Workload& workload,
                   const Expectation& expected, bool write_on, unsigned seconds = 30);

}  // namespace mergedb::torture
