// The verb copy: a checkpoint in another directory.
#include <chrono>
#include <cstdio>
#include <thread>

#include "command.h"
#include "lmdb_programs.h"
#include "mergedb/checkpoint.h"
#include "text.h"

namespace mergedb::tool::copy_verb {
namespace {

struct Arguments : Line {
  bool is_compacting = false;
  bool no_links = false;
  bool no_check = false;
  bool is_quiet = false;
};

constexpr int kCopyAttempts = 20;
constexpr auto kCopyPause = std::chrono::milliseconds(50);

Status CopyOnce(const Arguments& arguments, const std::string& target, CheckpointReport* report) {
  ASSIGN_OR_RETURN(auto db, OpenToRead(arguments.directory));
  ASSIGN_OR_RETURN(*report, Checkpoint(*db, target,
                                       {.may_link = !arguments.no_links,
                                        .verify = !arguments.no_check,
                                        .progress = ShowProgress(arguments.is_quiet)}));
  return db->Close();
}

// True for an error that can disappear. Another program that writes to the database may remove files between
// our open and our read. The next attempt keeps the files that this one has copied.
bool MayPass(const Status& status) {
  return status.IsCorruption() || status.IsNotFound() || status.IsIOError() || status.IsBusy();
}

Status CopyDatabase(const Arguments& arguments, const std::string& target, CheckpointReport* report) {
  Status status;
  for (int attempt = 0; attempt < kCopyAttempts; ++attempt) {
    if (attempt > 0) std::this_thread::sleep_for(kCopyPause);
    status = CopyOnce(arguments, target, report);
    if (!MayPass(status)) return status;
  }
  return status;
}

Status CompactCopy(const std::string& target) {
  ASSIGN_OR_RETURN(auto db, DB::Open({.mode = OpenMode::kMustExist, .memory_bytes = size_t{64} << 20}, target));
  RETURN_IF_ERROR(db->CompactRange(nullptr, nullptr));
  return db->Close();
}

int Run(Arguments& arguments) {
  if (arguments.words.empty())
    throw CLI::ValidationError("copy", "no target directory is given; usage: mergedb copy DIR TARGET");
  const std::string& target = arguments.words[0];
  CheckpointReport report;
  Status status = CheckIsOutside(arguments.directory, target);
  if (status.ok()) status = CopyDatabase(arguments, target, &report);
  if (status.ok() && arguments.is_compacting) status = CompactCopy(target);
  if (!status.ok()) return Fail(status);
  if (!arguments.is_alias && !arguments.is_quiet) {
    std::fprintf(stderr, "mergedb: copied %s, %s: %llu linked, %llu copied, %llu kept from an earlier attempt%s\n",
                 PrintCount(report.files, "file").c_str(), PrintBytes(report.bytes).c_str(),
                 static_cast<unsigned long long>(report.linked), static_cast<unsigned long long>(report.copied),
                 static_cast<unsigned long long>(report.kept), arguments.no_check ? "" : "; all files were verified");
  }
  return kOk;
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] = AddVerb(
      command,
      {.usage = "copy DIR TARGET [-c] [--no-links] [--no-check] [--quiet]",
       .description = "Copy the database to a new directory, also while a program writes to it",
       .footer =
           "The copy is TARGET.partial until it is complete; then it is renamed to TARGET. If the copy is interrupted, "
           "run\n"
           "the same command again. If both directories are on one file system, tables are linked instead of copied.",
       .examples = {"mergedb copy /srv/data /backup/data", "mergedb copy /srv/data /backup/data -c --no-links"},
       .words_max = 1},
      Run);
  verb->add_flag("-c", arguments.is_compacting, "Compact the copy at the end");
  verb->add_flag("--no-links", arguments.no_links, "Copy all files; make no hard links");
  verb->add_flag("--no-check", arguments.no_check, "Do not verify the copy");
  verb->add_flag("--quiet", arguments.is_quiet, "Print no progress and no summary on stderr");
  AddLmdbFlags(verb);
}

}  // namespace mergedb::tool::copy_verb
