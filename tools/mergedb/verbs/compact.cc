// The verb compact.
#include "command.h"

namespace mergedb::tool::compact_verb {
namespace {

struct Arguments : Line, KeyspaceOption, RangeOption {};

int Run(Arguments& arguments) {
  const RangeOption range = TakeRange(arguments, arguments);
  const std::string_view lower = range.from ? std::string_view(*range.from) : "";
  const std::string_view upper = range.to ? std::string_view(*range.to) : "";
  return ChangeKeyspace(arguments.directory, OpenMode::kMustExist, arguments, [&](DB& db, Keyspace keyspace) {
    const Status status = db.CompactRange(keyspace, range.from ? &lower : nullptr, range.to ? &upper : nullptr);
    return status.ok() ? db.WaitForCompaction() : status;
  });
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "compact DIR [--keyspace NAME] [--from KEY] [--to KEY] [--hex]",
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
