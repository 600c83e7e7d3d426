#include "db/state/lost_directory.h"

#include <algorithm>

#include "env/copy_file.h"
#include "format/file_name.h"

namespace mergedb::db {

Result<LostDirectory> LostDirectory::Look(FileSystem* file_system, std::string directory) {
  LostDirectory aside(file_system, std::move(directory));
  const std::string path = format::JoinPath(aside.directory_, format::kLostDirectory);
  ASSIGN_OR_RETURN(const bool is_directory, file_system->IsDirectory(path));
  if (!is_directory) {
    const Status found = file_system->SizeOf(path).status();
    if (found.IsNotFound()) return aside;
    if (!found.ok() && !found.IsInvalidArgument()) return found;
    return Status::InvalidArgument(path +
                                   ": expected a directory (verify and repair move files to it); rename this file");
  }
  ASSIGN_OR_RETURN(const auto names, file_system->List(path));
  for (const std::string& name : names) {
    aside.names_.insert(name);
    // A name such as "000012.tbl.1" counts as number 12.
    for (size_t end = name.size(); end != std::string::npos;
         end = end == 0 ? std::string::npos : name.rfind('.', end - 1)) {
      if (const auto parsed = format::ParseFileName(std::string_view(name).substr(0, end))) {
        aside.largest_ = std::max(aside.largest_, parsed->number);
      }
    }
  }
  return aside;
}

std::string LostDirectory::TargetOf(std::string_view name) const {
  std::string target(name);
  for (int i = 1; names_.contains(target); ++i) target = std::string(name) + "." + std::to_string(i);
  return format::JoinPath(format::kLostDirectory, target);
}

Status LostDirectory::Create() {
  RETURN_IF_ERROR(file_system_->CreateDirectory(format::JoinPath(directory_, format::kLostDirectory)));
  return file_system_->SyncDirectory(directory_);
}

Status LostDirectory::Move(std::string_view name) {
  const std::string target = TargetOf(name);
  RETURN_IF_ERROR(file_system_->Rename(format::JoinPath(directory_, name), format::JoinPath(directory_, target)));
  names_.insert(target.substr(format::kLostDirectory.size() + 1));
  return {};
}

Status LostDirectory::WriteText(std::string_view name, std::string_view text) {
  const std::string target = TargetOf(name);
  names_.insert(target.substr(format::kLostDirectory.size() + 1));
  return env::WriteNewFile(file_system_, format::JoinPath(directory_, target), text);
}

Status LostDirectory::Sync() {
  RETURN_IF_ERROR(file_system_->SyncDirectory(format::JoinPath(directory_, format::kLostDirectory)));
  return file_system_->SyncDirectory(directory_);
}

}  // namespace mergedb::db
