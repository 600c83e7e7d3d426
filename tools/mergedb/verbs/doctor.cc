// The verb doctor: does a program use mergedb, or another engine? Without a command, it checks the installation.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "command.h"
#include "engine_file.h"
#include "loaded_files.h"
#include "mergedb/c.h"

namespace mergedb::tool::doctor_verb {
namespace {

struct Arguments : Line {
  int process = 0;  // --pid
};

// The libraries that replace LevelDB's, LMDB's and LSMDB's, by the names that programs ask for.
struct DropIn {
  const char* soname;
  Interface interface;
};
constexpr DropIn kDropIns[] = {{"libleveldb.so.1d", Interface::kLevelDb},
                               {"libleveldb.so.1", Interface::kLevelDb},
                               {"liblmdb.so.0", Interface::kLmdb},
                               {"liblsmdb.so.0", Interface::kLsmdb}};

bool IsDropInName(const std::string& soname) {
  return std::any_of(std::begin(kDropIns), std::end(kDropIns),
                     [&](const DropIn& each) { return soname == each.soname; });
}

void Say(const std::string& text) { Print(text + "\n"); }

// The command as a shell takes it.
std::string Quoted(const std::vector<std::string>& words) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  std::string line;
  for (const std::string& word : words) {
    line += line.empty() ? "" : " ";
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

std::filesystem::path OwnPath() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored);
}

// The folder of the drop-in libraries that belong to this command: of the build or of the installation. Empty if there
// is none.
std::string DropInFolder() {
  const std::filesystem::path prefix = OwnPath().parent_path().parent_path();
  for (const char* folder : {"dropin", MERGEDB_DROPIN_FOLDER}) {
    std::error_code ignored;
    if (std::filesystem::exists(prefix / folder / kDropIns[0].soname, ignored)) return prefix / folder;
  }
  return "";
}

// True if LD_LIBRARY_PATH has a folder with mergedb's library of this name.
bool IsOnLibraryPath(const std::string& soname) {
  const char* const path = std::getenv("LD_LIBRARY_PATH");
  std::string rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find_first_of(":;"), rest.size());
    const auto file = ReadEngineFile(rest.substr(0, end) + "/" + soname);
    if (file && file->is_mergedb) return true;
    rest.erase(0, end + 1);
  }
  return false;
}

// ---- The report on a process

void DescribeFile(const EngineFile& file) {
  std::string interfaces;
  for (const Interface interface : kInterfaces) {
    if (file.Has(interface))
      interfaces += (interfaces.empty() ? "" : " and ") + std::string(kInterfaceNames[static_cast<int>(interface)]);
  }
  if (!file.is_mergedb) {
    Say(file.path + " contains " + interfaces + " itself.");
  } else if (interfaces.empty()) {
    Say(file.path + " contains mergedb " + file.version + ".");
  } else {
    Say(file.path + " is mergedb " + file.version + " with the interface of " + interfaces + ".");
  }
}

// The next step for a program that uses another engine from `file`.
void AdviseFor(const EngineFile& file, const std::string& engine, const std::string& command) {
  const std::string dropins = DropInFolder();
  if (!IsDropInName(file.soname)) {
    Say("It is a part of that file and not the library of the system, so LD_LIBRARY_PATH changes nothing for it.");
    if (file.path.find(".so") == std::string::npos) {
      Say("Next: build the program with the shared library of " + engine + ", and run mergedb doctor again.");
      return;
    }
    Say("Next: use a build that takes the shared library of the system. The wheels of plyvel and lmdb contain their\n"
        "own engine. Debian's packages python3-plyvel and python3-lmdb, and builds from source, use the system's.");
    return;
  }
  if (IsOnLibraryPath(file.soname)) {
    Say("LD_LIBRARY_PATH names a folder with mergedb's " + file.soname +
        ", but the program does not use it: it has a run\n"
        "path of its own (DT_RPATH), raised privileges, or an LD_LIBRARY_PATH of its own.\n"
        "Next: see `readelf -d PROGRAM`, and replace the file or the run path.");
    return;
  }
  if (dropins.empty()) {
    Say("Next: install mergedb's drop-in libraries (./dev build, or the package mergedb-dropins), and run the program\n"
        "with LD_LIBRARY_PATH=FOLDER.");
    return;
  }
  Say("Next: run it with mergedb's library, which has the same name:\n    LD_LIBRARY_PATH=" + dropins + " " + command);
}

// One interface: is it served by mergedb? True if no file contains another engine for it.
bool JudgeInterface(Interface interface, const std::vector<EngineFile>& files, const std::string& command) {
  const std::string name = kInterfaceNames[static_cast<int>(interface)];
  const EngineFile* ours = nullptr;
  const EngineFile* theirs = nullptr;
  for (const EngineFile& file : files) {
    if (file.Has(interface)) (file.is_mergedb ? ours : theirs) = &file;
  }
  if (theirs == nullptr) {
    if (ours != nullptr) Say("mergedb is in use: it answers the calls of " + name + ".");
    return true;
  }
  if (ours != nullptr) {
    Say("mergedb and " + name + " are both loaded. Which of them gets a call depends on the file that makes it.");
  } else {
    Say("mergedb is not in use: the calls of " + name + " run its own code.");
  }
  AdviseFor(*theirs, name, command);
  return false;
}

// `command` is what the user may run again.
int Report(const std::vector<LoadedFile>& loaded, const std::string& command) {
  std::vector<EngineFile> files;
  bool has_own = false;
  for (const LoadedFile& each : loaded) {
    auto file = ReadEngineFile(each.path, each.real_path);
    if (!file || !file->HasEngine()) continue;
    DescribeFile(*file);
    has_own =
        has_own || (file->is_mergedb && !(file->has_interface[0] || file->has_interface[1] || file->has_interface[2]));
    files.push_back(*std::move(file));
  }
  if (files.empty()) {
    Say("mergedb is not in use: none of the loaded files contains mergedb, LevelDB, LMDB or LSMDB.\n"
        "Next: if the program loads an engine later, let it open its database while doctor looks.");
    return kNo;
  }
  bool is_ours = true;
  for (const Interface interface : kInterfaces) is_ours = JudgeInterface(interface, files, command) && is_ours;
  if (has_own) Say("mergedb is in use by its own interface.");
  return is_ours ? kOk : kNo;
}

// ---- The three uses

int RunOnCommand(const std::vector<std::string>& command) {
  const auto traced = TraceCommand(command);
  if (!traced) return Fail(traced.status());
  const std::string line = Quoted(command);
  if (WIFSIGNALED(traced->status)) {
    Say("The command was ended by signal " + std::to_string(WTERMSIG(traced->status)) + ".");
  } else if (WEXITSTATUS(traced->status) != 0) {
    Say("The command ended with exit code " + std::to_string(WEXITSTATUS(traced->status)) + ".");
  }
  if (traced->processes == 0) {
    const auto program = ReadEngineFile(FindProgram(command[0]));
    Say(program && program->is_statically_linked
            ? "The program is statically linked: it contains all its libraries, and LD_LIBRARY_PATH changes nothing."
            : "The loader reported no file. The program has another C library than glibc, or raised privileges.\n"
              "Next: start it, and look at the running process: mergedb doctor --pid PID");
  }
  return Report(traced->files, line);
}

int RunOnProcess(pid_t process) {
  const auto files = FilesOfProcess(process);
  if (!files) return Fail(files.status());
  return Report(*files, "PROGRAM");
}

// Writes and reads a small database in a temporary directory.
Status TryDatabase() {
  std::string path = (std::filesystem::temp_directory_path() / "mergedb_doctor_XXXXXX").string();
  if (mkdtemp(path.data()) == nullptr) return Status::IOError(path + ": cannot be made: " + std::strerror(errno));
  const auto use = [&path]() -> Status {
    ASSIGN_OR_RETURN(const auto db, DB::Open({}, path));
    RETURN_IF_ERROR(db->Put({.durability = Durability::kSynced}, "key", "value"));
    std::string value;
    RETURN_IF_ERROR(db->Get({}, "key", &value));
    if (value != "value") return Status::Corruption("expected \"value\", found \"" + value + "\"");
    return db->Close();
  };
  const Status status = use();
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  return status;
}

int RunOnInstallation() {
  const std::string version = mergedb_version();
  Say("mergedb " + version + ": " + OwnPath().string());
  if (const Status status = TryDatabase(); !status.ok())
    return Fail(status.WithContext("a new database in the temporary directory"));
  Say("A new database was written and read: the engine works.");
  const std::string dropins = DropInFolder();
  if (dropins.empty()) {
    Say("The libraries that replace LevelDB's and LMDB's are not installed (./dev build, or the package\n"
        "mergedb-dropins).");
    return kOk;
  }
  int exit = kOk;
  for (const DropIn& each : kDropIns) {
    const std::string path = dropins + "/" + each.soname;
    const auto file = ReadEngineFile(path);
    if (!file || !file->is_mergedb || file->version != version) {
      exit = Fail(kNo, path + ": expected mergedb " + version + ", found " +
                           (!file              ? "no library"
                            : file->is_mergedb ? "mergedb " + file->version
                                               : "another library") +
                           "; install mergedb and its drop-in libraries again");
    } else {
      DescribeFile(*file);
    }
  }
  if (exit != kOk) return exit;
  Say("They replace the libraries of a program that is started with LD_LIBRARY_PATH=" + dropins +
      ".\nNext: mergedb doctor -- COMMAND says whether they do.");
  return kOk;
}

int Run(Arguments& arguments) {
  if (arguments.process != 0 && !arguments.words.empty())
    throw CLI::ValidationError("--pid", "cannot be combined with a command");
  if (arguments.process != 0) return RunOnProcess(arguments.process);
  return arguments.words.empty() ? RunOnInstallation() : RunOnCommand(arguments.words);
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "doctor [--pid PID] [-- COMMAND [ARGUMENT...]]",
               .description = "Say whether a program uses mergedb, or LevelDB or LMDB themselves",
               .footer = "Runs COMMAND and then prints, on stdout, which of the files that it loaded contain mergedb, "
                         "LevelDB, LMDB or\n"
                         "LSMDB, whether mergedb is in use, and the next step. Its child processes count, too. With "
                         "--pid, doctor looks\n"
                         "at a running process. Without either, it checks the installation.\n"
                         "Exit code 0 if mergedb is in use, 1 if another engine or no engine is.",
               .examples = {"mergedb doctor -- env LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu/mergedb python3 app.py",
                            "mergedb doctor --pid 1234"},
               .words_max = SIZE_MAX,
               .takes = Takes::kCommand},
              Run);
  verb->add_option("--pid", arguments.process, "Look at this process")
      ->type_name("PID")
      ->check(IntegerFrom(1, INT_MAX));
}

}  // namespace mergedb::tool::doctor_verb
