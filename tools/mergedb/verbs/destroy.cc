// The verb destroy.
#include "command.h"
#include "file_report.h"
#include "repair/inspection.h"

namespace mergedb::tool::destroy_verb {
namespace {

struct Arguments : Line {
  bool is_sure = false;
};

int Run(Arguments& arguments) {
  if (!arguments.is_sure) return Fail(kUsage, "destroy removes the whole database; pass --yes to confirm");
  // WHY: DB::Destroy removes a LevelDB database, as DestroyDB does for a program that names its own one.
  if (const Status status = repair::CheckIsDatabase(Files(), arguments.directory); !status.ok())
    return Fail(status.WithContext("nothing was removed"));
  const Status status = DB::Destroy({}, arguments.directory);
  return status.ok() ? kOk : Fail(status);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "destroy DIR --yes",
               .description = "Remove the files of a database, which may be damaged",
               .footer = "Other files in the directory stay. Databases of LevelDB, RocksDB and LMDB are refused.",
               .examples = {"mergedb destroy /srv/data --yes",
                            "mergedb copy /srv/data /backup/data && mergedb destroy /srv/data --yes"}},
              Run);
  verb->add_flag("--yes", arguments.is_sure, "Confirm the removal");
}

}  // namespace mergedb::tool::destroy_verb
