// The verbs compact and destroy.
#include "command.h"

namespace mergedb::tool {

namespace {

int RunCompact(Arguments& arguments) {
  std::string lower, upper;
  if (arguments.from) lower = TakeBytes(arguments, *arguments.from);
  if (arguments.to) upper = TakeBytes(arguments, *arguments.to);
  const auto db = OpenDatabase(arguments.directory, OpenMode::kMustExist);
  if (db == nullptr) return kError;
  const auto keyspace = KeyspaceOf(arguments, *db);
  if (!keyspace) return Finish(*db, Fail(keyspace.status()));
  const std::string_view lower_view = lower, upper_view = upper;
  Status status =
      db->CompactRange(*keyspace, arguments.from ? &lower_view : nullptr, arguments.to ? &upper_view : nullptr);
  if (status.ok()) status = db->WaitForCompaction();
  return Finish(*db, status.ok() ? kOk : Fail(status));
}

int RunDestroy(Arguments& arguments) {
  if (!arguments.is_sure) return Fail(kUsage, "destroy removes the whole database; pass --yes to confirm");
  const Status status = DB::Destroy({}, arguments.directory);
  return status.ok() ? kOk : Fail(status);
}

}  // namespace

void AddMaintenanceCommands(CLI::App& app, Context& context) {
  Arguments& arguments = context.arguments;
  CLI::App* compact = AddVerb(
      app, context,
      {"compact", "compact DIR [--keyspace NAME] [--from KEY] [--to KEY] [--hex]",
       "Compact a range of keys into the bottommost run, and wait for it",
       "Without --keyspace, the range is in the default keyspace. Without --keyspace, --from and --to, all keyspaces\n"
       "are compacted.",
       0, 0, RunCompact});
  AddRange(compact, arguments);
  AddKeyspace(compact, arguments);
  compact->add_flag("--hex", arguments.is_hex, "KEY is in hex");

  CLI::App* destroy = AddVerb(app, context,
                              {"destroy", "destroy DIR --yes", "Remove the files of a database",
                               "Other files in the directory stay.", 0, 0, RunDestroy});
  destroy->add_flag("--yes", arguments.is_sure, "Confirm the removal");
}

}  // namespace mergedb::tool
