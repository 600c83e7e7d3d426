// All short histories of an interface: every path of calls up to a length, on the interface and on a model of it.
//
//     struct Model {
//       struct Call {...};                        // plain data
//       std::vector<Call> Calls() const;          // the calls to try in this state
//       std::string Do(const Call& call);         // the answer, as text; changes the state
//       std::string Key() const;                  // equal for states that no later call tells apart
//       static std::string TextOf(const Call& call);
//     };
//     const Walked walked = WalkPaths(Model(), {.calls_max = 4}, [] { return Subject(); });
//     EXPECT_EQ(walked.finding, "");
//
// `make` returns a fresh subject for each path, which has a method `std::string Do(const Model::Call&)`. An answer that
// is not the model's is a finding. Paths run in the order of their length, so the first finding is a shortest one. It
// is printed as a line that replays it alone:
//
//     MERGEDB_PATH='begin 0; put 0 a; commit 0' build/dev/tests/paths_..._test
//
// WalkPaths runs all paths, or if there are more than `paths_max` of a length, a random part of these. WalkStates runs
// one path for each call in each state: a shortest one. It reaches states that no short path has.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mergedb::testing {

struct Walk {
  size_t calls_max = 4;  // in a path
  uint64_t paths_max = UINT64_MAX;
  uint64_t seed = 1;
};

struct Walked {
  std::string finding;  // empty: each answer was the model's
  uint64_t paths = 0;   // that were run
  uint64_t calls = 0;
  uint64_t states = 0;  // WalkStates: that differ
};

template <typename Model, typename Make>
class PathWalker {
 public:
  using Call = typename Model::Call;
  using Path = std::vector<Call>;

  PathWalker(const Model& start, const Walk& walk, Make make) : start_(start), walk_(walk), make_(std::move(make)) {}

  Walked WalkPaths() {
    if (RunNamed()) return walked_;
    for (size_t length = 1; length <= walk_.calls_max && walked_.finding.empty(); ++length) {
      Path path;
      uint64_t count = 0;
      Visit(start_, path, length, [&](const Path&) { ++count; });
      uint64_t index = 0;
      Visit(start_, path, length, [&](const Path& whole) {
        if (walked_.finding.empty() && IsChosen(index++, count)) Run(whole);
      });
    }
    return walked_;
  }

  Walked WalkStates() {
    if (RunNamed()) return walked_;
    std::set<std::string> seen{start_.Key()};
    std::vector<std::pair<Model, Path>> states{{start_, {}}};
    for (size_t i = 0; i < states.size(); ++i) {
      const Model state = states[i].first;
      Path path = states[i].second;
      if (path.size() == walk_.calls_max) continue;
      for (const Call& call : state.Calls()) {
        if (walked_.paths == walk_.paths_max) break;
        path.push_back(call);
        if (!Run(path)) return walked_;
        Model next = state;
        next.Do(call);
        if (seen.insert(next.Key()).second) states.emplace_back(std::move(next), path);
        path.pop_back();
      }
    }
    walked_.states = states.size();
    return walked_;
  }

 private:
  template <typename Function>
  static void Visit(const Model& state, Path& path, size_t left, const Function& function) {
    if (left == 0) return function(path);
    for (const Call& call : state.Calls()) {
      Model next = state;
      next.Do(call);
      path.push_back(call);
      Visit(next, path, left - 1, function);
      path.pop_back();
    }
  }

  // An even part of the `count` paths of a length.
  bool IsChosen(uint64_t index, uint64_t count) const {
    if (count <= walk_.paths_max) return true;
    const uint64_t mixed = (index + 1) * 0x9e3779b97f4a7c15u ^ walk_.seed * 0xbf58476d1ce4e5b9u;
    return (mixed * 0x94d049bb133111ebu >> 33) % count < walk_.paths_max;
  }

  static std::string TextOf(const Path& path) {
    std::string text;
    for (const Call& call : path) text += (text.empty() ? "" : "; ") + Model::TextOf(call);
    return text;
  }

  bool Run(const Path& path) {
    Model model = start_;
    auto subject = make_();
    ++walked_.paths;
    for (const Call& call : path) {
      ++walked_.calls;
      const std::string expected = model.Do(call);
      const std::string found = subject.Do(call);
      if (found == expected) continue;
      walked_.finding =
          Model::TextOf(call) + ": expected " + expected + ", found " + found + "\nMERGEDB_PATH='" + TextOf(path) + "'";
      return false;
    }
    return true;
  }

  // The path that the caller names in MERGEDB_PATH.
  bool RunNamed() {
    const char* const named = std::getenv("MERGEDB_PATH");
    if (named == nullptr) return false;
    Model model = start_;
    Path path;
    while (TextOf(path) != named) {
      const auto next = NextOf(model, path, named);
      if (!next) {
        walked_.finding = "MERGEDB_PATH is no path of this model: '" + TextOf(path) + "' can be followed by";
        for (const Call& call : model.Calls()) walked_.finding += " '" + Model::TextOf(call) + "'";
        return true;
      }
      path.push_back(*next);
      model.Do(*next);
    }
    Run(path);
    return true;
  }

  static std::optional<Call> NextOf(const Model& model, Path path, const std::string& named) {
    for (const Call& call : model.Calls()) {
      path.push_back(call);
      const std::string text = TextOf(path);
      if (named == text || named.starts_with(text + "; ")) return call;
      path.pop_back();
    }
    return std::nullopt;
  }

  const Model start_;
  const Walk walk_;
  const Make make_;
  Walked walked_;
};

template <typename Model, typename Make>
Walked WalkPaths(const Model& start, const Walk& walk, Make make) {
  return PathWalker(start, walk, std::move(make)).WalkPaths();
}

template <typename Model, typename Make>
Walked WalkStates(const Model& start, const Walk& walk, Make make) {
  return PathWalker(start, walk, std::move(make)).WalkStates();
}

}  // namespace mergedb::testing
