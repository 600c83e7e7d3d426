// torture TEST ENGINE [options]: runs one test on one engine and prints one line of JSON for each result.
// torture.py runs all.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "torture/tests.h"

namespace mergedb::torture {
namespace {

void Print(const Order& order, const Result& result) {
  const nlohmann::json line = {{"engine", order.engine},      {"test", result.test},
                               {"seed", order.seed},          {"trials", result.trials},
                               {"counts", result.counts},     {"notes", result.notes},
                               {"examples", result.examples}, {"version", NewEngine(order.engine)->version()}};
  std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

int Run(const std::string& test, const Order& order) {
  if (test == "cuts") {
    for (const Result& result : CutPower(order)) Print(order, result);
  } else if (test == "syncs") {
    Print(order, FailSyncs(order));
  } else if (test == "kills") {
    Print(order, KillProcesses(order));
  } else if (test == "flips") {
    Print(order, FlipBits(order));
  } else if (test == "full") {
    Print(order, FillDisk(order));
  } else {
    std::cerr << "torture: unknown test '" << test << "'\n";
    return 2;
  }
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app(
      "Crash tests: power cuts, kills, flipped bits, failed syncs and full disks, for mergedb and other engines.");
  std::string test, command;
  Order order;
  std::string directory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
  app.add_option("test", test, "cuts, syncs, kills, flips, full, engines");
  std::vector<std::string> words;
  app.add_option("words", words, "name of the engine");
  app.add_option("--dir", directory, "working directory, on the disk under test");
  app.add_option("--seed", order.seed, "seed of the workload");
  app.add_option("--batches", order.batches, "number of commits");
  app.add_option("--trials", order.trials, "approximate number of states, kills, flips, failed syncs or full disks");
  CLI11_PARSE(app, argc, argv);
  if (test == "engines") {
    for (const std::string& name : EngineNames()) std::cout << name << "\n";
    return 0;
  }
  const bool is_child = test == "child" && words.size() == 2;
  if (is_child) command = words[0];
  order.engine = words.empty() ? "" : words.back();
  if (NewEngine(order.engine) == nullptr) {
    std::cerr << "torture: unknown engine '" << order.engine
              << "'; `torture engines` prints the engines of this build\n";
    return 2;
  }
  if (is_child) {
    order.directory = directory;
    command == "fill" ? FillAsChild(order) : WorkAsChild(order);
  }
  std::string pattern = directory + "/mergedb_torture_XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    std::cerr << "torture: cannot work in " << directory << "\n";
    return 2;
  }
  order.directory = pattern;
  const int outcome = Run(test, order);
  std::filesystem::remove_all(pattern);
  return outcome;
}

}  // namespace
}  // namespace mergedb::torture

int main(int argc, char** argv) { return mergedb::torture::Main(argc, argv); }
