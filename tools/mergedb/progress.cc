#include "progress.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <ctime>

#include "text.h"

namespace mergedb::tool {

namespace {

constexpr uint64_t kTerminalNanos = 100'000'000;
constexpr uint64_t kLineNanos = 5'000'000'000;
constexpr uint64_t kSecond = 1'000'000'000;

volatile std::sig_atomic_t is_interrupted = 0;
void NoteInterrupt(int) { is_interrupted = 1; }

uint64_t Percent(uint64_t done, uint64_t all) { return all == 0 ? 100 : std::min(done, all) * 100 / all; }

}  // namespace

ProgressMeter::ProgressMeter(bool is_terminal) : is_terminal_(is_terminal) {
  is_interrupted = 0;
  struct sigaction action {};
  action.sa_handler = NoteInterrupt;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
}

ProgressMeter::~ProgressMeter() {
  if (has_line_) std::fputs("\r\033[K", stderr);
  std::signal(SIGINT, SIG_DFL);
}

std::string ProgressMeter::Text(uint64_t done, uint64_t all, uint64_t nanos) {
  char percent[16];
  std::snprintf(percent, sizeof percent, "%3u %%", static_cast<unsigned>(Percent(done, all)));
  std::string text = percent + (" of " + PrintBytes(all));
  if (nanos < kSecond || done == 0) return text;
  const double rate = static_cast<double>(done) * 1e9 / static_cast<double>(nanos);
  const double left = static_cast<double>(all - std::min(done, all)) / rate;
  char rest[32];
  std::snprintf(rest, sizeof rest, left < 90 ? "%.0f s left" : "%.0f min left", left < 90 ? left : left / 60);
  return text + ", " + PrintBytes(static_cast<uint64_t>(rate)) + "/s, " + rest;
}

bool ProgressMeter::Note(uint64_t done, uint64_t all, uint64_t now_nanos) {
  if (began_nanos_ == 0) began_nanos_ = now_nanos;
  if (is_interrupted != 0) {
    std::fprintf(stderr, "%smergedb: stopped by Ctrl-C at %u %%: %s of %s are done, and the rest is not\n",
                 has_line_ ? "\r\033[K" : "", static_cast<unsigned>(Percent(done, all)),
                 PrintBytes(std::min(done, all)).c_str(), PrintBytes(all).c_str());
    has_line_ = false;
    return false;
  }
  const bool is_first = is_terminal_ && !has_line_;
  const uint64_t last = std::max(printed_nanos_, began_nanos_);
  if (!is_first && now_nanos - last < (is_terminal_ ? kTerminalNanos : kLineNanos)) return true;
  printed_nanos_ = now_nanos;
  has_line_ = is_terminal_;
  const std::string text = Text(done, all, now_nanos - began_nanos_);
  std::fprintf(stderr, is_terminal_ ? "\r%s\033[K" : "mergedb: %s\n", text.c_str());
  return true;
}

bool ProgressMeter::Note(uint64_t done, uint64_t all) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Note(done, all, static_cast<uint64_t>(now.tv_sec) * kSecond + static_cast<uint64_t>(now.tv_nsec));
}

}  // namespace mergedb::tool
