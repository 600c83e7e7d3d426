#include "testing/source_of.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>

namespace mergedb::testing {

std::string SourceOf(uintptr_t site) {
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(site), &info) == 0) return "?";
  std::array<char, 128> command;
  std::snprintf(command.data(), command.size(), "addr2line -i -e /proc/%d/exe 0x%llx 2>/dev/null",
                static_cast<int>(getpid()),
                static_cast<unsigned long long>(site - reinterpret_cast<uintptr_t>(info.dli_fbase)));
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.data(), "r"), pclose);
  std::array<char, 4096> line;
  std::string place = "?";
  while (pipe && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    place = line.data();
    place.resize(std::min(place.find_first_of(" \n"), place.size()));
    for (const char* folder : {"/src/", "/tests/", "/testing/"}) {
      if (const size_t begin = place.find(folder); begin != std::string::npos) {
        place.erase(0, begin + 1);
        break;
      }
    }
    if (place.find("src/base/") == std::string::npos) break;
  }
  return place;
}

}  // namespace mergedb::testing
