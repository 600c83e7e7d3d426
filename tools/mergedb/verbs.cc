// The command with its options and all verbs. The command line, the man pages and the completions (pages.cc) are made
// from it.
#include "command.h"
#include "mergedb/c.h"

namespace mergedb::tool {

// verb_table.inc: a row VERB(name) for each file of verbs/ that CMakeLists.txt lists, in its order.
#define VERB(name)              \
  namespace name##_verb {       \
    void Add(Command& command); \
  }
#include "verb_table.inc"
#undef VERB

Command::Command() : app("Reads and changes a mergedb database.", "mergedb") {
  app.set_version_flag("--version", std::string("mergedb ") + mergedb_version());
  app.add_option("--db", line.directory, "The database directory")->check(NotEmpty());
  app.require_subcommand(1);
  app.footer(
      "`mergedb VERB --help` prints the options of a verb. Data goes to stdout, messages to stderr.\n"
      "Exit codes: 0 ok, 1 not found or failed check, 2 usage, 3 error, 4 --skip-errors left keys out. An unknown\n"
      "keyspace and output that cannot be written are errors. Called as mdb_dump, mdb_load, mdb_stat, mdb_copy or\n"
      "mdb_drop, the command ends with 1 where it would end with 2 or 3, as LMDB's programs do.\n"
      "A key that begins with a dash goes after --: mergedb get DIR -- -key");
#define VERB(name) name##_verb::Add(*this);
#include "verb_table.inc"
#undef VERB
}

}  // namespace mergedb::tool
