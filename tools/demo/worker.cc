#include "worker.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace mergedb::demo {

void Reporter::Send(const Message& message) const {
  ssize_t written;
  do { written = write(pipe_, &message, sizeof message); } while (written < 0 && errno == EINTR);
  if (written != static_cast<ssize_t>(sizeof message)) _exit(1);  // the parent has closed the pipe
}

Worker::Worker(const std::function<Status(const Reporter&)>& work) {
  int ends[2];
  if (pipe(ends) != 0) return;
  std::fflush(stdout);
  pid_ = fork();
  if (pid_ == 0) {
    close(ends[0]);
    const Reporter reporter(ends[1]);
    const Status status = work(reporter);
    std::fflush(stdout);
    if (!status.ok()) {
      Message failed{.kind = Message::Kind::kFailed};
      std::snprintf(failed.text, sizeof failed.text, "%s", status.ToString().c_str());
      reporter.Send(failed);
    }
    _exit(status.ok() ? 0 : 1);
  }
  close(ends[1]);
  pipe_ = ends[0];
}

Worker::~Worker() {
  if (pipe_ >= 0) close(pipe_);
  if (pid_ > 0) waitpid(pid_, nullptr, 0);
}

bool Worker::Receive(Message* message) {
  size_t got = 0;
  while (got < sizeof *message) {
    const ssize_t bytes = read(pipe_, reinterpret_cast<char*>(message) + got, sizeof *message - got);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return false;
    got += static_cast<size_t>(bytes);
  }
  return true;
}

void Worker::Kill() {
  if (pid_ > 0) kill(pid_, SIGKILL);
}

uint64_t DeviceBytesWritten() {
  std::ifstream in("/proc/self/io");
  std::string name;
  for (uint64_t value = 0; in >> name >> value;) {
    if (name == "write_bytes:") return value;
  }
  return 0;
}

}  // namespace mergedb::demo
