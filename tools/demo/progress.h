// A progress bar: redrawn in place on a terminal, a line every few seconds elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace mergedb::demo {

class Progress {
 public:
  Progress(std::string label, uint64_t total);
  void Show(uint64_t current, uint64_t records);
  void Clear();  // leaves an empty line

 private:
  using Clock = std::chrono::steady_clock;

  const std::string label_;
  const uint64_t total_;
  const bool is_terminal_;
  const Clock::time_point start_;
  Clock::time_point last_;
};

}  // namespace mergedb::demo
