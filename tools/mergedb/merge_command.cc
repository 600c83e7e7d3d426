// The verb merge, which applies an operand to a key; and --as, which prints merged values as numbers or JSON.
#include <bit>
#include <charconv>
#include <map>

#include "command.h"
#include "mergedb/merge.h"

namespace mergedb::tool {

namespace {

template <typename Number>
Number TakeNumber(const std::string& name, const std::string& word) {
  Number number{};
  const char* const end = word.data() + word.size();
  const auto [parsed, error] = std::from_chars(word.data(), end, number);
  if (error == std::errc() && parsed == end) return number;
  throw CLI::ValidationError(name, "\"" + word + "\" is not a number of this type");
}

// Makes an operand from the words of the command line.
using Make = std::string (*)(const Arguments& arguments, const std::string& word);

template <auto make>
std::string OfU64(const Arguments& arguments, const std::string& word) {
  return make(TakeNumber<uint64_t>(arguments.type, word));
}
template <auto make>
std::string OfI64(const Arguments& arguments, const std::string& word) {
  return make(TakeNumber<int64_t>(arguments.type, word));
}
template <auto make>
std::string OfF64(const Arguments& arguments, const std::string& word) {
  return make(TakeNumber<double>(arguments.type, word));
}
template <auto make>
std::string OfBytes(const Arguments& arguments, const std::string& word) {
  return make(TakeBytes(arguments, word));
}
template <auto make>
std::string OfTime(const Arguments& arguments, const std::string& word) {
  return make(arguments.timestamp, TakeBytes(arguments, word));
}
template <merge::Overflow overflow>
std::string AddI64(const Arguments& arguments, const std::string& word) {
  return merge::AddI64(TakeNumber<int64_t>(arguments.type, word), overflow);
}
std::string Append(const Arguments& arguments, const std::string& word) {
  const std::string delimiter = TakeBytes(arguments, arguments.delimiter);
  return merge::Append(TakeBytes(arguments, word),
                       {.delimiter = delimiter,
                        .cap_bytes = arguments.cap_bytes,
                        .keep = arguments.keeps_oldest ? merge::Keep::kOldest : merge::Keep::kNewest});
}

const std::map<std::string, Make>& Types() {
  static const std::map<std::string, Make> types = {
      {"add-u64", OfU64<merge::AddU64>},
      {"add-i64", AddI64<merge::Overflow::kSaturate>},
      {"add-i64-failing", AddI64<merge::Overflow::kFail>},
      {"add-f64", OfF64<merge::AddF64>},
      {"max-u64", OfU64<merge::MaxU64>},
      {"max-i64", OfI64<merge::MaxI64>},
      {"max-f64", OfF64<merge::MaxF64>},
      {"max", OfBytes<merge::MaxBytes>},
      {"min-u64", OfU64<merge::MinU64>},
      {"min-i64", OfI64<merge::MinI64>},
      {"min-f64", OfF64<merge::MinF64>},
      {"min", OfBytes<merge::MinBytes>},
      {"and", OfBytes<merge::And>},
      {"or", OfBytes<merge::Or>},
      {"xor", OfBytes<merge::Xor>},
      {"append", Append},
      {"first", OfTime<merge::First>},
      {"last", OfTime<merge::Last>},
      {"json", OfBytes<merge::JsonPatch>},
      {"put", OfBytes<merge::Put>},
  };
  return types;
}

std::string OperandOf(const Arguments& arguments) {
  const std::string& word = arguments.words[1];
  if (!arguments.operator_name.empty()) return merge::Named(arguments.operator_name, TakeBytes(arguments, word));
  const auto make = Types().find(arguments.type);
  if (make != Types().end()) return make->second(arguments, word);
  std::string known;
  for (const auto& [name, unused] : Types()) known += " " + name;
  throw CLI::ValidationError(
      "--type",
      (arguments.type.empty() ? "is required" : "unknown type \"" + arguments.type + "\"") + "; one of:" + known);
}

int RunMerge(Arguments& arguments) {
  const std::string key = TakeBytes(arguments, arguments.words[0]);
  const std::string operand = OperandOf(arguments);
  const auto db = OpenDatabase(arguments.directory, OpenMode::kCreateIfMissing);
  if (db == nullptr) return kError;
  const auto keyspace = KeyspaceOf(arguments, *db, true);
  if (!keyspace) return Finish(*db, Fail(keyspace.status()));
  const auto durability = arguments.is_synced ? Durability::kSynced : Durability::kProcessCrash;
  const Status status = db->Merge({.durability = durability}, *keyspace, key, operand);
  return Finish(*db, status.ok() ? kOk : Fail(status));
}

template <typename Number>
std::string PrintNumber(const std::optional<Number>& number) {
  if (!number) return "?";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, *number).ptr};
}

}  // namespace

std::optional<std::string> ShowAs(const Arguments& arguments, std::string_view value) {
  if (arguments.as.empty()) return std::nullopt;
  if (arguments.as == "u64") return PrintNumber(merge::ToU64(value));
  if (arguments.as == "i64") return PrintNumber(merge::ToI64(value));
  if (arguments.as == "f64") return PrintNumber(merge::ToF64(value));
  const auto json = nlohmann::json::parse(value, nullptr, false);
  return json.is_discarded() ? "?" : json.dump(2);
}

void AddAs(CLI::App* verb, Arguments& arguments) {
  verb->add_option("--as", arguments.as,
                   "Print values in this format: u64, i64 or f64 (numbers of 8 bytes), or json (indented); ? if a "
                   "value has another format")
      ->check(CLI::IsMember({"u64", "i64", "f64", "json"}));
}

void AddMergeCommand(CLI::App& app, Context& context) {
  Arguments& arguments = context.arguments;
  CLI::App* verb =
      AddVerb(app, context,
              {"merge", "merge DIR KEY OPERAND --type TYPE [--keyspace NAME] [--hex] [--sync]",
               "Write a merge operand for a key, without reading its value; create the database if it does not exist",
               "Example: mergedb merge DIR visits 1 --type add-u64; mergedb get DIR visits --as u64\n"
               "TYPE: add-u64 add-i64 add-i64-failing add-f64, max- and min- of u64 i64 f64, max min (of bytes), "
               "and or xor, append, first last, json, put.",
               2, 2, RunMerge});
  verb->add_option("--type", arguments.type, "The type of the operand");
  AddKeyspace(verb, arguments);
  verb->add_option(
      "--operator", arguments.operator_name,
      "Instead of --type: the name of a merge operator, such as uint64add or stringappend, or one of the program's");
  verb->add_option("--delimiter", arguments.delimiter, "append: bytes between the value and the operand");
  verb->add_option("--cap", arguments.cap_bytes,
                   "append: the maximum bytes of the value; the oldest bytes are cut off");
  verb->add_flag("--keep-oldest", arguments.keeps_oldest, "append: with --cap, cut off the newest bytes instead");
  verb->add_option("--at", arguments.timestamp, "first, last: the operand's timestamp");
  verb->add_flag("--hex", arguments.is_hex, "KEY, OPERAND (unless it is a number) and the delimiter are in hex");
  verb->add_flag("--sync", arguments.is_synced, "Sync the write: it survives power loss");
}

}  // namespace mergedb::tool
