// The frame of the mergedb command: git-style verbs over one database directory.
//
// A verb is a CLI::App with options and a function that runs after parsing and returns an exit code. Data goes
// to stdout, messages to stderr. The directory is the value of --db, or else the first word after the verb.
//
// verbs.cc lists the verbs. command_line.cc parses the command line. pages.cc writes their man pages and the
// completions of shells. The verbs are in these files:
//
//   data_commands.cc      get, put, delete, scan        load_command.cc       load
//   copy_commands.cc      dump, copy, drop              merge_command.cc      merge
//   inspect_commands.cc   stat, check                   lmdb_stat.cc          stat with mdb_stat's output
//   maintenance_commands.cc      compact, destroy              repair_commands.cc    verify, repair
//   leveldb_commands.cc   convert, export-leveldb       keyspace_commands.cc  keyspaces
//   table_command.cc      sst                           blob_command.cc       blob
//   wal_command.cc        wal                           manifest_command.cc   manifest
//   metrics_commands.cc   metrics, serve-metrics        http_server.cc        the server of serve-metrics
//   top_command.cc        top                           why_command.cc        why
//   page_command.cc       inspect                       inspect_page.cc       the page of inspect
//   estimate_command.cc   estimate                      examples.cc           two examples for each verb
//   trace_command.cc      trace                         trace_analysis.cc, trace_scrub.cc     what it does
//   doctor_command.cc     doctor                        engine_file.cc, loaded_files.cc       what doctor looks at
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
#include <vector>

#include "mergedb/db.h"
#include "mergedb/repair.h"

namespace mergedb::tool {

enum Exit : int {
  kOk = 0,
  kNo = 1,       // the key does not exist, or the check found damage
  kUsage = 2,    // the command line is invalid
  kError = 3,    // any other failure
  kSkipped = 4,  // success, but --skip-errors left keys out
};

// The parsed command line. All verbs share it, because one call runs one verb.
struct Arguments {
  std::string directory;           // --db
  std::vector<std::string> words;  // words after the verb (command_line.h); TakeWords removes the directory
  std::vector<std::string> tail;   // words after "--", which may begin with a dash
  bool is_hex = false;
  bool is_json = false;
  bool is_raw = false;
  bool is_synced = false;
  bool is_sure = false;
  bool is_reverse = false;
  bool is_keys_only = false;
  bool is_count = false;
  bool is_dry = false;
  bool is_quiet = false;
  bool is_salvage = false;
  bool is_skipping = false;
  bool is_default_alone = false;
  bool is_prometheus = false;
  bool is_once = false;
  double interval_seconds = 1;
  uint64_t entries = 200'000;        // of the sample of estimate
  std::string html, style = "lazy";  // options of inspect
  uint64_t top = 10;                 // hot keys that trace analyse shows
  std::string listen;                // address and port of serve-metrics
  int timeout_seconds = 5;
  int process = 0;  // --pid of doctor
  std::optional<std::string> from, to, prefix, property;
  std::optional<std::string> keyspace;      // not given: the default keyspace
  std::optional<std::string> create, drop;  // names of keyspaces
  std::vector<std::string> range;           // begin and end, or empty
  uint64_t limit = UINT64_MAX;
  std::string type, operator_name, delimiter, as;  // options of merge; `as` is for all verbs that print values
  uint64_t cap_bytes = 0;
  uint64_t timestamp = 0;
  bool keeps_oldest = false;
  // Options of dump, load, stat and copy, as in mdb_dump, mdb_load, mdb_stat and mdb_copy.
  bool is_alias = false;  // the program was called by one of these names
  std::optional<std::string> file, database;
  std::string flavour = "lmdb";
  bool is_all = false;
  bool is_listing = false;
  bool is_printable = false;
  bool is_plain_text = false;
  bool is_adding_only = false;
  bool is_compacting = false;
  bool is_deleting = false;
  bool is_environment = false;
  bool no_links = false;
  bool no_check = false;
  int readers_level = 0;
  int free_level = 0;
  // Options of the verbs that read one file.
  std::string path;
  bool is_check_only = false;
  bool is_scan = false;
  bool is_blocks = false;
};

struct Context {
  Arguments arguments;
  std::function<int()> run;  // runs the chosen verb
};

// A verb whose help begins with "mergedb <usage>". `words_min` to `words_max` words follow the directory.
struct Verb {
  const char* name;
  const char* usage;
  const char* description;
  const char* footer;
  size_t words_min;
  size_t words_max;
  int (*run)(Arguments& arguments);
  bool is_of_file = false;     // the first word is a file, in the directory of --db if it is given
  bool is_of_command = false;  // no directory; the words after "--" are a command
  bool is_of_words = false;    // no directory; the words are those of the verb
};
CLI::App* AddVerb(CLI::App& app, Context& context, const Verb& verb);
void AddHexAndJson(CLI::App* verb, Arguments& arguments);
void AddRange(CLI::App* verb, Arguments& arguments);
void AddAs(CLI::App* verb, Arguments& arguments);
void AddKeyspace(CLI::App* verb, Arguments& arguments);
// Checks that the value of an option is a decimal integer from `min` to `max`. WHY not CLI11 alone: it reads -1 and
// every number above UINT64_MAX as UINT64_MAX, and 010 as 8.
CLI::Validator IntegerFrom(uint64_t min, uint64_t max = UINT64_MAX);
// Checks that the value of an option is not empty: an unset variable of a script must not select something else.
CLI::Validator NotEmpty();
// The keyspace that --keyspace names. If it does not exist, it is created if `may_create`, else the result is
// NotFound.
Result<Keyspace> KeyspaceOf(const Arguments& arguments, DB& db, bool may_create = false);

// All of the functions below, and the options of the command itself.
void AddVerbs(CLI::App& app, Context& context);
void AddDataCommands(CLI::App& app, Context& context);
void AddLoadCommand(CLI::App& app, Context& context);
void AddCopyCommands(CLI::App& app, Context& context);
void AddMergeCommand(CLI::App& app, Context& context);
void AddInspectCommands(CLI::App& app, Context& context);
void AddMaintenanceCommands(CLI::App& app, Context& context);
void AddRepairCommands(CLI::App& app, Context& context);
void AddLevelDbCommands(CLI::App& app, Context& context);
void AddKeyspaceCommands(CLI::App& app, Context& context);
void AddTableCommand(CLI::App& app, Context& context);
void AddBlobCommand(CLI::App& app, Context& context);
void AddWalCommand(CLI::App& app, Context& context);
void AddManifestCommand(CLI::App& app, Context& context);
void AddMetricsCommands(CLI::App& app, Context& context);
void AddInspectPageCommand(CLI::App& app, Context& context);
void AddEstimateCommand(CLI::App& app, Context& context);
void AddTopCommand(CLI::App& app, Context& context);
void AddWhyCommand(CLI::App& app, Context& context);
// Ends the help of each verb with two examples. REQUIRES: all verbs are added.
void AddExamples(CLI::App& app);
void AddTraceCommand(CLI::App& app, Context& context);
void AddDoctorCommand(CLI::App& app, Context& context);

// "mergedb: message" on stderr; returns `exit`.
int Fail(Exit exit, std::string_view message);
int Fail(const Status& status);

// Calls `read`, which opens a database read-only and reads it, again if it returns Busy: a process that writes to the
// database may be faster than the open, or replace a file that the open could not hold. After a few calls Busy stays.
Status UntilNotBusy(const std::function<Status()>& read);
// Opens read-only. For the function that UntilNotBusy calls.
Result<std::unique_ptr<DB>> OpenToReadOnce(const std::string& directory);
// Opens read-only, by UntilNotBusy.
Result<std::unique_ptr<DB>> OpenToRead(const std::string& directory);
// On failure, prints the reason on stderr and returns null. A read-only open is by OpenToRead.
std::unique_ptr<DB> OpenDatabase(const std::string& directory, OpenMode mode);
// Closes the database and flushes stdout. Reports the failures of both; then the result is an error code, else
// `exit`.
int Finish(DB& db, int exit);

// The size of a page in outputs that have the form of LMDB's programs.
constexpr uint64_t kLmdbPageBytes = 4096;
// Adds -n, which mdb_dump and similar programs have and mergedb ignores, and -V, which prints the version and
// ends.
void AddLmdbFlags(CLI::App* verb);
// stat with mdb_stat's output.
int RunLmdbStat(Arguments& arguments);
// The database that -s names, else the main database, which has an empty name, and, if `is_all`, all others.
Result<std::vector<KeyspaceEntry>> DatabasesOf(const Arguments& arguments, DB& db, bool is_all);
// Drops the keyspace, and the item that the LMDB interface keeps for it (format/lmdb.h), at once.
Status DropDatabase(DB& db, const KeyspaceEntry& database);
// InvalidArgument if `target`, which may not exist yet, is the directory or lies within it.
Status CheckIsOutside(const std::string& directory, const std::string& target);
// After a read of the default keyspace that found nothing: if it has no entries, names the other keyspaces on stderr.
void NoteOtherKeyspaces(const Arguments& arguments, DB& db);
// As fopen(path, "wb"), but a new file has mode 0600, since it holds data of a database. Null: see errno.
std::FILE* CreatePrivateFile(const std::string& path);
Result<uint64_t> CountEntries(DB& db, Keyspace keyspace);
// Files and bytes in a directory. A file that disappears during the count is left out.
struct Disk {
  uint64_t files = 0;
  uint64_t bytes = 0;
};
Disk MeasureDirectory(const std::string& directory);
// A progress callback that prints on stderr, and that ends the work after Ctrl-C (progress.h); null with --quiet. The
// line is cleared when the last copy of the callback is destroyed.
Progress ShowProgress(const Arguments& arguments);

// --skip-errors: leaves out keys whose value cannot be read, prints them on stderr, and counts them.
//
//     for (it->SeekToFirst(); skipped.GoesOn(*it); it->Next()) {
//       if (skipped.Take(*it)) continue;
class SkippedKeys {
 public:
  explicit SkippedKeys(const Arguments& arguments) : arguments_(arguments) {}
  // True at an entry, and at a key that is to be left out.
  bool GoesOn(const Iterator& it) const { return it.Valid() || (arguments_.is_skipping && it.failed_key()); }
  // False: the iterator is at an entry. True: the key of this position was left out.
  bool Take(const Iterator& it);
  void Take(std::string_view key, const Status& status);
  // The error that ended `it`, with advice to use --skip-errors where it helps.
  Status ErrorOf(const Iterator& it) const { return WithAdvice(it.status(), it.failed_key().has_value()); }
  Status WithAdvice(const Status& status, bool is_of_one_key) const;
  // Prints the number of skipped keys. If there are any, kSkipped replaces kOk; otherwise the result is `exit`.
  int Finish(int exit) const;

 private:
  const Arguments& arguments_;
  uint64_t count_ = 0;
};
void AddSkipErrors(CLI::App* verb, Arguments& arguments);

// A key or value as the command line gives it: hex after --hex. Throws CLI::ValidationError.
std::string TakeBytes(const Arguments& arguments, const std::string& word);
// A key or value for stdout: hex after --hex, else escaped.
std::string ShowBytes(const Arguments& arguments, std::string_view bytes);
// The value in the format of --as; nullopt without --as. JSON: indented by `indent`, on one line if it is below 0.
std::optional<std::string> ShowAs(const Arguments& arguments, std::string_view value, int indent);
// {"key": "..."}; {"key_hex": "..."} after --hex or if the bytes are not UTF-8.
void SetBytes(const Arguments& arguments, nlohmann::ordered_json* object, const std::string& name,
              std::string_view bytes);
void PrintJson(const nlohmann::ordered_json& json, int indent = -1);
void Print(std::string_view text);

}  // namespace mergedb::tool
