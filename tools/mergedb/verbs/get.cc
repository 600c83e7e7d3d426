// The verb get.
#include "command.h"
#include "show_as.h"

namespace mergedb::tool::get_verb {
namespace {

struct Arguments : Line, KeyspaceOption {
  bool is_json = false;
  bool is_raw = false;
  std::string as;
};

int Run(Arguments& arguments) {
  const std::string key = TakeBytes(arguments, arguments.words[0]);
  std::unique_ptr<DB> db;
  std::string value;
  bool has_value = false;
  const Status status = ReadUntilNotBusy(arguments.directory, &db, [&](DB& opened) -> Status {
    ASSIGN_OR_RETURN(const Keyspace keyspace, KeyspaceOf(arguments, opened));
    const Status found = opened.Get({}, keyspace, key, &value);
    has_value = found.ok();
    return found.IsNotFound() ? Status() : found;
  });
  if (db == nullptr) return Fail(status);
  if (!status.ok()) return Finish(*db, Fail(status));
  if (!has_value) {
    Fail(kNo, "no such key: " + ShowBytes(arguments, key));
    NoteOtherKeyspaces(arguments, *db);
    return Finish(*db, kNo);
  }
  if (const auto shown = ShowAs(arguments.as, value, 2)) {
    Print(*shown + "\n");
  } else if (arguments.is_json) {
    nlohmann::ordered_json object;
    SetBytes(arguments, &object, "key", key);
    SetBytes(arguments, &object, "value", value);
    PrintJson(object);
  } else if (arguments.is_raw) {
    Print(value);
  } else {
    Print(ShowBytes(arguments, value) + "\n");
  }
  return Finish(*db, kOk);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "get DIR KEY [--hex] [--json | --raw | --as FORMAT]",
               .description = "Print the value of a key",
               .footer = "Exit code 1 if the key does not exist.",
               .examples = {"mergedb get /srv/data apple", "mergedb get /srv/data visits --as u64"},
               .words_min = 1,
               .words_max = 1},
              Run);
  CLI::Option* const json = AddHexAndJson(verb, arguments, arguments.is_json);
  CLI::Option* const as = AddAs(verb, arguments.as)->excludes(json);
  AddKeyspace(verb, arguments);
  verb->add_flag("--raw", arguments.is_raw, "Print the bytes of the value unchanged, without a newline")
      ->excludes(json)
      ->excludes(as);
}

}  // namespace mergedb::tool::get_verb
