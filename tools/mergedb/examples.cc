// Two examples for each verb, at the end of its help.
#include "command.h"

namespace mergedb::tool {

namespace {

struct Example {
  const char* verb;
  const char* first;
  const char* second;
};

// Verbs that are not here have examples of their own, with more to explain.
constexpr Example kExamples[] = {
    {"get", "mergedb get /srv/data apple", "mergedb get /srv/data visits --as u64"},
    {"put", "mergedb put /srv/data apple green --sync", "mergedb put /srv/data picture - < picture.png"},
    {"delete", "mergedb delete /srv/data apple pear", "mergedb delete /srv/data --range user:100 user:200"},
    {"scan", "mergedb scan /srv/data --prefix user: --limit 10", "mergedb scan /srv/data --json | jq -r .key"},
    {"load", "mergedb dump /srv/old | mergedb load /srv/new", "mergedb load /srv/data --json < lines.json"},
    {"dump", "mergedb dump /srv/data -f backup.txt", "mergedb dump /srv/data -p | less"},
    {"copy", "mergedb copy /srv/data /backup/data", "mergedb copy /srv/data /backup/data -c --no-links"},
    {"drop", "mergedb drop /srv/data --keyspace users -d", "mergedb drop /srv/data --yes"},
    {"merge", "mergedb merge /srv/data visits 1 --type add-u64",
     "mergedb merge /srv/data log 'a line' --operator stringappend"},
    {"stat", "mergedb stat /srv/data", "mergedb stat /srv/data --property mergedb.runs"},
    {"check", "mergedb check /srv/data", "mergedb check /srv/data --json || mergedb verify /srv/data"},
    {"compact", "mergedb compact /srv/data", "mergedb compact /srv/data --from user:100 --to user:200"},
    {"destroy", "mergedb destroy /srv/data --yes",
     "mergedb copy /srv/data /backup/data && mergedb destroy /srv/data --yes"},
    {"verify", "mergedb verify /srv/data", "mergedb verify /srv/data --json --quiet > report.json"},
    {"repair", "mergedb repair /srv/data --dry-run", "mergedb repair /srv/data"},
    {"convert", "mergedb convert /srv/leveldb", "mergedb convert /srv/leveldb --salvage"},
    {"export-leveldb", "mergedb export-leveldb /srv/data /srv/leveldb",
     "mergedb export-leveldb /srv/data /srv/leveldb --keyspace users"},
    {"keyspaces", "mergedb keyspaces /srv/data", "mergedb keyspaces /srv/data --create users"},
};

}  // namespace

void AddExamples(CLI::App& app) {
  for (const Example& example : kExamples) {
    CLI::App* const verb = app.get_subcommand(example.verb);
    std::string footer = verb->get_footer();
    if (!footer.empty()) footer += "\n\n";
    verb->footer(footer + "Examples:\n  " + example.first + "\n  " + example.second);
  }
}

}  // namespace mergedb::tool
