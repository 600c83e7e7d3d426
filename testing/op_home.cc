#include "testing/op_home.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "base/assert.h"
#include "testing/c_interface_db.h"
#include "testing/simulated_env.h"

namespace mergedb::testing {
namespace {

class SimulatedHome final : public OpHome {
 public:
  SimulatedHome(const OptionSet& set, uint64_t seed, std::unique_ptr<FaultFileSystem> files)
      : set_(set), sim_({.seed = seed, .parallelism = set.parallelism}, std::move(files)) {}

  Result<std::unique_ptr<DB>> Open(OpenMode mode) override {
    return DB::Open(ChosenOptions(mode), SimulatedEnv::kPath);
  }
  Status Destroy() override { return DB::Destroy(ChosenOptions({}), SimulatedEnv::kPath); }
  std::unique_ptr<OpHome> AfterKill(uint64_t seed) override {
    return std::make_unique<SimulatedHome>(set_, seed, sim_.files->Crash(CrashMode::kKill, CrashModel::kStrict, seed));
  }
  bool RunOne() override { return sim_.executor.RunOne(); }
  void PassSeconds(uint64_t seconds) override {
    sim_.clock.SleepNanos(seconds * 1'000'000'000);
    sim_.executor.RunTimers();
  }
  FileSystem* files() override { return sim_.files.get(); }
  std::string PathBeside(const std::string& name) override { return "/" + name; }
  uint64_t Fingerprint() override { return sim_.files->Fingerprint(); }

 private:
  Options ChosenOptions(OpenMode mode) {
    Options options = sim_.SmallOptions();
    options.mode = mode;
    Choose(set_, &options);
    return options;
  }

  const OptionSet& set_;
  SimulatedEnv sim_;
};

class RealHome final : public OpHome {
 public:
  explicit RealHome(const OptionSet& set) : set_(set) {
    std::string path = std::filesystem::temp_directory_path() / "mergedb-ops-XXXXXX";
    ASSERT(mkdtemp(path.data()) != nullptr, "no directory for temporary files");
    path_ = path;
  }
  ~RealHome() override {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  Result<std::unique_ptr<DB>> Open(OpenMode mode) override {
    Options options;
    options.mode = mode;
    Choose(set_, &options);
    return set_.place == Place::kCInterface ? OpenThroughC(options, Directory()) : DB::Open(options, Directory());
  }
  Status Destroy() override {
    return set_.place == Place::kCInterface ? DestroyThroughC(Directory()) : DB::Destroy({}, Directory());
  }
  std::unique_ptr<OpHome> AfterKill(uint64_t) override { return nullptr; }
  bool RunOne() override { return false; }
  void PassSeconds(uint64_t) override {}
  FileSystem* files() override { return DefaultEnv().file_system; }
  std::string PathBeside(const std::string& name) override { return path_ / name; }
  uint64_t Fingerprint() override {
    uint64_t sum = 0;
    for (const auto& entry : std::filesystem::directory_iterator(Directory())) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes(std::istreambuf_iterator<char>(file), {});
      sum += std::hash<std::string>{}(entry.path().filename().string() + '\0' + bytes);
    }
    return sum;
  }

 private:
  std::string Directory() const { return path_ / "db"; }

  const OptionSet& set_;
  std::filesystem::path path_;
};

}  // namespace

std::unique_ptr<OpHome> NewOpHome(const OptionSet& set, uint64_t seed) {
  if (set.place != Place::kSimulated) return std::make_unique<RealHome>(set);
  return std::make_unique<SimulatedHome>(set, seed, std::make_unique<FaultFileSystem>());
}

}  // namespace mergedb::testing
