// The frame of the mergedb command: git-style verbs over one database directory.
//
// A verb is one file of verbs/, with its options, its help and a function that runs after parsing and returns an exit
// code; the list of these files in CMakeLists.txt is the table of verbs, in the order of --help:
//
//   namespace mergedb::tool::count_verb {          // count.cc
//   struct Arguments : Line { bool is_json = false; };
//   int Run(Arguments& arguments) { ... }
//   void Add(Command& command) {
//     const auto [verb, arguments] = AddVerb(command, {.usage = "count DIR [--json]", ...}, Run);
//     verb->add_flag("--json", arguments.is_json, "Print JSON");
//   }
//
// Data goes to stdout, messages to stderr. The directory is the value of --db, or else the first word after the verb.
// command_line.cc parses the command line. pages.cc writes the man pages of the verbs and the completions of shells.
//
// Tests, from outside of the program: tests/db/command_test.cc, tests/db/serve_metrics_test.cc,
// tests/db/doctor_test.py.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mergedb/db.h"
#include "mergedb/repair.h"

namespace mergedb::tool {

enum Exit : int {
  kOk = 0,
  kNo = 1,       // the key does not exist, or the check found damage
  kUsage = 2,    // the command line is invalid
  kError = 3,    // any other failure; an unknown keyspace, too
  kSkipped = 4,  // success, but --skip-errors left keys out
};

// What the command line gives to every verb. The arguments of a verb derive from it.
struct Line {
  std::string directory = {};           // --db, or the first word
  std::string path = {};                // FILE
  std::vector<std::string> words = {};  // the words behind the directory or FILE
  bool is_alias = false;                // the program was called mdb_dump, mdb_load, mdb_stat, mdb_copy or mdb_drop
};

// The whole command line: the options of the command itself, and all verbs.
struct Command {
  Command();  // verbs.cc

  CLI::App app;
  Line line;
  std::vector<std::string> tail;  // words after "--", which may begin with a dash (command_line.h)
  std::function<int()> run;       // the chosen verb, after ParseCommandLine
};

// What the first words after a verb are.
enum class Takes {
  kDirectory,
  kFile,     // FILE, in the directory of --db if it is given
  kWords,    // no directory, only the words of the verb
  kCommand,  // no directory; the words after "--" are a command
};

// A verb. `words_min` to `words_max` words follow the directory or FILE.
struct Verb {
  std::string usage;  // "get DIR KEY [--hex]": begins with the name of the verb
  const char* description;
  std::string footer = {};
  std::pair<const char*, const char*> examples = {};  // end the help
  size_t words_min = 0;
  size_t words_max = 0;
  Takes takes = Takes::kDirectory;

  std::string name() const { return usage.substr(0, usage.find(' ')); }
};

// `reset` is called before the options of the verb are parsed. `run` becomes Command::run after it.
CLI::App* AddVerb(Command& command, const Verb& verb, std::function<void()> reset, std::function<int()> run);
// A verb with arguments of its own. They live as long as the command, and each parse begins with their defaults.
template <typename Arguments>
std::pair<CLI::App*, Arguments&> AddVerb(Command& command, const Verb& verb, int (*run)(Arguments& arguments)) {
  const auto arguments = std::make_shared<Arguments>();
  CLI::App* const added = AddVerb(
      command, verb, [arguments] { *arguments = Arguments(); },
      [&command, arguments, run] {
        static_cast<Line&>(*arguments) = command.line;
        return run(*arguments);
      });
  return {added, *arguments};
}

// ---- Options of several verbs; the arguments of a verb derive from the structs

struct HexOption {
  bool is_hex = false;  // keys, values and names are in hex
};
struct KeyspaceOption : HexOption {
  std::optional<std::string> keyspace;  // not given: the default keyspace
};
struct RangeOption {
  std::optional<std::string> from, to;
};

CLI::Option* AddHexAndJson(CLI::App* verb, HexOption& arguments, bool& is_json);  // returns --json
void AddKeyspace(CLI::App* verb, KeyspaceOption& arguments);
void AddRange(CLI::App* verb, RangeOption& arguments);
// The bounds as bytes. Throws CLI::ValidationError if one is not hex after --hex, or if --from lies after --to.
RangeOption TakeRange(const HexOption& arguments, const RangeOption& words);
void AddSkipErrors(CLI::App* verb, bool& is_skipping);
void AddSync(CLI::App* verb, bool& is_synced);
// Checks that the value of an option is a decimal integer from `min` to `max`. WHY not CLI11 alone: it reads -1 and
// every number above UINT64_MAX as UINT64_MAX, and 010 as 8.
CLI::Validator IntegerFrom(uint64_t min, uint64_t max = UINT64_MAX);
// The same for a number that may have a point and decimals. WHY not CLI11: it reads nan, 0x1 and 1e3, too.
CLI::Validator DecimalFrom(double min, double max);
// Checks that the value of an option is not empty: an unset variable of a script must not select something else.
CLI::Validator NotEmpty();

// The keyspace that --keyspace names.
Result<Keyspace> KeyspaceOf(const KeyspaceOption& arguments, DB& db);
WriteOptions WriteOptionsOf(bool is_synced);
// A key or value as the command line gives it: hex after --hex. Throws CLI::ValidationError.
std::string TakeBytes(const HexOption& arguments, const std::string& word);
// A key or value for stdout: hex after --hex, else escaped.
std::string ShowBytes(const HexOption& arguments, std::string_view bytes);
// {"key": "..."}; {"key_hex": "..."} after --hex or if the bytes are not UTF-8.
void SetBytes(const HexOption& arguments, nlohmann::ordered_json* object, const std::string& name,
              std::string_view bytes);

// ---- Output

// "mergedb: message" on stderr; returns `exit`.
int Fail(Exit exit, std::string_view message);
int Fail(const Status& status);
void Print(std::string_view text);
void PrintJson(const nlohmann::ordered_json& json, int indent = -1);
// Flushes stdout, so that what is printed on stderr follows it.
void FlushPrinted();
// Flushes stdout. If anything could not be written, reports it, and the result is kError, else `exit`. main calls it at
// the end of each verb, so a verb needs no call of its own.
int FlushOutput(int exit);
// A progress callback that prints on stderr, and that ends the work after Ctrl-C (progress.h); null if `is_quiet`. The
// line is cleared when the last copy of the callback is destroyed.
Progress ShowProgress(bool is_quiet);

// ---- Databases

Result<std::unique_ptr<DB>> OpenToRead(const std::string& directory);  // once
// Opens read-only and calls `read`, all of it again if one of them returns Busy: a process that writes to the database
// may be faster than the open, or replace a file that the open could not hold. After a few attempts Busy stays. `db` is
// null if the open failed.
Status ReadUntilNotBusy(const std::string& directory, std::unique_ptr<DB>* db,
                        const std::function<Status(DB& db)>& read);
// On failure, prints the reason on stderr and returns null. A read-only open is repeated as ReadUntilNotBusy says.
std::unique_ptr<DB> OpenDatabase(const std::string& directory, OpenMode mode);
// Closes the database. Reports a failure; then the result is an error code, else `exit`.
int Finish(DB& db, int exit);
// Opens for writes, calls `change` with the keyspace that --keyspace names, which is created as the database is if the
// mode is kCreateIfMissing, and closes. Returns the exit code. REQUIRES: the caller has checked its words, since an
// error of `change` leaves the database and the keyspace that were created for it.
int ChangeKeyspace(const std::string& directory, OpenMode mode, const KeyspaceOption& arguments,
                   const std::function<Status(DB& db, Keyspace keyspace)>& change);
// After a read of the default keyspace that found nothing: if it has no entries, names the other keyspaces on stderr.
void NoteOtherKeyspaces(const KeyspaceOption& arguments, DB& db);
std::string Property(DB& db, const std::string& name);  // "": there is none of this name
// InvalidArgument if `target`, which may not exist yet, is the directory or lies within it, also behind symbolic links.
Status CheckIsOutside(const std::string& directory, const std::string& target);
// InvalidArgument if `target` has the name of a file of a database, in a directory with one.
Status CheckIsNoDatabaseFile(const std::string& target);
// Files and bytes in a directory. A file that disappears during the count is left out.
struct Disk {
  uint64_t files = 0;
  uint64_t bytes = 0;
};
Disk MeasureDirectory(const std::string& directory);

// --skip-errors: leaves out keys whose value cannot be read, prints them on stderr, and counts them.
//
//     for (it->SeekToFirst(); skipped.GoesOn(*it); it->Next()) {
//       if (skipped.Take(*it)) continue;
class SkippedKeys {
 public:
  explicit SkippedKeys(bool is_skipping, HexOption format = {}) : is_skipping_(is_skipping), format_(format) {}
  // True at an entry, and at a key that is to be left out.
  bool GoesOn(const Iterator& it) const { return it.Valid() || (is_skipping_ && it.failed_key()); }
  // False: the iterator is at an entry. True: the key of this position was left out.
  bool Take(const Iterator& it);
  void Take(std::string_view key, const Status& status);
  // The error that ended `it`, with advice to use --skip-errors where it helps.
  Status ErrorOf(const Iterator& it) const { return WithAdvice(it.status(), it.failed_key().has_value()); }
  Status WithAdvice(const Status& status, bool is_of_one_key) const;
  // Prints the number of skipped keys. If there are any, kSkipped replaces kOk; otherwise the result is `exit`.
  int Finish(int exit) const;

 private:
  const bool is_skipping_;
  const HexOption format_;
  uint64_t count_ = 0;
};

}  // namespace mergedb::tool
