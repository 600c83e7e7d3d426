// The verb load: reads the output of dump, mdb_dump, db_dump and scan into a database.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <utility>

#include "command.h"
#include "dump_text.h"
#include "format/lmdb.h"
#include "line_reader.h"
#include "lmdb_programs.h"
#include "mergedb/transaction.h"
#include "text.h"

namespace mergedb::tool::load_verb {
namespace {

struct Arguments : Line, KeyspaceOption {
  bool is_json = false;
  std::optional<std::string> file;
  bool is_plain_text = false;
  bool is_adding_only = false;
};

constexpr size_t kLoadBatchBytes = size_t{1} << 20;

// The database that later pairs go to.
struct Destination {
  std::string name = {};     // empty: the default keyspace
  unsigned flags = 0;        // of LMDB: the pairs have keys of this order
  bool makes_item = false;   // for the LMDB interface: a name item of the default keyspace (format/lmdb.h)
  bool is_of_lmdb = false;   // the pairs are of a dump of LMDB
  bool takes_flags = false;  // the pairs have keys of the order that the existing database has
};

// Puts in batches. With -N, it adds only keys that do not exist.
class Loader {
 public:
  Loader(DB& db, bool is_adding_only) : db_(db), is_adding_only_(is_adding_only) {}

  // Creates the keyspace and its item if they do not exist.
  Status Enter(const Destination& to) {
    RETURN_IF_ERROR(Write());
    keyspace_ = Keyspace();
    flags_ = to.flags;
    items_.clear();
    is_of_lmdb_ = to.is_of_lmdb;
    if (!to.name.empty()) return EnterNamed(to);
    if (to.flags == 0) return ReadItems();
    return Status::InvalidArgument(
        "integerkey or reversekey of the main database: mergedb's main database has no such order; load it into a "
        "named database with --keyspace NAME");
  }

  Status Add(std::string key, const std::string& value) {
    if (flags_ != 0) format::TurnLmdbKey(flags_, &key);
    if (const auto item = items_.find(key); item != items_.end() && item->second != value) {
      // LMDB's own description of the database, which says nothing here.
      if (is_of_lmdb_ && value.size() == format::kNameItemBytes) return {};
      return Status::InvalidArgument(
          "key \"" + ToText(key) +
          "\" is the name of a database of the LMDB interface, which keeps its own entry there");
    }
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
  Status EnterNamed(const Destination& to) {
    std::string entry;
    const Status found = db_.Get({}, to.name, &entry);
    if (!found.ok() && !found.IsNotFound()) return found;
    const auto existing = db_.OpenKeyspace(to.name);
    if (!existing && !existing.error().IsNotFound()) return existing.error();
    const auto item = found.ok() ? format::DecodeNameItem(entry) : std::nullopt;
    if (to.takes_flags && existing && item) flags_ = *item;
    const bool makes_item = to.makes_item || flags_ != 0;
    if (makes_item && found.ok() && (!item || *item != flags_)) {
      return Status::InvalidArgument(
          item ? "the database has other flags (integerkey, reversekey) than the dump; load it into another one with "
                 "--keyspace NAME"
               : "the default keyspace has an entry of this name, and LMDB keeps the name of a database there; load "
                 "named databases (mdb_dump -a) before the main database");
    }
    if (existing && !found.ok() && flags_ != 0) RETURN_IF_ERROR(CheckIsEmpty(*existing));
    if (existing && item && !makes_item && *item != 0) {
      return Status::InvalidArgument("the database has keys of another order (integerkey, reversekey) than the dump");
    }
    return Create(to.name, makes_item && found.IsNotFound());
  }

  // Puts into the default keyspace must not replace them: they hold the flags.
  Status ReadItems() {
    ASSIGN_OR_RETURN(const auto names, db_.ListKeyspaces());
    for (const KeyspaceEntry& each : names) {
      std::string value;
      const Status status = db_.Get({}, each.name, &value);
      if (!status.ok() && !status.IsNotFound() && !status.IsMergeFailed()) return status;
      if (status.ok() && format::DecodeNameItem(value)) items_[each.name] = value;
    }
    return {};
  }

  Status CheckIsEmpty(Keyspace keyspace) {
    const auto it = db_.NewIterator({.keys_only = true, .keyspace = keyspace});
    it->SeekToFirst();
    if (!it->Valid()) return it->status();
    return Status::InvalidArgument("the keyspace has entries, and keys of another order (integerkey, reversekey) come");
  }

  // The keyspace and its item appear at once.
  Status Create(const std::string& name, bool makes_item) {
    ASSIGN_OR_RETURN(const auto transaction, Transaction::Begin(db_));
    ASSIGN_OR_RETURN(keyspace_, transaction->CreateKeyspace(name, {.may_exist = true}));
    if (makes_item) RETURN_IF_ERROR(transaction->Put(name, format::EncodeNameItem(flags_)));
    return transaction->Commit();
  }

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
  unsigned flags_ = 0;
  bool is_of_lmdb_ = false;
  std::map<std::string, std::string> items_;  // name items of the default keyspace, while pairs go there
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

// The longest escapes of a byte: \\xNN in scan's text, \\u00NN in JSON.
LineBound BoundOf(const Arguments& arguments) {
  constexpr size_t kTextOfByte = 4, kJsonOfByte = 6, kJsonAround = 1024;
  if (arguments.is_json) {
    return {.bytes_max = kJsonOfByte * (kKeyBytesMax + kValueBytesMax) + kJsonAround,
            .mark = '{',
            .mark_within = kJsonAround};
  }
  return {.bytes_max = kTextOfByte * (kKeyBytesMax + kValueBytesMax) + 1,
          .mark = '\t',
          .mark_within = kTextOfByte * kKeyBytesMax + 1};
}

Status LoadLines(const Arguments& arguments, LineReader& in, Loader* loader) {
  RETURN_IF_ERROR(loader->Enter({.name = arguments.keyspace.value_or("")}));
  std::string line;
  for (;;) {
    ASSIGN_OR_RETURN(const bool has_line, in.Next(&line, BoundOf(arguments)));
    if (!has_line) return {};
    std::optional<Pair> pair = ParseLine(arguments, line);
    if (!pair) {
      return in.Fail(std::string("expected ") +
                     (arguments.is_json ? "{\"key\":...,\"value\":...}" : "key, tab, value") +
                     (arguments.is_hex ? " in hex" : "") + HintOfFormat(arguments, line));
    }
    RETURN_IF_ERROR(loader->Add(std::move(pair->key), pair->value));
  }
}

Destination DestinationOf(const Arguments& arguments, const DumpHeader& header) {
  const bool is_of_lmdb = header.flavour == DumpFlavour::kLmdb && !header.database.empty();
  return {.name = arguments.keyspace.value_or(header.database),
          .flags = header.lmdb_flags,
          .makes_item = arguments.is_alias || (is_of_lmdb && !header.is_plain_keyspace),
          .is_of_lmdb = header.flavour == DumpFlavour::kLmdb,
          .takes_flags = arguments.is_plain_text};
}

Status LoadDump(const Arguments& arguments, LineReader& in, Loader* loader) {
  DumpReader reader(in, arguments.is_plain_text);
  DumpHeader header;
  for (uint64_t sections = 0, announced = 0;; ++sections) {
    ASSIGN_OR_RETURN(const bool has_section, reader.NextSection(&header));
    if (!has_section) {
      if (sections >= announced) return {};
      return in.Fail("expected " + std::to_string(announced) + " sections, found " + std::to_string(sections) +
                     ": the input may be cut");
    }
    announced += std::min(header.sections, UINT64_MAX - announced);  // any number of the input
    const Destination to = DestinationOf(arguments, header);
    if (const Status status = loader->Enter(to); !status.ok()) {
      return status.WithContext(in.Fail("database \"" + ToText(to.name) + "\"").message());
    }
    std::string key, value;
    for (;;) {
      ASSIGN_OR_RETURN(const bool has_pair, reader.NextPair(&key, &value));
      if (!has_pair) break;
      if (const Status status = loader->Add(key, value); !status.ok())
        return status.WithContext("line " + std::to_string(in.line()));
    }
  }
}

// True for the first line of a dump. A line of scan has a tab.
bool BeginsDump(const std::string& line) {
  return line.starts_with("VERSION=") && line.find('\t') == std::string::npos;
}

Status Load(const Arguments& arguments, LineReader& in, Loader* loader) {
  if (arguments.is_plain_text) return LoadDump(arguments, in, loader);
  std::string first;
  ASSIGN_OR_RETURN(const bool has_line, in.Next(&first, BoundOf(arguments)));
  if (!has_line) return loader->Enter({.name = arguments.keyspace.value_or("")});
  const bool is_dump = arguments.is_alias || BeginsDump(first);
  in.PutBack(std::move(first));
  return is_dump ? LoadDump(arguments, in, loader) : LoadLines(arguments, in, loader);
}

int Run(Arguments& arguments) {
  if (arguments.keyspace) arguments.keyspace = TakeBytes(arguments, *arguments.keyspace);
  // WHY first: if the input cannot be read, no database is created.
  const auto in = LineReader::Open(arguments.file);
  if (!in) return Fail(in.error());
  // WHY not success: `dump A | load B` whose dump failed would end so.
  if ((*in)->is_empty() && !arguments.is_alias) {
    return Fail(kNo, (*in)->name() + ": the input is empty: nothing was loaded, and no database was opened");
  }
  const auto db = OpenDatabase(arguments.directory, OpenMode::kCreateIfMissing);
  if (db == nullptr) return kError;
  Loader loader(*db, arguments.is_adding_only);
  Status status = Load(arguments, **in, &loader);
  if (const Status finished = loader.Finish(); status.ok()) status = finished;
  if (!arguments.is_alias)
    std::fprintf(stderr, "mergedb: loaded %s\n", PrintCount(loader.loaded(), "entry", "entries").c_str());
  return Finish(*db, status.ok() ? kOk : Fail(status));
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] = AddVerb(
      command,
      {.usage = "load DIR [-f FILE] [-T] [-N] [--keyspace NAME] [--hex] [--json] < LINES",
       .description = "Put the entries that dump or scan printed; create the database if it does not exist",
       .footer = "Reads dumps of mergedb, LMDB (mdb_dump) and Berkeley DB (db_dump), and the output of scan with the "
                 "same flags.\n"
                 "`mergedb dump A | mergedb load B` copies a database with all its keyspaces; a dump that was cut is "
                 "an error. The\n"
                 "output of scan has the entries of one keyspace. After an error, the entries before it stay. Exit "
                 "code 1: the\n"
                 "input is empty.",
       .examples = {"mergedb dump /srv/old | mergedb load /srv/new", "mergedb load /srv/data --json < lines.json"}},
      Run);
  CLI::Option* const hex = verb->add_flag("--hex", arguments.is_hex, "The lines are of scan --hex; NAME is in hex");
  CLI::Option* const json = verb->add_flag("--json", arguments.is_json, "A line is {\"key\": ..., \"value\": ...}");
  verb->add_option("-f", arguments.file, "Read this file; default: stdin");
  verb->add_flag("-T", arguments.is_plain_text, "Plain text: a line with a key, then a line with its value")
      ->excludes(hex)
      ->excludes(json);
  verb->add_flag("-N", arguments.is_adding_only, "Keep the values of existing keys");
  AddDatabase(verb, arguments.keyspace,
              "Load into this keyspace (LMDB: named database), not into those that the dump names");
  verb->add_flag("-a")->description("Accepted for LMDB (keys are sorted); no effect");
  AddLmdbFlags(verb);
}

}  // namespace mergedb::tool::load_verb
