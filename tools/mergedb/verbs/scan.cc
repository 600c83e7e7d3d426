// The verb scan.
#include <cstdio>
#include <optional>

#include "command.h"
#include "show_as.h"

namespace mergedb::tool::scan_verb {
namespace {

struct Arguments : Line, KeyspaceOption, RangeOption {
  bool is_json = false;
  bool is_reverse = false;
  bool is_keys_only = false;
  bool is_count = false;
  bool is_skipping = false;
  std::optional<std::string> prefix;
  uint64_t limit = UINT64_MAX;
  std::string as;
};

IteratorOptions RangeOf(const Arguments& arguments) {
  IteratorOptions options;
  const RangeOption range = TakeRange(arguments, arguments);
  options.lower = range.from;
  options.upper = range.to;
  if (arguments.prefix) options.prefix = TakeBytes(arguments, *arguments.prefix);
  options.keys_only = arguments.is_keys_only || arguments.is_count;
  options.read.fill_cache = false;
  return options;
}

void PrintEntry(const Arguments& arguments, std::string_view key, std::string_view value) {
  if (arguments.is_json) {
    nlohmann::ordered_json object;
    SetBytes(arguments, &object, "key", key);
    if (!arguments.is_keys_only) SetBytes(arguments, &object, "value", value);
    PrintJson(object);
    return;
  }
  std::string line = ShowBytes(arguments, key);
  if (!arguments.is_keys_only) line += "\t" + ShowAs(arguments.as, value, -1).value_or(ShowBytes(arguments, value));
  Print(line + "\n");
}

int Run(Arguments& arguments) {
  IteratorOptions range = RangeOf(arguments);
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  const auto keyspace = KeyspaceOf(arguments, *db);
  if (!keyspace) return Finish(*db, Fail(keyspace.status()));
  range.keyspace = *keyspace;
  uint64_t count = 0;
  Status status;
  SkippedKeys skipped(arguments.is_skipping, arguments);
  {
    const auto it = db->NewIterator(range);
    arguments.is_reverse ? it->SeekToLast() : it->SeekToFirst();
    while (skipped.GoesOn(*it) && count < arguments.limit && std::ferror(stdout) == 0) {
      if (!skipped.Take(*it)) {
        ++count;
        if (!arguments.is_count) PrintEntry(arguments, it->key(), it->value());
      }
      arguments.is_reverse ? it->Prev() : it->Next();
    }
    if (count < arguments.limit) status = skipped.ErrorOf(*it);
  }
  if (!status.ok()) return Finish(*db, skipped.Finish(Fail(status)));
  if (count == 0) NoteOtherKeyspaces(arguments, *db);
  if (arguments.is_count) { arguments.is_json ? PrintJson({{"count", count}}) : Print(std::to_string(count) + "\n"); }
  return Finish(*db, skipped.Finish(kOk));
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] = AddVerb(
      command,
      {.usage =
           "scan DIR [--from KEY] [--to KEY] [--prefix KEY] [--limit N] [--reverse] [--skip-errors] [--hex] [--json]",
       .description = "Print keys and values in key order",
       .footer = "A line is key, tab, value. Control characters and bytes that are not UTF-8 are escaped: \\t \\n \\r "
                 "\\\\ \\xNN.",
       .examples = {"mergedb scan /srv/data --prefix user: --limit 10", "mergedb scan /srv/data --json | jq -r .key"}},
      Run);
  CLI::Option* const json = AddHexAndJson(verb, arguments, arguments.is_json);
  AddRange(verb, arguments);
  AddKeyspace(verb, arguments);
  CLI::Option* const as = AddAs(verb, arguments.as);
  verb->add_option("--prefix", arguments.prefix, "Only keys with this prefix");
  verb->add_option("--limit", arguments.limit, "The maximum number of entries")->check(IntegerFrom(0));
  AddSkipErrors(verb, arguments.is_skipping);
  verb->add_flag("--reverse", arguments.is_reverse, "Largest key first");
  CLI::Option* const keys = verb->add_flag("--keys-only", arguments.is_keys_only, "Print no values");
  CLI::Option* const count = verb->add_flag("--count", arguments.is_count, "Print only the number of entries");
  as->excludes(json)->excludes(keys)->excludes(count);
}

}  // namespace mergedb::tool::scan_verb
