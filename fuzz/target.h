// A fuzz target: one program for one decoder, or for a whole directory of files.
//
//     int LLVMFuzzerTestOneInput(data, bytes)   decodes any bytes; must not crash, hang, or give a wrong result
//     Seeds()                                   valid inputs from which the mutations start
//
// libFuzzer drives the target with coverage feedback (clang, preset `fuzz`). fuzz/driver.cc (any compiler)
// drives it with random mutations from a seed, and runs in ./dev test.
//
// A checksum rejects nearly every mutation. Therefore, if the bytes have checksums, the first byte of the input
// says whether the target recomputes them after the mutation (fuzz/fix_checksums.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes);

namespace mergedb::fuzz {

std::vector<std::string> Seeds();

// An assertion in every build: on failure, prints the place and aborts.
#define FUZZ_CHECK(condition) ((condition) ? void() : ::mergedb::fuzz::FailedCheck(#condition, __FILE__, __LINE__))
[[noreturn]] void FailedCheck(const char* condition, const char* file, int line);

// Takes small values from the front of an input; zeros when the input is used up.
class Input {
 public:
  Input(const uint8_t* data, size_t bytes) : rest_(reinterpret_cast<const char*>(data), bytes) {}
  uint8_t TakeByte() { return static_cast<uint8_t>(TakeNumber(1)); }
  uint64_t TakeNumber(size_t bytes);             // little-endian; REQUIRES: bytes <= 8
  std::string_view TakeBytes(size_t bytes_max);  // fewer at the end of the input
  std::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace mergedb::fuzz
