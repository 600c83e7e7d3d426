// The acts of the demo, in their order.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "corpus.h"
#include "engine.h"
#include "worker.h"

namespace mergedb::demo {

// Indexes the records of the corpus from number `first` on, in a child process, with a progress bar. If
// `kill_at` is set, the child gets SIGKILL once that many bytes of text are acknowledged. Returns the last
// message: kDone, kFailed, or kProgress if the child was killed.
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

// Act 2: look-ups and prefix scans on each engine. The answers are compared with each other and with those of
// the text.
bool RunQuestions(const Corpus& corpus, const std::vector<EngineKind>& kinds, const std::string& directory);

// Act 3: each engine counts the words, mergedb with merge operands, the other engine with gets and puts. Prints
// the most frequent words. False if a count differs from that of the text.
bool RunCounts(const Corpus& corpus, const std::vector<EngineKind>& kinds, const std::string& directory);

// Act 4: kill -9 during the index build, reopen, compare with the acknowledged records, continue.
bool RunCrash(const Corpus& corpus, const std::string& directory);

std::string StoreDirectory(const std::string& directory, const EngineKind& kind);

struct DiskBytes {
  uint64_t tables = 0;
  uint64_t rest = 0;  // WAL segments, STAGING, MANIFEST
};
DiskBytes MeasureDisk(const std::string& directory);

}  // namespace mergedb::demo
