// Maps the numbers of an operation (random_ops.h) to keys, values and small parameters, and draws these numbers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "testing/random_ops.h"

namespace mergedb::testing {

// The keys share prefixes, are prefixes of each other, differ only in case, hold any byte, or are empty. Low numbers
// give simple keys, because shrinking lowers numbers.
std::string KeyOf(uint64_t number);
// nullopt for 0, else KeyOf(number - 1).
std::optional<std::string> MaybeKeyOf(uint64_t number);
// The number of a value is its size, plus this constant times a tag that distinguishes values of the same size.
inline constexpr uint64_t kValueBytesUnit = 1'000'000;
std::string ValueOf(uint64_t number);

uint64_t DrawKey(base::Random& random, const Profile& profile);
uint64_t DrawMaybeKey(base::Random& random, const Profile& profile);
uint64_t DrawValue(base::Random& random, const Profile& profile);
uint64_t DrawDurability(base::Random& random, const Profile& profile);  // a Durability, mostly 0
uint64_t DrawSteps(base::Random& random, const Profile& profile);       // of background work
template <uint64_t kBound>
uint64_t Draw(base::Random& random, const Profile&) {
  return random.Uniform(kBound);
}

}  // namespace mergedb::testing
