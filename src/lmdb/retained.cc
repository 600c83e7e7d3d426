// Keeps the bytes that ended transactions returned.
#include <algorithm>

#include "lmdb/handles.h"

namespace mergedb::lmdb {

namespace {

// Drops the entries for which `goes` is true. A root that a reset reader still uses is only emptied.
// The renewal of a reader holds the mutex too.
template <typename Goes>
void ForgetIf(MDB_env* env, RetainedList* gone, Goes goes) REQUIRES_LOCK(env->mutex) {
  RetainedList emptied;
  for (auto it = env->retained.begin(); it != env->retained.end();) {
    const auto each = it++;
    if (!goes(*each)) continue;
    const bool is_used = each->root.use_count() > 1;
    if (is_used) each->root->Forget();
    RetainedList& to = is_used ? emptied : *gone;
    to.splice(to.end(), env->retained, each);
  }
}

}  // namespace

void Root::End() {
  if (transaction == nullptr || !transaction->is_open()) return;
  if (kept.count() == 0) kept = transaction->TakeKept();  // else a commit that failed took it
  transaction->Rollback();
}

void Root::Forget() {
  kept.Clear();
  arena.Clear();
}

// WHY at most readers_max roots: threads come and go.
void Retain(MDB_env* env, RetainedList* place, uint64_t thread, const std::shared_ptr<Root>& root, RetainedList* gone) {
  if (place->empty() || std::ranges::find(env->retained, root, &Retained::root) != env->retained.end()) return;
  root->arena.KeepNewest(kChunksRetained);
  place->front() = {.thread = thread, .root = root, .commits_seen = 0};
  env->retained.splice(env->retained.end(), *place, place->begin());
  if (env->retained.size() <= env->readers_max) return;
  const Root* const oldest = env->retained.front().root.get();
  ForgetIf(env, gone, [oldest](const Retained& each) { return each.root.get() == oldest; });
}

void ForgetOf(MDB_env* env, uint64_t thread, const Root* root, RetainedList* gone) {
  if (env->retained.empty()) return;
  ForgetIf(env, gone, [=](const Retained& each) { return each.thread == thread || each.root.get() == root; });
}

void ForgetAfterCommit(MDB_env* env, RetainedList* gone) {
  if (env->retained.empty()) return;
  for (Retained& each : env->retained) ++each.commits_seen;
  ForgetIf(env, gone, [](const Retained& each) { return each.commits_seen > kCommitsOutlasted; });
}

}  // namespace mergedb::lmdb
