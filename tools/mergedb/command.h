// The frame of the mergedb command: git-style verbs over one database directory.
//
// A verb is a CLI::App with options, and a function that runs after parsing and returns an exit code. Data goes to
// stdout, messages to stderr. The directory is the value of --db, or else the first word after the verb.
//
// main.cc lists the verbs; data_commands.cc has get, put, delete, scan; load_command.cc has load; copy_commands.cc has dump, copy;
// merge_command.cc has merge; inspect_commands.cc has stat, check; lmdb_stat.cc what stat shows in the manner of mdb_stat;
// care_commands.cc has compact, destroy; damage_commands.cc has verify, repair; leveldb_commands.cc has convert, export-leveldb; keyspace_commands.cc
// has keyspaces. Tested from outside by tests/db/command_test.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
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
  kNo = 1,       // the key is not there, or the check found damage
  kUsage = 2,    // the command line makes no sense
  kError = 3,    // anything else went wrong
  kSkipped = 4,  // --skip-errors left keys out; all else went well
};

// What the command line said. One verb runs a call, so they share it.
struct Arguments {
  std::string directory;           // --db
  std::vector<std::string> words;  // after the verb, without the directory once TakeWords returned
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
  std::optional<std::string> from, to, prefix, property;
  std::string keyspace;            // "": the default one
  std::string create, drop;        // of keyspaces
  std::vector<std::string> range;  // a begin and an end, or nothing
  uint64_t limit = UINT64_MAX;
  std::string type, operator_name, delimiter, as;  // of merge; and of what prints values
  uint64_t cap_bytes = 0;
  uint64_t timestamp = 0;
  bool keeps_oldest = false;
  // Of dump, load, stat and copy, as in mdb_dump, mdb_load, mdb_stat and mdb_copy.
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
};

struct Context {
  Arguments arguments;
  std::function<int()> run;  // of the verb that was chosen
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
};
CLI::App* AddVerb(CLI::App& app, Context& context, const Verb& verb);
void AddHexAndJson(CLI::App* verb, Arguments& arguments);
void AddRange(CLI::App* verb, Arguments& arguments);
void AddAs(CLI::App* verb, Arguments& arguments);
void AddKeyspace(CLI::App* verb, Arguments& arguments);
// What --keyspace asks for; NotFound if it is not there, unless it may be made.
Result<Keyspace> KeyspaceOf(const Arguments& arguments, DB& db, bool may_create = false);

void AddDataCommands(CLI::App& app, Context& context);
void AddLoadCommand(CLI::App& app, Context& context);
void AddCopyCommands(CLI::App& app, Context& context);
void AddMergeCommand(CLI::App& app, Context& context);
void AddInspectCommands(CLI::App& app, Context& context);
void AddRepairCommands(CLI::App& app, Context& context);
void AddDamageCommands(CLI::App& app, Context& context);
void AddLevelDbCommands(CLI::App& app, Context& context);
void AddKeyspaceCommands(CLI::App& app, Context& context);

// "mergedb: message" on stderr; returns `exit`.
int Fail(Exit exit, std::string_view message);
int Fail(const Status& status);

// Say why on stderr and return null.
std::unique_ptr<DB> OpenDatabase(const std::string& directory, OpenMode mode);
// Close, and report what that or stdout had to say.
int Finish(DB& db, int exit);

// -n, which mdb_dump and its like need and mergedb does not; and -V, which prints the version and ends.
void AddLmdbFlags(CLI::App* verb);
// stat in the manner of mdb_stat.
int RunLmdbStat(Arguments& arguments);
// Which databases -s, -a or neither of them mean: the main one has an empty name. With -a the main one comes first.
Result<std::vector<KeyspaceEntry>> DatabasesOf(const Arguments& arguments, DB& db);
// An item of the main database that LMDB's face keeps for a named one (src/lmdb/dbi.cc), and not data.
bool IsNameItem(const std::vector<KeyspaceEntry>& databases, std::string_view key, std::string_view value);
Result<uint64_t> CountEntries(DB& db, Keyspace keyspace);
// What lies in a directory, without what goes away meanwhile.
struct Disk {
  uint64_t files = 0;
  uint64_t bytes = 0;
};
Disk MeasureDirectory(const std::string& directory);
// Percent on stderr while a person watches; null otherwise. The line is cleared when the last copy of the result dies.
Progress ShowProgress(const Arguments& arguments);

// --skip-errors: keys whose value cannot be read are left out, named on stderr, and counted.
//
//     for (it->SeekToFirst(); skipped.GoesOn(*it); it->Next()) {
//       if (skipped.Take(*it)) continue;
class SkippedKeys {
 public:
  explicit SkippedKeys(const Arguments& arguments) : arguments_(arguments) {}
  // Is there an entry, or a key to be left out?
  bool GoesOn(const Iterator& it) const { return it.Valid() || (arguments_.is_skipping && it.failed_key()); }
  // False: the iterator stands at an entry.
  bool Take(const Iterator& it);
  void Take(std::string_view key, const Status& status);
  // What to say of an error that ended `it`.
  Status ErrorOf(const Iterator& it) const { return WithAdvice(it.status(), it.failed_key().has_value()); }
  Status WithAdvice(const Status& status, bool is_of_one_key) const;
  // Says how many there were. `exit`, or kSkipped in place of kOk if there were any.
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
// A value as --as asks; none if it does not.
std::optional<std::string> ShowAs(const Arguments& arguments, std::string_view value);
// {"key": "..."}; {"key_hex": "..."} after --hex or if the bytes are not UTF-8.
void SetBytes(const Arguments& arguments, nlohmann::ordered_json* object, const std::string& name,
              std::string_view bytes);
void PrintJson(const nlohmann::ordered_json& json, int indent = -1);
void Print(std::string_view text);

}  // namespace mergedb::tool
