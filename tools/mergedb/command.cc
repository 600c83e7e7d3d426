#include "command.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <thread>

#include "db/access/write_checks.h"
#include "format/file_name.h"
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
void TakeWords(const Verb& verb, Command& command) {
  const auto refuse = [&](const std::string& problem) {
    throw CLI::ValidationError(verb.name(), problem + "; usage: mergedb " + verb.usage);
  };
  Line& line = command.line;
  std::vector<std::string>& words = line.words;
  const bool has_directory = verb.takes == Takes::kDirectory || verb.takes == Takes::kFile;
  if (!has_directory && !line.directory.empty()) refuse("--db has no effect");
  if (verb.takes == Takes::kCommand) {
    if (!words.empty()) refuse("a command goes after --");
    words = command.tail;
    return;
  }
  words.insert(words.end(), command.tail.begin(), command.tail.end());
  if (verb.takes == Takes::kFile) {
    if (words.empty()) refuse("no file is given");
    line.path = line.directory.empty() ? words.front() : line.directory + "/" + words.front();
    line.directory.clear();
    words.erase(words.begin());
  }
  if (verb.takes == Takes::kDirectory) {
    if (line.directory.empty() && !words.empty()) {
      line.directory = words.front();
      words.erase(words.begin());
    }
    if (line.directory.empty()) refuse("no database directory is given");
  }
  if (words.size() < verb.words_min || words.size() > verb.words_max) refuse("wrong number of words");
}

std::string FooterOf(const Verb& verb) {
  const auto [first, second] = verb.examples;
  if (first == nullptr) return verb.footer;
  return verb.footer + (verb.footer.empty() ? "" : "\n\n") + "Examples:\n  " + first + "\n  " + second;
}

}  // namespace

CLI::App* AddVerb(Command& command, const Verb& verb, std::function<void()> reset, std::function<int()> run) {
  CLI::App* const added = command.app.add_subcommand(verb.name(), verb.description);
  added->formatter(std::make_shared<UsageFormatter>(verb.usage));
  added->footer(FooterOf(verb));
  if (verb.takes == Takes::kDirectory || verb.takes == Takes::kFile) {
    const bool is_of_file = verb.takes == Takes::kFile;
    added
        ->add_option("--db", command.line.directory,
                     is_of_file ? "The directory of FILE" : "The database directory; default: the first word")
        ->check(NotEmpty());
  }
  added->preparse_callback([reset = std::move(reset)](size_t) { reset(); });
  added->final_callback([&command, verb, run = std::move(run)] {
    TakeWords(verb, command);
    command.run = run;
  });
  return added;
}

CLI::Option* AddHexAndJson(CLI::App* verb, HexOption& arguments, bool& is_json) {
  verb->add_flag("--hex", arguments.is_hex, "Keys and values are in hex, on the command line and in the output");
  return verb->add_flag("--json", is_json, "Print JSON");
}

void AddKeyspace(CLI::App* verb, KeyspaceOption& arguments) {
  verb->add_option("--keyspace", arguments.keyspace, "The keyspace; default: the default keyspace")
      ->type_name("NAME")
      ->check(NotEmpty());
}

void AddRange(CLI::App* verb, RangeOption& arguments) {
  verb->add_option("--from", arguments.from, "Smallest key");
  verb->add_option("--to", arguments.to, "Upper bound; the range ends before this key");
}

RangeOption TakeRange(const HexOption& arguments, const RangeOption& words) {
  RangeOption range;
  if (words.from) range.from = TakeBytes(arguments, *words.from);
  if (words.to) range.to = TakeBytes(arguments, *words.to);
  if (range.from && range.to && *range.from > *range.to)
    throw CLI::ValidationError("--from", "\"" + *words.from + "\" lies after --to \"" + *words.to + "\"");
  return range;
}

void AddSkipErrors(CLI::App* verb, bool& is_skipping) {
  verb->add_flag("--skip-errors", is_skipping,
                 "Leave out keys whose value cannot be read, and print them on stderr; exit code 4 if there are any");
}

void AddSync(CLI::App* verb, bool& is_synced) {
  verb->add_flag("--sync", is_synced, "Sync the write: it survives power loss");
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

CLI::Validator DecimalFrom(double min, double max) {
  const auto check = [min, max](const std::string& word) -> std::string {
    const bool begins_as_integer =
        !word.empty() && word[0] >= '0' && word[0] <= '9' && !(word.size() > 1 && word[0] == '0' && word[1] != '.');
    double number = 0;
    const char* const end = word.data() + word.size();
    const auto [parsed, error] = std::from_chars(word.data(), end, number, std::chars_format::fixed);
    if (begins_as_integer && error == std::errc() && parsed == end && number >= min && number <= max) return "";
    return Format("expected a number from %g to %g, found \"", min, max) + word + "\"";
  };
  return {check, "", "decimal"};
}

CLI::Validator NotEmpty() {
  return {[](const std::string& word) -> std::string { return word.empty() ? "expected a name, found \"\"" : ""; }, ""};
}

Result<Keyspace> KeyspaceOf(const KeyspaceOption& arguments, DB& db) {
  return arguments.keyspace ? db.OpenKeyspace(TakeBytes(arguments, *arguments.keyspace)) : Keyspace();
}

WriteOptions WriteOptionsOf(bool is_synced) {
  return {.durability = is_synced ? Durability::kSynced : Durability::kProcessCrash};
}

std::string TakeBytes(const HexOption& arguments, const std::string& word) {
  if (!arguments.is_hex) return word;
  std::optional<std::string> bytes = FromHex(word);
  if (!bytes) throw CLI::ValidationError("--hex", "\"" + word + "\": expected an even number of hex digits");
  return *std::move(bytes);
}

std::string ShowBytes(const HexOption& arguments, std::string_view bytes) {
  return arguments.is_hex ? ToHex(bytes) : ToText(bytes);
}

void SetBytes(const HexOption& arguments, nlohmann::ordered_json* object, const std::string& name,
              std::string_view bytes) {
  if (arguments.is_hex || !IsUtf8(bytes)) {
    (*object)[name + "_hex"] = ToHex(bytes);
  } else {
    (*object)[name] = std::string(bytes);
  }
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

namespace {

int lost_output = 0;  // errno of the first Print that failed

}  // namespace

void Print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() && lost_output == 0) lost_output = errno;
}

void PrintJson(const nlohmann::ordered_json& json, int indent) {
  // WHY ensure_ascii: it escapes the control characters beyond ASCII, so they do not reach the terminal.
  Print(json.dump(indent, ' ', true, nlohmann::json::error_handler_t::replace) + "\n");
}

void FlushPrinted() {
  if (std::fflush(stdout) != 0 && lost_output == 0) lost_output = errno;
}

int FlushOutput(int exit) {
  FlushPrinted();
  if (lost_output != 0) return Fail(kError, std::string("cannot write to stdout: ") + std::strerror(lost_output));
  return std::ferror(stdout) == 0 ? exit : Fail(kError, "cannot write to stdout");
}

Progress ShowProgress(bool is_quiet) {
  if (is_quiet) return {};
  return [meter = std::make_shared<ProgressMeter>(isatty(STDERR_FILENO) != 0)](uint64_t done, uint64_t all) {
    return meter->Note(done, all);
  };
}

Result<std::unique_ptr<DB>> OpenToRead(const std::string& directory) {
  return DB::Open({.mode = OpenMode::kReadOnly, .memory_bytes = size_t{64} << 20}, directory);
}

Status ReadUntilNotBusy(const std::string& directory, std::unique_ptr<DB>* db,
                        const std::function<Status(DB& db)>& read) {
  constexpr int kAttemptsMax = 5;
  Status status;
  for (int attempt = 0; attempt < kAttemptsMax; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(std::chrono::milliseconds(100 * attempt));
    *db = nullptr;  // lets go of its files: a process holds so many (env/held_files.h)
    auto opened = OpenToRead(directory);
    status = opened.status();
    if (opened) {
      *db = std::move(opened).value();
      status = read(**db);
    }
    if (!status.IsBusy()) break;
  }
  return status;
}

std::unique_ptr<DB> OpenDatabase(const std::string& directory, OpenMode mode) {
  // WHY: DB::Open would convert it, and LevelDB could not open it again. Only `convert` converts.
  if (const auto is_leveldb = IsLevelDb({}, directory); mode != OpenMode::kReadOnly && is_leveldb && *is_leveldb) {
    Fail(kError, directory + ": a LevelDB database; nothing was changed. `mergedb convert " + directory +
                     "` converts it in place, and `mergedb export-leveldb` converts it back");
    return nullptr;
  }
  if (mode == OpenMode::kReadOnly) {
    std::unique_ptr<DB> db;
    if (const Status status = ReadUntilNotBusy(directory, &db, [](DB&) { return Status(); }); !status.ok())
      Fail(status);
    return db;
  }
  auto db = DB::Open({.mode = mode, .memory_bytes = size_t{64} << 20}, directory);
  if (!db) {
    Fail(db.error());
    return nullptr;
  }
  if (const std::string report = Property(**db, "mergedb.recovery"); !report.empty())
    std::fprintf(stderr, "mergedb: recovery: %s\n", ToLine(report).c_str());
  return std::move(db).value();
}

int Finish(DB& db, int exit) {
  const Status status = db.Close();
  if (status.ok()) return exit;
  return Fail(exit == kOk ? status.WithContext("all was done, but the database could not be closed") : status);
}

int ChangeKeyspace(const std::string& directory, OpenMode mode, const KeyspaceOption& arguments,
                   const std::function<Status(DB& db, Keyspace keyspace)>& change) {
  std::string name;
  if (arguments.keyspace) {
    name = TakeBytes(arguments, *arguments.keyspace);
    if (const Status status = db::CheckKeyspace(name, {}); !status.ok()) return Fail(status);
  }
  const auto db = OpenDatabase(directory, mode);
  if (db == nullptr) return kError;
  const auto keyspace = arguments.keyspace && mode == OpenMode::kCreateIfMissing
                            ? db->CreateKeyspace(name, {.may_exist = true})
                            : KeyspaceOf(arguments, *db);
  const Status status = keyspace ? change(*db, *keyspace) : keyspace.status();
  return Finish(*db, status.ok() ? kOk : Fail(status));
}

void NoteOtherKeyspaces(const KeyspaceOption& arguments, DB& db) {
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

std::string Property(DB& db, const std::string& name) {
  std::string text;
  db.GetProperty(name, &text);
  return text;
}

namespace {

// The absolute path behind all symbolic links. The last one may lead to a path that does not exist, which
// weakly_canonical does not follow.
std::filesystem::path FollowLinks(const std::string& path, std::error_code& error) {
  constexpr int kLinksMax = 40;
  std::filesystem::path at = std::filesystem::absolute(path, error);
  for (int links = 0; links < kLinksMax && std::filesystem::is_symlink(at, error); ++links)
    at = at.parent_path() / std::filesystem::read_symlink(at, error);
  return std::filesystem::weakly_canonical(at, error);
}

}  // namespace

Status CheckIsOutside(const std::string& directory, const std::string& target) {
  std::error_code error;
  const std::filesystem::path inner = FollowLinks(target, error);
  if (error) return {};  // the work itself meets the error
  for (std::filesystem::path outer = inner;; outer = outer.parent_path()) {
    if (std::filesystem::equivalent(outer, directory, error)) {
      return Status::InvalidArgument(target + ": is or lies within the database directory " + directory +
                                     "; expected a path outside of it");
    }
    if (outer == outer.parent_path()) return {};
  }
}

Status CheckIsNoDatabaseFile(const std::string& target) {
  std::error_code error;
  const std::filesystem::path inner = FollowLinks(target, error);
  const std::string directory = inner.parent_path().string();
  if (error || !format::ParseFileName(inner.filename().string())) return {};  // the work itself meets the error
  if (!std::filesystem::exists(format::FilePath(directory, format::FileKind::kCurrent), error)) return {};
  return Status::InvalidArgument(target + ": is the name of a file of the database in " + directory +
                                 "; expected another name");
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

bool SkippedKeys::Take(const Iterator& it) {
  if (it.Valid()) return false;
  Take(*it.failed_key(), it.status());
  return true;
}

void SkippedKeys::Take(std::string_view key, const Status& status) {
  ++count_;
  std::fprintf(stderr, "mergedb: skipped %s: %s\n", ShowBytes(format_, key).c_str(), ToLine(status.ToString()).c_str());
}

Status SkippedKeys::WithAdvice(const Status& status, bool is_of_one_key) const {
  if (status.ok() || !is_of_one_key || is_skipping_) return status;
  return Status::Make(status.code(), std::string(status.message()) + "; --skip-errors leaves such keys out");
}

int SkippedKeys::Finish(int exit) const {
  if (count_ == 0) return exit;
  std::fprintf(stderr, "mergedb: %s skipped\n", (PrintCount(count_, "key") + (count_ == 1 ? " was" : " were")).c_str());
  return exit == kOk ? kSkipped : exit;
}

}  // namespace mergedb::tool
