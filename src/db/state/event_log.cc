#include "db/state/event_log.h"

#include <algorithm>
#include <new>
#include <utility>

#include "env/file_reads.h"
#include "format/file_name.h"

namespace mergedb::db {
namespace {

constexpr uint64_t kRetryNanos = 1'000'000'000;

}  // namespace

std::string EventLog::PathOf(std::string_view name) const { return format::JoinPath(directory_, name); }

void EventLog::Start() {
  if (files_->is_append_only()) return;
  base::Lock lock(mutex_);
  is_started_ = true;
}

void EventLog::Add(std::string_view line) {
  base::Lock lock(mutex_);
  if (waiting_.size() + line.size() >= std::min<uint64_t>(kWaitingBytesMax, bytes_max_ / 4)) {
    ++lines_lost_;
    return;
  }
  waiting_.append(line) += '\n';
}

void EventLog::Write() {
  base::Lock lock(mutex_);
  if (!is_started_ || is_writing_ || waiting_.empty()) return;
  if (not_before_nanos_ != 0 && clock_->NowNanos() < not_before_nanos_) return;
  is_writing_ = true;
  while (!waiting_.empty()) {
    std::string lines = std::exchange(waiting_, {});
    const uint64_t lost = std::exchange(lines_lost_, 0);
    bool is_written = false;
    lock.Unlock();
    try {
      if (lost > 0) lines += "{\"event\":\"log_lines_lost\",\"lines\":" + std::to_string(lost) + "}\n";
      is_written = WriteLines(lines).ok();
    } catch (const std::bad_alloc&) { file_ = nullptr; }
    lock.Relock();
    not_before_nanos_ = 0;
    if (is_written) continue;
    lines_lost_ += lost + static_cast<uint64_t>(std::ranges::count(lines, '\n')) - (lost > 0 ? 1 : 0);
    not_before_nanos_ = clock_->NowNanos() + kRetryNanos;
    break;
  }
  is_writing_ = false;
  write_ended_.NotifyAll();
}

Status EventLog::Remove(FileSystem* files, const std::string& directory) {
  for (const std::string_view name : {kName, kOldName}) {
    const std::string path = format::JoinPath(directory, name);
    const auto beginning = env::ReadBeginning(files, path, 1);
    if (!beginning && !beginning.error().IsNotFound()) return beginning.error();
    if (beginning && *beginning == "{") RETURN_IF_ERROR(files->Remove(path));
  }
  return {};
}

// After an error the file is closed, and opened again by the next call.
Status EventLog::WriteLines(const std::string& lines) {
  Status status;
  if (file_ == nullptr) status = OpenFile();
  if (status.ok() && end_ > 0 && end_ + lines.size() > bytes_max_ / 2) status = Rotate();
  if (status.ok()) {
    status = file_->WriteAt(end_, lines);
    if (!status.ok()) torn_from_ = end_;
  }
  if (status.ok()) {
    end_ += lines.size();
  } else {
    file_ = nullptr;
  }
  return status;
}

// A LOG that does not begin as a JSON line is another program's, such as LevelDB's, and becomes LOG.old. So does a LOG
// with a second name: that of a copy of the database by hard links, which must not change.
Status EventLog::OpenFile() {
  auto file = files_->Open(PathOf(kName), {.access = Access::kReuse});
  if (!file && file.error().IsNotFound()) {
    end_ = 0;
    ASSIGN_OR_RETURN(file_, files_->Open(PathOf(kName), {.access = Access::kCreate}));
    return {};
  }
  if (!file && file.error().IsInvalidArgument()) return Rotate();
  if (!file) return file.error();
  ASSIGN_OR_RETURN(end_, (*file)->Size());
  if (torn_from_ && end_ > *torn_from_) {
    RETURN_IF_ERROR((*file)->Truncate(*torn_from_));
    end_ = *torn_from_;
  }
  torn_from_ = std::nullopt;
  char ends[2] = {'{', '\n'};
  size_t got = 0;
  if (end_ > 0) {
    RETURN_IF_ERROR((*file)->ReadAt(0, 1, &ends[0], &got));
    RETURN_IF_ERROR((*file)->ReadAt(end_ - 1, 1, &ends[1], &got));
  }
  file_ = std::move(*file);
  if (ends[0] != '{') return Rotate();
  if (ends[1] == '\n') return {};
  RETURN_IF_ERROR(file_->WriteAt(end_, "\n"));
  ++end_;
  return {};
}

Status EventLog::Rotate() {
  file_ = nullptr;
  end_ = 0;
  RETURN_IF_ERROR(files_->Rename(PathOf(kName), PathOf(kOldName)));
  ASSIGN_OR_RETURN(file_, files_->Open(PathOf(kName), {.access = Access::kCreate}));
  return {};
}

// WHY the wait: a reader may be inside Write, since an iterator's slow call may end at any time. It must not write to
// LOG when the next process has the lock of the directory.
void EventLog::Stop() {
  Write();
  base::Lock lock(mutex_);
  is_started_ = false;
  while (is_writing_) write_ended_.Wait(lock);
  file_ = nullptr;
}

}  // namespace mergedb::db
