#include <chrono>
#include <cstdio>
#include <map>

#include "acts.h"

namespace mergedb::demo {

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kWords[] = {"license", "warranty", "compression", "database", "xylophone"};
constexpr const char* kPrefix = "merg";
constexpr const char* kPhrase[2] = {"free", "software"};
constexpr size_t kPrefixShown = 6;

struct Place {
  uint32_t file = 0;
  uint32_t position = 0;
};

struct Answers {
  std::map<std::string, uint64_t> counts;         // of kWords, including zeros
  std::map<std::string, Place> first;             // of the words that occur
  std::map<std::string, uint64_t> prefix_counts;  // words that begin with kPrefix
  uint64_t phrase_count = 0;
  friend bool operator==(const Answers& a, const Answers& b) {
    return a.counts == b.counts && a.prefix_counts == b.prefix_counts && a.phrase_count == b.phrase_count;
  }
};

Place PlaceOf(std::string_view posting_key) {
  const size_t end = posting_key.size();
  return {BigEndianAt(posting_key, end - 8), BigEndianAt(posting_key, end - 4)};
}

Status AskWord(Engine& engine, const std::string& word, Answers* answers) {
  uint64_t& count = answers->counts[word];
  return engine.Scan(WordPrefix(word), [&](std::string_view key, std::string_view) {
    if (count++ == 0) answers->first[word] = PlaceOf(key);
    return true;
  });
}

Status AskPrefix(Engine& engine, Answers* answers) {
  return engine.Scan(kPrefix, [&](std::string_view key, std::string_view) {
    ++answers->prefix_counts[std::string(key.substr(0, key.find('\0')))];
    return true;
  });
}

// A scan for the first word, and a get for each position at which the second word would follow.
Status AskPhrase(Engine& engine, Answers* answers) {
  Status status;
  std::string value;
  RETURN_IF_ERROR(engine.Scan(WordPrefix(kPhrase[0]), [&](std::string_view key, std::string_view) {
    const Place place = PlaceOf(key);
    status = engine.Get(PostingKey(kPhrase[1], place.file, place.position + 1), &value);
    if (status.ok()) ++answers->phrase_count;
    return status.ok() || status.IsNotFound();
  }));
  return status.IsNotFound() ? Status::Ok() : status;
}

// Answers the same questions from the text itself.
Answers ReadAnswers(const Corpus& corpus) {
  Answers answers;
  for (const char* word : kWords) answers.counts[word] = 0;
  for (const TextFile& file : corpus.files) {
    uint32_t phrase_position = UINT32_MAX;  // a second word at this position completes the phrase
    ForEachWord(file.text, [&](std::string_view word, uint32_t position) {
      if (const auto it = answers.counts.find(std::string(word)); it != answers.counts.end()) ++it->second;
      if (word.starts_with(kPrefix)) ++answers.prefix_counts[std::string(word)];
      if (word == kPhrase[1] && position == phrase_position) ++answers.phrase_count;
      if (word == kPhrase[0]) phrase_position = position + 1;
    });
  }
  return answers;
}

Status PrintAnswers(Engine& engine, const Answers& answers) {
  for (const char* word : kWords) {
    std::printf("  \"%s\": %llu places", word, static_cast<unsigned long long>(answers.counts.at(word)));
    if (const auto it = answers.first.find(word); it != answers.first.end()) {
      std::string path;
      RETURN_IF_ERROR(engine.Get(FileKey(it->second.file), &path));
      std::printf(", first as word %u of %s", it->second.position + 1, path.c_str());
    }
    std::printf("\n");
  }
  std::printf("  words that begin with \"%s\": %zu", kPrefix, answers.prefix_counts.size());
  size_t shown = 0;
  for (const auto& [word, count] : answers.prefix_counts) {
    if (shown++ == kPrefixShown) break;
    std::printf("%s %s (%llu)", shown == 1 ? ":" : ",", word.c_str(), static_cast<unsigned long long>(count));
  }
  std::printf("%s\n  the phrase \"%s %s\": %llu places\n", answers.prefix_counts.size() > kPrefixShown ? ", ..." : "",
              kPhrase[0], kPhrase[1], static_cast<unsigned long long>(answers.phrase_count));
  return Status::Ok();
}

Status AskHere(const EngineKind& kind, const std::string& directory, const Answers& expected, bool is_first) {
  ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, kind.open(StoreDirectory(directory, kind)));
  const Clock::time_point start = Clock::now();
  Answers answers;
  for (const char* word : kWords) RETURN_IF_ERROR(AskWord(*engine, word, &answers));
  RETURN_IF_ERROR(AskPrefix(*engine, &answers));
  RETURN_IF_ERROR(AskPhrase(*engine, &answers));
  const double milliseconds = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  if (is_first) RETURN_IF_ERROR(PrintAnswers(*engine, answers));
  if (!(answers == expected)) return Status::Corruption("the answers differ from those of a plain scan of the text");
  std::printf("  %s answered all queries in %.0f ms; the answers are those of a plain scan of the text.\n", kind.name,
              milliseconds);
  return engine->Close();
}

}  // namespace

bool RunQuestions(const Corpus& corpus, const std::vector<EngineKind>& kinds, const std::string& directory) {
  const Answers expected = ReadAnswers(corpus);
  for (const EngineKind& kind : kinds) {
    Worker worker([&](const Reporter&) { return AskHere(kind, directory, expected, &kind == &kinds.front()); });
    if (Message message; worker.Receive(&message)) {
      std::printf("  %s failed: %s\n", kind.name, message.text);
      return false;
    }
  }
  return true;
}

}  // namespace mergedb::demo
