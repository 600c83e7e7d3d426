#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <unordered_map>

#include "acts.h"
#include "progress.h"

namespace mergedb::demo {

namespace {

using Clock = std::chrono::steady_clock;
using Counts = std::unordered_map<std::string, uint64_t>;

constexpr uint64_t kTellEvery = 4096;
constexpr size_t kTopShown = 10;

std::string CountsDirectory(const std::string& directory, const EngineKind& kind) {
  return directory + "/" + kind.name + "-counts";
}

Counts CountPlainly(const Corpus& corpus) {
  Counts counts;
  for (const TextFile& file : corpus.files) {
    ForEachWord(file.text, [&](std::string_view word, uint32_t) { ++counts[std::string(word)]; });
  }
  return counts;
}

// Checks all counts with one scan, which also folds the remaining merge operands. Corruption if a word is
// missing, not expected, or has a wrong count.
Status CheckCounts(Engine& engine, const Counts& expected, std::vector<std::pair<uint64_t, std::string>>* top) {
  uint64_t words = 0, wrong = 0;
  RETURN_IF_ERROR(engine.Scan("", [&](std::string_view word, std::string_view value) {
    uint64_t count = 0;
    if (value.size() == sizeof count) std::memcpy(&count, value.data(), sizeof count);
    const auto plain = expected.find(std::string(word));
    wrong += plain == expected.end() || plain->second != count;
    ++words;
    top->emplace_back(count, word);
    return true;
  }));
  if (wrong > 0 || words != expected.size())
    return Status::Corruption("the counts differ from those of a plain scan of the text");
  std::partial_sort(top->begin(), top->begin() + static_cast<ptrdiff_t>(std::min(kTopShown, top->size())), top->end(),
                    std::greater<>());
  top->resize(std::min(kTopShown, top->size()));
  return Status::Ok();
}

// In the child: adds one for every word, waits for the background work, reads everything.
Status CountHere(const EngineKind& kind, const Corpus& corpus, const std::string& directory, const Counts& expected,
                 bool shows_top, const Reporter& reporter) {
  const Clock::time_point start = Clock::now();
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, kind.open(CountsDirectory(directory, kind)));
  Message message;
  Status status;
  for (const TextFile& file : corpus.files) {
    ForEachWord(file.text, [&](std::string_view word, uint32_t) {
      if (!status.ok()) return;
      status = engine->AddOne(word);
      if (++message.records % kTellEvery == 0) reporter.Send(message);
    });
    RETURN_IF_ERROR(status);
    message.text_bytes += file.text.size();
  }
  message.load_seconds = SecondsSince(start);
  double idle_seconds = 0;
  RETURN_IF_ERROR(engine->Drain(&idle_seconds));
  std::vector<std::pair<uint64_t, std::string>> top;
  RETURN_IF_ERROR(CheckCounts(*engine, expected, &top));
  message.total_seconds = SecondsSince(start) - idle_seconds;
  RETURN_IF_ERROR(engine->Close());
  message.kind = Message::Kind::kDone;
  std::string text;
  for (const auto& [count, word] : top) text += (text.empty() ? "" : ", ") + word + " " + std::to_string(count);
  std::snprintf(message.text, sizeof message.text, "%s", shows_top ? text.c_str() : "");
  reporter.Send(message);
  return Status::Ok();
}

Message Count(const EngineKind& kind, const Corpus& corpus, const std::string& directory, const Counts& expected,
              bool shows_top) {
  Progress progress(kind.name, corpus.bytes);
  Worker worker(
      [&](const Reporter& reporter) { return CountHere(kind, corpus, directory, expected, shows_top, reporter); });
  Message last, message;
  while (worker.Receive(&message)) {
    last = message;
    progress.Show(message.text_bytes, message.records);
  }
  progress.Clear();
  if (last.kind == Message::Kind::kProgress) {
    last.kind = Message::Kind::kFailed;
    std::snprintf(last.text, sizeof last.text, "the child process ended without a result");
  }
  return last;
}

}  // namespace

bool RunCounts(const Corpus& corpus, const std::vector<EngineKind>& kinds, const std::string& directory) {
  const Counts expected = CountPlainly(corpus);
  std::vector<Message> done;
  for (const EngineKind& kind : kinds) {
    done.push_back(Count(kind, corpus, directory, expected, done.empty()));
    if (done.back().kind != Message::Kind::kDone) {
      std::printf("  %s failed: %s\n", kind.name, done.back().text);
      return false;
    }
  }
  std::printf("  %-8s %-12s %10s %13s %14s\n", "", "by", "count", "per word", "+compact, read");
  for (size_t i = 0; i < kinds.size(); ++i) {
    std::printf("  %-8s %-12s %8.1f s %10.2f us %12.1f s\n", kinds[i].name, kinds[i].merges ? "merge" : "get and put",
                done[i].load_seconds, done[i].load_seconds * 1e6 / static_cast<double>(done[i].records),
                done[i].total_seconds);
  }
  if (done.size() == 2) {
    std::printf("  mergedb counts %.1f times as fast; %.1f times with compactions, read and check.\n",
                done[1].load_seconds / done[0].load_seconds, done[1].total_seconds / done[0].total_seconds);
  }
  std::printf("  %zu different words, all counts are right. The most frequent:\n    %s\n", expected.size(),
              done[0].text);
  return true;
}

}  // namespace mergedb::demo
