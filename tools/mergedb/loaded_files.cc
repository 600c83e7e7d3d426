#include "loaded_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <string_view>

namespace mergedb::tool {

namespace {

class TraceDirectory {
 public:
  TraceDirectory() : path_((std::filesystem::temp_directory_path() / "mergedb_doctor_XXXXXX").string()) {
    is_made_ = mkdtemp(path_.data()) != nullptr;
    // A child that runs as another user writes here, too.
    if (is_made_) is_made_ = chmod(path_.c_str(), 01777) == 0;
  }
  ~TraceDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TraceDirectory(const TraceDirectory&) = delete;
  TraceDirectory& operator=(const TraceDirectory&) = delete;

  bool is_made() const { return is_made_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool is_made_ = false;
};

// In the child. Returns only if the program cannot be run.
void Execute(const std::vector<std::string>& command, const std::string& trace) {
  setenv("LD_DEBUG", "reloc", 1);
  setenv("LD_DEBUG_OUTPUT", trace.c_str(), 1);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
}

// Runs the command and waits for its end. An interrupt from the terminal ends the command, not this process.
Result<int> RunAndWait(const std::vector<std::string>& command, const std::string& trace) {
  int failure[2];
  if (pipe2(failure, O_CLOEXEC) != 0) return Status::IOError(std::string("pipe: ") + std::strerror(errno));
  const auto interrupt = std::signal(SIGINT, SIG_IGN);
  const auto quit = std::signal(SIGQUIT, SIG_IGN);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGINT, interrupt);
    std::signal(SIGQUIT, quit);
    Execute(command, trace);
    const int error = errno;
    [[maybe_unused]] const ssize_t written = write(failure[1], &error, sizeof(error));
    _exit(127);
  }
  close(failure[1]);
  int error = child < 0 ? errno : 0, status = 0;
  if (child > 0) {
    if (read(failure[0], &error, sizeof(error)) != sizeof(error)) error = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  }
  close(failure[0]);
  std::signal(SIGINT, interrupt);
  std::signal(SIGQUIT, quit);
  if (error != 0) return Status::IOError(command[0] + ": cannot be run: " + std::strerror(error));
  return status;
}

// A line of the loader: "      1234:\trelocation processing: /lib/libm.so.6 (lazy)".
std::string FileOfLine(std::string_view line) {
  constexpr std::string_view kMark = "relocation processing: ", kLazy = " (lazy)";
  const size_t at = line.find(kMark);
  if (at == std::string_view::npos) return "";
  line.remove_prefix(at + kMark.size());
  if (line.size() > kLazy.size() && line.substr(line.size() - kLazy.size()) == kLazy) line.remove_suffix(kLazy.size());
  // The program itself has the name under which it was called.
  return line.find('/') == std::string_view::npos ? FindProgram(std::string(line)) : std::string(line);
}

class FileList {
 public:
  void Add(const std::string& path, const std::string& real_path = "") {
    std::error_code error;
    const std::string shortest = std::filesystem::weakly_canonical(path, error).string();
    const std::string& key = error || !real_path.empty() ? path : shortest;
    // The path as it was loaded has the name that the program asked for, which a symbolic link hides.
    if (!path.empty() && seen_.insert(key).second)
      files_.push_back({std::filesystem::path(path).lexically_normal().string(), real_path});
  }
  std::vector<LoadedFile> Take() { return std::move(files_); }

 private:
  std::set<std::string> seen_;
  std::vector<LoadedFile> files_;
};

}  // namespace

std::string FindProgram(const std::string& word) {
  if (word.find('/') != std::string::npos) return access(word.c_str(), X_OK) == 0 ? word : "";
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/bin:/usr/bin" : path;
  for (;;) {
    const size_t end = std::min(rest.find(':'), rest.size());
    const std::string folder(end == 0 ? "." : rest.substr(0, end));
    std::error_code ignored;
    if (const std::string file = folder + "/" + word;
        std::filesystem::is_regular_file(file, ignored) && access(file.c_str(), X_OK) == 0)
      return file;
    if (end == rest.size()) return "";
    rest.remove_prefix(end + 1);
  }
}

Result<TracedCommand> TraceCommand(const std::vector<std::string>& command) {
  const TraceDirectory directory;
  if (!directory.is_made()) return Status::IOError(directory.path() + ": cannot be made: " + std::strerror(errno));
  TracedCommand traced;
  ASSIGN_OR_RETURN(traced.status, RunAndWait(command, directory.path() + "/trace"));
  FileList list;
  list.Add(FindProgram(command[0]));
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    ++traced.processes;
    std::ifstream in(entry.path());
    for (std::string line; std::getline(in, line);) list.Add(FileOfLine(line));
  }
  traced.files = list.Take();
  return traced;
}

Result<std::vector<LoadedFile>> FilesOfProcess(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  std::ifstream maps(folder + "/maps");
  // A line: 7f0c-7f0d r-xp 0000 08:01 1234   /lib/libm.so.6
  FileList list;
  size_t lines = 0;
  for (std::string line; std::getline(maps, line); ++lines) {
    const size_t slash = line.find('/');
    if (slash == std::string::npos) continue;
    const std::string path = line.substr(slash);
    constexpr std::string_view kDeleted = " (deleted)";
    const bool is_deleted =
        path.size() > kDeleted.size() && path.compare(path.size() - kDeleted.size(), kDeleted.size(), kDeleted) == 0;
    // WHY through /proc: the process may have another root directory, and the file may be replaced by now.
    list.Add(path, is_deleted ? folder + "/map_files/" + line.substr(0, line.find(' ')) : folder + "/root" + path);
  }
  if (lines == 0) {
    return Status::IOError(folder +
                           "/maps: cannot be read; the process has ended, or only its user and root may look"
                           " at it");
  }
  return list.Take();
}

}  // namespace mergedb::tool
