// A store that the demo can run: mergedb, and LevelDB if the build found its library. Both get the same memory,
// codec (snappy), filters and durability: a put that returned survives kill -9.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mergedb/db.h"

namespace mergedb::demo {

// 64 MiB for two write buffers and 64 MiB for the cache: 128 MiB for each engine.
inline constexpr size_t kWriteBufferBytes = size_t{32} << 20;
inline constexpr size_t kCacheBytes = size_t{64} << 20;

class Engine {
 public:
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;  // false: stop

  virtual ~Engine() = default;
  virtual Status Put(std::string_view key, std::string_view value) = 0;
  virtual Status Get(std::string_view key, std::string* value) = 0;
  // Adds one to the number at `key`: 8 bytes, little-endian. A missing key counts as 0.
  virtual Status AddOne(std::string_view key) = 0;
  // All keys that begin with `prefix`, in order.
  virtual Status Scan(std::string_view prefix, const Visit& visit) = 0;
  // Waits until no background work is left. *idle_seconds is the part of the wait that only detects this.
  virtual Status Drain(double* idle_seconds) = 0;
  virtual Status Close() = 0;
  // The recovery message of the last open; empty if there is none.
  virtual std::string Recovery() { return {}; }
};

Result<std::unique_ptr<Engine>> OpenMergedb(const std::string& directory);
Result<std::unique_ptr<Engine>> OpenLeveldb(const std::string& directory);  // NotSupported if the build lacks it
bool HasLeveldb();

struct EngineKind {
  const char* name;
  Result<std::unique_ptr<Engine>> (*open)(const std::string& directory);
  bool merges;  // AddOne uses a merge operand and reads nothing
};
inline constexpr EngineKind kMergedb{"mergedb", OpenMergedb, true};
inline constexpr EngineKind kLeveldb{"LevelDB", OpenLeveldb, false};

}  // namespace mergedb::demo
