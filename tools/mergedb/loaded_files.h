// Which program and library files a process has loaded. For the verb doctor.
//
// TraceCommand runs a command with LD_DEBUG=reloc: the loader of glibc then writes a line for each file that it
// relocates, at the start and at each dlopen, into one file for each process (LD_DEBUG_OUTPUT). This sees processes
// that end at once, their children, and libraries that are closed again. It sees nothing of statically linked programs,
// of programs with another C library and of programs with raised privileges (setuid).
//
// FilesOfProcess reads /proc/PID/maps, which has what is mapped at this moment, however it was linked.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "mergedb/result.h"

namespace mergedb::tool {

struct LoadedFile {
  std::string path;
  std::string real_path;  // where this process can read it; empty: at `path`
};

struct TracedCommand {
  std::vector<LoadedFile> files;  // in the order of loading, each once
  size_t processes = 0;           // that wrote a trace
  int status = 0;                 // of waitpid
};

// The process has this command's terminal, input and output.
Result<TracedCommand> TraceCommand(const std::vector<std::string>& command);
Result<std::vector<LoadedFile>> FilesOfProcess(pid_t process);
// The file that a shell would run for this word; empty if there is none.
std::string FindProgram(const std::string& word);

}  // namespace mergedb::tool
