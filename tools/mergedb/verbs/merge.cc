// The verb merge, which applies an operand to a key.
#include "mergedb/merge.h"

#include <algorithm>
#include <charconv>
#include <type_traits>

#include "command.h"
#include "db/access/write_checks.h"

namespace mergedb::tool::merge_verb {
namespace {

struct Arguments : Line, KeyspaceOption {
  std::string type, operator_name;
  std::optional<std::string> delimiter;
  std::optional<uint64_t> cap_bytes, timestamp;
  bool keeps_oldest = false;
  bool is_synced = false;
};

template <typename Number>
Number TakeNumber(const std::string& name, const std::string& word) {
  Number number{};
  const char* const end = word.data() + word.size();
  const auto [parsed, error] = std::from_chars(word.data(), end, number);
  const bool is_integer = std::is_integral_v<Number>;
  if (error == std::errc() && parsed == end && (!is_integer || std::to_string(number) == word)) return number;
  throw CLI::ValidationError(name, "\"" + word + "\" is not a number of this type");
}

std::string TypeNames() {
  std::string names;
  for (const merge::Type& type : merge::Types()) names.append(names.empty() ? "" : ", ").append(type.name);
  return names;
}

// Refuses the options of other types.
void CheckOptions(const Arguments& arguments) {
  const auto refuse_if = [](bool is_given, const char* option, const char* types) {
    if (is_given) throw CLI::ValidationError(option, std::string("is only for --type ") + types);
  };
  const bool is_append = arguments.type == "append";
  refuse_if(arguments.delimiter && !is_append, "--delimiter", "append");
  refuse_if(arguments.cap_bytes && !is_append, "--cap", "append");
  refuse_if(arguments.timestamp && arguments.type != "first" && arguments.type != "last", "--at", "first and last");
}

std::string OperandOf(const Arguments& arguments) {
  const std::string& word = arguments.words[1];
  if (!arguments.operator_name.empty()) return merge::Named(arguments.operator_name, TakeBytes(arguments, word));
  const std::vector<merge::Type> types = merge::Types();
  const auto type = std::ranges::find(types, arguments.type, &merge::Type::name);
  if (type == types.end()) {
    const std::string problem = arguments.type.empty() ? "is required" : "unknown type \"" + arguments.type + "\"";
    throw CLI::ValidationError("--type", problem + "; one of: " + TypeNames());
  }
  const std::string delimiter = TakeBytes(arguments, arguments.delimiter.value_or(""));
  std::string bytes;
  merge::Arguments made = {.u64 = arguments.timestamp.value_or(0),
                           .append = {.delimiter = delimiter,
                                      .cap_bytes = arguments.cap_bytes.value_or(0),
                                      .keep = arguments.keeps_oldest ? merge::Keep::kOldest : merge::Keep::kNewest}};
  switch (type->argument) {
    case merge::Argument::kU64: made.u64 = TakeNumber<uint64_t>(arguments.type, word); break;
    case merge::Argument::kI64: made.i64 = TakeNumber<int64_t>(arguments.type, word); break;
    case merge::Argument::kF64: made.f64 = TakeNumber<double>(arguments.type, word); break;
    case merge::Argument::kBytes: made.bytes = bytes = TakeBytes(arguments, word); break;
  }
  return *merge::Make(type->id, made);
}

int Run(Arguments& arguments) {
  const std::string key = TakeBytes(arguments, arguments.words[0]);
  CheckOptions(arguments);
  const std::string operand = OperandOf(arguments);
  if (const Status status = db::CheckMerge(operand); !status.ok()) return Fail(status);
  return ChangeKeyspace(arguments.directory, OpenMode::kCreateIfMissing, arguments, [&](DB& db, Keyspace keyspace) {
    return db.Merge(WriteOptionsOf(arguments.is_synced), keyspace, key, operand);
  });
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] = AddVerb(
      command,
      {.usage = "merge DIR KEY OPERAND --type TYPE [--keyspace NAME] [--hex] [--sync]",
       .description =
           "Write a merge operand for a key, without reading its value; create the database if it does not exist",
       .footer =
           "TYPE: " + TypeNames() +
           ".\n"
           "OPERAND is a number if the name of the type contains u64, i64 or f64; otherwise it is a string of bytes.",
       .examples = {"mergedb merge /srv/data visits 1 --type add-u64",
                    "mergedb merge /srv/data log 'a line' --operator stringappend"},
       .words_min = 2,
       .words_max = 2},
      Run);
  CLI::Option* const type = verb->add_option("--type", arguments.type, "The type of the operand");
  AddKeyspace(verb, arguments);
  verb->add_option(
          "--operator", arguments.operator_name,
          "Instead of --type: the name of a merge operator, such as uint64add or stringappend, or one of the program's")
      ->excludes(type);
  verb->add_option("--delimiter", arguments.delimiter, "append: bytes between the value and the operand");
  verb->add_option("--cap", arguments.cap_bytes, "append: the maximum bytes of the value; the oldest bytes are cut off")
      ->check(IntegerFrom(0));
  verb->add_flag("--keep-oldest", arguments.keeps_oldest, "append: with --cap, cut off the newest bytes instead")
      ->needs("--cap");
  verb->add_option("--at", arguments.timestamp, "first, last: the operand's timestamp")->check(IntegerFrom(0));
  verb->add_flag("--hex", arguments.is_hex, "KEY, OPERAND (unless it is a number) and the delimiter are in hex");
  AddSync(verb, arguments.is_synced);
}

}  // namespace mergedb::tool::merge_verb
