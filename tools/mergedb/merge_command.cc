// The verb merge, which applies an operand to a key; and --as, which prints merged values as numbers or JSON.
#include <algorithm>
#include <charconv>

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

std::string TypeNames() {
  std::string names;
  for (const merge::Type& type : merge::Types()) names.append(names.empty() ? "" : ", ").append(type.name);
  return names;
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
  const std::string delimiter = TakeBytes(arguments, arguments.delimiter);
  std::string bytes;
  merge::Arguments made = {.u64 = arguments.timestamp,
                           .append = {.delimiter = delimiter,
                                      .cap_bytes = arguments.cap_bytes,
                                      .keep = arguments.keeps_oldest ? merge::Keep::kOldest : merge::Keep::kNewest}};
  switch (type->argument) {
    case merge::Argument::kU64: made.u64 = TakeNumber<uint64_t>(arguments.type, word); break;
    case merge::Argument::kI64: made.i64 = TakeNumber<int64_t>(arguments.type, word); break;
    case merge::Argument::kF64: made.f64 = TakeNumber<double>(arguments.type, word); break;
    case merge::Argument::kBytes: made.bytes = bytes = TakeBytes(arguments, word); break;
  }
  return *merge::Make(type->id, made);
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

namespace {

constexpr int kShownJsonDepthMax = 512;

// The value as ASCII. `indent` below 0: on one line. WHY a limit of the depth: the library prints by recursion.
std::string ShowJson(std::string_view value, int indent) {
  bool is_too_deep = false;
  const auto count = [&is_too_deep](int depth, nlohmann::json::parse_event_t event, const nlohmann::json&) {
    using Event = nlohmann::json::parse_event_t;
    const bool is_start = event == Event::array_start || event == Event::object_start;
    is_too_deep = is_too_deep || (is_start && depth >= kShownJsonDepthMax);
    return !is_too_deep;
  };
  const auto json = nlohmann::json::parse(value, count, false);
  return is_too_deep || json.is_discarded() ? "?" : json.dump(indent, ' ', true);
}

}  // namespace

std::optional<std::string> ShowAs(const Arguments& arguments, std::string_view value, int indent) {
  if (arguments.as.empty()) return std::nullopt;
  if (arguments.as == "u64") return PrintNumber(merge::ToU64(value));
  if (arguments.as == "i64") return PrintNumber(merge::ToI64(value));
  if (arguments.as == "f64") return PrintNumber(merge::ToF64(value));
  return ShowJson(value, indent);
}

void AddAs(CLI::App* verb, Arguments& arguments) {
  verb->add_option(
          "--as", arguments.as,
          "Print values in this format: u64, i64 or f64 (numbers of 8 bytes), or json (as ASCII; `get` indents it; "
          "numbers "
          "outside of 64 bits are rounded, and of members with one name the last is printed); ? if a value has "
          "another format, or JSON of more than 512 levels")
      ->check(CLI::IsMember({"u64", "i64", "f64", "json"}));
}

void AddMergeCommand(CLI::App& app, Context& context) {
  Arguments& arguments = context.arguments;
  CLI::App* verb =
      AddVerb(app, context,
              {"merge", "merge DIR KEY OPERAND --type TYPE [--keyspace NAME] [--hex] [--sync]",
               "Write a merge operand for a key, without reading its value; create the database if it does not exist",
               "", 2, 2, RunMerge});
  verb->footer(
      "TYPE: " + TypeNames() +
      ".\n"
      "OPERAND is a number if the name of the type contains u64, i64 or f64; otherwise it is a string of bytes.");
  verb->add_option("--type", arguments.type, "The type of the operand");
  AddKeyspace(verb, arguments);
  verb->add_option(
      "--operator", arguments.operator_name,
      "Instead of --type: the name of a merge operator, such as uint64add or stringappend, or one of the program's");
  verb->add_option("--delimiter", arguments.delimiter, "append: bytes between the value and the operand");
  verb->add_option("--cap", arguments.cap_bytes, "append: the maximum bytes of the value; the oldest bytes are cut off")
      ->check(IntegerFrom(0));
  verb->add_flag("--keep-oldest", arguments.keeps_oldest, "append: with --cap, cut off the newest bytes instead");
  verb->add_option("--at", arguments.timestamp, "first, last: the operand's timestamp")->check(IntegerFrom(0));
  verb->add_flag("--hex", arguments.is_hex, "KEY, OPERAND (unless it is a number) and the delimiter are in hex");
  verb->add_flag("--sync", arguments.is_synced, "Sync the write: it survives power loss");
}

}  // namespace mergedb::tool
