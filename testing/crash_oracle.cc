#include "testing/crash_oracle.h"

#include <algorithm>

namespace mergedb::testing {
namespace {

constexpr size_t kShownMax = 6;

// The start of a value, which identifies its commit.
std::string Short(const std::string& value) { return value.substr(0, std::min<size_t>(value.size(), 12)); }

}  // namespace

uint64_t CrashOracle::Begin(const std::vector<Change>& changes, bool is_logged) {
  commits_.push_back(is_logged ? Standing::kLogged : Standing::kUnlogged);
  const uint64_t commit = commits_.size();
  for (const Change& change : changes) {
    if (change.kind != Kind::kDeleteRange) {
      Note(change, commit);
      continue;
    }
    for (const std::string& key : KeysEverUsed()) {
      if (key >= change.key && key < change.value) Note({.kind = Kind::kDelete, .key = key}, commit);
    }
  }
  return commit;
}

void CrashOracle::Note(const Change& change, uint64_t commit) {
  std::vector<Version>& versions = history_[change.key];
  if (change.kind != Kind::kAppend) {
    while (!versions.empty() && versions.back().commit == commit) versions.pop_back();
  }
  versions.push_back({.commit = commit, .change = change});
}

template <typename IsThere>
CrashOracle::Value CrashOracle::ValueOf(const std::vector<Version>& versions, const IsThere& is_there) {
  Value value;  // the pieces appended by the newer versions
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    if (!is_there(*version)) continue;
    if (version->change.kind == Kind::kDelete) break;
    value = version->change.value + value.value_or("");
    if (version->change.kind == Kind::kPut) break;
  }
  return value;
}

std::optional<uint64_t> CrashOracle::Explain(const State& state, const Owed& owed) const {
  for (const auto& [key, value] : state) {
    if (!history_.contains(key)) return std::nullopt;
  }
  for (uint64_t prefix = begun() + 1; prefix-- > owed.logged;) {
    if (IsExplainedBy(prefix, state, owed)) return prefix;
  }
  return std::nullopt;
}

bool CrashOracle::IsExplainedBy(uint64_t prefix, const State& state, const Owed& owed) const {
  Choices choices;
  for (const auto& [key, versions] : history_) {
    const auto found = state.find(key);
    const Value value = found == state.end() ? std::nullopt : Value(found->second);
    if (!MatchKey(versions, prefix, value, owed, &choices)) return false;
  }
  return true;
}

// Goes from the newest version to the oldest. A version that must be there decides the result. A version that may be
// missing is there if its value was found. If an appended piece is at the end of the value, the older versions must
// explain the rest.
bool CrashOracle::MatchKey(const std::vector<Version>& versions, uint64_t prefix, const Value& found, const Owed& owed,
                           Choices* choices) const {
  Value rest = found;
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    const Presence presence = PresenceOf(version->commit, prefix, owed);
    if (presence == Presence::kNever) continue;
    const Change& change = version->change;
    const bool is_append = change.kind == Kind::kAppend;
    const bool matches = is_append                      ? rest && rest->ends_with(change.value)
                         : change.kind == Kind::kDelete ? !rest
                                                        : rest == change.value;
    if (presence == Presence::kMust && !(is_append && matches)) return matches;
    // a delete does not tell: the key may be absent for another reason
    const bool tells = change.kind != Kind::kDelete;
    if (presence == Presence::kMay && tells && choices->try_emplace(version->commit, matches).first->second != matches)
      return false;
    if (matches && !is_append) return true;
    if (!matches) continue;
    rest->resize(rest->size() - change.value.size());
    // no value is empty, so an empty rest means that no older value existed
    if (rest->empty()) rest = std::nullopt;
  }
  return !rest;
}

CrashOracle::Presence CrashOracle::PresenceOf(uint64_t commit, uint64_t prefix, const Owed& owed) const {
  switch (commits_[commit - 1]) {
    case Standing::kLogged: return commit <= prefix ? Presence::kMust : Presence::kNever;
    case Standing::kUnlogged: return commit <= owed.unlogged ? Presence::kMust : Presence::kMay;
    case Standing::kUnknown: return Presence::kMay;
    case Standing::kFailed: break;
  }
  return Presence::kNever;
}

// The state that holds the owed commits and no others.
CrashOracle::State CrashOracle::StateAt(const Owed& owed) const {
  State state;
  for (const auto& [key, versions] : history_) {
    const Value value = ValueOf(versions, [&](const Version& version) {
      return PresenceOf(version.commit, owed.logged, owed) == Presence::kMust;
    });
    if (value) state.emplace(key, *value);
  }
  return state;
}

CrashOracle::State CrashOracle::Everything() const { return StateAt({.logged = begun(), .unlogged = begun()}); }

std::vector<std::string> CrashOracle::KeysEverUsed() const {
  std::vector<std::string> keys;
  for (const auto& [key, versions] : history_) keys.push_back(key);
  return keys;
}

std::string CrashOracle::Difference(const State& state, const Owed& owed) const {
  return "owed: commits up to " + std::to_string(owed.logged) + ", without log up to " + std::to_string(owed.unlogged) +
         ", begun " + std::to_string(begun()) + "; beside what was owed:" + DescribeDifference(state, StateAt(owed)) +
         "; beside all that was begun:" + DescribeDifference(state, Everything());
}

std::string DescribeDifference(const CrashOracle::State& found, const CrashOracle::State& expected) {
  std::string text;
  size_t shown = 0;
  const auto tell = [&](const std::string& words) {
    if (++shown <= kShownMax) text += words;
    if (shown == kShownMax + 1) text += " ...";
  };
  for (const auto& [key, value] : expected) {
    const auto it = found.find(key);
    if (it == found.end()) tell(" " + key + " is missing (" + Short(value) + ")");
    if (it != found.end() && it->second != value) tell(" " + key + "=" + Short(it->second) + " not " + Short(value));
  }
  for (const auto& [key, value] : found) {
    if (!expected.contains(key)) tell(" " + key + "=" + Short(value) + " exists");
  }
  return text;
}

}  // namespace mergedb::testing
