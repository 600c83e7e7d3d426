// The verb stat. With the options of mdb_stat, it has the output of mdb_stat.
#include <sstream>

#include "command.h"
#include "lmdb_programs.h"
#include "text.h"

namespace mergedb::tool::stat_verb {
namespace {

struct Arguments : Line {
  bool is_json = false;
  std::optional<std::string> property;
  // Options of mdb_stat.
  bool is_environment = false;
  int free_level = 0;
  int readers_level = 0;
  bool is_all = false;
  std::optional<std::string> keyspace;
};

// ---- mdb_stat's output. Sorted runs have no counterpart to LMDB's page counts, so these lines show 0. The map size is
// the size of the directory in pages of 4096 bytes.

Result<uint64_t> CountEntries(DB& db, Keyspace keyspace) {
  const auto it = db.NewIterator({.keys_only = true, .read = {.fill_cache = false}, .keyspace = keyspace});
  uint64_t count = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) ++count;
  RETURN_IF_ERROR(it->status());
  return count;
}

void StatLine(const char* name, uint64_t value) {
  Print("  " + std::string(name) + ": " + std::to_string(value) + "\n");
}

void PrintEnvironment(DB& db, uint64_t pages) {
  Print("Environment Info\n  Map address: (nil)\n");
  StatLine("Map size", pages * kLmdbPageBytes);
  StatLine("Page size", kLmdbPageBytes);
  StatLine("Max pages", pages);
  StatLine("Number of pages used", pages);
  StatLine("Last transaction ID", db.GetSnapshot()->sequence());
  StatLine("Max readers", 126);
  StatLine("Number of readers used", 0);
}

void PrintTree(const std::string& title, uint64_t entries) {
  Print("Status of " + title + "\n");
  StatLine("Tree depth", entries == 0 ? 0 : 1);
  StatLine("Branch pages", 0);
  StatLine("Leaf pages", 0);
  StatLine("Overflow pages", 0);
  StatLine("Entries", entries);
}

int RunLmdbStat(const Arguments& arguments) {
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  if (arguments.is_environment)
    PrintEnvironment(*db, (MeasureDirectory(arguments.directory).bytes + kLmdbPageBytes - 1) / kLmdbPageBytes);
  if (arguments.readers_level > 0) Print("Reader Table Status\n(no active readers)\n");
  if (arguments.free_level > 0) {
    Print("Freelist Status\n");
    for (const char* name : {"Tree depth", "Branch pages", "Leaf pages", "Overflow pages", "Entries", "Free pages"})
      StatLine(name, 0);
  }
  const auto databases = DatabasesOf(*db, arguments.keyspace, arguments.is_all);
  if (!databases) return Finish(*db, Fail(databases.error()));
  for (const KeyspaceEntry& each : *databases) {
    const auto entries = CountEntries(*db, each.keyspace);
    if (!entries) return Finish(*db, Fail(entries.error()));
    PrintTree(each.name.empty() ? "Main DB" : ToText(each.name), *entries);
  }
  return Finish(*db, kOk);
}

// ---- our own output

nlohmann::ordered_json CountersOf(DB& db) {
  nlohmann::ordered_json counters = nlohmann::ordered_json::object();
  for (const std::string& line : Lines(Property(db, "mergedb.counters"))) {
    std::istringstream in(line);
    std::string name;
    if (uint64_t value = 0; in >> name >> value) counters[name] = value;
  }
  return counters;
}

void PrintSection(const char* title, const std::string& text) {
  if (text.empty()) return;
  Print(std::string(title) + "\n");
  for (const std::string& line : Lines(text)) Print("  " + ToLine(line) + "\n");
}

bool IsLmdbStat(const Arguments& arguments) {
  return arguments.is_alias || arguments.is_environment || arguments.readers_level > 0 || arguments.free_level > 0 ||
         arguments.is_all || arguments.keyspace.has_value();
}

int Run(Arguments& arguments) {
  if (IsLmdbStat(arguments)) return RunLmdbStat(arguments);
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  if (arguments.property) {
    std::string text;
    if (!db->GetProperty(*arguments.property, &text)) {
      return Finish(*db, Fail(kNo, "there is no property \"" + *arguments.property +
                                       "\"; mergedb stat DIR --property mergedb.counters prints all counters"));
    }
    for (const std::string& line : Lines(text)) Print(ToLine(line) + "\n");
    return Finish(*db, kOk);
  }
  const Disk disk = MeasureDirectory(arguments.directory);
  if (arguments.is_json) {
    PrintJson({{"directory", arguments.directory},
               {"files", disk.files},
               {"bytes", disk.bytes},
               {"runs", Lines(Property(*db, "mergedb.runs"))},
               {"counters", CountersOf(*db)},
               {"recovery", Property(*db, "mergedb.recovery")},
               {"errors", Property(*db, "mergedb.errors")}},
              2);
    return Finish(*db, kOk);
  }
  Print("directory  " + ToText(arguments.directory) + "\n");
  Print("on disk    " + PrintBytes(disk.bytes) + " in " + std::to_string(disk.files) + " files\n");
  for (const char* section : {"runs", "stats", "recovery", "errors"})
    PrintSection(section, Property(*db, std::string("mergedb.") + section));
  return Finish(*db, kOk);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "stat DIR [--json | --property NAME] | stat DIR [-e] [-f] [-r] [-a | --keyspace NAME]",
               .description = "Print sizes, sorted runs and counters",
               .footer = "With -e, -f, -r, -a or --keyspace, the output is that of mdb_stat.",
               .examples = {"mergedb stat /srv/data", "mergedb stat /srv/data --property mergedb.runs"}},
              Run);
  CLI::Option* const json = verb->add_flag("--json", arguments.is_json, "Print JSON");
  CLI::Option* const property =
      verb->add_option("--property", arguments.property, "Print one property, such as mergedb.counters")
          ->excludes(json);
  verb->add_flag("-e", arguments.is_environment, "mdb_stat's lines about the environment");
  verb->add_flag("-f", arguments.free_level, "mdb_stat's lines about free pages");
  verb->add_flag("-r", arguments.readers_level, "mdb_stat's lines about readers");
  CLI::Option* const all = verb->add_flag("-a", arguments.is_all, "mdb_stat's lines about all databases");
  AddDatabase(verb, arguments.keyspace, "mdb_stat's lines about this keyspace (LMDB: named database)")->excludes(all);
  for (const char* option : {"-e", "-f", "-r", "-a", "-s"})
    verb->get_option(option)->excludes(json)->excludes(property);
  AddLmdbFlags(verb);
}

}  // namespace mergedb::tool::stat_verb
