#include "progress.h"

#include <unistd.h>

#include <cstdio>

namespace mergedb::demo {

namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr std::chrono::milliseconds kNextLine{5000};
constexpr int kBarWidth = 30;

}  // namespace

Progress::Progress(std::string label, uint64_t total)
    : label_(std::move(label)),
      total_(total),
      is_terminal_(isatty(STDOUT_FILENO) != 0),
      start_(Clock::now()),
      last_(start_) {}

void Progress::Show(uint64_t current, uint64_t records) {
  const Clock::time_point now = Clock::now();
  if (now - last_ < (is_terminal_ ? kRedraw : kNextLine)) return;
  last_ = now;
  const double share = total_ == 0 ? 1 : static_cast<double>(current) / static_cast<double>(total_);
  const double seconds = std::chrono::duration<double>(now - start_).count();
  const int filled = static_cast<int>(share * kBarWidth);
  std::string bar(static_cast<size_t>(filled), '#');
  bar.resize(kBarWidth, '.');
  std::printf("%s  %-8s [%s] %3.0f %%  %5.1f s  %.1f M words/s%s", is_terminal_ ? "\r" : "", label_.c_str(),
              bar.c_str(), share * 100, seconds, static_cast<double>(records) / seconds / 1e6,
              is_terminal_ ? "\033[K" : "\n");
  std::fflush(stdout);
}

void Progress::Clear() {
  if (!is_terminal_) return;
  std::printf("\r\033[K");
  std::fflush(stdout);
}

}  // namespace mergedb::demo
