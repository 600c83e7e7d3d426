// JSON merge patches (RFC 7396), and an extension: one patch with the effect of two patches, one after the other.
//
// A patch of the RFC cannot always express that. {"a":5} and then {"a":{"b":1}} makes a an object with only
// b, whatever a is before. The single patch {"a":{"b":1}} keeps the other members of a. So a combined patch
// marks the objects that replace:
//
//   plain      {"a":{"b":1}}                     a text as the user gave it
//   combined   [{"a":{"b":1}}, [["a"]]]          the patch, and the paths at which it replaces; [] is the root
//
// The size and depth of a text are checked (kJsonBytesMax, kJsonDepthMax) before it is parsed, so a hostile
// text costs no more than an ordinary one. If an object has several members with one name, the last one
// counts. Numbers that fit neither int64_t nor uint64_t become doubles. Written texts have no spaces, and
// their names are in bytewise order. Invalid UTF-8 is an error.
// WHY nlohmann-json: Debian maintains it, it is header-only, and its parser keeps no state on the stack.
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

// OK if the patch (form and text, as in an operand's body) can be applied; else InvalidArgument with the reason.
Status CheckJsonPatch(std::string_view body);

// *result = `patches` (bodies, oldest first) applied to the text `target`. nullopt: the key has no value. An
// error is MergeFailed.
Status ApplyJsonPatches(std::optional<std::string_view> target, std::span<const std::string_view> patches,
                        std::string* result);

// *body = one patch with the effect of `patches`, oldest first. An error is MergeFailed.
Status CombineJsonPatches(std::span<const std::string_view> patches, std::string* body);

}  // namespace mergedb::kv
