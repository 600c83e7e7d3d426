// The verbs dump (database to text), copy (to another directory) and drop (empties a database).
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <thread>

#include "command.h"
#include "dump_text.h"
#include "format/lmdb.h"
#include "mergedb/checkpoint.h"
#include "mergedb/transaction.h"
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

// What a dump prints of one database.
struct DumpedDatabase {
  KeyspaceEntry entry;
  std::optional<unsigned> item = std::nullopt;  // the flags in its name item, if it has one
};

struct DumpPlan {
  std::vector<DumpedDatabase> databases;
  bool leaves_items_out = false;  // of the main database
  bool is_extended = false;       // VERSION=4
  uint64_t map_bytes = 0;
};

// The main database has an empty name. A value that cannot be read is no item.
Result<std::optional<unsigned>> ItemOf(DB& db, const Snapshot& snapshot, const std::string& name) {
  std::string value;
  const Status status = db.Get({.snapshot = &snapshot, .fill_cache = false}, name, &value);
  if (status.IsNotFound() || status.IsMergeFailed()) return std::optional<unsigned>();
  RETURN_IF_ERROR(status);
  return format::DecodeNameItem(value);
}

// LMDB's integers have 4 or 8 bytes, all of a database the same.
bool HasSize(std::optional<size_t>* size, size_t bytes) {
  if (!*size) *size = bytes;
  return **size == bytes && (bytes == sizeof(unsigned) || bytes == sizeof(size_t));
}

// A scan before the dump. The header has the map size of all databases, and it comes before the first entry.
Status Measure(DB& db, const Snapshot& snapshot, const SkippedKeys& skipped, DumpPlan* plan) {
  constexpr uint64_t kDatabaseBytes = 16 * kLmdbPageBytes;
  uint64_t bytes = 0, entries = 0;
  for (const DumpedDatabase& each : plan->databases) {
    std::optional<size_t> integer_bytes;
    const auto it =
        db.NewIterator({.read = {.snapshot = &snapshot, .fill_cache = false}, .keyspace = each.entry.keyspace});
    for (it->SeekToFirst(); skipped.GoesOn(*it); it->Next()) {
      if (!it->Valid()) continue;
      // A value that does not share a page with other values takes whole pages.
      const uint64_t value_bytes = it->value().size();
      bytes += it->key().size() + (value_bytes > kLmdbPageBytes / 4 ? value_bytes + kLmdbPageBytes : value_bytes);
      ++entries;
      if ((each.item.value_or(0) & format::kLmdbIntegerKey) != 0 && !HasSize(&integer_bytes, it->key().size()))
        plan->is_extended = true;
    }
    RETURN_IF_ERROR(skipped.ErrorOf(*it));
    bytes += kDatabaseBytes;
  }
  plan->map_bytes = MapBytesFor(bytes, entries);
  return {};
}

Result<DumpPlan> PlanDump(const Arguments& arguments, DB& db, const Snapshot& snapshot, DumpFlavour flavour,
                          const SkippedKeys& skipped) {
  DumpPlan plan;
  // WHY not mdb_dump: it dumps the main database alone, with its items, unless -a or -s is given.
  const bool is_all = arguments.is_all || !(arguments.is_alias || arguments.is_default_alone);
  ASSIGN_OR_RETURN(const auto databases, DatabasesOf(arguments, db, is_all));
  plan.leaves_items_out = databases.size() > 1;
  for (const KeyspaceEntry& each : databases) {
    plan.databases.push_back({each});
    if (each.name.empty()) continue;
    ASSIGN_OR_RETURN(plan.databases.back().item, ItemOf(db, snapshot, each.name));
    if (!IsPlainName(each.name)) plan.is_extended = true;
    if (flavour == DumpFlavour::kBerkeleyDb && plan.databases.back().item.value_or(0) != 0) {
      return Status::NotSupported("database \"" + ToText(each.name) +
                                  "\" has integerkey or reversekey, which Berkeley DB does not have; dump it with "
                                  "--flavour lmdb");
    }
  }
  if (flavour == DumpFlavour::kLmdb) RETURN_IF_ERROR(Measure(db, snapshot, skipped, &plan));
  return plan;
}

bool IsNameItem(const DumpPlan& plan, std::string_view key, std::string_view value) {
  return format::DecodeNameItem(value).has_value() && std::ranges::any_of(plan.databases, [&](const auto& each) {
           return each.item.has_value() && each.entry.name == key;
         });
}

Status DumpOne(DB& db, const Snapshot& snapshot, const DumpPlan& plan, const DumpedDatabase& database,
               DumpHeader header, SkippedKeys* skipped, std::FILE* out) {
  header.database = database.entry.name;
  header.lmdb_flags = database.item.value_or(0);
  header.is_plain_keyspace = !header.database.empty() && !database.item;
  std::string text = PrintDumpHeader(header);
  const bool leaves_items_out = plan.leaves_items_out && header.database.empty();
  const auto it =
      db.NewIterator({.read = {.snapshot = &snapshot, .fill_cache = false}, .keyspace = database.entry.keyspace});
  std::string key;
  for (it->SeekToFirst(); skipped->GoesOn(*it) && std::ferror(out) == 0; it->Next()) {
    if (skipped->Take(*it)) continue;
    if (leaves_items_out && IsNameItem(plan, it->key(), it->value())) continue;
    key = it->key();
    if (header.lmdb_flags != 0) format::TurnLmdbKey(header.lmdb_flags, &key);
    AppendDumpLine(&text, key, header.is_print);
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
  DumpHeader header{.is_print = arguments.is_printable,
                    .flavour = arguments.flavour == "bdb" ? DumpFlavour::kBerkeleyDb : DumpFlavour::kLmdb};
  ASSIGN_OR_RETURN(const DumpPlan plan, PlanDump(arguments, db, *snapshot, header.flavour, *skipped));
  header.map_bytes = plan.map_bytes;
  header.version = plan.is_extended ? 4 : 3;
  header.sections = plan.databases.size();
  for (const DumpedDatabase& each : plan.databases) {
    RETURN_IF_ERROR(DumpOne(db, *snapshot, plan, each, header, skipped, out));
    header.sections = 0;
  }
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
    out = CreatePrivateFile(*arguments.file);
    if (out == nullptr)
      return Finish(*db, Fail(kError, *arguments.file + ": cannot be written: " + std::strerror(errno)));
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
  ASSIGN_OR_RETURN(auto db, OpenToReadOnce(arguments.directory));
  ASSIGN_OR_RETURN(*report, Checkpoint(*db, target,
                                       {.may_link = !arguments.no_links,
                                        .verify = !arguments.no_check,
                                        .progress = ShowProgress(arguments)}));
  return db->Close();
}

// True for an error that can disappear. Another program that writes to the database may remove files between
// our open and our read. The next attempt keeps the files that this one has copied.
bool MayPass(const Status& status) {
  return status.IsCorruption() || status.IsNotFound() || status.IsIOError() || status.IsBusy();
}

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
  Status status = CheckIsOutside(arguments.directory, target);
  if (status.ok()) status = CopyDatabase(arguments, target, &report);
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

// WHY no range to behind all keys: its end would be a key of 8 MiB, which each table of the range repeats.
Status ClearDefaultKeyspace(DB& db) {
  const auto it = db.NewIterator({.keys_only = true, .read = {.fill_cache = false}});
  it->SeekToFirst();
  if (!it->Valid()) return it->status();
  const std::string first(it->key());
  it->SeekToLast();
  if (!it->Valid()) return it->status();
  WriteBatch batch;
  batch.DeleteRange(first, it->key());
  batch.Delete(it->key());
  return db.Write({}, batch);
}

// drop without -s removes everything, as in LMDB, whose main database holds the named ones.
Status DropAll(DB& db) {
  ASSIGN_OR_RETURN(const auto named, db.ListKeyspaces());
  RETURN_IF_ERROR(ClearDefaultKeyspace(db));  // first: it reads, and fails if its first or last key is damaged
  for (const KeyspaceEntry& each : named) RETURN_IF_ERROR(DropDatabase(db, each));
  return {};
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

Status DropDatabase(DB& db, const KeyspaceEntry& database) {
  ASSIGN_OR_RETURN(const auto transaction, Transaction::Begin(db));
  RETURN_IF_ERROR(transaction->DropKeyspace(database.keyspace));
  std::string item;
  const Status found = transaction->Get(database.name, &item);
  if (!found.ok() && !found.IsNotFound() && !found.IsMergeFailed()) return found;
  if (found.ok() && format::DecodeNameItem(item)) RETURN_IF_ERROR(transaction->Delete(database.name));
  return transaction->Commit();
}

Status CheckIsOutside(const std::string& directory, const std::string& target) {
  std::error_code error;
  const std::filesystem::path inner =
      std::filesystem::weakly_canonical(std::filesystem::absolute(target, error), error);
  if (error) return {};  // the work itself meets the error
  for (std::filesystem::path outer = inner;; outer = outer.parent_path()) {
    if (std::filesystem::equivalent(outer, directory, error)) {
      return Status::InvalidArgument(target + ": is or lies within the database directory " + directory +
                                     "; expected a directory outside of it");
    }
    if (outer == outer.parent_path()) return {};
  }
}

void AddCopyCommands(CLI::App& app, Context& context) {
  Arguments& arguments = context.arguments;
  CLI::App* dump = AddVerb(
      app, context,
      {"dump",
       "dump DIR [-f FILE] [-p] [-a | --keyspace NAME | --default-alone] [-l] [--skip-errors] "
       "[--flavour lmdb|bdb]",
       "Print all entries of all keyspaces as text that mergedb load, mdb_load and db_load read",
       "mergedb load makes an equal database of it. LMDB accepts keys of 1 to 511 bytes; names that its text cannot\n"
       "hold are in a form that mdb_load refuses. For Berkeley DB, pass --flavour bdb.\n"
       "As mdb_dump, the command prints only the main database without -a or -s.",
       0, 0, RunDump});
  dump->add_option("-f", arguments.file, "Write to this file; default: stdout");
  dump->add_flag("-p", arguments.is_printable, "Print printable characters as they are, all others in hex");
  CLI::Option* all =
      dump->add_flag("-a", arguments.is_all, "The default keyspace and all others; the default, except for mdb_dump");
  CLI::Option* one = dump->add_option("-s,--keyspace", arguments.database, "Only this keyspace (LMDB: named database)")
                         ->type_name("NAME")
                         ->check(NotEmpty())
                         ->excludes(all);
  dump->add_flag("--default-alone", arguments.is_default_alone, "Only the default keyspace, although there are others")
      ->excludes(all)
      ->excludes(one);
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
  drop->add_option("-s,--keyspace", arguments.database, "Only this keyspace (LMDB: named database)")
      ->type_name("NAME")
      ->check(NotEmpty());
  drop->add_flag("-d", arguments.is_deleting, "Also delete the keyspace");
  drop->add_flag("--yes", arguments.is_sure, "Without --keyspace: confirm that all entries are deleted");
  AddLmdbFlags(drop);
}

}  // namespace mergedb::tool
