#include "env/proc_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "env/descriptors.h"
#include "env/posix_status.h"

namespace mergedb::env {

std::string ReadProcFile(const std::string& path) {
  OccupyStandardStreams();
  const int fd = AboveStandardStreams(RetryOnSignal([&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  if (fd < 0) return "";
  char bytes[4096];
  const ssize_t count = RetryOnSignal([&] { return read(fd, bytes, sizeof bytes); });
  close(fd);
  return count <= 0 ? "" : std::string(bytes, static_cast<size_t>(count));
}

}  // namespace mergedb::env
