#include "env/logger.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "env/posix_status.h"

namespace mergedb::env {
namespace {

std::string TimeOfDay() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(now).count();
  const auto seconds = static_cast<time_t>(us / 1'000'000);
  struct tm date {};
  localtime_r(&seconds, &date);
  char text[64];
  const size_t length = strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &date);
  snprintf(text + length, sizeof text - length, ".%06d ", static_cast<int>(us % 1'000'000));
  return text;
}

class DescriptorLogger final : public Logger {
 public:
  DescriptorLogger(int fd, bool is_owned) : fd_(fd), is_owned_(is_owned) {}
  ~DescriptorLogger() override {
    if (is_owned_) close(fd_);
  }

  void Log(std::string_view line) override {
    std::string text = TimeOfDay();
    text += line;
    std::replace(text.begin(), text.end(), '\n', ' ');
    text += '\n';
    (void)RetryOnSignal([&] { return write(fd_, text.data(), text.size()); });
  }

 private:
  const int fd_;
  const bool is_owned_;
};

}  // namespace

std::unique_ptr<Logger> NewStderrLogger() { return std::make_unique<DescriptorLogger>(STDERR_FILENO, false); }

Result<std::unique_ptr<Logger>> NewFileLogger(const std::string& path) {
  constexpr int kFlags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  const int fd = RetryOnSignal([&] { return open(path.c_str(), kFlags, 0600); });
  if (fd < 0) return PosixStatus(errno, path, "open");
  return std::unique_ptr<Logger>(std::make_unique<DescriptorLogger>(fd, true));
}

}  // namespace mergedb::env
