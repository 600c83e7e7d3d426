// The verb dump: a database as text.
#include <algorithm>

#include "command.h"
#include "dump_text.h"
#include "format/lmdb.h"
#include "lmdb_programs.h"
#include "output_file.h"
#include "text.h"

namespace mergedb::tool::dump_verb {
namespace {

struct Arguments : Line {
  std::string file = "-";
  std::optional<std::string> keyspace;
  std::string flavour = "lmdb";
  bool is_printable = false;
  bool is_all = false;
  bool is_default_alone = false;
  bool is_listing = false;
  bool is_skipping = false;
};

constexpr uint64_t kMapBytesMin = uint64_t{1} << 20;

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
  ASSIGN_OR_RETURN(const auto databases, DatabasesOf(db, arguments.keyspace, is_all));
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
               DumpHeader header, SkippedKeys* skipped, OutputFile* out) {
  header.database = database.entry.name;
  header.lmdb_flags = database.item.value_or(0);
  header.is_plain_keyspace = !header.database.empty() && !database.item;
  std::string text = PrintDumpHeader(header);
  const bool leaves_items_out = plan.leaves_items_out && header.database.empty();
  const auto it =
      db.NewIterator({.read = {.snapshot = &snapshot, .fill_cache = false}, .keyspace = database.entry.keyspace});
  std::string key;
  for (it->SeekToFirst(); skipped->GoesOn(*it) && !out->has_failed(); it->Next()) {
    if (skipped->Take(*it)) continue;
    if (leaves_items_out && IsNameItem(plan, it->key(), it->value())) continue;
    key = it->key();
    if (header.lmdb_flags != 0) format::TurnLmdbKey(header.lmdb_flags, &key);
    AppendDumpLine(&text, key, header.is_print);
    AppendDumpLine(&text, it->value(), header.is_print);
    out->Write(text);
    text.clear();
  }
  RETURN_IF_ERROR(skipped->ErrorOf(*it));
  out->Write(text.append(kDumpEnd));
  return {};
}

Status Dump(const Arguments& arguments, DB& db, SkippedKeys* skipped, OutputFile* out) {
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

Status ListNames(DB& db, OutputFile* out) {
  ASSIGN_OR_RETURN(const auto names, db.ListKeyspaces());
  for (const KeyspaceEntry& each : names) out->Write(ToText(each.name) + "\n");
  return {};
}

int Run(Arguments& arguments) {
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  const auto out = OutputFile::Open(arguments.file, arguments.directory);
  if (!out) return Finish(*db, Fail(out.error()));
  SkippedKeys skipped(arguments.is_skipping);
  Status status = arguments.is_listing ? ListNames(*db, out->get()) : Dump(arguments, *db, &skipped, out->get());
  if (status.ok()) status = (*out)->Commit();
  return Finish(*db, skipped.Finish(status.ok() ? kOk : Fail(status)));
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "dump DIR [-f FILE] [-p] [-a | --keyspace NAME | --default-alone] [-l] [--skip-errors] "
                        "[--flavour lmdb|bdb]",
               .description = "Print all entries of all keyspaces as text that mergedb load, mdb_load and db_load read",
               .footer = "mergedb load makes an equal database of it. LMDB accepts keys of 1 to 511 bytes; names that "
                         "its text cannot\n"
                         "hold are in a form that mdb_load refuses. For Berkeley DB, pass --flavour bdb.\n"
                         "As mdb_dump, the command prints only the main database without -a or -s.",
               .examples = {"mergedb dump /srv/data -f backup.txt", "mergedb dump /srv/data -p | less"}},
              Run);
  verb->add_option("-f", arguments.file,
                   "Write to this file, which is replaced when the dump is complete; default: stdout");
  verb->add_flag("-p", arguments.is_printable, "Print printable characters as they are, all others in hex");
  CLI::Option* const all =
      verb->add_flag("-a", arguments.is_all, "The default keyspace and all others; the default, except for mdb_dump");
  CLI::Option* const one =
      AddDatabase(verb, arguments.keyspace, "Only this keyspace (LMDB: named database)")->excludes(all);
  verb->add_flag("--default-alone", arguments.is_default_alone, "Only the default keyspace, although there are others")
      ->excludes(all)
      ->excludes(one);
  CLI::Option* const list = verb->add_flag("-l", arguments.is_listing, "Print only the names of the databases");
  AddSkipErrors(verb, arguments.is_skipping);
  verb->add_option("--flavour", arguments.flavour, "The program that reads the dump")
      ->check(CLI::IsMember({"lmdb", "bdb"}));
  for (const char* option : {"--keyspace", "--default-alone", "--skip-errors", "--flavour"})
    verb->get_option(option)->excludes(list);
  AddLmdbFlags(verb);
}

}  // namespace mergedb::tool::dump_verb
