// The mergedb command. Exit codes: 0 ok, 1 not found or failed check, 2 usage, 3 error, 4 keys were skipped. Output
// that cannot be written is an error of every verb, of --help and of --version.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include "command.h"
#include "command_line.h"
#include "text.h"

namespace mergedb::tool {

namespace {

constexpr rlim_t kDescriptorsWanted = 65'536;

// If the program was called through a link named mdb_dump, mdb_load, mdb_stat, mdb_copy or mdb_drop: the verb
// of that name. Null otherwise.
const char* VerbOfAlias(const char* program) {
  const char* const slash = std::strrchr(program, '/');
  const char* const name = slash == nullptr ? program : slash + 1;
  if (std::strncmp(name, "mdb_", 4) != 0) return nullptr;
  for (const char* verb : {"dump", "load", "stat", "copy", "drop"}) {
    if (std::strcmp(name + 4, verb) == 0) return verb;
  }
  return nullptr;
}

int RunVerb(Command& command, const std::vector<std::string>& words) {
  try {
    ParseCommandLine(command, words);
    return command.run();
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    const int exit = command.app.exit(success, text, text);
    Print(text.str());
    return exit;
  } catch (const CLI::ParseError& error) { return Fail(kUsage, std::string(error.what()) + " (see mergedb --help)"); }
}

int Run(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const char* const alias = argc > 0 ? VerbOfAlias(argv[0]) : nullptr;
  if (alias != nullptr) words.insert(words.begin(), alias);
  Command command;
  command.line.is_alias = alias != nullptr;
  const int exit = FlushOutput(RunVerb(command, words));
  const bool is_failure = exit == kUsage || exit == kError;
  return command.line.is_alias && is_failure ? 1 : exit;  // as LMDB's programs
}

// Opens /dev/null where descriptor 0, 1 or 2 is closed. WHY: the next file that the command opens, such as a MANIFEST,
// would get that number, and a message would be written into it. A read or a write through these descriptors fails, so
// that missing input or lost output is an error.
bool FillStandardDescriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0) continue;
    if (open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY) != descriptor) return false;
  }
  return true;
}

}  // namespace

}  // namespace mergedb::tool

int main(int argc, char** argv) {
  if (!mergedb::tool::FillStandardDescriptors()) return mergedb::tool::kError;
  // A read-only open holds the files of the database open, up to half of the limit.
  if (rlimit limit{}; getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < mergedb::tool::kDescriptorsWanted) {
    limit.rlim_cur = std::min(limit.rlim_max, mergedb::tool::kDescriptorsWanted);
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
  try {
    return mergedb::tool::Run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("mergedb: out of memory; raise the limit (ulimit -v, memory.max), or free memory\n", stderr);
  } catch (const std::exception& exception) { std::fprintf(stderr, "mergedb: %s\n", exception.what()); }
  return mergedb::tool::kError;
}
