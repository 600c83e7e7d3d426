// The verb load: reads the output of dump, mdb_dump, db_dump and scan into a database.
#include <cstdio>
#include <fstream>
#include <iostream>

#include "command.h"
#include "dump_text.h"
#include "text.h"

namespace mergedb::tool {

namespace {

constexpr size_t kLoadBatchBytes = size_t{1} << 20;

// Puts in batches. With -N, it adds only keys that do not exist.
class Loader {
 public:
  Loader(DB& db, bool is_adding_only) : db_(db), is_adding_only_(is_adding_only) {}

  // Later pairs go to this keyspace. It is created if it does not exist.
  Status Enter(const std::string& database) {
    RETURN_IF_ERROR(Write());
    keyspace_ = Keyspace();
    if (database.empty()) return {};
    ASSIGN_OR_RETURN(keyspace_, db_.CreateKeyspace(database, {.may_exist = true}));
    return {};
  }

  Status Add(const std::string& key, const std::string& value) {
    if (is_adding_only_) {
      RETURN_IF_ERROR(Write());  // the key may be in the batch
      std::string existing;
      const Status status = db_.Get({}, keyspace_, key, &existing);
      if (!status.IsNotFound()) return status;
    }
    batch_.Put(keyspace_, key, value);
    return batch_.bytes() >= kLoadBatchBytes ? Write() : Status();
  }
  Status Finish() {
    RETURN_IF_ERROR(Write());
    return db_.SyncWal();
  }
  uint64_t loaded() const { return loaded_; }

 private:
  Status Write() {
    if (batch_.count() == 0) return {};
    RETURN_IF_ERROR(db_.Write({}, batch_));
    loaded_ += batch_.count();
    batch_.Clear();
    return {};
  }

  DB& db_;
  const bool is_adding_only_;
  Keyspace keyspace_;
  WriteBatch batch_;
  uint64_t loaded_ = 0;
};

struct Pair {
  std::string key, value;
};

std::optional<std::string> BytesOfJson(const nlohmann::json& object, const std::string& name) {
  if (const auto it = object.find(name + "_hex"); it != object.end() && it->is_string()) {
    return FromHex(it->get<std::string>());
  }
  if (const auto it = object.find(name); it != object.end() && it->is_string()) return it->get<std::string>();
  return std::nullopt;
}

// Parses a line of scan's output with the same flags.
std::optional<Pair> ParseLine(const Arguments& arguments, const std::string& line) {
  std::optional<std::string> key, value;
  if (arguments.is_json) {
    const auto object = nlohmann::json::parse(line, nullptr, false);
    if (!object.is_object()) return std::nullopt;
    key = BytesOfJson(object, "key");
    value = BytesOfJson(object, "value");
  } else {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) return std::nullopt;
    const auto decode = arguments.is_hex ? FromHex : FromText;
    key = decode(std::string_view(line).substr(0, tab));
    value = decode(std::string_view(line).substr(tab + 1));
  }
  if (!key || !value) return std::nullopt;
  return Pair{*std::move(key), *std::move(value)};
}

std::string HintOfFormat(const Arguments& arguments, const std::string& line) {
  const bool looks_like_json = line.starts_with('{');
  if (looks_like_json == arguments.is_json) return {};
  return looks_like_json ? "; the line looks like JSON: pass --json" : "; without --json a line is key, tab, value";
}

Status LoadLines(const Arguments& arguments, std::istream& in, std::string line, Loader* loader) {
  uint64_t number = 1;
  do {
    const std::optional<Pair> pair = ParseLine(arguments, line);
    if (!pair) {
      return Status::InvalidArgument("line " + std::to_string(number) + ": expected " +
                                     (arguments.is_json ? "{\"key\":...,\"value\":...}" : "key, tab, value") +
                                     (arguments.is_hex ? " in hex" : "") + HintOfFormat(arguments, line));
    }
    RETURN_IF_ERROR(loader->Add(pair->key, pair->value));
    ++number;
  } while (std::getline(in, line));
  return {};
}

Status LoadDump(const Arguments& arguments, DumpReader reader, Loader* loader) {
  DumpHeader header;
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_section, reader.NextSection(&header));
    if (!has_section) return {};
    RETURN_IF_ERROR(loader->Enter(arguments.database ? *arguments.database : header.database));
    std::string key, value;
    for (;;) {
      ASSIGN_OR_RETURN(const bool has_pair, reader.NextPair(&key, &value));
      if (!has_pair) break;
      if (Status status = loader->Add(key, value); !status.ok())
        return status.WithContext("line " + std::to_string(reader.line()));
    }
  }
}

Status Load(const Arguments& arguments, std::istream& in, Loader* loader) {
  if (arguments.is_plain_text) return LoadDump(arguments, DumpReader(in, true), loader);
  std::string first;
  if (!std::getline(in, first)) return {};
  const bool is_scan = !arguments.is_alias && first.rfind("VERSION=", 0) != 0;
  if (is_scan) return LoadLines(arguments, in, std::move(first), loader);
  return LoadDump(arguments, DumpReader(in, false, std::move(first)), loader);
}

int RunLoad(Arguments& arguments) {
  std::ifstream file;
  if (arguments.file && *arguments.file != "-") {
    file.open(*arguments.file, std::ios::binary);
    if (!file) return Fail(kError, *arguments.file + ": cannot be read");
  }
  const auto db = OpenDatabase(arguments.directory, OpenMode::kCreateIfMissing);
  if (db == nullptr) return kError;
  if (arguments.database) arguments.database = TakeBytes(arguments, *arguments.database);
  Loader loader(*db, arguments.is_adding_only);
  Status status = loader.Enter(arguments.database.value_or(""));
  if (status.ok()) status = Load(arguments, file.is_open() ? static_cast<std::istream&>(file) : std::cin, &loader);
  if (const Status finished = loader.Finish(); status.ok()) status = finished;
  if (!arguments.is_alias)
    std::fprintf(stderr, "mergedb: loaded %llu entries\n", static_cast<unsigned long long>(loader.loaded()));
  return Finish(*db, status.ok() ? kOk : Fail(status));
}

}  // namespace

void AddLoadCommand(CLI::App& app, Context& context) {
  Arguments& arguments = context.arguments;
  CLI::App* load = AddVerb(
      app, context,
      {"load", "load DIR [-f FILE] [-T] [-N] [--keyspace NAME] [--hex] [--json] < LINES",
       "Put the entries that dump or scan printed; create the database if it does not exist",
       "Reads dumps of mergedb, LMDB (mdb_dump) and Berkeley DB (db_dump), and the output of scan with the same "
       "flags.\n"
       "`mergedb dump A | mergedb load B` and `mergedb scan A | mergedb load B` copy a database. After an error, the\n"
       "entries before it stay.",
       0, 0, RunLoad});
  load->add_flag("--hex", arguments.is_hex, "The lines are of scan --hex; NAME is in hex");
  load->add_flag("--json", arguments.is_json, "A line is {\"key\": ..., \"value\": ...}");
  load->add_option("-f", arguments.file, "Read this file; default: stdin");
  load->add_flag("-T", arguments.is_plain_text, "Plain text: a line with a key, then a line with its value");
  load->add_flag("-N", arguments.is_adding_only, "Keep the values of existing keys");
  load->add_option("-s,--keyspace", arguments.database,
                   "Load into this keyspace (LMDB: named database), not into those that the dump names")
      ->type_name("NAME");
  load->add_flag("-a")->description("Accepted for LMDB (keys are sorted); no effect");
  AddLmdbFlags(load);
}

}  // namespace mergedb::tool
