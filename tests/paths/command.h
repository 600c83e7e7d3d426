// Runs the command `mergedb` with a list of words, without a shell.
//
//     const Outcome outcome = RunCommand({"put", "db", "a", "1"}, {.directory = home});
//     EXPECT_EQ(outcome.exit, 0) << outcome.Text();
//
// A command that needs more than 20 s of CPU or 60 s of time is killed: its exit is then -1.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace mergedb::testing {

using Words = std::vector<std::string>;

struct Outcome {
  int exit = -1;  // -1: ended by a signal
  std::string out, err;

  std::string Text() const { return "exit " + std::to_string(exit) + "\n" + out.substr(0, 500) + err.substr(0, 500); }
};

struct Place {
  std::string directory;  // the working directory; the directory above it gets the files `out` and `err`
  std::string input = {};
};

// Files in memory, if the system has any: the command syncs its files. REQUIRES: before the first TempDirectory.
inline void UseMemoryForTemporaryFiles() {
  if (std::filesystem::is_directory("/dev/shm")) setenv("TMPDIR", "/dev/shm", 0);
}

inline std::string ReadWhole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline Outcome RunCommand(const Words& line, const Place& place) {
  const std::string above = place.directory + "/../";
  const std::string in = above + "in", out = above + "out", err = above + "err";
  std::ofstream(in, std::ios::binary) << place.input;
  std::vector<char*> words{const_cast<char*>(MERGEDB_COMMAND)};
  for (const std::string& word : line) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const rlimit cpu{.rlim_cur = 20, .rlim_max = 20}, core{};
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    alarm(60);
    const bool is_ready = dup2(open(in.c_str(), O_RDONLY), 0) == 0 &&
                          dup2(open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 1) == 1 &&
                          dup2(open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2) == 2 &&
                          chdir(place.directory.c_str()) == 0;
    if (is_ready) execv(MERGEDB_COMMAND, words.data());
    _exit(125);
  }
  int status = 0;
  const bool is_waited = waitpid(child, &status, 0) == child;
  return {
      .exit = is_waited && WIFEXITED(status) ? WEXITSTATUS(status) : -1, .out = ReadWhole(out), .err = ReadWhole(err)};
}

}  // namespace mergedb::testing
