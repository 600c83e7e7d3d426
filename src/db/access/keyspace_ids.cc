#include "db/access/keyspace_ids.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/assert.h"

namespace mergedb::db {

bool KeyspaceIds::IsLive(kv::KeyspaceId id) const {
  base::Lock lock(mutex_);
  return live_.contains(id);
}

std::optional<std::string> KeyspaceIds::NameOf(kv::KeyspaceId id) const {
  base::Lock lock(mutex_);
  const auto place = live_.find(id);
  return place == live_.end() ? std::nullopt : std::optional(place->second);
}

void KeyspaceIds::Load(Names live, kv::KeyspaceId next) {
  base::Lock lock(mutex_);
  if (is_loaded()) return;
  live_ = std::move(live);
  reserved_end_ = next;
  next_.store(next, std::memory_order_release);
}

kv::KeyspaceId KeyspaceIds::Allocate() {
  base::Lock lock(mutex_);
  const kv::KeyspaceId id = next();
  if (id == 0 || id >= reserved_end_) return 0;
  next_.store(id + 1, std::memory_order_release);
  return id;
}

kv::KeyspaceId KeyspaceIds::reserved_end() const {
  base::Lock lock(mutex_);
  return reserved_end_;
}

void KeyspaceIds::Reserve(kv::KeyspaceId end) {
  base::Lock lock(mutex_);
  reserved_end_ = std::max(reserved_end_, end);
}

Status KeyspaceIds::Check(const write::Change& change) {
  base::Lock lock(mutex_);
  for (const kv::KeyspaceId id : change.keyspaces) {
    if (!dropped_.contains(id) && (live_.contains(id) || created_.contains(id))) [[likely]]
      continue;
    return Status::InvalidArgument("keyspace " + std::to_string(id) +
                                   (WasMade(id) ? " was dropped" : " was never created"));
  }
  if (change.keyspace_changes == nullptr) [[likely]]
    return {};
  has_pending_ = true;
  const write::KeyspaceChanges& changes = *change.keyspace_changes;
  ASSERT(changes.created.size() == changes.created_names.size(), "a keyspace is created together with its name");
  for (size_t i = 0; i < changes.created.size(); ++i) created_.emplace(changes.created[i], changes.created_names[i]);
  dropped_.insert(changes.dropped.begin(), changes.dropped.end());
  return {};
}

void KeyspaceIds::Withdraw(const write::KeyspaceChanges& changes) {
  base::Lock lock(mutex_);
  for (const kv::KeyspaceId id : changes.created) created_.erase(id);
  for (const kv::KeyspaceId id : changes.dropped) dropped_.erase(id);
}

void KeyspaceIds::PublishPending() {
  has_pending_ = false;
  base::Lock lock(mutex_);
  live_.merge(created_);
  for (const kv::KeyspaceId id : dropped_) live_.erase(id);
  created_.clear();
  dropped_.clear();
}

void KeyspaceIds::DiscardPending() {
  has_pending_ = false;
  base::Lock lock(mutex_);
  created_.clear();
  dropped_.clear();
}

}  // namespace mergedb::db
