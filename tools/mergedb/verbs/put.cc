// The verb put.
#include "command.h"
#include "line_reader.h"

namespace mergedb::tool::put_verb {
namespace {

struct Arguments : Line, KeyspaceOption {
  bool is_synced = false;
};

int Run(Arguments& arguments) {
  const std::string key = TakeBytes(arguments, arguments.words[0]);
  const bool is_stdin = arguments.words[1] == "-";
  const auto value =
      is_stdin ? ReadStdin(kValueBytesMax) : Result<std::string>(TakeBytes(arguments, arguments.words[1]));
  if (!value) return Fail(value.error());
  return ChangeKeyspace(arguments.directory, OpenMode::kCreateIfMissing, arguments, [&](DB& db, Keyspace keyspace) {
    return db.Put(WriteOptionsOf(arguments.is_synced), keyspace, key, *value);
  });
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] = AddVerb(
      command,
      {.usage = "put DIR KEY VALUE [--hex] [--sync]",
       .description = "Set the value of a key; create the database if it does not exist",
       .footer = "If VALUE is -, also after --, the value is read from stdin, byte for byte. For the value \"-\": "
                 "put DIR KEY 2d --hex, with KEY in hex, too.",
       .examples = {"mergedb put /srv/data apple green --sync", "mergedb put /srv/data picture - < picture.png"},
       .words_min = 2,
       .words_max = 2},
      Run);
  AddKeyspace(verb, arguments);
  verb->add_flag("--hex", arguments.is_hex, "KEY and VALUE are in hex");
  AddSync(verb, arguments.is_synced);
}

}  // namespace mergedb::tool::put_verb
