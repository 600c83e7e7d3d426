#include <chrono>
#include <cstdio>
#include <cstring>

#include "acts.h"

namespace mergedb::demo {

namespace {

using Clock = std::chrono::steady_clock;

// In the child: opens the killed database and reads all of it.
Status InspectHere(const std::string& directory, const Reporter& reporter) {
  const Clock::time_point start = Clock::now();
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, OpenMergedb(directory));
  Message message{.kind = Message::Kind::kDone};
  message.load_seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const std::string recovery = engine->Recovery();
  std::snprintf(message.text, sizeof message.text, "%s", recovery.c_str());
  Fingerprint fingerprint;
  RETURN_IF_ERROR(engine->Scan("", [&](std::string_view key, std::string_view value) {
    fingerprint.Add(key, value);
    return true;
  }));
  RETURN_IF_ERROR(engine->Close());
  message.records = fingerprint.count;
  message.sum = fingerprint.sum;
  reporter.Send(message);
  return Status::Ok();
}

Message Inspect(const std::string& directory) {
  Worker worker([&](const Reporter& reporter) { return InspectHere(directory, reporter); });
  Message message;
  if (!worker.Receive(&message)) {
    message.kind = Message::Kind::kFailed;
    std::snprintf(message.text, sizeof message.text, "the child process ended without a result");
  }
  return message;
}

// True if the store holds exactly the first records of the stream.
bool IsFirstRecords(const Corpus& corpus, const Message& found) {
  return FingerprintOfFirst(corpus, found.records) == Fingerprint{found.records, found.sum};
}

bool Failed(const Message& message) {
  if (message.kind != Message::Kind::kFailed) return false;
  std::printf("  failed: %s\n", message.text);
  return true;
}

unsigned long long Number(uint64_t value) { return value; }

}  // namespace

bool RunCrash(const Corpus& corpus, const std::string& directory) {
  const std::string store = directory + "/killed";
  const Message killed = Index({.kind = kMergedb, .corpus = &corpus, .directory = store, .kill_at = corpus.bytes / 2});
  if (Failed(killed)) return false;
  if (killed.kind == Message::Kind::kDone) {
    std::printf("  the indexer ended before it was killed; pass more text (--mb)\n");
    return true;
  }
  std::printf("  kill -9 after %llu acknowledged puts, none of them synced.\n", Number(killed.records));

  const Message found = Inspect(store);
  if (Failed(found)) return false;
  std::printf("  reopened in %.0f ms: %llu records.%s%s\n", found.load_seconds * 1e3, Number(found.records),
              found.text[0] != 0 ? " Recovery reports: " : "", found.text);
  if (found.records < killed.records || !IsFirstRecords(corpus, found)) {
    std::printf("  LOST: expected all acknowledged puts, then a prefix of the others.\n");
    return false;
  }
  std::printf("  They are exactly the first %llu puts: %llu were acknowledged, %llu were not yet acknowledged.\n",
              Number(found.records), Number(killed.records), Number(found.records - killed.records));

  const Message rest = Index({.kind = kMergedb, .corpus = &corpus, .directory = store, .first = found.records});
  if (Failed(rest)) return false;
  const Message whole = Inspect(store);
  if (Failed(whole)) return false;
  if (whole.records != rest.records || !IsFirstRecords(corpus, whole)) {
    std::printf("  LOST: the finished index differs from the text.\n");
    return false;
  }
  std::printf("  The indexer continued to the end: %llu records, the index of the whole text. Nothing was lost.\n",
              Number(whole.records));
  return true;
}

}  // namespace mergedb::demo
