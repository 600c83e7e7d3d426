#include "testing/history.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace mergedb::testing {
namespace {

using Fate = HistoryTransaction::Fate;
constexpr size_t kNobody = SIZE_MAX;

std::string Print(const List& list) { return "[" + EncodeList(list) + "]"; }

// The dependency graph and its indexes. The nodes are the transactions, then one time node after the end of each
// committed transaction, in order of time. The time nodes form a chain, so real time needs no edge for each pair.
class Checker {
 public:
  Checker(std::vector<HistoryTransaction> history, const std::map<std::string, List>& final_state)
      : history_(std::move(history)), final_(final_state) {}

  std::optional<std::string> Check() {
    FindWriters();
    ResolveUnknown();
    for (size_t t = 0; t < history_.size(); ++t) {
      if (history_[t].fate != Fate::kCommitted) continue;
      if (auto anomaly = CheckReads(t)) return anomaly;
    }
    if (auto anomaly = CheckFinal()) return anomaly;
    AddEdges();
    return FindCycle();
  }

 private:
  const List& FinalOf(const std::string& key) const {
    static const List nothing;
    const auto found = final_.find(key);
    return found == final_.end() ? nothing : found->second;
  }
  size_t WriterOf(uint64_t number) const {
    const auto found = writers_.find(number);
    return found == writers_.end() ? kNobody : found->second;
  }
  std::string Name(size_t t) const { return "T" + std::to_string(t); }

  void FindWriters() {
    for (size_t t = 0; t < history_.size(); ++t) {
      for (const auto& op : history_[t].ops) {
        if (op.is_read) continue;
        writers_[op.append] = t;
        last_appends_[{t, op.key}] = op.append;
      }
    }
  }

  void ResolveUnknown() {
    const auto see = [&](const List& list) {
      for (const uint64_t number : list) {
        const size_t writer = WriterOf(number);
        if (writer != kNobody && history_[writer].fate == Fate::kUnknown) history_[writer].fate = Fate::kCommitted;
      }
    };
    for (const auto& [key, list] : final_) see(list);
    for (auto& transaction : history_) {
      if (transaction.fate == Fate::kUnknown) transaction.fate = Fate::kRolledBack;
    }
  }

  // Each read must be a prefix of the final list, followed by exactly the transaction's own appends so far.
  std::optional<std::string> CheckReads(size_t t) {
    std::map<std::string, List> own;
    for (auto& op : history_[t].ops) {
      List& appended = own[op.key];
      if (!op.is_read) {
        appended.push_back(op.append);
        continue;
      }
      const List whole = op.read;
      if (op.read.size() < appended.size() || !std::equal(appended.rbegin(), appended.rend(), op.read.rbegin())) {
        return Name(t) + " read " + op.key + " = " + Print(whole) + " without its own " + Print(appended);
      }
      op.read.resize(op.read.size() - appended.size());
      const List& list = FinalOf(op.key);
      if (op.read.size() > list.size() || !std::equal(op.read.begin(), op.read.end(), list.begin())) {
        return Name(t) + " read " + op.key + " = " + Print(whole) + ", which is no beginning of " + Print(list);
      }
      if (auto anomaly = CheckLast(t, op)) return anomaly;
    }
    return std::nullopt;
  }

  // The last number that the transaction read must be the last that its writer appended to the key.
  std::optional<std::string> CheckLast(size_t t, const HistoryTransaction::Op& op) const {
    if (op.read.empty()) return std::nullopt;
    const size_t writer = WriterOf(op.read.back());
    if (writer == kNobody)
      return Name(t) + " read " + op.key + " = " + Print(op.read) + ", of which nobody wrote the last";
    const auto last = last_appends_.find({writer, op.key});
    if (last != last_appends_.end() && last->second == op.read.back()) return std::nullopt;
    return Name(t) + " read " + op.key + " = " + Print(op.read) + ", a part of what " + Name(writer) + " wrote";
  }

  // The final lists must hold each append of each committed transaction exactly once, and nothing else.
  std::optional<std::string> CheckFinal() const {
    std::map<uint64_t, std::string> places;
    size_t numbers = 0;
    for (const auto& [key, list] : final_) {
      numbers += list.size();
      for (const uint64_t number : list) {
        places[number] = key;
        const size_t writer = WriterOf(number);
        if (writer == kNobody) return key + " holds " + std::to_string(number) + ", which nobody wrote";
        if (history_[writer].fate != Fate::kCommitted)
          return key + " holds " + std::to_string(number) + " of " + Name(writer) + ", which was rolled back";
      }
    }
    size_t appended = 0;
    for (size_t t = 0; t < history_.size(); ++t) {
      if (history_[t].fate != Fate::kCommitted) continue;
      for (const auto& op : history_[t].ops) {
        if (op.is_read) continue;
        ++appended;
        const auto place = places.find(op.append);
        if (place == places.end() || place->second != op.key)
          return Name(t) + "'s append of " + std::to_string(op.append) + " to " + op.key + " is lost";
      }
    }
    if (numbers != appended)
      return std::to_string(appended) + " were appended, " + std::to_string(numbers) + " are there";
    return std::nullopt;
  }

  void AddEdge(size_t from, size_t to, const char* why) {
    if (from != to && from != kNobody && to != kNobody) edges_[from].push_back({to, why});
  }

  void AddEdges() {
    edges_.resize(2 * history_.size());
    for (const auto& [key, list] : final_) {
      for (size_t i = 1; i < list.size(); ++i) AddEdge(WriterOf(list[i - 1]), WriterOf(list[i]), "ww");
    }
    std::vector<size_t> by_end, by_begin;
    for (size_t t = 0; t < history_.size(); ++t) {
      if (history_[t].fate != Fate::kCommitted) continue;
      by_end.push_back(t);
      for (const auto& op : history_[t].ops) {
        if (!op.is_read) continue;
        const List& list = FinalOf(op.key);
        if (!op.read.empty()) AddEdge(WriterOf(op.read.back()), t, "wr");
        if (op.read.size() < list.size()) AddEdge(t, WriterOf(list[op.read.size()]), "rw");
      }
    }
    by_begin = by_end;
    std::sort(by_end.begin(), by_end.end(), [&](size_t a, size_t b) { return history_[a].ended < history_[b].ended; });
    std::sort(by_begin.begin(), by_begin.end(),
              [&](size_t a, size_t b) { return history_[a].began < history_[b].began; });
    size_t ended = 0;
    for (size_t i = 0; i < by_end.size(); ++i) {
      AddEdge(by_end[i], history_.size() + i, "rt");
      if (i > 0) AddEdge(history_.size() + i - 1, history_.size() + i, "rt");
    }
    for (const size_t t : by_begin) {
      while (ended < by_end.size() && history_[by_end[ended]].ended < history_[t].began) ++ended;
      if (ended > 0) AddEdge(history_.size() + ended - 1, t, "rt");
    }
  }

  // Depth-first search without recursion: an edge to a node that is still open closes a cycle.
  std::optional<std::string> FindCycle() const {
    enum : uint8_t { kNew, kOpen, kDone };
    std::vector<uint8_t> state(edges_.size(), kNew);
    struct Step {
      size_t node;
      size_t next = 0;
    };
    for (size_t start = 0; start < edges_.size(); ++start) {
      if (state[start] != kNew) continue;
      std::vector<Step> path = {{start}};
      state[start] = kOpen;
      while (!path.empty()) {
        Step& step = path.back();
        if (step.next == edges_[step.node].size()) {
          state[step.node] = kDone;
          path.pop_back();
          continue;
        }
        const size_t to = edges_[step.node][step.next++].to;
        if (state[to] == kOpen) {
          auto first = std::find_if(path.begin(), path.end(), [&](const Step& each) { return each.node == to; });
          std::string cycle = "a cycle:";
          for (; first != path.end(); ++first) {
            if (first->node < history_.size()) cycle += " " + Name(first->node);
            cycle += std::string(" -") + edges_[first->node][first->next - 1].why + "->";
          }
          return cycle;
        }
        if (state[to] != kNew) continue;
        state[to] = kOpen;
        path.push_back({to});
      }
    }
    return std::nullopt;
  }

  struct Edge {
    size_t to;
    const char* why;
  };
  std::vector<HistoryTransaction> history_;
  const std::map<std::string, List>& final_;
  std::map<uint64_t, size_t> writers_;
  // (transaction, key) -> the last number appended
  std::map<std::pair<size_t, std::string>, uint64_t> last_appends_;
  std::vector<std::vector<Edge>> edges_;
};

}  // namespace

std::string EncodeList(const List& list) {
  std::string value;
  for (const uint64_t number : list) value += std::to_string(number) + ",";
  return value;
}

List DecodeList(const std::string& value) {
  List list;
  for (size_t at = 0; at < value.size();) {
    const size_t comma = value.find(',', at);
    list.push_back(std::strtoull(value.c_str() + at, nullptr, 10));
    at = comma == std::string::npos ? value.size() : comma + 1;
  }
  return list;
}

std::optional<std::string> FindAnomaly(std::vector<HistoryTransaction> history,
                                       const std::map<std::string, List>& final_state) {
  return Checker(std::move(history), final_state).Check();
}

}  // namespace mergedb::testing
