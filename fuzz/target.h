// A fuzz target: one program for one decoder, or for a whole directory of files.
//
//     int LLVMFuzzerTestOneInput(data, bytes)   runs the decoder on any bytes; what it must not do is crash, hang, or be wrong
//     Seeds()                                   inputs that are whole, for the mutations to begin with
//
// The same target is driven by libFuzzer (clang, preset `fuzz`), which follows the coverage, and by fuzz/driver.cc (any
// compiler), which mutates blindly from a seed and runs in ./dev test.
//
// Checksums would stop every mutation at the door, so targets for bytes that carry some take a first byte that says whether
// the checksums are made right again after the mutation (fuzz/reseal.h): a hostile file has right ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes);

namespace mergedb::fuzz {

std::vector<std::string> Seeds();

// What a target holds true, in every build: says where, and aborts.
#define FUZZ_CHECK(condition) ((condition) ? void() : ::mergedb::fuzz::FailedCheck(#condition, __FILE__, __LINE__))
[[noreturn]] void FailedCheck(const char* condition, const char* file, int line);

// Takes small decisions off the front of an input; zeros when it is used up.
class Input {
 public:
  Input(const uint8_t* data, size_t bytes) : rest_(reinterpret_cast<const char*>(data), bytes) {}
  uint8_t TakeByte() { return static_cast<uint8_t>(TakeNumber(1)); }
  uint64_t TakeNumber(size_t bytes);             // little-endian; REQUIRES: bytes <= 8
  std::string_view TakeBytes(size_t bytes_max);  // fewer if there are fewer
  std::string_view rest() const { return rest_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace mergedb::fuzz
