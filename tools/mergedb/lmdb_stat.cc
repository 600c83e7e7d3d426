// stat with mdb_stat's output. Sorted runs have no counterpart to LMDB's page counts, so these lines show 0.
// The map size is the size of the directory in pages of 4096 bytes.
#include "command.h"
#include "text.h"

namespace mergedb::tool {

namespace {

constexpr uint64_t kPageBytes = 4096;

void Line(const char* name, uint64_t value) { Print("  " + std::string(name) + ": " + std::to_string(value) + "\n"); }

void PrintEnvironment(DB& db, uint64_t pages) {
  Print("Environment Info\n  Map address: (nil)\n");
  Line("Map size", pages * kPageBytes);
  Line("Page size", kPageBytes);
  Line("Max pages", pages);
  Line("Number of pages used", pages);
  Line("Last transaction ID", db.GetSnapshot()->sequence());
  Line("Max readers", 126);
  Line("Number of readers used", 0);
}

void PrintTree(const std::string& title, uint64_t entries) {
  Print("Status of " + title + "\n");
  Line("Tree depth", entries == 0 ? 0 : 1);
  Line("Branch pages", 0);
  Line("Leaf pages", 0);
  Line("Overflow pages", 0);
  Line("Entries", entries);
}

}  // namespace

int RunLmdbStat(Arguments& arguments) {
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  if (arguments.is_environment)
    PrintEnvironment(*db, (MeasureDirectory(arguments.directory).bytes + kPageBytes - 1) / kPageBytes);
  if (arguments.readers_level > 0) Print("Reader Table Status\n(no active readers)\n");
  if (arguments.free_level > 0) {
    Print("Freelist Status\n");
    for (const char* name : {"Tree depth", "Branch pages", "Leaf pages", "Overflow pages", "Entries", "Free pages"})
      Line(name, 0);
  }
  const auto databases = DatabasesOf(arguments, *db);
  if (!databases) return Finish(*db, Fail(databases.error().IsNotFound() ? kNo : kError, databases.error().ToString()));
  for (const KeyspaceEntry& each : *databases) {
    const auto entries = CountEntries(*db, each.keyspace);
    if (!entries) return Finish(*db, Fail(entries.error()));
    PrintTree(each.name.empty() ? "Main DB" : ToText(each.name), *entries);
  }
  return Finish(*db, kOk);
}

}  // namespace mergedb::tool
