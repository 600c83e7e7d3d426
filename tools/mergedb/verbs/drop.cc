// The verb drop, which empties a keyspace or the whole database.
#include "command.h"
#include "lmdb_programs.h"

namespace mergedb::tool::drop_verb {
namespace {

struct Arguments : Line {
  std::optional<std::string> keyspace;
  bool is_deleting = false;
  bool is_sure = false;
};

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

int Run(Arguments& arguments) {
  // WHY not for mdb_drop: it does not ask for confirmation, and scripts rely on that.
  if (!arguments.keyspace && !arguments.is_sure && !arguments.is_alias) {
    return Fail(kUsage, "drop without --keyspace deletes all entries of all keyspaces; pass --yes to confirm");
  }
  const auto db = OpenDatabase(arguments.directory, OpenMode::kMustExist);
  if (db == nullptr) return kError;
  Status status;
  if (!arguments.keyspace) {
    status = DropAll(*db);
  } else if (const auto keyspace = db->OpenKeyspace(*arguments.keyspace); !keyspace) {
    return Finish(*db, Fail(keyspace.error()));
  } else {
    status =
        arguments.is_deleting ? DropDatabase(*db, {*arguments.keyspace, *keyspace}) : db->ClearKeyspace({}, *keyspace);
  }
  if (status.ok()) status = db->SyncWal();
  return Finish(*db, status.ok() ? kOk : Fail(status));
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "drop DIR --keyspace NAME [-d] | drop DIR --yes",
               .description = "Empty a keyspace, or the whole database",
               .footer = "Takes one write for each keyspace. Compactions free the disk space in the background.",
               .examples = {"mergedb drop /srv/data --keyspace users -d", "mergedb drop /srv/data --yes"}},
              Run);
  AddDatabase(verb, arguments.keyspace, "Only this keyspace (LMDB: named database)");
  verb->add_flag("-d", arguments.is_deleting, "Also delete the keyspace");
  verb->add_flag("--yes", arguments.is_sure, "Without --keyspace: confirm that all entries are deleted");
  AddLmdbFlags(verb);
}

}  // namespace mergedb::tool::drop_verb
