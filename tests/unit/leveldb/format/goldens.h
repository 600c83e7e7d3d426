// The files of small databases that Debian's LevelDB wrote, as bytes: tests/golden/leveldb/*.txt.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "base/bytes.h"

namespace mergedb::testing {

// Returns file name -> bytes.
inline std::map<std::string, std::string> LevelDbGolden(const std::string& name) {
  std::ifstream file(std::string(MERGEDB_SOURCE_DIR) + "/tests/golden/leveldb/" + name + ".txt");
  EXPECT_TRUE(file) << name;
  std::map<std::string, std::string> files;
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string hex, file_name;
    words >> file_name >> hex;
    EXPECT_TRUE(base::FromHex(hex, &files[file_name])) << file_name;
  }
  return files;
}

}  // namespace mergedb::testing
