// Runs a fuzz target without libFuzzer: every file of the corpus as it is, then mutations of them from a seed.
//
//     fuzz_block                               the target's own seeds once
//     fuzz_block --seconds=10 CORPUS...        files and directories, then ten seconds of mutations
//     fuzz_block --write-corpus=DIR            Seeds() as files, which is how fuzz/corpus was made
//
// If an input crashes or takes longer than kSecondsMax, the driver writes it to ./fuzz-crash-<hash>; give this
// file as an argument to repeat the failure. The address space is limited, so that excessive allocations fail.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/random.h"
#include "fuzz/target.h"
#include "testing/seed.h"

namespace mergedb::fuzz {
namespace {

// Limit of CPU time for one input, which normally takes milliseconds. The wall-clock limit is ten times as
// long.
constexpr unsigned kSecondsMax = 30;
constexpr size_t kInputBytesMax = 64 << 10;
constexpr rlim_t kAddressSpaceBytesMax = rlim_t{4} << 30;

// ---- the current input, for the signal handler ------------------------------------------------------------------

const std::string* current = nullptr;

extern "C" void DumpInput(int number) {
  signal(number, SIG_DFL);
  if (current != nullptr) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (const char byte : *current) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3u;
    char name[40] = "fuzz-crash-0000000000000000";
    for (size_t i = 0; i < 16; ++i) name[11 + i] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
    const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ssize_t written = write(file, current->data(), current->size());
    written += write(STDERR_FILENO, name, std::strlen(name));
    const bool is_late = number == SIGALRM || number == SIGPROF;
    written += write(STDERR_FILENO, is_late ? ": too slow\n" : ": crashed\n", is_late ? 11 : 10);
    (void)written;
  }
  raise(number);
}

void RunOne(const std::string& input) {
  current = &input;
  const itimerval limit{.it_interval = {}, .it_value = {.tv_sec = kSecondsMax, .tv_usec = 0}}, none{};
  setitimer(ITIMER_PROF, &limit, nullptr);
  alarm(10 * kSecondsMax);
  (void)LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  alarm(0);
  setitimer(ITIMER_PROF, &none, nullptr);
  current = nullptr;
}

// ---- mutations -------------------------------------------------------------------------------------------------

constexpr uint64_t kOddNumbers[] = {0,
                                    1,
                                    2,
                                    7,
                                    8,
                                    0x7f,
                                    0x80,
                                    0xff,
                                    0x100,
                                    0xfff,
                                    0x1000,
                                    0x7fff,
                                    0x8000,
                                    0xffff,
                                    0x10000,
                                    0x7fffffff,
                                    0x80000000,
                                    0xfffffff0,
                                    0xffffffff,
                                    0x100000000,
                                    0x7fffffffffffffff,
                                    0xfffffffffffffff8,
                                    0xffffffffffffffff};

void MutateOnce(std::string* input, const std::vector<std::string>& others, base::Random* random) {
  const size_t at = random->Uniform(input->size() + 1);
  const size_t left = input->size() - at;
  const size_t length = random->Uniform(std::min<size_t>(left, random->OneIn(4) ? 512 : 16) + 1);
  const std::string& other = others[random->Uniform(others.size())];
  switch (random->Uniform(9)) {
    case 0:
      if (left > 0) (*input)[at] = static_cast<char>((*input)[at] ^ 1 << random->Uniform(8));
      return;
    case 1:
      if (left > 0) (*input)[at] = static_cast<char>(random->Next());
      return;
    case 2:
      if (left > 0) (*input)[at] = static_cast<char>((*input)[at] + (random->OneIn(2) ? 1 : -1));
      return;
    case 3: {  // writes a special number over 1, 2, 4 or 8 bytes
      const uint64_t number = kOddNumbers[random->Uniform(std::size(kOddNumbers))];
      const size_t width = size_t{1} << random->Uniform(4);
      if (left >= width) std::memcpy(input->data() + at, &number, width);
      return;
    }
    case 4: input->erase(at, length); return;
    case 5: input->insert(at, input->substr(random->Uniform(input->size() + 1), length)); return;
    case 6: input->insert(at, std::string(length, static_cast<char>(random->Next()))); return;
    case 7: input->replace(at, length, other.substr(random->Uniform(other.size() + 1), length)); return;
    case 8: input->resize(at); return;
  }
}

std::string Mutant(const std::vector<std::string>& inputs, base::Random* random) {
  std::string input = inputs[random->Uniform(inputs.size())];
  for (uint64_t times = 1 + random->Uniform(random->OneIn(8) ? 16 : 3); times > 0; --times)
    MutateOnce(&input, inputs, random);
  if (input.size() > kInputBytesMax) input.resize(kInputBytesMax);
  return input;
}

// ---- the program -----------------------------------------------------------------------------------------------

std::string ReadWhole(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void ReadCorpus(const std::filesystem::path& path, std::vector<std::string>* inputs) {
  if (!std::filesystem::exists(path)) {
    std::fprintf(stderr, "no such file or directory: %s (`./dev fuzz-corpus` makes what is missing)\n", path.c_str());
    std::exit(2);
  }
  if (!std::filesystem::is_directory(path)) return inputs->push_back(ReadWhole(path));
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());  // so that a seed gives the same run on every machine
  for (const auto& file : files) inputs->push_back(ReadWhole(file));
}

int WriteCorpus(const std::filesystem::path& directory) {
  std::filesystem::create_directories(directory);
  int number = 0;
  for (const std::string& seed : Seeds()) {
    char name[16];
    std::snprintf(name, sizeof name, "seed-%02d", number++);
    std::ofstream(directory / name, std::ios::binary) << seed;
  }
  return 0;
}

void LimitMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // these reserve terabytes of address space
  const rlimit limit{.rlim_cur = kAddressSpaceBytesMax, .rlim_max = kAddressSpaceBytesMax};
  (void)setrlimit(RLIMIT_AS, &limit);
#endif
}

int Main(int count, char** arguments) {
  double seconds = 0;
  std::vector<std::string> inputs;
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    if (argument.starts_with("--seconds=")) {
      seconds = std::atof(arguments[i] + 10);
    } else if (argument.starts_with("--write-corpus=")) {
      return WriteCorpus(argument.substr(15));
    } else {
      ReadCorpus(argument, &inputs);
    }
  }
  if (inputs.empty()) inputs = Seeds();

  LimitMemory();
  for (const int number : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM, SIGPROF}) signal(number, DumpInput);
  for (const std::string& input : inputs) RunOne(input);

  const uint64_t seed = testing::SeedOr(1);
  base::Random random(seed);
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  uint64_t runs = inputs.size();
  for (; std::chrono::steady_clock::now() < end; ++runs) RunOne(Mutant(inputs, &random));
  std::printf("%llu inputs, MERGEDB_SEED=%llu\n", static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(seed));
  return 0;
}

}  // namespace
}  // namespace mergedb::fuzz

int main(int count, char** arguments) { return mergedb::fuzz::Main(count, arguments); }
