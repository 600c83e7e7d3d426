// The acts of the demo, in the order in which they are played.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "corpus.h"
#include "engine.h"
#include "worker.h"

namespace mergedb::demo {

// Index the records of the corpus from number `first` on, in a child. Draws progress. `kill_at` text bytes
// acknowledged: SIGKILL. Returns the last message: kDone, kFailed, or kProgress if the child was killed.
struct IndexRequest {
  EngineKind kind;
  const Corpus* corpus;
  std::string directory;
  uint64_t first = 0;
  std::optional<uint64_t> kill_at = {};
};
Message Index(const IndexRequest& request);

// Act 1: both engines build the index. False if mergedb failed.
bool RunRace(const Corpus& corpus, const std::vector<EngineKind>& kinds, const std::string& directory);

// Act 2: look-ups and prefix scans, on each engine, compared with each other and with a plain reading of the text.
bool RunQuestions(const Corpus& corpus, const std::vector<EngineKind>& kinds, const std::string& directory);

// Act 3: both engines count the words, mergedb by merging, the other by reading and writing; the top words. False if a count
// is not that of a plain reading.
bool RunCounts(const Corpus& corpus, const std::vector<EngineKind>& kinds, const std::string& directory);

// Act 4: kill -9 in the middle, reopen, compare with what was acknowledged, go on.
bool RunCrash(const Corpus& corpus, const std::string& directory);

std::string StoreDirectory(const std::string& directory, const EngineKind& kind);

struct DiskBytes {
  uint64_t tables = 0;
  uint64_t rest = 0;  // log, staging, MANIFEST
};
DiskBytes MeasureDisk(const std::string& directory);

}  // namespace mergedb::demo
