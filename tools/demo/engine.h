// A store that the demo can run: mergedb, and LevelDB where its library was found at build time. Both get the same
// memory, the same codec (snappy), the same filters and the same durability: a put that returned survives kill -9.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "mergedb/db.h"

namespace mergedb::demo {

// Two write buffers and a cache: 128 MiB each.
inline constexpr size_t kWriteBufferBytes = size_t{32} << 20;
inline constexpr size_t kCacheBytes = size_t{64} << 20;

class Engine {
 public:
  using Visit = std::function<bool(std::string_view key, std::string_view value)>;  // false: enough

  virtual ~Engine() = default;
  virtual Status Put(std::string_view key, std::string_view value) = 0;
  virtual Status Get(std::string_view key, std::string* value) = 0;
  // Add one to the number at `key`, 8 bytes, little-endian; nothing counts as 0.
  virtual Status AddOne(std::string_view key) = 0;
  // All keys that begin with `prefix`, in order.
  virtual Status Scan(std::string_view prefix, const Visit& visit) = 0;
  // Wait until no background work is left. *idle_seconds of the wait were spent on making sure.
  virtual Status Drain(double* idle_seconds) = 0;
  virtual Status Close() = 0;
  // What recovery had to say at the last open; empty if nothing.
  virtual std::string Recovery() { return {}; }
};

Result<std::unique_ptr<Engine>> OpenMergedb(const std::string& directory);
Result<std::unique_ptr<Engine>> OpenLeveldb(const std::string& directory);  // NotSupported if it was not built in
bool HasLeveldb();

struct EngineKind {
  const char* name;
  Result<std::unique_ptr<Engine>> (*open)(const std::string& directory);
  bool merges;  // adds without reading
};
inline constexpr EngineKind kMergedb{"mergedb", OpenMergedb, true};
inline constexpr EngineKind kLeveldb{"LevelDB", OpenLeveldb, false};

}  // namespace mergedb::demo
