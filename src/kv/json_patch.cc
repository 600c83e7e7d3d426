#include "kv/json_patch.h"

#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace mergedb::kv {
namespace {

using Json = nlohmann::json;

Status Fail(std::string_view what) { return Status::MergeFailed("JSON: " + std::string(what)); }

// Counts brackets outside of strings. WHY before parsing: the functions that copy, print or destroy a parsed
// value recurse.
bool IsTooDeep(std::string_view text) {
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (++depth > kJsonDepthMax) return true;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  return false;
}

Status Parse(std::string_view text, std::string_view what, Json* value) {
  if (text.size() > kJsonBytesMax) {
    return Fail(std::string(what) + " of " + std::to_string(text.size()) + " bytes; the maximum is " +
                std::to_string(kJsonBytesMax));
  }
  if (IsTooDeep(text)) {
    return Fail(std::string(what) + " is nested deeper than " + std::to_string(kJsonDepthMax) + " levels");
  }
  *value = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  return value->is_discarded() ? Fail(std::string(what) + " is not a JSON text in UTF-8") : Status();
}

std::string Print(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// A patch as a tree: the change of each member.
struct Patch {
  bool is_object = false;
  bool replaces = false;  // of an object: no member of the target stays
  Json leaf;              // of any other value; null deletes the member
  std::map<std::string, Patch> members;
};

Patch FromJson(Json&& value) {
  Patch patch;
  if (!value.is_object()) {
    patch.leaf = std::move(value);
    return patch;
  }
  patch.is_object = true;
  for (auto& [name, member] : value.items()) patch.members.emplace(name, FromJson(std::move(member)));
  return patch;
}

// Marks the object at the end of `path` as replacing. False if there is no object.
bool Mark(Patch* patch, const Json& path) {
  if (!path.is_array()) return false;
  for (const Json& name : path) {
    if (!name.is_string()) return false;
    const auto member = patch->members.find(name.get_ref<const std::string&>());
    if (member == patch->members.end()) return false;
    patch = &member->second;
  }
  patch->replaces = true;
  return patch->is_object;
}

Status Decode(std::string_view body, Patch* patch) {
  if (body.empty()) return Fail("a patch without its form byte");
  Json value;
  RETURN_IF_ERROR(Parse(body.substr(1), "the patch", &value));
  if (static_cast<uint8_t>(body[0]) == kJsonPlain) {
    *patch = FromJson(std::move(value));
    return {};
  }
  if (static_cast<uint8_t>(body[0]) != kJsonCombined)
    return Fail("a patch with a form that this version does not support");
  if (!value.is_array() || value.size() != 2 || !value[1].is_array())
    return Fail("a combined patch with invalid contents");
  *patch = FromJson(std::move(value[0]));
  for (const Json& path : value[1]) {
    if (!Mark(patch, path)) return Fail("a combined patch that replaces what it does not have");
  }
  return {};
}

Json ToJson(Patch&& patch, Json* path, Json* paths) {
  if (!patch.is_object) return std::move(patch.leaf);
  if (patch.replaces) paths->push_back(*path);
  Json value = Json::object();
  for (auto& [name, member] : patch.members) {
    path->push_back(name);
    value[name] = ToJson(std::move(member), path, paths);
    path->erase(path->size() - 1);
  }
  return value;
}

void Apply(Patch&& patch, Json* target) {
  if (!patch.is_object) {
    *target = std::move(patch.leaf);
    return;
  }
  if (patch.replaces || !target->is_object()) *target = Json::object();
  for (auto& [name, member] : patch.members) {
    if (!member.is_object && member.leaf.is_null()) {
      target->erase(name);
    } else {
      Apply(std::move(member), &(*target)[name]);
    }
  }
}

// *older = the effect of `older` and then of `newer`.
void Follow(Patch&& newer, Patch* older) {
  if (!newer.is_object || newer.replaces) {
    *older = std::move(newer);
  } else if (!older->is_object) {
    *older = std::move(newer);
    older->replaces = true;
  } else {
    for (auto& [name, member] : newer.members) {
      const auto found = older->members.find(name);
      if (found == older->members.end()) {
        older->members.emplace(name, std::move(member));
      } else {
        Follow(std::move(member), &found->second);
      }
    }
  }
}

}  // namespace

Status CheckJsonPatch(std::string_view body) {
  Patch patch;
  const Status status = Decode(body, &patch);
  return status.ok() ? status : Status::InvalidArgument(status.message());
}

Status ApplyJsonPatches(std::optional<std::string_view> target, std::span<const std::string_view> patches,
                        std::string* result) {
  Json value;
  // Parses the value even if a patch replaces it: the result of a read must not depend on which patches were
  // combined before.
  if (target) RETURN_IF_ERROR(Parse(*target, "the value", &value));
  for (const std::string_view body : patches) {
    Patch patch;
    RETURN_IF_ERROR(Decode(body, &patch));
    Apply(std::move(patch), &value);
  }
  *result = Print(value);
  if (result->size() <= kJsonBytesMax) return {};
  return Fail("a result of " + std::to_string(result->size()) + " bytes; the maximum is " +
              std::to_string(kJsonBytesMax));
}

Status CombineJsonPatches(std::span<const std::string_view> patches, std::string* body) {
  Patch combined;
  for (size_t i = 0; i < patches.size(); ++i) {
    Patch patch;
    RETURN_IF_ERROR(Decode(patches[i], &patch));
    if (i == 0) {
      combined = std::move(patch);
    } else {
      Follow(std::move(patch), &combined);
    }
  }
  Json path = Json::array(), paths = Json::array();
  Json value = ToJson(std::move(combined), &path, &paths);
  const bool is_plain = paths.empty();
  if (!is_plain) value = Json::array({std::move(value), std::move(paths)});
  body->assign(1, static_cast<char>(is_plain ? kJsonPlain : kJsonCombined));
  body->append(Print(value));
  if (body->size() <= kJsonBytesMax && !IsTooDeep(*body)) return {};
  return Fail("the patches are too large to be combined");
}

}  // namespace mergedb::kv
