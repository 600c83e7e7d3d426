// Filters that the engine has itself: a policy of NewBloomFilterPolicy only says how many bits a key gets.
#pragma once

#include <optional>

#include "leveldb/filter_policy.h"

namespace leveldb {

// Bits per key of a policy that NewBloomFilterPolicy made; nothing for a program's own.
std::optional<int> BitsOfBuiltin(const FilterPolicy* policy);

}  // namespace leveldb
