#include "testing/power_cut.h"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/random.h"

namespace mergedb::testing {
namespace {

constexpr CrashMode kModes[] = {
    CrashMode::kKill,       CrashMode::kMin,      CrashMode::kNamesFull,   CrashMode::kNamesMinDataFull,
    CrashMode::kPrefixTorn, CrashMode::kBlockMix, CrashMode::kGarbageTail, CrashMode::kLostSync};
constexpr uint64_t kDeepOneIn = 12;     // of the images at depth 2, one in so many has its recovery cut
constexpr uint64_t kDeepCutsOneIn = 4;  // at one in so many operations
constexpr size_t kSeenMax = 300'000;
constexpr char kFailures[] = "power_cut_failures";

uint64_t Mix(uint64_t hash, uint64_t value) {
  return base::Random((hash ^ value) * 0x9E3779B97F4A7C15u + value).Next();
}

std::string PrintCut(const Cut& cut) { return std::string(CrashModeName(cut.mode)) + "/" + CrashModelName(cut.model); }

bool ParseCut(const std::string& text, Cut* cut) {
  for (const CrashMode mode : kModes) {
    for (const CrashModel model : kCrashModels) {
      *cut = {.point = cut->point, .mode = mode, .model = model};
      if (PrintCut(*cut) == text) return true;
    }
  }
  return false;
}

// Saves the files of an image for inspection. Returns the directory.
std::string SaveFiles(const FaultFileSystem& files, const std::string& replay) {
  const std::filesystem::path directory =
      std::filesystem::path(kFailures) / std::to_string(std::hash<std::string>{}(replay) % 1'000'000'000);
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  for (const std::string& path : files.Files()) {
    const auto bytes = files.ReadWhole(path);
    std::ofstream out(directory / std::filesystem::path(path).filename(), std::ios::binary);
    if (bytes) out << *bytes;
  }
  std::ofstream(directory / "replay.txt") << replay << "\n";
  return directory.string();
}

}  // namespace

// ---- SeenImages -------------------------------------------------------------------------------------------

const Recovered* SeenImages::Find(uint64_t look) const {
  const auto found = seen_.find(look);
  return found == seen_.end() ? nullptr : &found->second;
}

const Recovered* SeenImages::Keep(uint64_t look, Recovered recovered) {
  if (seen_.size() >= kSeenMax) seen_.clear();
  return &seen_.insert_or_assign(look, std::move(recovered)).first->second;
}

// ---- the workload -----------------------------------------------------------------------------------------

PowerCuts::PowerCuts(const CutSetup& setup, const CutPlan& plan, SeenImages* seen)
    : setup_(setup),
      plan_(plan),
      seen_(seen),
      sim_({.seed = setup.seed, .is_append_only = setup.is_append_only}),
      workload_(setup, &sim_, &books_, [this] { AtPoint(); }) {}

std::string PowerCuts::Run() {
  sim_.files->SetOpHook([this](uint64_t, const char*, const std::string&) {
    workload_.AtOperation();
    AtPoint();
  });
  std::string problem = RunSteps();
  sim_.files->SetOpHook(nullptr);
  if (!problem_.empty()) return problem_;
  if (problem.empty()) return "";
  return problem + "\n  replay: MERGEDB_CUT=\"" + PrintCuts(setup_, {}) + "\"";
}

std::string PowerCuts::Replay(const std::vector<Cut>& cuts) {
  replay_ = cuts;
  return Run();
}

std::string PowerCuts::RunSteps() {
  is_armed_ = plan_.first_step == 0;
  std::string problem = workload_.Open();
  for (size_t i = 0; i < setup_.steps.size() && problem.empty() && problem_.empty(); ++i) {
    is_armed_ = i >= plan_.first_step;
    problem = workload_.Step(i);
  }
  if (problem.empty() && problem_.empty()) problem = workload_.Close();
  return problem;
}

// Runs before each operation and after each call: the points where the power may fail.
void PowerCuts::AtPoint() {
  const uint64_t point = ++counts_.points;
  if (setup_.failing_sync > 0) counts_.has_faulted = sim_.files->faults_hit() > 0;
  if (!is_armed_ || !problem_.empty() || (setup_.failing_sync > 0 && !counts_.has_faulted)) return;
  if (!replay_.empty() && replay_[0].point != point) return;
  if (replay_.empty() && Mix(setup_.seed, point) % plan_.point_one_in != 0) return;
  for (const CrashMode mode : kModes) {
    for (const CrashModel model : kCrashModels) {
      const Cut cut{.point = point, .mode = mode, .model = model};
      // a kill does not depend on the model
      if (mode == CrashMode::kKill && model != CrashModel::kStrict) continue;
      if (!replay_.empty() && (replay_[0].mode != mode || replay_[0].model != model)) continue;
      problem_ = CheckImage(Take(cut));
      if (!problem_.empty()) return;
    }
  }
}

// ---- images -----------------------------------------------------------------------------------------------

uint64_t PowerCuts::SeedOf(const std::vector<Cut>& cuts) const {
  uint64_t seed = setup_.seed;
  for (const Cut& cut : cuts) {
    seed = Mix(seed, cut.point * 64 + static_cast<uint64_t>(cut.mode) * 2 + static_cast<uint64_t>(cut.model));
  }
  return seed;
}

PowerCuts::Image PowerCuts::Take(const Cut& cut) const {
  return {.files = sim_.files->Crash(cut.mode, cut.model, SeedOf({cut})),
          .cuts = {cut},
          .owed = books_.OwedAfter(cut.mode),
          .is_durable = cut.mode != CrashMode::kKill,
          .has_lied = cut.mode == CrashMode::kLostSync};
}

// Cuts the recovery of `image`, which holds `held`. After a kill, a power cut may still drop bytes that the kill kept,
// until a recovery makes them durable. All other content must stay exactly as it is.
PowerCuts::Image PowerCuts::TakeNested(const Image& image, const FaultFileSystem& files, const Cut& cut,
                                       const CrashOracle::State& held) const {
  Image next{.files = nullptr, .cuts = image.cuts, .owed = image.owed};
  next.cuts.push_back(cut);
  next.files = files.Crash(cut.mode, cut.model, SeedOf(next.cuts));
  next.is_durable = image.is_durable || cut.mode != CrashMode::kKill;
  next.has_lied = image.has_lied || cut.mode == CrashMode::kLostSync;
  if (next.has_lied) {
    next.owed = {};
  } else if (image.is_durable || cut.mode == CrashMode::kKill) {
    next.exact = held;
  } else {
    next.owed = books_.OwedAfter(CrashMode::kMin);
  }
  return next;
}

RecoveryCheck PowerCuts::CheckFor(const Image& image) const {
  return {.setup = setup_,
          .oracle = books_.quiet_oracle(),
          .owed = image.owed,
          .may_be_corrupt = image.has_lied,
          .is_plain_kill = !image.is_durable && !image.has_lied && setup_.failing_sync == 0,
          .seed = SeedOf(image.cuts)};
}

std::string PowerCuts::CheckImage(Image image) {
  ++counts_.states;
  if (image.cuts.size() > 1) ++counts_.nested;
  // The image of a kill may have the same files as the image of a power cut, but it holds unsynced bytes that a later
  // cut may drop. So the two count as different.
  const RecoveryCheck check = CheckFor(image);
  const uint64_t look = image.files->Fingerprint() * 4 + (image.is_durable ? 0 : 2) + (image.has_lied ? 1 : 0);
  const Recovered* recovered = seen_->Find(look);
  const bool is_new = recovered == nullptr;
  if (is_new) {
    ++counts_.recovered;
    recovered = seen_->Keep(look, CheckRecovery(image.files->Crash(CrashMode::kKill, CrashModel::kStrict, 0), check));
  }
  if (recovered->is_corrupt) ++counts_.corrupt;
  if (!recovered->problem.empty()) return Blame(image, recovered->problem);
  if (recovered->is_corrupt) return "";
  if (!is_new) {
    if (const std::string problem = JudgeState(recovered->state, check); !problem.empty()) return Blame(image, problem);
  }
  if (image.exact) {
    const std::string difference = DescribeDifference(recovered->state, *image.exact);
    if (!difference.empty()) return Blame(image, "a cut of its recovery changed what an image holds:" + difference);
  }
  const uint64_t choice = Mix(look, 77);
  const int depth = static_cast<int>(image.cuts.size());
  const bool is_chosen = choice % (depth == 1 ? plan_.nest_one_in : kDeepOneIn) == 0 && is_new;
  const bool is_replayed = replay_.size() > image.cuts.size();
  if (depth >= plan_.depth_max || (replay_.empty() ? !is_chosen : !is_replayed)) return "";
  // a copy: `recovered` points into seen_, which CutRecovery may clear
  const CrashOracle::State held = recovered->state;
  return CutRecovery(image, held);
}

// Opens the image again and cuts the power at the operations of this recovery.
std::string PowerCuts::CutRecovery(const Image& image, const CrashOracle::State& held) {
  const uint64_t seed = SeedOf(image.cuts);
  const int depth = static_cast<int>(image.cuts.size());
  SimulatedEnv sim({.seed = seed}, image.files->Crash(CrashMode::kKill, CrashModel::kStrict, 0));
  uint64_t point = 0;
  std::string problem;
  const auto cut_here = [&] {
    ++point;
    const uint64_t choice = Mix(seed, point);
    if (!problem.empty() || (replay_.empty() && depth > 1 && choice % kDeepCutsOneIn != 0)) return;
    Cut cut{.point = point, .mode = kModes[choice / 8 % std::size(kModes)], .model = kCrashModels[choice / 64 % 2]};
    if (!replay_.empty()) {
      if (replay_[image.cuts.size()].point != point) return;
      cut = replay_[image.cuts.size()];
    }
    problem = CheckImage(TakeNested(image, *sim.files, cut, held));
  };
  sim.files->SetOpHook([&](uint64_t, const char*, const std::string&) { cut_here(); });
  auto db = OpenFor(setup_, &sim);
  sim.files->SetOpHook(nullptr);
  if (!problem.empty()) return problem;
  if (!db) return Blame(image, "the same image does not open twice: " + db.error().ToString());
  cut_here();
  return problem;
}

std::string PowerCuts::Blame(const Image& image, const std::string& problem) const {
  const std::string replay = "MERGEDB_CUT=\"" + PrintCuts(setup_, image.cuts) + "\"";
  return problem + "\n  files: " + SaveFiles(*image.files, replay) + "\n  replay: " + replay;
}

// ---- the line that replays --------------------------------------------------------------------------------

std::string PrintCuts(const CutSetup& setup, const std::vector<Cut>& cuts) {
  std::string text = "seed=" + std::to_string(setup.seed) +
                     " style=" + (setup.style == Style::kLazy ? "lazy" : "cascade") + " staging=" +
                     (setup.is_append_only ? "appended"
                      : setup.use_mapping  ? "mapped"
                                           : "written") +
                     " steps=" + setup.steps + (setup.separates ? " values=separated" : "") +
                     (setup.has_log ? " log=small" : "") +
                     (setup.geometry ? " geometry=" + Print(*setup.geometry) : "") +
                     (setup.failing_sync > 0 ? " fail=" + std::to_string(setup.failing_sync) : "");
  for (size_t i = 0; i < cuts.size(); ++i) {
    const std::string point = std::to_string(cuts[i].point);
    text += i == 0 ? " point=" + point + " cut=" + PrintCut(cuts[i])
                   : (i == 1 ? " nested=" : ",") + point + ":" + PrintCut(cuts[i]);
  }
  return text;
}

bool ParseCuts(const std::string& text, CutSetup* setup, std::vector<Cut>* cuts) {
  std::istringstream words(text);
  Cut first;
  for (std::string word; words >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) return false;
    const std::string name = word.substr(0, equals);
    std::string value = word.substr(equals + 1);
    if (name == "seed") {
      setup->seed = std::stoull(value);
    } else if (name == "style") {
      setup->style = value == "lazy" ? Style::kLazy : Style::kCascade;
    } else if (name == "staging") {
      setup->use_mapping = value == "mapped";
      setup->is_append_only = value == "appended";
    } else if (name == "values") {
      setup->separates = value == "separated";
    } else if (name == "log") {
      setup->has_log = value == "small";
    } else if (name == "steps") {
      if (value.find_first_not_of(kAllSteps) != std::string::npos) return false;
      setup->steps = value;
    } else if (name == "geometry") {
      setup->geometry = ParseGeometry(value);
      if (!setup->geometry) return false;
    } else if (name == "fail") {
      setup->failing_sync = std::stoull(value);
    } else if (name == "point") {
      first.point = std::stoull(value);
    } else if (name == "cut") {
      if (!ParseCut(value, &first)) return false;
      cuts->push_back(first);
    } else if (name == "nested") {
      std::istringstream list(value);
      for (std::string item; std::getline(list, item, ',');) {
        const size_t colon = item.find(':');
        if (colon == std::string::npos) return false;
        Cut cut{.point = std::stoull(item.substr(0, colon))};
        if (!ParseCut(item.substr(colon + 1), &cut)) return false;
        cuts->push_back(cut);
      }
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace mergedb::testing
