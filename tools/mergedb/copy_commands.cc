// The verbs dump (database to text), copy (to another directory) and drop (empties a database).
#include <chrono>
#include <cstdio>
#include <thread>

#include "command.h"
#include "dump_text.h"
#include "mergedb/checkpoint.h"
#include "text.h"

namespace mergedb::tool {

namespace {

constexpr uint64_t kMapBytesMin = uint64_t{1} << 20;
constexpr int kCopyAttempts = 20;
constexpr auto kCopyPause = std::chrono::milliseconds(50);

// The map size that is large enough for the dump: LMDB's pages are at least half full, and an entry takes at
// most one page more than its bytes.
uint64_t MapBytesFor(uint64_t entry_bytes, uint64_t entries) {
  const uint64_t needed = kMapBytesMin + 3 * entry_bytes + 64 * entries;
  return (needed + kLmdbPageBytes - 1) / kLmdbPageBytes * kLmdbPageBytes;
}

// A scan before the dump. The header has the map size of all databases, and it comes before the first entry.
Result<uint64_t> MeasureMap(DB& db, const Snapshot& snapshot, const std::vector<KeyspaceEntry>& databases,
                            const SkippedKeys& skipped) {
  uint64_t bytes = 0, entries = 0;
  for (const KeyspaceEntry& each : databases) {
    const auto it = db.NewIterator({.read = {.snapshot = &snapshot, .fill_cache = false}, .keyspace = each.keyspace});
    for (it->SeekToFirst(); skipped.GoesOn(*it); it->Next()) {
      if (!it->Valid()) continue;
      // A value that does not share a page with other values takes whole pages.
      const uint64_t value_bytes = it->value().size();
      bytes += it->key().size() + (value_bytes > kLmdbPageBytes / 4 ? value_bytes + kLmdbPageBytes : value_bytes);
      ++entries;
    }
    RETURN_IF_ERROR(skipped.ErrorOf(*it));
  }
  return MapBytesFor(bytes, entries);
}

Status DumpOne(DB& db, const Snapshot& snapshot, const std::vector<KeyspaceEntry>& databases,
               const KeyspaceEntry& database, DumpHeader header, SkippedKeys* skipped, std::FILE* out) {
  header.database = database.name;
  std::string text = PrintDumpHeader(header);
  const auto it = db.NewIterator({.read = {.snapshot = &snapshot, .fill_cache = false}, .keyspace = database.keyspace});
  for (it->SeekToFirst(); skipped->GoesOn(*it) && std::ferror(out) == 0; it->Next()) {
    if (skipped->Take(*it)) continue;
    // With -a, the headers have the names.
    if (databases.size() > 1 && database.name.empty() && IsNameItem(databases, it->key(), it->value())) continue;
    AppendDumpLine(&text, it->key(), header.is_print);
    AppendDumpLine(&text, it->value(), header.is_print);
    std::fwrite(text.data(), 1, text.size(), out);
    text.clear();
  }
  RETURN_IF_ERROR(skipped->ErrorOf(*it));
  text += kDumpEnd;
  std::fwrite(text.data(), 1, text.size(), out);
  return {};
}

Status Dump(const Arguments& arguments, DB& db, SkippedKeys* skipped, std::FILE* out) {
  const auto snapshot = db.GetSnapshot();
  ASSIGN_OR_RETURN(const auto databases, DatabasesOf(arguments, db));
  DumpHeader header{.is_print = arguments.is_printable,
                    .flavour = arguments.flavour == "bdb" ? DumpFlavour::kBerkeleyDb : DumpFlavour::kLmdb};
  if (header.flavour == DumpFlavour::kLmdb) {
    ASSIGN_OR_RETURN(header.map_bytes, MeasureMap(db, *snapshot, databases, *skipped));
  }
  for (const KeyspaceEntry& each : databases)
    RETURN_IF_ERROR(DumpOne(db, *snapshot, databases, each, header, skipped, out));
  return {};
}

int ListNames(DB& db) {
  const auto names = db.ListKeyspaces();
  if (!names) return Fail(names.error());
  for (const KeyspaceEntry& each : *names) Print(ToText(each.name) + "\n");
  return kOk;
}

int RunDump(Arguments& arguments) {
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  if (arguments.is_listing) return Finish(*db, ListNames(*db));
  std::FILE* out = stdout;
  if (arguments.file && *arguments.file != "-") {
    out = std::fopen(arguments.file->c_str(), "wb");
    if (out == nullptr) return Finish(*db, Fail(kError, *arguments.file + ": cannot be written"));
  }
  SkippedKeys skipped(arguments);
  const Status status = Dump(arguments, *db, &skipped, out);
  int exit = status.ok() ? kOk : Fail(status.IsNotFound() ? kNo : kError, status.ToString());
  if (out != stdout && (std::ferror(out) != 0 || std::fclose(out) != 0))
    exit = Fail(kError, *arguments.file + ": cannot be written");
  return Finish(*db, skipped.Finish(exit));
}

// ---- copy

Status CopyOnce(const Arguments& arguments, const std::string& target, CheckpointReport* report) {
  ASSIGN_OR_RETURN(auto db,
                   DB::Open({.mode = OpenMode::kReadOnly, .memory_bytes = size_t{64} << 20}, arguments.directory));
  ASSIGN_OR_RETURN(*report, Checkpoint(*db, target,
                                       {.may_link = !arguments.no_links,
                                        .verify = !arguments.no_check,
                                        .progress = ShowProgress(arguments)}));
  return db->Close();
}

// True for an error that can disappear. Another program that writes to the database may remove files between
// our open and our read. The next attempt keeps the files that this one has copied.
bool MayPass(const Status& status) { return status.IsCorruption() || status.IsNotFound() || status.IsIOError(); }

Status CopyDatabase(const Arguments& arguments, const std::string& target, CheckpointReport* report) {
  Status status;
  for (int attempt = 0; attempt < kCopyAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kCopyPause);
    status = CopyOnce(arguments, target, report);
    if (!MayPass(status)) return status;
  }
  return status;
}

Status CompactCopy(const std::string& target) {
  ASSIGN_OR_RETURN(auto db, DB::Open({.mode = OpenMode::kMustExist, .memory_bytes = size_t{64} << 20}, target));
  RETURN_IF_ERROR(db->CompactRange(nullptr, nullptr));
  return db->Close();
}

int RunCopy(Arguments& arguments) {
  if (arguments.words.empty())
    throw CLI::ValidationError("copy", "no target directory is given; usage: mergedb copy DIR TARGET");
  const std::string& target = arguments.words[0];
  CheckpointReport report;
  Status status = CopyDatabase(arguments, target, &report);
  if (status.ok() && arguments.is_compacting) status = CompactCopy(target);
  if (!status.ok()) return Fail(status);
  if (!arguments.is_alias && !arguments.is_quiet) {
    std::fprintf(stderr,
                 "mergedb: copied %llu files, %s: %llu linked, %llu copied, %llu kept from an earlier attempt%s\n",
                 static_cast<unsigned long long>(report.files), PrintBytes(report.bytes).c_str(),
                 static_cast<unsigned long long>(report.linked), static_cast<unsigned long long>(report.copied),
                 static_cast<unsigned long long>(report.kept), arguments.no_check ? "" : "; all files were verified");
  }
  return kOk;
}

// ---- drop

// A named database that the LMDB interface created has an item in the main database.
Status DropDatabase(DB& db, const KeyspaceEntry& database) {
  RETURN_IF_ERROR(db.DropKeyspace({}, database.keyspace));
  std::string item;
  const Status found = db.Get({}, database.name, &item);
  if (found.IsNotFound() || (found.ok() && !IsNameItem({database}, database.name, item))) return {};
  return found.ok() ? db.Delete({}, database.name) : found;
}

// drop without -s removes everything, as in LMDB, whose main database holds the named ones.
Status DropAll(DB& db) {
  ASSIGN_OR_RETURN(const auto named, db.ListKeyspaces());
  for (const KeyspaceEntry& each : named) RETURN_IF_ERROR(DropDatabase(db, each));
  const std::string behind_all(kKeyBytesMax, '\xff');
  RETURN_IF_ERROR(db.DeleteRange({}, std::string_view(), behind_all));
  return db.Delete({}, behind_all);
}

int RunDrop(Arguments& arguments) {
  // WHY not for mdb_drop: it does not ask for confirmation, and scripts rely on that.
  if (!arguments.database && !arguments.is_sure && !arguments.is_alias) {
    return Fail(kUsage, "drop without --keyspace deletes all entries of all keyspaces; pass --yes to confirm");
  }
  const auto db = OpenDatabase(arguments.directory, OpenMode::kMustExist);
  if (db == nullptr) return kError;
  Status status;
  if (!arguments.database) {
    status = DropAll(*db);
  } else if (const auto keyspace = db->OpenKeyspace(*arguments.database); !keyspace) {
    return Finish(*db, Fail(keyspace.error().IsNotFound() ? kNo : kError, keyspace.error().ToString()));
  } else {
    status =
        arguments.is_deleting ? DropDatabase(*db, {*arguments.database, *keyspace}) : db->ClearKeyspace({}, *keyspace);
  }
  if (status.ok()) status = db->SyncWal();
  return Finish(*db, status.ok() ? kOk : Fail(status));
}

}  // namespace

void AddCopyCommands(CLI::App& app, Context& context) {
  Arguments& arguments = context.arguments;
  CLI::App* dump =
      AddVerb(app, context,
              {"dump", "dump DIR [-f FILE] [-p] [-a | --keyspace NAME] [-l] [--skip-errors] [--flavour lmdb|bdb]",
               "Print all entries as text that mergedb load, mdb_load and db_load read",
               "LMDB accepts keys of 1 to 511 bytes. For Berkeley DB, pass --flavour bdb.", 0, 0, RunDump});
  dump->add_option("-f", arguments.file, "Write to this file; default: stdout");
  dump->add_flag("-p", arguments.is_printable, "Print printable characters as they are, all others in hex");
  CLI::Option* all = dump->add_flag("-a", arguments.is_all, "All databases: the main database and all keyspaces");
  dump->add_option("-s,--keyspace", arguments.database, "Only this keyspace (LMDB: named database)")
      ->type_name("NAME")
      ->excludes(all);
  dump->add_flag("-l", arguments.is_listing, "Print only the names of the databases");
  AddSkipErrors(dump, arguments);
  dump->add_option("--flavour", arguments.flavour, "The program that reads the dump")
      ->check(CLI::IsMember({"lmdb", "bdb"}));
  AddLmdbFlags(dump);

  CLI::App* copy = AddVerb(
      app, context,
      {"copy", "copy DIR TARGET [-c] [--no-links] [--no-check] [--quiet]",
       "Copy the database to a new directory, also while a program writes to it",
       "The copy is TARGET.partial until it is complete; then it is renamed to TARGET. If the copy is interrupted, "
       "run\n"
       "the same command again. If both directories are on one file system, tables are linked instead of copied.",
       0, 1, RunCopy});
  copy->add_flag("-c", arguments.is_compacting, "Compact the copy at the end");
  copy->add_flag("--no-links", arguments.no_links, "Copy all files; make no hard links");
  copy->add_flag("--no-check", arguments.no_check, "Do not verify the copy");
  copy->add_flag("--quiet", arguments.is_quiet, "Print no progress and no summary on stderr");
  AddLmdbFlags(copy);

  CLI::App* drop =
      AddVerb(app, context,
              {"drop", "drop DIR --keyspace NAME [-d] | drop DIR --yes", "Empty a keyspace, or the whole database",
               "Takes one write for each keyspace. Compactions free the disk space in the background.", 0, 0, RunDrop});
  drop->add_option("-s,--keyspace", arguments.database, "Only this keyspace (LMDB: named database)")->type_name("NAME");
  drop->add_flag("-d", arguments.is_deleting, "Also delete the keyspace");
  drop->add_flag("--yes", arguments.is_sure, "Without --keyspace: confirm that all entries are deleted");
  AddLmdbFlags(drop);
}

}  // namespace mergedb::tool
