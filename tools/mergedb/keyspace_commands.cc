// The verb keyspaces, which lists, creates and drops keyspaces; and the option --keyspace of other verbs.
#include "command.h"

namespace mergedb::tool {

namespace {

int RunKeyspaces(Arguments& arguments) {
  const bool is_change = arguments.create || arguments.drop;
  const auto db = OpenDatabase(arguments.directory, is_change ? OpenMode::kMustExist : OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  Status status;
  if (arguments.create) status = db->CreateKeyspace(TakeBytes(arguments, *arguments.create)).status();
  if (status.ok() && arguments.drop) {
    const std::string name = TakeBytes(arguments, *arguments.drop);
    const auto keyspace = db->OpenKeyspace(name);
    if (keyspace.status().IsNotFound()) return Finish(*db, Fail(kNo, keyspace.status().message()));
    status = keyspace ? DropDatabase(*db, {name, *keyspace}) : keyspace.status();
  }
  if (!status.ok()) return Finish(*db, Fail(status));
  if (is_change) return Finish(*db, kOk);
  const auto entries = db->ListKeyspaces();
  if (!entries) return Finish(*db, Fail(entries.status()));
  for (const KeyspaceEntry& entry : *entries) {
    if (arguments.is_json) {
      nlohmann::ordered_json object;
      SetBytes(arguments, &object, "name", entry.name);
      object["id"] = entry.keyspace.id();
      PrintJson(object);
    } else {
      Print(ShowBytes(arguments, entry.name) + "\t" + std::to_string(entry.keyspace.id()) + "\n");
    }
  }
  return Finish(*db, kOk);
}

}  // namespace

void AddKeyspace(CLI::App* verb, Arguments& arguments) {
  verb->add_option("--keyspace", arguments.keyspace, "The keyspace; default: the default keyspace")
      ->type_name("NAME")
      ->check(NotEmpty());
}

Result<Keyspace> KeyspaceOf(const Arguments& arguments, DB& db, bool may_create) {
  if (!arguments.keyspace) return Keyspace();
  const std::string name = TakeBytes(arguments, *arguments.keyspace);
  return may_create ? db.CreateKeyspace(name, {.may_exist = true}) : db.OpenKeyspace(name);
}

void AddKeyspaceCommands(CLI::App& app, Context& context) {
  Arguments& arguments = context.arguments;
  CLI::App* verb =
      AddVerb(app, context,
              {"keyspaces", "keyspaces DIR [--create NAME] [--drop NAME] [--hex] [--json]",
               "List the named keyspaces, or create or drop one", "A line is name, tab, id.", 0, 0, RunKeyspaces});
  AddHexAndJson(verb, arguments);
  verb->add_option("--create", arguments.create, "Create this keyspace")->type_name("NAME")->check(NotEmpty());
  verb->add_option("--drop", arguments.drop, "Drop this keyspace with all its entries")
      ->type_name("NAME")
      ->check(NotEmpty());
}

}  // namespace mergedb::tool
