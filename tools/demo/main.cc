// ./dev demo: builds a text index of files of this machine with mergedb, and with LevelDB for comparison.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>

#include "acts.h"

namespace mergedb::demo {

namespace {

namespace fs = std::filesystem;

// Next to the program's bin/: on the disk of the build, and outside of git's files.
std::string DefaultDirectory(std::string* binaries) {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  *binaries = fs::relative(program.parent_path(), error).string();
  return fs::relative(program.parent_path().parent_path() / "demo", error).string();
}

// Removes the directories of an earlier run and nothing else.
void ClearDirectory(const std::string& directory) {
  std::error_code error;
  for (const std::string name : {kMergedb.name, kLeveldb.name}) {
    fs::remove_all(fs::path(directory) / name, error);
    fs::remove_all(fs::path(directory) / (name + "-counts"), error);
  }
  fs::remove_all(fs::path(directory) / "killed", error);
  fs::create_directories(directory, error);
}

void PrintCorpus(const Corpus& corpus, uint64_t bytes_max) {
  uint64_t words = 0, skipped = 0;
  for (const TextFile& file : corpus.files) {
    skipped += ForEachWord(file.text, [&](std::string_view, uint32_t) { ++words; });
  }
  const auto number = [](uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("  %llu files, %.1f MB of text, %.2f M words.\n", number(corpus.files.size()),
              static_cast<double>(corpus.bytes) / 1e6, static_cast<double>(words) / 1e6);
  std::printf("  Skipped: %llu empty or binary files, %llu unreadable; %llu runs of one letter or more than 32.\n",
              number(corpus.binary_files), number(corpus.unreadable_files), number(skipped));
  std::printf("  Not indexed, after the first %.0f MB: %llu files, %.0f MB.\n", static_cast<double>(bytes_max) / 1e6,
              number(corpus.files_after_limit), static_cast<double>(corpus.bytes_after_limit) / 1e6);
}

void PrintNext(const std::string& directory, const std::string& binaries) {
  const std::string store = StoreDirectory(directory, kMergedb);
  std::printf("\nCommands to read the index:\n");
  std::printf("  %s/mergedb scan %s --prefix merge --limit 5\n", binaries.c_str(), store.c_str());
  std::printf("  %s/mergedb stat %s\n", binaries.c_str(), store.c_str());
  std::printf("  %s/mergedb check %s\n", binaries.c_str(), store.c_str());
  std::printf("`./dev bench --quick` compares the engines. README.md has a first program.\n");
}

struct Arguments {
  uint64_t megabytes = 64;
  std::string directory;
  std::vector<std::string> roots = {"/usr/share", "/usr/include"};
  bool is_alone = false;
};

int Play(const Arguments& arguments, const std::string& binaries) {
  std::vector<EngineKind> kinds = {kMergedb};
  if (!arguments.is_alone && HasLeveldb()) kinds.push_back(kLeveldb);
  const uint64_t bytes_max = arguments.megabytes << 20;

  std::string roots;
  for (const std::string& root : arguments.roots) roots += (roots.empty() ? "" : " and ") + root;
  std::printf("1. The text of this machine: the first %llu MiB under %s, sorted by path.\n",
              static_cast<unsigned long long>(arguments.megabytes), roots.c_str());
  std::fflush(stdout);
  const Corpus corpus = ReadCorpus(arguments.roots, bytes_max);
  PrintCorpus(corpus, bytes_max);
  if (corpus.files.empty()) {
    std::printf("  No text was found. Pass other directories.\n");
    return 1;
  }
  ClearDirectory(arguments.directory);

  std::printf(
      "\n2. An index of all words, one put for each: (word, file, position). Both engines have the same memory and "
      "codec.\n");
  if (!HasLeveldb())
    std::printf("  LevelDB is skipped: it was not installed when the demo was built (Debian: libleveldb-dev).\n");
  if (!RunRace(corpus, kinds, arguments.directory)) return 1;

  std::printf("\n3. Queries.\n");
  if (!RunQuestions(corpus, kinds, arguments.directory)) return 1;

  std::printf("\n4. A count for each word: one merge operand +1 for each occurrence%s.\n",
              kinds.size() > 1 ? "; LevelDB: one get and one put" : "");
  if (!RunCounts(corpus, kinds, arguments.directory)) return 1;

  std::printf("\n5. A new index; the indexer is killed half-way.\n");
  if (!RunCrash(corpus, arguments.directory)) return 1;

  PrintNext(arguments.directory, binaries);
  return 0;
}

}  // namespace

}  // namespace mergedb::demo

int main(int argc, char** argv) {
  mergedb::demo::Arguments arguments;
  std::string binaries;
  arguments.directory = mergedb::demo::DefaultDirectory(&binaries);
  CLI::App app("Indexes the text files of this machine with mergedb and with LevelDB, and compares both.",
               "mergedb_demo");
  app.add_option("--mb", arguments.megabytes, "Bytes of text, in MiB")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--dir", arguments.directory, "Directory for the databases")->capture_default_str();
  app.add_option("--root", arguments.roots, "Directories to read")->capture_default_str();
  app.add_flag("--alone", arguments.is_alone, "Run only mergedb");
  CLI11_PARSE(app, argc, argv);
  return mergedb::demo::Play(arguments, binaries);
}
