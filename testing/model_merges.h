// Random merge operands for the model tests. Each comes with a function that applies it to a value by the simplest
// rule, without code of the engine.
//
// The key alone decides which operands it gets, so that the operands of a key fit together: some keys are 8-byte
// counters, some are JSON texts, all others are byte strings. Puts of these keys must use ValueThatFits.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/random.h"
#include "mergedb/merge.h"

namespace mergedb::testing {

using ModelValue = std::optional<std::string>;

// Whether `key` is one of the plain keys of op_numbers.h, "k0123" or "K0123", and ends with the digit `last`.
inline bool IsPlainKey(const std::string& key, char last) {
  return key.size() == 5 && (key[0] == 'k' || key[0] == 'K') && key[4] == last;
}
inline bool IsCounterKey(const std::string& key) { return key.starts_with("n") || IsPlainKey(key, '7'); }
inline bool IsJsonKey(const std::string& key) { return key.starts_with("j") || IsPlainKey(key, '8'); }

struct ModelMerge {
  std::string operand;
  std::function<std::string(const ModelValue& before)> apply;
};

inline std::string EightBytes(uint64_t number) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(number >> (8 * i));
  return bytes;
}

inline uint64_t NumberOf(const std::string& bytes) {
  uint64_t number = 0;
  for (size_t i = 8; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes.at(i));
  return number;
}

inline ModelMerge DrawCounterMerge(base::Random& random) {
  const uint64_t number = random.OneIn(5) ? random.Next() : random.Uniform(1000);
  switch (random.Uniform(8)) {
    case 0:
      return {merge::MaxU64(number), [number](const ModelValue& before) {
                return EightBytes(before ? std::max(NumberOf(*before), number) : number);
              }};
    case 1:
      return {merge::MinU64(number), [number](const ModelValue& before) {
                return EightBytes(before ? std::min(NumberOf(*before), number) : number);
              }};
    default:
      return {merge::AddU64(number),
              [number](const ModelValue& before) { return EightBytes((before ? NumberOf(*before) : 0) + number); }};
  }
}

inline std::string DrawJson(base::Random& random, bool has_nulls) {
  nlohmann::json json = nlohmann::json::object();
  for (const char* name : {"a", "b", "c"}) {
    switch (random.Uniform(has_nulls ? 5 : 4)) {
      case 0: json[name] = random.Uniform(10); break;
      case 1: json[name] = {{"x", random.Uniform(10)}, {"y", std::string(random.Uniform(20), 't')}}; break;
      case 2: json[name] = {1, "two"}; break;
      case 4: json[name] = nullptr; break;
      default: break;
    }
  }
  return json.dump();
}

inline ModelMerge DrawJsonMerge(base::Random& random) {
  const std::string patch = DrawJson(random, true);
  return {merge::JsonPatch(patch), [patch](const ModelValue& before) {
            nlohmann::json value = before ? nlohmann::json::parse(*before) : nlohmann::json();
            value.merge_patch(nlohmann::json::parse(patch));
            return value.dump();
          }};
}

inline std::string XorOf(std::string value, const std::string& mask) {
  value.resize(std::max(value.size(), mask.size()));
  for (size_t i = 0; i < mask.size(); ++i) value[i] = static_cast<char>(value[i] ^ mask[i]);
  return value;
}

inline ModelMerge DrawBytesMerge(base::Random& random) {
  const std::string bytes(random.OneIn(20) ? random.Uniform(3000) : random.Uniform(30),
                          static_cast<char>('a' + random.Uniform(26)));
  switch (random.Uniform(10)) {
    case 0:
      return {merge::MaxBytes(bytes),
              [bytes](const ModelValue& before) { return before ? std::max(*before, bytes) : bytes; }};
    case 1:
      return {merge::MinBytes(bytes),
              [bytes](const ModelValue& before) { return before ? std::min(*before, bytes) : bytes; }};
    case 2: return {merge::Xor(bytes), [bytes](const ModelValue& before) { return XorOf(before.value_or(""), bytes); }};
    case 3: return {merge::Put(bytes), [bytes](const ModelValue&) { return bytes; }};
    case 4:
      return {merge::Append(bytes, {.delimiter = "|", .cap_bytes = 100}), [bytes](const ModelValue& before) {
                const std::string all = before ? *before + "|" + bytes : bytes;
                return all.size() > 100 ? all.substr(all.size() - 100) : all;
              }};
    case 5:
      return {merge::Append(bytes, {.cap_bytes = 50, .keep = merge::Keep::kOldest}),
              [bytes](const ModelValue& before) { return (before.value_or("") + bytes).substr(0, 50); }};
    default:
      return {merge::Append(bytes, {.delimiter = ","}),
              [bytes](const ModelValue& before) { return before ? *before + "," + bytes : bytes; }};
  }
}

inline ModelMerge DrawMerge(base::Random& random, const std::string& key) {
  if (IsCounterKey(key)) return DrawCounterMerge(random);
  if (IsJsonKey(key)) return DrawJsonMerge(random);
  return DrawBytesMerge(random);
}

// Returns `value`, or another value if the operands of the key need one.
inline std::string ValueThatFits(base::Random& random, const std::string& key, std::string value) {
  if (IsCounterKey(key)) return EightBytes(random.Next());
  if (IsJsonKey(key)) return DrawJson(random, false);
  return value;
}

}  // namespace mergedb::testing
