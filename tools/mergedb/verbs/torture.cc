// The verb torture: a certificate for a disk. torture.h says how it works.
#include "torture.h"

#include "command.h"
#include "text.h"

namespace mergedb::tool::torture_verb {
namespace {

struct Arguments : Line {
  std::string device;
  std::optional<std::string> marks;  // of --verify
  uint64_t seconds = 0;
  bool is_json = false;
};

constexpr std::array<const char*, torture::kKinds> kPromises = {
    "append and fdatasync: the bytes",
    "overwrite and fdatasync: the bytes",
    "new file, fsync, fsync of the directory",
    "rename, fsync of the directory: old or new",
    "mergedb: a synced write",
    "mergedb: a flushed write",
    "mergedb: unsynced writes, in order",
};

void PrintReport(const torture::Report& report) {
  for (const torture::Kept& kept : report.kept) {
    char line[160];
    std::snprintf(line, sizeof line, "%-44s %10llu acknowledged %8llu missing   %s\n",
                  kPromises[static_cast<size_t>(kept.kind)], static_cast<unsigned long long>(kept.acknowledged),
                  static_cast<unsigned long long>(kept.missing), kept.is_kept() ? "kept" : "BROKEN");
    Print(line);
    if (!kept.is_kept()) Print("    " + kept.first + "\n");
  }
  for (const std::string& problem : report.problems) Print("mergedb: " + problem + "\n");
  Print(report.is_kept()
            ? "This disk and its file system kept all promises at this power failure.\n"
            : "A promise was broken. If a line without `mergedb:` says BROKEN, the disk or its file system "
              "lies: see `man 2 fsync`, its write cache, its controller.\n");
}

void PrintReportJson(const torture::Report& report) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const torture::Kept& kept : report.kept) {
    list.push_back({{"kind", torture::kNames[static_cast<size_t>(kept.kind)]},
                    {"acknowledged", kept.acknowledged},
                    {"missing", kept.missing},
                    {"kept", kept.is_kept()},
                    {"first", kept.first}});
  }
  PrintJson({{"kept", report.is_kept()}, {"promises", list}, {"problems", report.problems}}, 2);
}

int Run(Arguments& arguments) {
  if (!arguments.marks) {
    if (arguments.is_json) throw CLI::ValidationError("--json", "is for --verify");
    const Status status = torture::Run({.device = arguments.device, .seconds = arguments.seconds});
    return status.ok() ? kOk : Fail(status);
  }
  if (arguments.seconds > 0) throw CLI::ValidationError("--seconds", "is for a run, not for --verify");
  const auto marks = torture::ReadMarks(*arguments.marks);
  if (!marks) return Fail(marks.status());
  const auto report = torture::Check(arguments.device, *marks);
  if (!report) return Fail(report.status());
  arguments.is_json ? PrintReportJson(*report) : PrintReport(*report);
  return report->is_kept() ? kOk : kNo;
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] = AddVerb(
      command,
      {.usage = "torture --device DIR [--seconds N] | torture --device DIR --verify MARKS [--json]",
       .description = "Find out whether a disk keeps what it acknowledged when the power fails",
       .footer =
           "Without --verify, writes plain files and a database to DIR/mergedb-torture and prints a mark for each\n"
           "acknowledgment, until Ctrl-C or the power failure. Keep the marks on another machine or disk. Then cut "
           "the\n"
           "power: pull the plug, reset the virtual machine; a reboot by command proves nothing. With --verify,\n"
           "compares what is left with the marks (-: stdin), and says which promises were kept. Exit code 1 if one "
           "was\n"
           "broken. Remove DIR/mergedb-torture afterwards. It grows by some MB a second.",
       .examples = {"mergedb torture --device /mnt/disk | ssh other 'cat > marks'",
                    "mergedb torture --device /mnt/disk --verify marks"},
       .takes = Takes::kWords},
      Run);
  verb->add_option("--device", arguments.device, "A directory on the disk")
      ->type_name("DIR")
      ->required()
      ->check(NotEmpty());
  verb->add_option("--verify", arguments.marks, "Compare what is there with these marks; changes nothing")
      ->type_name("MARKS")
      ->check(NotEmpty());
  verb->add_option("--seconds", arguments.seconds, "Write for so long; default: until the power fails")
      ->type_name("N")
      ->check(IntegerFrom(1));
  verb->add_flag("--json", arguments.is_json, "Print the report as JSON");
}

}  // namespace mergedb::tool::torture_verb
