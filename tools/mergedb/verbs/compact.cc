// The verb compact.
#include "command.h"

namespace mergedb::tool::compact_verb {

namespace {

struct Arguments : Line, KeyspaceOption, RangeOption {};

int Run(Arguments& arguments) {
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

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.name = "compact",
               .usage = "compact DIR [--keyspace NAME] [--from KEY] [--to KEY] [--hex]",
               .description = "Compact a range of keys into the bottommost run, and wait for it",
               .footer = "Without --keyspace, the range is in the default keyspace. Without --keyspace, --from and "
                         "--to, all keyspaces\n"
                         "are compacted.",
               .examples = {"mergedb compact /srv/data", "mergedb compact /srv/data --from user:100 --to user:200"}},
              Run);
  AddRange(verb, arguments);
  AddKeyspace(verb, arguments);
  verb->add_flag("--hex", arguments.is_hex, "KEY is in hex");
}

}  // namespace mergedb::tool::compact_verb
