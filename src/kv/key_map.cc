#include "kv/key_map.h"

#include <utility>

#include "base/assert.h"
#include "base/bytes.h"

namespace mergedb::kv {
namespace {

constexpr uint8_t kLongId = 0xf0;

void AppendId(std::string* out, KeyspaceId id) {
  if (id < kLongId) {
    *out += static_cast<char>(id);
    return;
  }
  int bytes = 1;
  while (bytes < 4 && id >> (8 * bytes) != 0) ++bytes;
  *out += static_cast<char>(kLongId + bytes);
  while (bytes-- > 0) *out += static_cast<char>(id >> (8 * bytes));
}

// The number of bytes of the id at the begin of `in`; 0 if there is no id.
size_t LoadId(std::string_view in, KeyspaceId* id) {
  if (in.empty()) return 0;
  const auto first = static_cast<uint8_t>(in[0]);
  *id = first;
  if (first < kLongId) return 1;
  const size_t bytes = first - kLongId;
  if (bytes == 0 || bytes > 4 || in.size() <= bytes) return 0;
  *id = 0;
  for (size_t i = 1; i <= bytes; ++i) *id = *id << 8 | static_cast<uint8_t>(in[i]);
  return 1 + bytes;
}

}  // namespace

KeyMap::KeyMap(std::string reserved_prefix)
    : reserved_prefix_(std::move(reserved_prefix)), moved_(reserved_prefix_ + kMoved) {
  ASSERT(!reserved_prefix_.empty() && reserved_prefix_.size() <= kReservedPrefixBytesMax,
         "a keyspace prefix has 1 to 16 bytes");
}

std::string KeyMap::Prefix(KeyspaceId id) const {
  std::string prefix = reserved_prefix_;
  AppendId(&prefix, id);
  return prefix;
}

std::string_view KeyMap::ToTree(KeyspaceId keyspace, std::string_view key, std::string* scratch) const {
  if (keyspace == kDefaultKeyspace) {
    if (!BeginsWithReservedPrefix(key)) [[likely]]
      return key;
    scratch->assign(moved_);
  } else {
    scratch->assign(reserved_prefix_);
    AppendId(scratch, keyspace);
  }
  return scratch->append(key);
}

KeyMap::Place KeyMap::FromTree(std::string_view tree_key) const {
  if (!BeginsWithReservedPrefix(tree_key) || tree_key.size() == reserved_prefix_.size()) return {.key = tree_key};
  if (tree_key[reserved_prefix_.size()] == kMoved) return {.key = tree_key.substr(moved_.size())};
  Place place;
  const size_t id_bytes = LoadId(tree_key.substr(reserved_prefix_.size()), &place.keyspace);
  if (id_bytes == 0) return {.key = tree_key};
  place.key = tree_key.substr(reserved_prefix_.size() + id_bytes);
  place.is_keyspace_record = place.keyspace == kDefaultKeyspace;
  return place;
}

std::vector<KeyMap::Range> KeyMap::ToTreeRanges(KeyspaceId keyspace, const Range& range) const {
  std::string scratch;
  Range tree;
  if (range.lower) tree.lower = std::string(ToTree(keyspace, *range.lower, &scratch));
  if (range.upper) tree.upper = std::string(ToTree(keyspace, *range.upper, &scratch));
  if (keyspace != kDefaultKeyspace) {
    if (!tree.lower) tree.lower = Prefix(keyspace);
    if (!tree.upper) tree.upper = base::PrefixEnd(Prefix(keyspace));
    return {std::move(tree)};
  }
  const bool begins_before = !tree.lower || *tree.lower < reserved_prefix_;
  const bool ends_after = !tree.upper || *tree.upper > reserved_prefix_;
  if (!begins_before || !ends_after) return {std::move(tree)};
  return {{.lower = std::move(tree.lower), .upper = reserved_prefix_},
          {.lower = moved_, .upper = std::move(tree.upper)}};
}

}  // namespace mergedb::kv
