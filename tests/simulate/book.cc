#include "book.h"

#include <cstdio>

namespace mergedb::simulate {
namespace {

constexpr size_t kShownMax = 4;

void Apply(const Change& change, State* state) {
  switch (change.kind) {
    case Change::Kind::kPut: (*state)[change.key] = change.value; break;
    case Change::Kind::kDelete: state->erase(change.key); break;
    case Change::Kind::kAppend: (*state)[change.key] += change.value; break;
    case Change::Kind::kDeleteRange:
      state->erase(state->lower_bound(change.key), state->lower_bound(change.value));
      break;
  }
}

void Apply(uint64_t number, const std::vector<Change>& changes, State* state) {
  for (const Change& change : changes) Apply(change, state);
  (*state)[Book::Marker(number)] = "";
}

std::string Short(const std::string& value) {
  return "'" + value.substr(0, 16) + "' of " + std::to_string(value.size()) + " bytes";
}

}  // namespace

std::string Book::Marker(uint64_t commit) {
  char name[32];
  std::snprintf(name, sizeof name, "0commit%08llu", static_cast<unsigned long long>(commit));
  return name;
}

uint64_t Book::Begin(std::vector<Change> changes, Durability durability) {
  commits_.push_back({.changes = std::move(changes),
                      .is_logged = durability != Durability::kNoWal,
                      .is_synced = durability == Durability::kSynced,
                      .begin = ++now_});
  return commits_.size();
}

void Book::End(uint64_t number, const Status& status) {
  Commit& commit = commits_[number - 1];
  commit.end = ++now_;
  if (status.ok()) {
    commit.standing = Commit::Standing::kThere;
    Apply(number, commit.changes, &live_);
  } else if (!status.outcome_unknown()) {
    commit.standing = Commit::Standing::kGone;
  }
  if (!status.ok() || !commit.is_synced) return;
  commit.is_durable = true;
  Synced(commit.begin);
}

void Book::Synced(uint64_t moment) {
  for (Commit& commit : commits_) {
    const bool is_over = commit.standing == Commit::Standing::kThere && commit.end <= moment;
    commit.is_durable |= is_over && commit.is_logged;
  }
}

void Book::Flushed(uint64_t moment) {
  for (Commit& commit : commits_)
    commit.is_durable |= commit.standing == Commit::Standing::kThere && commit.end <= moment;
}

std::string Book::Judge(uint64_t number, const Commit& commit, bool is_there, simulate::End end) const {
  const std::string name = "commit " + std::to_string(number);
  if (commit.standing == Commit::Standing::kGone) return is_there ? name + " failed or was lost, and is there" : "";
  if (is_there || commit.standing == Commit::Standing::kUnknown) return "";
  if (commit.is_durable) return name + " was durable and is gone";
  const bool is_kept = end == End::kClosed || (end == End::kKilled && commit.is_logged);
  return is_kept ? name + " was acknowledged and is gone" : "";
}

// No logged commit is there without one that returned before it began.
std::string Book::JudgeOrder(const State& found) const {
  const auto is_ordered = [](const Commit& commit) {
    return commit.is_logged && commit.standing == Commit::Standing::kThere;
  };
  uint64_t lost = 0;
  for (uint64_t number = 1; number <= commits_.size(); ++number) {
    const Commit& commit = commits_[number - 1];
    if (!is_ordered(commit) || found.contains(Marker(number))) continue;
    if (lost == 0 || commit.end < commits_[lost - 1].end) lost = number;
  }
  for (uint64_t number = 1; lost > 0 && number <= commits_.size(); ++number) {
    const Commit& commit = commits_[number - 1];
    if (is_ordered(commit) && commit.begin > commits_[lost - 1].end && found.contains(Marker(number))) {
      return "commit " + std::to_string(number) + " is there, and commit " + std::to_string(lost) +
             " before it is gone";
    }
  }
  return "";
}

std::string Book::Reopened(const State& found, simulate::End end) {
  if (const std::string problem = JudgeOrder(found); !problem.empty()) return problem;
  live_.clear();
  for (uint64_t number = 1; number <= commits_.size(); ++number) {
    Commit& commit = commits_[number - 1];
    const bool is_there = found.contains(Marker(number));
    if (const std::string problem = Judge(number, commit, is_there, end); !problem.empty()) return problem;
    if (is_there) Apply(number, commit.changes, &live_);
    commit.standing = is_there ? Commit::Standing::kThere : Commit::Standing::kGone;
    commit.is_durable |= is_there && end == End::kPowerCut;
    if (commit.end == 0) commit.end = ++now_;
  }
  if (end == End::kClosed) Flushed(now_);
  return Difference(found, live_);
}

std::string Difference(const State& found, const State& expected) {
  std::string text;
  size_t count = 0;
  const auto tell = [&](const std::string& words) {
    if (++count <= kShownMax) text += (text.empty() ? "" : "; ") + words;
  };
  for (const auto& [key, value] : expected) {
    const auto it = found.find(key);
    if (it == found.end()) tell(key + " is missing: " + Short(value));
    if (it != found.end() && it->second != value) tell(key + " is " + Short(it->second) + ", expected " + Short(value));
  }
  for (const auto& [key, value] : found)
    if (!expected.contains(key)) tell(key + " is there: " + Short(value));
  return count > kShownMax ? text + "; " + std::to_string(count - kShownMax) + " more" : text;
}

}  // namespace mergedb::simulate
