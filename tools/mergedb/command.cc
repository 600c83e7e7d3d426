#include "command.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <thread>

#include "mergedb/c.h"
#include "mergedb/leveldb.h"
#include "progress.h"
#include "text.h"

namespace mergedb::tool {

namespace {

// Help that prints our own usage line instead of CLI11's.
class UsageFormatter final : public CLI::Formatter {
 public:
  explicit UsageFormatter(std::string usage) : usage_(std::move(usage)) {}
  std::string make_usage(const CLI::App*, std::string) const override { return "Usage: mergedb " + usage_ + "\n"; }
  std::string make_positionals(const CLI::App*) const override { return ""; }

 private:
  std::string usage_;
};

// Takes the directory from the first word, unless --db is given, and checks the number of words.
void TakeWords(const Verb& verb, Arguments& arguments) {
  std::vector<std::string>& words = arguments.words;
  if (verb.is_of_command) {
    if (!words.empty())
      throw CLI::ValidationError(verb.name, "a command goes after --; usage: mergedb " + std::string(verb.usage));
    words = arguments.tail;
    return;
  }
  words.insert(words.end(), arguments.tail.begin(), arguments.tail.end());
  if (verb.is_of_file) {
    if (words.empty())
      throw CLI::ValidationError(verb.name, "no file is given; usage: mergedb " + std::string(verb.usage));
    arguments.path = arguments.directory.empty() ? words.front() : arguments.directory + "/" + words.front();
    arguments.directory = ".";
    words.erase(words.begin());
  }
  if (verb.is_of_words) arguments.directory = ".";
  if (arguments.directory.empty() && !words.empty()) {
    arguments.directory = words.front();
    words.erase(words.begin());
  }
  if (arguments.directory.empty())
    throw CLI::ValidationError(verb.name, "no database directory is given; usage: mergedb " + std::string(verb.usage));
  if (words.size() < verb.words_min || words.size() > verb.words_max) {
    throw CLI::ValidationError(verb.name, "wrong number of words; usage: mergedb " + std::string(verb.usage));
  }
}

}  // namespace

CLI::App* AddVerb(CLI::App& app, Context& context, const Verb& verb) {
  CLI::App* added = app.add_subcommand(verb.name, verb.description);
  added->formatter(std::make_shared<UsageFormatter>(verb.usage));
  added->footer(verb.footer);
  if (!verb.is_of_command && !verb.is_of_words) {
    added
        ->add_option("--db", context.arguments.directory,
                     verb.is_of_file ? "The directory of FILE" : "The database directory; default: the first word")
        ->check(NotEmpty());
  }
  added->final_callback([&context, verb] {
    TakeWords(verb, context.arguments);
    context.run = [&context, run = verb.run] { return run(context.arguments); };
  });
  return added;
}

void AddHexAndJson(CLI::App* verb, Arguments& arguments) {
  verb->add_flag("--hex", arguments.is_hex, "Keys and values are in hex, on the command line and in the output");
  verb->add_flag("--json", arguments.is_json, "Print JSON");
}

void AddRange(CLI::App* verb, Arguments& arguments) {
  verb->add_option("--from", arguments.from, "Smallest key");
  verb->add_option("--to", arguments.to, "Upper bound; the range ends before this key");
}

CLI::Validator IntegerFrom(uint64_t min, uint64_t max) {
  const auto check = [min, max](const std::string& word) -> std::string {
    uint64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error == std::errc() && std::to_string(number) == word && number >= min && number <= max) return "";
    return "expected an integer from " + std::to_string(min) + " to " + std::to_string(max) + ", found \"" + word +
           "\"";
  };
  return {check, "", "integer"};
}

CLI::Validator NotEmpty() {
  return {[](const std::string& word) -> std::string { return word.empty() ? "expected a name, found \"\"" : ""; }, ""};
}

int Fail(Exit exit, std::string_view message) {
  std::fprintf(stderr, "mergedb: %s\n", ToLine(message).c_str());
  return exit;
}

int Fail(const Status& status) {
  const char* const next_step =
      status.IsNoSpace() ? "; free space there, or copy the database to another disk (mergedb copy DIR TARGET)" : "";
  return Fail(kError, status.ToString() + next_step);
}

Status UntilNotBusy(const std::function<Status()>& read) {
  constexpr int kAttemptsMax = 5;
  Status status = read();
  for (int attempt = 1; attempt < kAttemptsMax && status.IsBusy(); ++attempt) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100 * attempt));
    status = read();
  }
  return status;
}

Result<std::unique_ptr<DB>> OpenToReadOnce(const std::string& directory) {
  return DB::Open({.mode = OpenMode::kReadOnly, .memory_bytes = size_t{64} << 20}, directory);
}

Result<std::unique_ptr<DB>> OpenToRead(const std::string& directory) {
  std::unique_ptr<DB> db;
  RETURN_IF_ERROR(UntilNotBusy([&]() -> Status {
    ASSIGN_OR_RETURN(db, OpenToReadOnce(directory));
    return {};
  }));
  return db;
}

std::unique_ptr<DB> OpenDatabase(const std::string& directory, OpenMode mode) {
  // WHY: DB::Open would convert it, and LevelDB could not open it again. Only `convert` converts.
  if (const auto is_leveldb = IsLevelDb({}, directory); mode != OpenMode::kReadOnly && is_leveldb && *is_leveldb) {
    Fail(kError, directory + ": a LevelDB database; nothing was changed. `mergedb convert " + directory +
                     "` converts it in place, and `mergedb export-leveldb` converts it back");
    return nullptr;
  }
  Result<std::unique_ptr<DB>> db = mode == OpenMode::kReadOnly
                                       ? OpenToRead(directory)
                                       : DB::Open({.mode = mode, .memory_bytes = size_t{64} << 20}, directory);
  if (!db) {
    Fail(db.error());
    return nullptr;
  }
  std::string report;
  if (mode != OpenMode::kReadOnly && (*db)->GetProperty("mergedb.recovery", &report) && !report.empty())
    std::fprintf(stderr, "mergedb: recovery: %s\n", ToLine(report).c_str());
  return std::move(db).value();
}

int Finish(DB& db, int exit) {
  if (const Status status = db.Close(); !status.ok()) exit = Fail(status);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) exit = Fail(kError, "cannot write to stdout");
  return exit;
}

void AddLmdbFlags(CLI::App* verb) {
  verb->add_flag("-n")->description(
      "Accepted for LMDB: there, the database is a file; a mergedb database is always a directory");
  verb->add_flag_callback(
      "-V", [] { throw CLI::CallForVersion(std::string("mergedb ") + mergedb_version(), 0); }, "Print the version");
}

Result<std::vector<KeyspaceEntry>> DatabasesOf(const Arguments& arguments, DB& db, bool is_all) {
  if (arguments.database) {
    ASSIGN_OR_RETURN(const Keyspace keyspace, db.OpenKeyspace(*arguments.database));
    return std::vector<KeyspaceEntry>{{*arguments.database, keyspace}};
  }
  std::vector<KeyspaceEntry> databases = {{"", Keyspace()}};
  if (is_all) {
    ASSIGN_OR_RETURN(const auto named, db.ListKeyspaces());
    databases.insert(databases.end(), named.begin(), named.end());
  }
  return databases;
}

void NoteOtherKeyspaces(const Arguments& arguments, DB& db) {
  constexpr size_t kNamesMax = 5;
  if (arguments.keyspace) return;
  const auto it = db.NewIterator({.keys_only = true, .read = {.fill_cache = false}});
  it->SeekToFirst();
  const auto keyspaces = db.ListKeyspaces();
  if (it->Valid() || !it->status().ok() || !keyspaces || keyspaces->empty()) return;
  std::string names;
  for (size_t i = 0; i < std::min(keyspaces->size(), kNamesMax); ++i)
    names += (i == 0 ? "\"" : ", \"") + ToText((*keyspaces)[i].name) + "\"";
  if (keyspaces->size() > kNamesMax) names += " and " + std::to_string(keyspaces->size() - kNamesMax) + " more";
  std::fprintf(stderr, "mergedb: the default keyspace is empty; pass --keyspace NAME for one of the others: %s\n",
               names.c_str());
}

std::FILE* CreatePrivateFile(const std::string& path) {
  constexpr mode_t kOwnerOnly = 0600;
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kOwnerOnly);
  if (descriptor < 0) return nullptr;
  std::FILE* const file = fdopen(descriptor, "wb");
  if (file == nullptr) close(descriptor);
  return file;
}

Result<uint64_t> CountEntries(DB& db, Keyspace keyspace) {
  const auto it = db.NewIterator({.keys_only = true, .read = {.fill_cache = false}, .keyspace = keyspace});
  uint64_t count = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++count;
  RETURN_IF_ERROR(it->status());
  return count;
}

Disk MeasureDirectory(const std::string& directory) {
  Disk disk;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const uint64_t bytes = entry.is_regular_file(error) ? entry.file_size(error) : 0;
    if (error) continue;
    ++disk.files;
    disk.bytes += bytes;
  }
  return disk;
}

Progress ShowProgress(const Arguments& arguments) {
  if (arguments.is_quiet) return {};
  return [meter = std::make_shared<ProgressMeter>(isatty(STDERR_FILENO) != 0)](uint64_t done, uint64_t all) {
    return meter->Note(done, all);
  };
}

bool SkippedKeys::Take(const Iterator& it) {
  if (it.Valid()) return false;
  Take(*it.failed_key(), it.status());
  return true;
}

void SkippedKeys::Take(std::string_view key, const Status& status) {
  ++count_;
  std::fprintf(stderr, "mergedb: skipped %s: %s\n", ShowBytes(arguments_, key).c_str(),
               ToLine(status.ToString()).c_str());
}

Status SkippedKeys::WithAdvice(const Status& status, bool is_of_one_key) const {
  if (status.ok() || !is_of_one_key || arguments_.is_skipping) return status;
  return Status::Make(status.code(), std::string(status.message()) + "; --skip-errors leaves such keys out");
}

int SkippedKeys::Finish(int exit) const {
  if (count_ == 0) return exit;
  std::fprintf(stderr, "mergedb: %llu keys were skipped\n", static_cast<unsigned long long>(count_));
  return exit == kOk ? kSkipped : exit;
}

void AddSkipErrors(CLI::App* verb, Arguments& arguments) {
  verb->add_flag("--skip-errors", arguments.is_skipping,
                 "Leave out keys whose value cannot be read, and print them on stderr; exit code 4 if there are any");
}

std::string TakeBytes(const Arguments& arguments, const std::string& word) {
  if (!arguments.is_hex) return word;
  std::optional<std::string> bytes = FromHex(word);
  if (!bytes) throw CLI::ValidationError("--hex", "\"" + word + "\": expected an even number of hex digits");
  return *std::move(bytes);
}

std::string ShowBytes(const Arguments& arguments, std::string_view bytes) {
  return arguments.is_hex ? ToHex(bytes) : ToText(bytes);
}

void SetBytes(const Arguments& arguments, nlohmann::ordered_json* object, const std::string& name,
              std::string_view bytes) {
  if (arguments.is_hex || !IsUtf8(bytes)) {
    (*object)[name + "_hex"] = ToHex(bytes);
  } else {
    (*object)[name] = std::string(bytes);
  }
}

void PrintJson(const nlohmann::ordered_json& json, int indent) {
  // WHY ensure_ascii: it escapes the control characters beyond ASCII, so they do not reach the terminal.
  Print(json.dump(indent, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
}

void Print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace mergedb::tool
