// JSON merge patches (RFC 7396), and what the RFC does not have: one patch that does what two do, one after the other.
//
// The RFC's patches are not closed under that. {"a":5} and then {"a":{"b":1}} makes a an object of b alone, whatever it was;
// the patch {"a":{"b":1}} would keep the members that a had. So a combined patch marks the objects that replace:
//
//   plain      {"a":{"b":1}}                     a text as the user gave it
//   combined   [{"a":{"b":1}}, [["a"]]]          the patch, and the paths at which it replaces; [] is the root
//
// Texts are bounded (kJsonBytesMax, kJsonDepthMax) before they are parsed, so hostile ones cost no more than honest ones.
// Of members with one name the last counts; numbers that neither int64_t nor uint64_t holds become doubles; a text that is
// written has no spaces, its names in bytewise order. Invalid UTF-8 is an error.
// WHY nlohmann-json: Debian keeps it, it is header-only, and its parser keeps no state on the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mergedb/status.h"

namespace mergedb::kv {

inline constexpr uint8_t kJsonPlain = 0;
inline constexpr uint8_t kJsonCombined = 1;
inline constexpr size_t kJsonBytesMax = size_t{16} << 20;
inline constexpr size_t kJsonDepthMax = 100;

// OK if a patch (form and text, as in an operand's body) can be applied. InvalidArgument says why not.
Status CheckJsonPatch(std::string_view body);

// *result = `patches` (bodies, oldest first) applied to the text `target`; none: the key has no value. MergeFailed.
Status ApplyJsonPatches(std::optional<std::string_view> target, std::span<const std::string_view> patches,
                        std::string* result);

// *body = one patch that does what `patches` do, oldest first.
Status CombineJsonPatches(std::span<const std::string_view> patches, std::string* body);

}  // namespace mergedb::kv
