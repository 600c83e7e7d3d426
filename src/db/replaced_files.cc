#include "db/replaced_files.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "db/observe/live_publisher.h"
#include "db/recovery/import.h"
#include "env/posix_lock.h"
#include "env/proc_file.h"
#include "env/process.h"
#include "format/file_name.h"
#include "manifest/loader.h"
#include "read/next_step.h"

namespace mergedb::db {
namespace {

using format::FileKind;

// The first table or blob file in `directory` that the message names.
std::optional<format::FileName> FileOf(std::string_view message, const std::string& directory) {
  const std::string prefix = format::JoinPath(directory, "");
  for (size_t at = message.find(prefix); at != std::string_view::npos; at = message.find(prefix, at + 1)) {
    const std::string_view rest = message.substr(at + prefix.size());
    const auto parsed = format::ParseFileName(rest.substr(0, rest.find_first_of(": ,;")));
    if (parsed && (parsed->kind == FileKind::kTable || parsed->kind == FileKind::kBlobFile)) return parsed;
  }
  return std::nullopt;
}

bool Names(const manifest::Loaded& loaded, const format::FileName& file) {
  return file.kind == FileKind::kTable ? loaded.version->files().contains(file.number)
                                       : loaded.version->FindBlobFile(file.number) != nullptr;
}

}  // namespace

std::string DescribeWriter(FileSystem* files, const std::string& directory) {
  const auto live = ReadLiveState(files, directory);
  if (!live) return "another process";
  const format::LiveProcess& process = live->process;
  if (env::LivenessOf({.pid = process.pid,
                       .pid_namespace = process.pid_namespace,
                       .start_ticks = process.start_ticks,
                       .boot_id = process.boot_id}) != env::Liveness::kRuns)
    return "another process";
  std::string name = env::ReadProcFile("/proc/" + std::to_string(process.pid) + "/comm");
  std::erase_if(name, [](char c) { return c < ' ' || c > '~'; });
  return "process " + std::to_string(process.pid) + (name.empty() ? "" : " (" + name + ")");
}

Result<std::unique_ptr<FileLock>> LockDatabase(FileSystem* files, const std::string& directory) {
  auto lock = files->Lock(format::FilePath(directory, FileKind::kLock));
  if (lock || !env::IsBusyLock(lock.error())) return lock;  // Busy also if no descriptor is left
  const std::string message(lock.error().message());
  const bool is_ours = message.ends_with("held by this process");
  return Status::Busy(message + "; " + (is_ours ? "this process" : DescribeWriter(files, directory)) +
                      " has the database open, and one process at a time may write");
}

Status ExplainReadOnly(const Store& store, uint64_t database_id, Status status) {
  // NotFound: also of a file that is not held. An absent key has no path.
  if (!status.IsCorruption() && !status.IsIOError() && !status.IsNotFound()) return status;
  const auto file = FileOf(status.message(), store.directory);
  if (!file) return read::WithNextStep(std::move(status), store.directory);
  if (status.IsNotFound()) status = Status::IOError(status.message());
  FileSystem* const files = store.options.env.file_system;
  const auto newest = manifest::LoadBesideWriter(files, store.directory, store.order, DescribeForeignFile);
  const std::string message(status.message());
  if (!newest && newest.error().IsBusy()) {  // no descriptor is left
    return Status::Busy(message + "; it is not known whether the newest MANIFEST still names the file: " +
                        std::string(newest.error().message()));
  }
  if (!newest || (newest->database_id == database_id && Names(*newest, *file)))
    return read::WithNextStep(std::move(status), store.directory);
  return Status::Busy(
      message + "; " + DescribeWriter(files, store.directory) +
      " has replaced this file since the database was opened read-only, so the database of now does not "
      "need it; open it again, or open a checkpoint that the process makes");
}

}  // namespace mergedb::db
