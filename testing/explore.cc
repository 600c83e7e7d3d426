#include "testing/explore.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/random.h"
#include "testing/schedule_text.h"

namespace mergedb::testing {
namespace {

using Deviations = std::vector<Scheduler::Deviation>;
using Program = std::function<void(Scheduler&)>;

constexpr size_t kShrinkRunsMax = 400;
constexpr uint64_t kClockOneIn = 50;

// ---- strategies

// Replays deviations. If a thread cannot run at its decision, the default is chosen.
class Replay {
 public:
  explicit Replay(const Deviations& deviations) {
    for (const auto& each : deviations) threads_[each.decision] = each.thread;
  }
  size_t operator()(const Scheduler::Decision& decision) const {
    const auto found = threads_.find(decision.number);
    if (found == threads_.end()) return 0;
    const auto place = std::ranges::find(decision.threads, found->second);
    return place == decision.threads.end() ? 0 : static_cast<size_t>(place - decision.threads.begin());
  }

 private:
  std::map<uint64_t, int> threads_;
};

// Random decisions of a run. The thread is drawn first, so that a thread with few decisions is drawn as often as a
// thread with many.
class Places {
 public:
  using Counts = std::map<int, uint64_t>;  // thread -> number of decisions while it runs

  Places(base::Random& random, const Counts& counts, uint64_t count) {
    for (; count > 0 && !counts.empty(); --count) {
      // Half of the places belong to the last two threads: the program's own threads come after the workers.
      const size_t from = counts.size() > 2 && random.OneIn(2) ? counts.size() - 2 : 0;
      const uint64_t which = from + random.Uniform(counts.size() - from);
      const auto& [thread, decisions] = *std::next(counts.begin(), static_cast<ptrdiff_t>(which));
      places_.insert({thread, random.Uniform(decisions)});
    }
  }
  bool Meets(const Scheduler::Decision& decision) {
    return places_.contains({decision.running, met_[decision.running]++});
  }

 private:
  std::set<std::pair<int, uint64_t>> places_;
  Counts met_;
};

// The runnable thread with the highest priority runs. At a few decisions the running thread gets the lowest priority.
class Priorities {
 public:
  Priorities(base::Random& random, const Places::Counts& counts)
      : random_(random), changes_(random, counts, random.Uniform(4)) {}
  size_t operator()(const Scheduler::Decision& decision) {
    if (decision.is_new_task) priorities_.erase(decision.running);
    if (changes_.Meets(decision)) priorities_[decision.running] = lowest_--;
    size_t best = 0;
    for (size_t i = 0; i < decision.threads.size(); ++i) {
      if (decision.threads[i] == Scheduler::kClock) {
        if (random_.OneIn(kClockOneIn)) return i;
      } else if (PriorityOf(decision.threads[i]) > PriorityOf(decision.threads[best])) {
        best = i;
      }
    }
    return best;
  }

 private:
  int64_t PriorityOf(int thread) {
    const auto [place, is_new] = priorities_.try_emplace(thread, 0);
    if (is_new) place->second = static_cast<int64_t>(1 + random_.Uniform(1'000'000));
    return place->second;
  }

  base::Random& random_;
  Places changes_;
  std::map<int, int64_t> priorities_;
  int64_t lowest_ = 0;
};

// Deviates at a few decisions, at any place.
class Scattered {
 public:
  Scattered(base::Random& random, const Places::Counts& counts)
      : random_(random), places_(random, counts, 1 + random.Uniform(4)) {}
  size_t operator()(const Scheduler::Decision& decision) {
    return places_.Meets(decision) ? 1 + random_.Uniform(decision.threads.size() - 1) : 0;
  }

 private:
  base::Random& random_;
  Places places_;
};

// Chooses any thread every few decisions: finds failures that need two threads to alternate.
class Wandering {
 public:
  explicit Wandering(base::Random& random) : random_(random), one_in_(uint64_t{1} << random.Uniform(5)) {}
  size_t operator()(const Scheduler::Decision& decision) {
    if (!decision.is_forced && !random_.OneIn(one_in_)) return 0;
    const size_t choice = random_.Uniform(decision.threads.size());
    return decision.threads[choice] == Scheduler::kClock && !random_.OneIn(kClockOneIn) ? 0 : choice;
  }

 private:
  base::Random& random_;
  const uint64_t one_in_;
};

// ---- the search

class Search {
 public:
  Search(const Exploration& exploration, const Program& program)
      : exploration_(exploration), program_(program), random_(exploration.seed) {}

  Explored Run() {
    if (const char* text = std::getenv("MERGEDB_SCHEDULE")) {
      ReplayOf(text);
      return explored_;
    }
    if (!RunSystematic()) RunRandom();
    if (exploration_.is_quiet) return explored_;
    std::cout << "[          ] " << exploration_.name << ": " << explored_.runs << " schedules, " << explored_.decisions
              << " decisions";
    if (explored_.is_complete) std::cout << ", all with up to " << exploration_.deviations_max << " deviations";
    std::cout << std::endl;
    return explored_;
  }

 private:
  struct Node {
    Deviations deviations;
    // the choices of each decision; empty where the decision does not matter
    std::vector<std::vector<int>> offered;
    std::vector<int> running;  // the thread that ran at each decision
  };

  Scheduler::Outcome RunOnce(const Scheduler::Choose& choose, bool tells_story = false) {
    Places::Counts counts;
    const auto outcome = Scheduler::Run(
        exploration_.scheduler,
        [&](const Scheduler::Decision& decision) {
          if (!Matters(decision)) return size_t{0};
          ++counts[decision.running];
          return choose(decision);
        },
        program_, tells_story);
    for (const auto& [thread, decisions] : counts) counts_[thread] = std::max(counts_[thread], decisions);
    return outcome;
  }

  bool Matters(const Scheduler::Decision& decision) const {
    const auto& names = exploration_.only_at;
    return names.empty() || (!decision.is_forced && std::ranges::find(names, decision.what) != names.end());
  }

  // Returns true if the schedule failed.
  bool RunNode(Node* node) {
    const Replay replay(node->deviations);
    const auto outcome = RunOnce([&](const Scheduler::Decision& decision) {
      node->offered.resize(decision.number + 1);
      node->running.resize(decision.number + 1);
      node->offered.back().assign(decision.threads.begin(), decision.threads.end());
      node->running.back() = decision.running;
      return replay(decision);
    });
    ++explored_.runs;
    if (node->deviations.empty()) explored_.decisions = outcome.decisions;
    return Judge(outcome);
  }

  bool RunSystematic() {
    std::vector<Node> level(1);
    if (RunNode(&level[0])) return true;
    for (size_t depth = 1; depth <= exploration_.deviations_max; ++depth) {
      std::vector<Deviations> next = Extend(level);
      level.clear();
      for (Deviations& deviations : next) {
        if (explored_.runs >= exploration_.systematic_runs_max) return false;
        Node node{.deviations = std::move(deviations), .offered = {}, .running = {}};
        if (RunNode(&node)) return true;
        if (depth < exploration_.deviations_max) level.push_back(std::move(node));
      }
    }
    explored_.is_complete = true;
    return false;
  }

  // Adds one deviation to those of each node of `level`. The last deviations take turns between the threads, each at a
  // random place.
  std::vector<Deviations> Extend(const std::vector<Node>& level) {
    std::map<int, std::vector<Deviations>> by_thread;
    for (const Node& node : level) {
      const uint64_t first = node.deviations.empty() ? 0 : node.deviations.back().decision + 1;
      for (uint64_t i = first; i < node.offered.size(); ++i) {
        for (size_t choice = 1; choice < node.offered[i].size(); ++choice) {
          auto& each = by_thread[node.running[i]].emplace_back(node.deviations);
          each.push_back({i, node.offered[i][choice]});
        }
      }
    }
    for (auto& [thread, all] : by_thread) {
      for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random_.Uniform(i)]);
    }
    std::vector<Deviations> next;
    while (!by_thread.empty()) {
      std::erase_if(by_thread, [](const auto& all) { return all.second.empty(); });
      for (auto& [thread, all] : by_thread) {
        next.push_back(std::move(all.back()));
        all.pop_back();
      }
    }
    return next;
  }

  void RunRandom() {
    for (uint64_t i = 0; i < exploration_.random_runs; ++i) {
      Scheduler::Choose choose;
      switch (random_.Uniform(3)) {
        case 0: choose = Scattered(random_, counts_); break;
        case 1: choose = Wandering(random_); break;
        default: choose = Priorities(random_, counts_); break;
      }
      ++explored_.runs;
      if (Judge(RunOnce(choose))) return;
    }
  }

  bool Judge(const Scheduler::Outcome& outcome) {
    if (outcome.failure.empty()) return false;
    const Deviations small = Shrink(outcome.deviations);
    const auto told = RunOnce(Replay(small), true);
    explored_.finding = exploration_.name + ", schedule " + std::to_string(explored_.runs) + " of the search: " +
                        (told.failure.empty() ? outcome.failure + "\n(not repeated by its schedule)" : told.failure) +
                        "\nMERGEDB_SCHEDULE='" + exploration_.name + " " +
                        PrintSchedule(told.failure.empty() ? outcome.deviations : small) + "'\n" + told.story;
    return true;
  }

  // Removes deviations that the failure does not need: halves, then quarters, down to single ones, until no single one
  // can go.
  Deviations Shrink(Deviations deviations) {
    size_t runs = 0;
    for (size_t piece = std::max<size_t>(deviations.size() / 2, 1); runs < kShrinkRunsMax;) {
      bool is_smaller = false;
      for (size_t at = 0; at < deviations.size() && runs < kShrinkRunsMax;) {
        Deviations fewer = deviations;
        const auto begin = fewer.begin() + static_cast<ptrdiff_t>(at);
        fewer.erase(begin, begin + static_cast<ptrdiff_t>(std::min(piece, deviations.size() - at)));
        ++runs;
        const auto outcome = RunOnce(Replay(fewer));
        if (!outcome.failure.empty() && outcome.deviations.size() < deviations.size()) {
          deviations = outcome.deviations;
          is_smaller = true;
        } else {
          at += piece;
        }
      }
      if (piece == 1 && !is_smaller) break;
      piece = std::max<size_t>(piece / 2, 1);
    }
    return deviations;
  }

  void ReplayOf(const std::string& text) {
    const size_t space = text.find(' ');
    if (text.substr(0, space) != exploration_.name) return;
    const Deviations deviations = ParseSchedule(space == std::string::npos ? "" : text.substr(space + 1));
    const auto outcome = RunOnce(Replay(deviations), true);
    explored_.runs = 1;
    explored_.decisions = outcome.decisions;
    std::cout << exploration_.name << ' ' << PrintSchedule(deviations) << "\n" << outcome.story;
    explored_.finding = outcome.failure;
  }

  const Exploration& exploration_;
  const Program& program_;
  base::Random random_;
  Places::Counts counts_;  // for each thread the maximum over all runs
  Explored explored_;
};

}  // namespace

std::string PrintSchedule(const Deviations& deviations) {
  std::string text;
  for (const auto& each : deviations) {
    if (!text.empty()) text += ' ';
    text += std::to_string(each.decision) + '>';
    text += each.thread == Scheduler::kClock ? "c" : std::to_string(each.thread);
  }
  return text;
}

Deviations ParseSchedule(std::string_view text) {
  Deviations deviations;
  const std::string words(text);
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find(' ', at), words.size());
    const std::string word = words.substr(at, end - at);
    at = end + 1;
    const size_t arrow = word.find('>');
    if (arrow == std::string::npos) continue;
    const std::string thread = word.substr(arrow + 1);
    deviations.push_back({.decision = std::strtoull(word.c_str(), nullptr, 10),
                          .thread = thread == "c" ? Scheduler::kClock : std::atoi(thread.c_str())});
  }
  return deviations;
}

Explored Explore(const Exploration& exploration, const Program& program) { return Search(exploration, program).Run(); }

}  // namespace mergedb::testing
