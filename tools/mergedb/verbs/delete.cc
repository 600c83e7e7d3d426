// The verb delete.
#include <optional>

#include "command.h"

namespace mergedb::tool::delete_verb {
namespace {

struct Arguments : Line, KeyspaceOption {
  std::vector<std::string> range;  // begin and end, or empty
  std::optional<std::string> prefix;
  bool is_synced = false;
};

int Run(Arguments& arguments) {
  if (arguments.words.empty() && arguments.range.empty() && !arguments.prefix) {
    throw CLI::ValidationError("delete", "no key is given; expected KEY, --range or --prefix");
  }
  if (arguments.prefix && !(arguments.words.empty() && arguments.range.empty())) {
    throw CLI::ValidationError("--prefix", "cannot be combined with KEY or --range");
  }
  const std::string prefix = TakeBytes(arguments, arguments.prefix.value_or(""));
  std::vector<std::string> bytes;
  for (const auto* words : {&arguments.words, &arguments.range}) {
    for (const std::string& word : *words) bytes.push_back(TakeBytes(arguments, word));
  }
  return ChangeKeyspace(arguments.directory, OpenMode::kMustExist, arguments, [&](DB& db, Keyspace keyspace) {
    const WriteOptions options = WriteOptionsOf(arguments.is_synced);
    if (arguments.prefix) return db.DeletePrefix(options, keyspace, prefix);
    WriteBatch batch;
    for (size_t i = 0; i < arguments.words.size(); ++i) batch.Delete(keyspace, bytes[i]);
    if (!arguments.range.empty()) batch.DeleteRange(keyspace, bytes[bytes.size() - 2], bytes.back());
    return db.Write(options, batch);
  });
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] = AddVerb(
      command,
      {.usage = "delete DIR [KEY...] [--range FROM TO] [--prefix KEY] [--hex] [--sync]",
       .description = "Delete keys, in one atomic write",
       .footer = "Deleting a key that does not exist is not an error.",
       .examples = {"mergedb delete /srv/data apple pear", "mergedb delete /srv/data --range user:100 user:200"},
       .words_max = SIZE_MAX},
      Run);
  AddKeyspace(verb, arguments);
  verb->add_option("--range", arguments.range, "All keys from FROM (included) to TO (excluded)")
      ->type_name("FROM TO")
      ->expected(2);
  verb->add_option("--prefix", arguments.prefix, "All keys with this prefix");
  verb->add_flag("--hex", arguments.is_hex, "Keys are in hex");
  AddSync(verb, arguments.is_synced);
}

}  // namespace mergedb::tool::delete_verb
