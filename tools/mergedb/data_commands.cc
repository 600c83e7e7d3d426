// The verbs get, put, delete and scan.
#include <cstdio>
#include <optional>

#include "command.h"
#include "line_reader.h"
#include "text.h"

namespace mergedb::tool {

namespace {

WriteOptions WriteOptionsOf(const Arguments& arguments) {
  return {.durability = arguments.is_synced ? Durability::kSynced : Durability::kProcessCrash};
}

int RunGet(Arguments& arguments) {
  const std::string key = TakeBytes(arguments, arguments.words[0]);
  std::unique_ptr<DB> db;
  std::string value;
  bool has_value = false;
  const Status status = UntilNotBusy([&]() -> Status {
    db = nullptr;  // lets go of its files: a process holds so many (env/held_files.h)
    ASSIGN_OR_RETURN(db, OpenToReadOnce(arguments.directory));
    ASSIGN_OR_RETURN(const Keyspace keyspace, KeyspaceOf(arguments, *db));
    const Status found = db->Get({}, keyspace, key, &value);
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
  if (const auto shown = ShowAs(arguments, value, 2)) {
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

int RunPut(Arguments& arguments) {
  const std::string key = TakeBytes(arguments, arguments.words[0]);
  const bool is_stdin = arguments.words[1] == "-";
  const auto value =
      is_stdin ? ReadStdin(kValueBytesMax) : Result<std::string>(TakeBytes(arguments, arguments.words[1]));
  if (!value) return Fail(value.error());
  const auto db = OpenDatabase(arguments.directory, OpenMode::kCreateIfMissing);
  if (db == nullptr) return kError;
  const auto keyspace = KeyspaceOf(arguments, *db, true);
  if (!keyspace) return Finish(*db, Fail(keyspace.status()));
  const Status status = db->Put(WriteOptionsOf(arguments), *keyspace, key, *value);
  return Finish(*db, status.ok() ? kOk : Fail(status));
}

int RunDelete(Arguments& arguments) {
  if (arguments.words.empty() && arguments.range.empty() && !arguments.prefix) {
    throw CLI::ValidationError("delete", "no key is given; expected KEY, --range or --prefix");
  }
  if (arguments.prefix && !(arguments.words.empty() && arguments.range.empty())) {
    throw CLI::ValidationError("--prefix", "cannot be combined with KEY or --range");
  }
  std::vector<std::string> bytes;
  for (const auto* words : {&arguments.words, &arguments.range}) {
    for (const std::string& word : *words) bytes.push_back(TakeBytes(arguments, word));
  }
  const auto db = OpenDatabase(arguments.directory, OpenMode::kMustExist);
  if (db == nullptr) return kError;
  const auto keyspace = KeyspaceOf(arguments, *db);
  if (!keyspace) return Finish(*db, Fail(keyspace.status()));
  WriteBatch batch;
  for (size_t i = 0; i < arguments.words.size(); ++i) batch.Delete(*keyspace, bytes[i]);
  if (!arguments.range.empty()) batch.DeleteRange(*keyspace, bytes[bytes.size() - 2], bytes.back());
  const WriteOptions options = WriteOptionsOf(arguments);
  const Status status = arguments.prefix ? db->DeletePrefix(options, *keyspace, TakeBytes(arguments, *arguments.prefix))
                                         : db->Write(options, batch);
  return Finish(*db, status.ok() ? kOk : Fail(status));
}

// ---- scan

IteratorOptions RangeOf(const Arguments& arguments) {
  IteratorOptions options;
  if (arguments.from) options.lower = TakeBytes(arguments, *arguments.from);
  if (arguments.to) options.upper = TakeBytes(arguments, *arguments.to);
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
  if (!arguments.is_keys_only) line += "\t" + ShowAs(arguments, value, -1).value_or(ShowBytes(arguments, value));
  Print(line + "\n");
}

int RunScan(Arguments& arguments) {
  IteratorOptions range = RangeOf(arguments);
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  const auto keyspace = KeyspaceOf(arguments, *db);
  if (!keyspace) return Finish(*db, Fail(keyspace.status()));
  range.keyspace = *keyspace;
  uint64_t count = 0;
  Status status;
  SkippedKeys skipped(arguments);
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

void AddDataCommands(CLI::App& app, Context& context) {
  Arguments& arguments = context.arguments;
  CLI::App* get = AddVerb(app, context,
                          {"get", "get DIR KEY [--hex] [--json] [--raw]", "Print the value of a key",
                           "Exit code 1 if the key does not exist.", 1, 1, RunGet});
  AddHexAndJson(get, arguments);
  AddAs(get, arguments);
  AddKeyspace(get, arguments);
  get->add_flag("--raw", arguments.is_raw, "Print the bytes of the value unchanged, without a newline");

  CLI::App* put = AddVerb(
      app, context,
      {"put", "put DIR KEY VALUE [--hex] [--sync]", "Set the value of a key; create the database if it does not exist",
       "If VALUE is -, the value is read from stdin, byte for byte.", 2, 2, RunPut});
  AddKeyspace(put, arguments);
  put->add_flag("--hex", arguments.is_hex, "KEY and VALUE are in hex");
  put->add_flag("--sync", arguments.is_synced, "Sync the write: it survives power loss");

  CLI::App* remove = AddVerb(app, context,
                             {"delete", "delete DIR [KEY...] [--range FROM TO] [--prefix KEY] [--hex] [--sync]",
                              "Delete keys, in one atomic write", "Deleting a key that does not exist is not an error.",
                              0, SIZE_MAX, RunDelete});
  AddKeyspace(remove, arguments);
  remove->add_option("--range", arguments.range, "All keys from FROM (included) to TO (excluded)")
      ->type_name("FROM TO")
      ->expected(2);
  remove->add_option("--prefix", arguments.prefix, "All keys with this prefix");
  remove->add_flag("--hex", arguments.is_hex, "Keys are in hex");
  remove->add_flag("--sync", arguments.is_synced, "Sync the write: it survives power loss");

  CLI::App* scan = AddVerb(
      app, context,
      {"scan",
       "scan DIR [--from KEY] [--to KEY] [--prefix KEY] [--limit N] [--reverse] [--skip-errors] [--hex] [--json]",
       "Print keys and values in key order",
       "A line is key, tab, value. Control characters and bytes that are not UTF-8 are escaped: \\t \\n \\r \\\\ "
       "\\xNN.",
       0, 0, RunScan});
  AddHexAndJson(scan, arguments);
  AddRange(scan, arguments);
  AddKeyspace(scan, arguments);
  AddAs(scan, arguments);
  scan->add_option("--prefix", arguments.prefix, "Only keys with this prefix");
  scan->add_option("--limit", arguments.limit, "The maximum number of entries")->check(IntegerFrom(0));
  AddSkipErrors(scan, arguments);
  scan->add_flag("--reverse", arguments.is_reverse, "Largest key first");
  scan->add_flag("--keys-only", arguments.is_keys_only, "Print no values");
  scan->add_flag("--count", arguments.is_count, "Print only the number of entries");
}

}  // namespace mergedb::tool
