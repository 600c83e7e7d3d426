// stat with mdb_stat's output. Sorted runs have no counterpart to LMDB's page counts, so these lines show 0.
// The map size is the size of the directory in pages of 4096 bytes.
#include "command.h"
#include "text.h"

namespace mergedb::tool {

namespace {

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

}  // namespace

int RunLmdbStat(Arguments& arguments) {
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
  const auto databases = DatabasesOf(arguments, *db, arguments.is_all);
  if (!databases) return Finish(*db, Fail(databases.error().IsNotFound() ? kNo : kError, databases.error().ToString()));
  for (const KeyspaceEntry& each : *databases) {
    const auto entries = CountEntries(*db, each.keyspace);
    if (!entries) return Finish(*db, Fail(entries.error()));
    PrintTree(each.name.empty() ? "Main DB" : ToText(each.name), *entries);
  }
  return Finish(*db, kOk);
}

}  // namespace mergedb::tool
