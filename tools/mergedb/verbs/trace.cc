// The verb trace: analyses, prints and scrubs a trace (include/mergedb/trace.h). It opens no database.
#include <filesystem>
#include <random>

#include "file_report.h"
#include "output_file.h"
#include "trace_analysis.h"
#include "trace_scrub.h"

namespace mergedb::tool::trace_verb {
namespace {

struct Arguments : Line, HexOption {
  std::optional<uint64_t> top;    // hot keys that analyse prints
  std::optional<uint64_t> limit;  // operations that dump prints
  bool is_json = false;
};

// A cut or damaged trace is a failed check, after all that is intact was used.
int EndOf(const Status& status) {
  FlushPrinted();
  return status.ok() ? kOk : Fail(status.IsCorruption() ? kNo : kError, status.ToString());
}

int Analyse(const Arguments& arguments) {
  const auto reader = trace::Reader::Open(Files(), arguments.words[1]);
  if (!reader) return EndOf(reader.error());
  const uint64_t top = arguments.top.value_or(10);
  TraceAnalysis analysis;
  for (trace::Operation op; (*reader)->Next(&op);) analysis.Add(op);
  if (arguments.is_json) {
    PrintJson(analysis.ToJson(arguments.words[1], top, arguments, **reader), 2);
  } else {
    analysis.PrintText(arguments.words[1], top, arguments, **reader);
  }
  return EndOf((*reader)->status());
}

void PrintOperation(const Arguments& arguments, const trace::Operation& op) {
  std::string line = std::to_string(op.start_micros) + "\t" + std::to_string(op.thread) + "\t" +
                     std::to_string(op.took_micros) + "\t" + (op.is_element ? "  " : "");
  line.append(trace::NameOf(op.kind));
  if (op.code != Code::kOk) line.append(" ").append(CodeName(op.code));
  if (op.in_transaction) line += " in_transaction";
  if (op.keyspace != 0) line += " keyspace=" + std::to_string(op.keyspace);
  if (op.iterator != 0) line += " iterator=" + std::to_string(op.iterator);
  if (op.has_lower) line += " lower=" + ShowBytes(arguments, op.key);
  if (op.has_upper) line += " upper=" + ShowBytes(arguments, op.end);
  if (op.keys_only) line += " keys_only";
  if (!op.key.empty() && !op.has_lower) line += " key=" + ShowBytes(arguments, op.key);
  if (op.kind == trace::OpKind::kDeleteRange) line += " end=" + ShowBytes(arguments, op.end);
  if (op.count != 0) line += " count=" + std::to_string(op.count);
  if (op.value_bytes != 0) line += " value_bytes=" + std::to_string(op.value_bytes);
  if (op.value) line += " value=" + ShowBytes(arguments, *op.value);
  Print(line + "\n");
}

void PrintOperationJson(const Arguments& arguments, const trace::Operation& op) {
  nlohmann::ordered_json line = {{"start_us", op.start_micros},
                                 {"thread", op.thread},
                                 {"took_us", op.took_micros},
                                 {"operation", trace::NameOf(op.kind)}};
  if (op.is_element) line["in_group"] = true;
  if (op.in_transaction) line["in_transaction"] = true;
  if (op.code != Code::kOk) line["code"] = CodeName(op.code);
  if (op.keyspace != 0) line["keyspace"] = op.keyspace;
  if (op.iterator != 0) line["iterator"] = op.iterator;
  if (op.has_lower) SetBytes(arguments, &line, "lower", op.key);
  if (op.has_upper) SetBytes(arguments, &line, "upper", op.end);
  if (op.keys_only) line["keys_only"] = true;
  if (!op.key.empty() && !op.has_lower) SetBytes(arguments, &line, "key", op.key);
  if (op.kind == trace::OpKind::kDeleteRange) SetBytes(arguments, &line, "end", op.end);
  if (op.count != 0) line["count"] = op.count;
  if (op.value_bytes != 0) line["value_bytes"] = op.value_bytes;
  if (op.value) SetBytes(arguments, &line, "value", *op.value);
  PrintJson(line);
}

int Dump(const Arguments& arguments) {
  const auto reader = trace::Reader::Open(Files(), arguments.words[1]);
  if (!reader) return EndOf(reader.error());
  if (!arguments.is_json) Print("start us\tthread\ttook us\toperation\n");
  uint64_t left = arguments.limit.value_or(UINT64_MAX);
  trace::Operation op;
  for (; left > 0 && (*reader)->Next(&op); --left) {
    arguments.is_json ? PrintOperationJson(arguments, op) : PrintOperation(arguments, op);
  }
  return EndOf((*reader)->status());
}

// WHY no file is replaced: a trace cannot be recorded again, and IN may be the same file.
Status WriteScrubbed(const std::string& in, const std::string& out, Status* source_status) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(out, ignored))
    return Status::InvalidArgument(out + ": exists; expected the name of a new file");
  ASSIGN_OR_RETURN(const auto file, OutputFile::Open(out, ""));
  std::random_device random;
  const uint64_t seed = uint64_t{random()} << 32 | random();
  RETURN_IF_ERROR(ScrubTrace(Files(), in, file.get(), seed, source_status));
  return file->Commit();
}

int Scrub(const Arguments& arguments) {
  Status source;
  const Status status = WriteScrubbed(arguments.words[1], arguments.words[2], &source);
  return EndOf(status.ok() ? source : status);
}

// Refuses the options of other acts.
void CheckOptions(const Arguments& arguments, const std::string& act) {
  const auto refuse_if = [](bool is_given, const char* option, const char* acts) {
    if (is_given) throw CLI::ValidationError(option, std::string("is only for trace ") + acts);
  };
  refuse_if(arguments.top && act != "analyse", "--top", "analyse");
  refuse_if(arguments.limit && act != "dump", "--limit", "dump");
  refuse_if(arguments.is_json && act == "scrub", "--json", "analyse and dump");
  refuse_if(arguments.is_hex && act == "scrub", "--hex", "analyse and dump");
}

int Run(Arguments& arguments) {
  const std::string& act = arguments.words[0];
  const size_t words = act == "scrub" ? 3 : 2;
  if (act != "analyse" && act != "dump" && act != "scrub")
    throw CLI::ValidationError("trace", "unknown act \"" + act + "\"; one of: analyse, dump, scrub");
  if (arguments.words.size() != words) {
    throw CLI::ValidationError(
        "trace", "wrong number of words; usage: mergedb trace " + act + (words == 3 ? " IN OUT" : " FILE"));
  }
  CheckOptions(arguments, act);
  return act == "analyse" ? Analyse(arguments) : act == "dump" ? Dump(arguments) : Scrub(arguments);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] = AddVerb(
      command,
      {.usage = "trace analyse FILE [--top N] [--json] [--hex] | trace dump FILE [--limit N] [--json] [--hex] | "
                "trace scrub IN OUT",
       .description = "Analyse, print or scrub a trace, a record of the operations of a program",
       .footer =
           "A program records a trace with DB::StartTrace; db_bench replays it (--benchmarks=replay --trace=FILE).\n"
           "analyse prints operations by kind with their times, rates, hot keys, the number of distinct keys, sizes, "
           "and what a cache of a size would serve.\n"
           "dump prints one line for each operation.\n"
           "scrub writes a copy without keys and values. Each key becomes its rank among all keys and random bytes, so "
           "equal keys stay equal and the order stays. Values are sizes.\n"
           "Exit code 1 if the trace is cut or damaged; what comes before the damage is used.",
       .examples = {"mergedb trace analyse /tmp/trace --top 20",
                    "mergedb trace scrub /tmp/trace /tmp/to-send && mergedb trace dump /tmp/to-send | less"},
       .words_min = 2,
       .words_max = 3,
       .takes = Takes::kWords},
      Run);
  verb->add_option("--top", arguments.top, "analyse: print this many hot keys; default: 10")
      ->type_name("N")
      ->check(IntegerFrom(0));
  verb->add_option("--limit", arguments.limit, "dump: print at most this many operations")
      ->type_name("N")
      ->check(IntegerFrom(0));
  verb->add_flag("--json", arguments.is_json, "Print JSON; dump prints one line for each operation");
  verb->add_flag("--hex", arguments.is_hex, "Print keys and values in hex");
}

}  // namespace mergedb::tool::trace_verb
