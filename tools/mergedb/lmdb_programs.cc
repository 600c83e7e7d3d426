#include "lmdb_programs.h"

#include "format/lmdb.h"
#include "mergedb/c.h"
#include "mergedb/transaction.h"

namespace mergedb::tool {

void AddLmdbFlags(CLI::App* verb) {
  verb->add_flag("-n")->description(
      "Accepted for LMDB: there, the database is a file; a mergedb database is always a directory");
  verb->add_flag_callback(
      "-V", [] { throw CLI::CallForVersion(std::string("mergedb ") + mergedb_version(), 0); }, "Print the version");
}

CLI::Option* AddDatabase(CLI::App* verb, std::optional<std::string>& keyspace, const char* description) {
  return verb->add_option("-s,--keyspace", keyspace, description)->type_name("NAME")->check(NotEmpty());
}

Result<std::vector<KeyspaceEntry>> DatabasesOf(DB& db, const std::optional<std::string>& keyspace, bool is_all) {
  if (keyspace) {
    ASSIGN_OR_RETURN(const Keyspace opened, db.OpenKeyspace(*keyspace));
    return std::vector<KeyspaceEntry>{{*keyspace, opened}};
  }
  std::vector<KeyspaceEntry> databases = {{"", Keyspace()}};
  if (is_all) {
    ASSIGN_OR_RETURN(const auto named, db.ListKeyspaces());
    databases.insert(databases.end(), named.begin(), named.end());
  }
  return databases;
}

Status DropDatabase(DB& db, const KeyspaceEntry& database) {
  ASSIGN_OR_RETURN(const auto transaction, Transaction::Begin(db));
  RETURN_IF_ERROR(transaction->DropKeyspace(database.keyspace));
  std::string item;
  const Status found = transaction->Get(database.name, &item);
  if (!found.ok() && !found.IsNotFound() && !found.IsMergeFailed()) return found;
  if (found.ok() && format::DecodeNameItem(item)) RETURN_IF_ERROR(transaction->Delete(database.name));
  return transaction->Commit();
}

}  // namespace mergedb::tool
