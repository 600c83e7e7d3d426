// The verb inspect: a page that shows the tree of a database. It changes nothing.
#include "command.h"
#include "db/db_impl.h"
#include "inspect_page.h"
#include "output_file.h"

namespace mergedb::tool::inspect_verb {
namespace {

struct Arguments : Line {
  std::string html;
  std::string style = "lazy";
};

Status WritePage(const Arguments& arguments, const std::string& page) {
  ASSIGN_OR_RETURN(const auto out, OutputFile::Open(arguments.html, arguments.directory));
  out->Write(page);
  return out->Commit();
}

int Run(Arguments& arguments) {
  const auto db = OpenDatabase(arguments.directory, OpenMode::kReadOnly);
  if (db == nullptr) return kError;
  const read::SuperVersionPtr super_version = dynamic_cast<db::DbImpl&>(*db).CurrentSuperVersion();
  const Disk disk = MeasureDirectory(arguments.directory);
  const kv::Order order(BytewiseComparator());
  InspectPage page{.directory = arguments.directory,
                   .version = *super_version->version,
                   .order = order,
                   .style = arguments.style == "cascade" ? Style::kCascade : Style::kLazy,
                   .disk_bytes = disk.bytes,
                   .disk_files = disk.files,
                   .history = ReadHistory(arguments.directory)};
  if (auto live = LiveView::Read(arguments.directory)) page.live = std::move(*live);
  const Status status = WritePage(arguments, PrintPage(page));
  return Finish(*db, status.ok() ? kOk : Fail(status));
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "inspect DIR --html FILE [--style lazy|cascade]",
               .description = "Draw the tree of a database as a page for a browser",
               .footer = "The page is one file that needs no network. It shows the sorted runs over the keys, "
                         "tombstones, garbage in blob\n"
                         "files, what would be compacted next and why, the last day from the file LOG, if there is "
                         "one, and, if a process\n"
                         "has the database open, what limits it now. It has some keys in clear text. The database is "
                         "opened read-only and\n"
                         "may be open elsewhere.",
               .examples = {"mergedb inspect /srv/data --html /tmp/data.html",
                            "mergedb inspect /srv/data --html - | ssh desk 'cat > data.html'"}},
              Run);
  verb->add_option("--html", arguments.html, "Write the page to this file; - is stdout")->type_name("FILE")->required();
  verb->add_option("--style", arguments.style, "The compaction style that the program uses; default: lazy")
      ->check(CLI::IsMember({"lazy", "cascade"}));
}

}  // namespace mergedb::tool::inspect_verb
