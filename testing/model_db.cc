#include "testing/model_db.h"

#include <algorithm>

namespace mergedb::testing {
namespace {

uint64_t DigestOf(const std::string& key, const std::string& value) {
  const uint64_t hash = std::hash<std::string>{}(key)*31 + std::hash<std::string>{}(value);
  return (hash ^ (hash >> 32)) * 0x9E3779B97F4A7C15u;
}

}  // namespace

const ModelDb::Version* ModelDb::VersionAt(const Versions& versions, uint64_t at) {
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    if (version->commit <= at) return version->value ? &*version : nullptr;
  }
  return nullptr;
}

uint64_t ModelDb::Commit(const std::vector<Change>& changes) {
  const uint64_t commit = commits() + 1;
  uint64_t digest = digests_.back();
  for (const Change& change : changes) {
    if (change.end) {
      std::vector<std::string> gone;
      for (const auto& [key, versions] : history_) {
        if (!less_(key, change.key) && less_(key, *change.end) && VersionAt(versions, commit) != nullptr)
          gone.push_back(key);
      }
      for (const std::string& key : gone) Set(key, std::nullopt, commit, &digest);
      continue;
    }
    const auto found = history_.find(change.key);
    const Version* const before = found == history_.end() ? nullptr : VersionAt(found->second, commit);
    Set(change.key, change.merge ? change.merge(before == nullptr ? std::nullopt : before->value) : change.value,
        commit, &digest);
  }
  digests_.push_back(digest);
  return commit;
}

void ModelDb::Set(const std::string& key, const std::optional<std::string>& value, uint64_t commit, uint64_t* digest) {
  Versions& versions = history_[key];
  if (const Version* before = VersionAt(versions, commit)) *digest -= DigestOf(before->key, *before->value);
  if (value) *digest += DigestOf(key, *value);
  versions.push_back({commit, key, value});
}

std::optional<std::string> ModelDb::Get(const std::string& key, uint64_t at) const {
  const auto found = history_.find(key);
  const Version* version = found == history_.end() ? nullptr : VersionAt(found->second, at);
  return version == nullptr ? std::nullopt : version->value;
}

ModelDb::Pairs ModelDb::Scan(uint64_t at, const Bounds& bounds) const {
  Pairs pairs;
  for (const auto& [key, versions] : history_) {
    if (bounds.lower && less_(key, *bounds.lower)) continue;
    if (bounds.upper && !less_(key, *bounds.upper)) continue;
    if (const Version* version = VersionAt(versions, at)) pairs.emplace_back(version->key, *version->value);
  }
  return pairs;
}

ModelDb::Pairs ModelDb::ScanBackward(uint64_t at, const Bounds& bounds) const {
  Pairs pairs = Scan(at, bounds);
  std::reverse(pairs.begin(), pairs.end());
  return pairs;
}

std::vector<std::string> ModelDb::KeysEverUsed() const {
  std::vector<std::string> keys;
  for (const auto& [key, versions] : history_) keys.push_back(key);
  return keys;
}

std::optional<uint64_t> ModelDb::FindPrefix(const Pairs& pairs, uint64_t first, uint64_t last) const {
  uint64_t digest = 0;
  for (const auto& [key, value] : pairs) digest += DigestOf(key, value);
  for (uint64_t prefix = std::min(last, commits()) + 1; prefix-- > first;) {
    if (digests_[prefix] == digest && Scan(prefix) == pairs) return prefix;
  }
  return std::nullopt;
}

void ModelDb::Truncate(uint64_t commits) {
  digests_.resize(commits + 1);
  for (auto entry = history_.begin(); entry != history_.end();) {
    std::erase_if(entry->second, [&](const Version& version) { return version.commit > commits; });
    entry = entry->second.empty() ? history_.erase(entry) : std::next(entry);
  }
}

}  // namespace mergedb::testing
