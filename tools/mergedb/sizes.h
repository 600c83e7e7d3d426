// Sizes of keys or values, counted by powers of two; as JSON, and as text with a bar for each power.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "command.h"

namespace mergedb::tool {

struct Sizes {  // counts[i]: sizes of i bits, which are from 2^(i-1) to 2^i - 1
  std::array<uint64_t, 65> counts{};
  uint64_t count = 0;
  uint64_t bytes = 0;
  uint64_t largest = 0;

  void Add(uint64_t size) {
    ++counts[static_cast<size_t>(std::bit_width(size))];
    ++count;
    bytes += size;
    largest = std::max(largest, size);
  }
  double Mean() const { return count == 0 ? 0.0 : static_cast<double>(bytes) / static_cast<double>(count); }
};

nlohmann::ordered_json SizesJson(const Sizes& sizes);
void PrintSizes(const char* title, const Sizes& sizes);

}  // namespace mergedb::tool
