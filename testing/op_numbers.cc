#include "testing/op_numbers.h"

#include <cstdio>

namespace mergedb::testing {

std::string KeyOf(uint64_t number) {
  number %= 1000;
  char text[32];
  if (number < 550) {
    std::snprintf(text, sizeof text, "k%04u", static_cast<unsigned>(number));
  } else if (number < 600) {
    std::snprintf(text, sizeof text, "K%04u", static_cast<unsigned>(number - 550));
  } else {
    std::snprintf(text, sizeof text, "user:%u", static_cast<unsigned>(number % 300));
  }
  if (number < 900) return text;
  if (number < 960) return text + std::string((number - 899) * 10, '\x7f');
  if (number < 970) return std::string(number - 959, '\xff');
  if (number < 980) return std::string(number - 970, '\0');  // the first one is empty
  if (number < 990) return text + std::string(number - 980, '\0');
  return std::string(text).substr(0, number - 990);
}

std::string ValueOf(uint64_t number) {
  const uint64_t tag = number / kValueBytesUnit;
  std::string value(number % kValueBytesUnit, '\0');
  if (tag % 4 == 0) {  // incompressible
    base::Random random(number);
    for (char& byte : value) byte = static_cast<char>(random.Next() >> 40);
  } else {
    for (size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>('a' + (i / 7 + tag) % 26);
    const std::string text = std::to_string(tag);
    if (value.size() >= text.size()) value.replace(0, text.size(), text);
  }
  return value;
}

std::optional<std::string> MaybeKeyOf(uint64_t number) {
  return number == 0 ? std::nullopt : std::optional(KeyOf(number - 1));
}

uint64_t DrawKey(base::Random& random, const Profile& profile) {
  return random.Uniform(profile.keys) * (1000 / profile.keys);
}
uint64_t DrawMaybeKey(base::Random& random, const Profile& profile) {
  return random.OneIn(3) ? 1 + DrawKey(random, profile) : 0;
}
uint64_t DrawValue(base::Random& random, const Profile& profile) {
  const uint64_t bytes = random.OneIn(profile.large_value_one_in) ? random.Uniform(100'000)
                         : random.OneIn(50)                       ? random.Uniform(10'000)
                         : random.OneIn(20)                       ? 0
                                                                  : random.Uniform(300);
  return bytes + kValueBytesUnit * random.Uniform(10'000'000);
}
uint64_t DrawDurability(base::Random& random, const Profile&) {
  const uint64_t choice = random.Uniform(50);
  return choice < 3 ? choice : 0;
}
// Mostly few steps: with many steps, the background work would always catch up.
uint64_t DrawSteps(base::Random& random, const Profile&) { return random.Uniform(random.OneIn(50) ? 400 : 12); }

}  // namespace mergedb::testing
