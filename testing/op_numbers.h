// What the numbers of an operation (random_ops.h) stand for, and how they are drawn: keys, values, and the small ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "testing/random_ops.h"

namespace mergedb::testing {

// Keys that share beginnings, are beginnings of each other, differ in case only, hold any byte, or are empty. Low numbers are
// simple keys, since shrinking makes numbers lower.
std::string KeyOf(uint64_t number);
// 0 is none, else the key of number - 1.
std::optional<std::string> MaybeKeyOf(uint64_t number);
// The number is the size, plus this times what tells the value from others of its size.
inline constexpr uint64_t kValueBytesUnit = 1'000'000;
std::string ValueOf(uint64_t number);

uint64_t DrawKey(base::Random& random, const Profile& profile);
uint64_t DrawMaybeKey(base::Random& random, const Profile& profile);
uint64_t DrawValue(base::Random& random, const Profile& profile);
uint64_t DrawDurability(base::Random& random, const Profile& profile);  // a Durability, seldom not 0
uint64_t DrawSteps(base::Random& random, const Profile& profile);       // of background work
template <uint64_t kBound>
uint64_t Draw(base::Random& random, const Profile&) {
  return random.Uniform(kBound);
}

}  // namespace mergedb::testing
