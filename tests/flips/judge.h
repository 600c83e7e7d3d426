// Judges whether a damaged database is silent about its damage.
//
//     refused     the open failed: an error that names the file, and no byte of any file changed
//     failed      the database opened, and a read returned an error
//     reported    after a kill only: commits of the tail are gone, and the property mergedb.recovery says so
//     harmless    every read is right
//
// Anything else fails the test: a wrong, stale or missing answer, a commit that is lost silently, an open
// that changed something and then failed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "mergedb/repair.h"
#include "testing/counters.h"
#include "testing/status_matchers.h"
#include "testing/whole_database.h"

namespace mergedb::testing {

enum class Verdict : uint8_t { kRefused, kFailed, kReported, kHarmless };

class Judge {
 public:
  explicit Judge(const WholeDatabase& whole) : whole_(whole) {}

  // `path` is the damaged file: errors must name it; "" if any name is accepted.
  Verdict Check(SimulatedEnv& sim, const std::string& path) {
    const bool is_found = IsFound(sim, path);
    const Verdict verdict = Decide(sim, path);
    EXPECT_TRUE(verdict == Verdict::kHarmless || is_found) << "verify finds nothing";
    ++counts_[static_cast<size_t>(verdict)];
    return verdict;
  }

  // The last report of verify. Empty if verify refused.
  const VerifyReport& found() const { return found_; }
  bool PointsAt(const std::string& path, uint64_t offset) const {
    return std::any_of(found_.damages.begin(), found_.damages.end(), [&](const Damage& damage) {
      return damage.file == BaseName(path) && damage.offset <= offset &&
             (damage.bytes == 0 || offset < damage.offset + damage.bytes);
    });
  }

  uint64_t total() const { return counts_[0] + counts_[1] + counts_[2] + counts_[3]; }
  // "8123 damages: 5210 refused, 613 failed reads, 40 reported, 2260 harmless"
  std::string Summary() const {
    return std::to_string(total()) + " damages: " + std::to_string(counts_[0]) + " refused, " +
           std::to_string(counts_[1]) + " failed reads, " + std::to_string(counts_[2]) + " reported, " +
           std::to_string(counts_[3]) + " harmless";
  }

 private:
  // Verify names the damage, or the loss of a tail, and changes nothing.
  bool IsFound(SimulatedEnv& sim, const std::string& path) {
    found_ = {};
    const uint64_t before = sim.files->Fingerprint();
    auto report = Verify(whole_.OptionsFor(sim), SimulatedEnv::kPath);
    EXPECT_EQ(sim.files->Fingerprint(), before) << "verify changed something";
    if (!report) {
      CheckError(report.error(), path);
      return true;
    }
    found_ = std::move(*report);
    for (const std::string& note : found_.notes) {
      if (note.find("torn tail") != std::string::npos || note.find("damaged") != std::string::npos) return true;
    }
    for (const Damage& damage : found_.damages) {
      if (path.empty() || damage.file == BaseName(path) || BaseName(path) == "STAGING") return true;
    }
    EXPECT_TRUE(found_.damages.empty()) << "verify names other files: " << ToText(found_.damages.front());
    return false;
  }

  Verdict Decide(SimulatedEnv& sim, const std::string& path) {
    const std::string lock = SimulatedEnv::kPath + "/LOCK";  // holds no data: every open creates it
    if (sim.files->SizeOf(lock).status().IsNotFound()) { EXPECT_OK(sim.files->WriteWhole(lock, "")); }
    const uint64_t before = sim.files->Fingerprint();
    const std::vector<std::string> files_before = sim.files->Files();
    auto db = whole_.Open(sim);
    if (!db) {
      CheckError(db.error(), path);
      EXPECT_EQ(sim.files->Fingerprint(), before) << "a failed open changed something: " << db.error().ToString();
      EXPECT_FALSE(whole_.Open(sim).has_value()) << "the second open, after " << db.error().ToString();
      return Verdict::kRefused;
    }
    CheckNothingDeleted(sim, files_before, Property(**db, "recovery"));
    ModelDb::Pairs found;
    if (Status status = ReadAll(**db, &found); !status.ok()) {
      CheckError(status, path);
      return Verdict::kFailed;
    }
    if (found == whole_.expected()) return Verdict::kHarmless;
    const std::string report = Property(**db, "recovery");
    EXPECT_FALSE(whole_.shape().is_closed) << "a closed database shows other contents; it says: " << report;
    EXPECT_NE(report, "") << "commits are gone without a word";
    const ModelDb& model = whole_.model();
    EXPECT_TRUE(model.FindPrefix(found, whole_.durable(), model.commits()).has_value()) << "no prefix: " << report;
    return Verdict::kReported;
  }

  // An open that dropped something keeps the files that may hold it: in place, or in lost/.
  static void CheckNothingDeleted(SimulatedEnv& sim, const std::vector<std::string>& before,
                                  const std::string& report) {
    if (report.find("dropped") == std::string::npos && report.find("damaged") == std::string::npos) return;
    const bool manifest_too = report.find("MANIFEST") != std::string::npos;
    for (const std::string& path : before) {
      const std::string name = BaseName(path);
      if (!EndsWith(name, ".tbl") && !EndsWith(name, ".val") && !(manifest_too && name.starts_with("MANIFEST")))
        continue;
      const bool is_there =
          sim.files->SizeOf(path).has_value() || sim.files->SizeOf(SimulatedEnv::kPath + "/lost/" + name).has_value();
      EXPECT_TRUE(is_there) << name << " was deleted by an open that says: " << report;
    }
  }

  // Reads the whole database in three ways that must agree; returns OK or an error.
  Status ReadAll(DB& db, ModelDb::Pairs* found) const {
    auto it = db.NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) found->emplace_back(it->key(), it->value());
    RETURN_IF_ERROR(it->status());
    size_t left = found->size();
    for (it->SeekToLast(); it->Valid() && left > 0; it->Prev(), --left) {
      EXPECT_EQ((*found)[left - 1].first, it->key());
      EXPECT_EQ((*found)[left - 1].second, it->value()) << it->key();
    }
    RETURN_IF_ERROR(it->status());
    EXPECT_EQ(left, 0u) << "the scan backwards shows fewer keys";
    for (const std::string& key : whole_.model().KeysEverUsed()) {
      std::string value;
      const Status status = db.Get({}, key, &value);
      if (!status.ok() && !status.IsNotFound()) return status;
      const auto listed = std::lower_bound(found->begin(), found->end(), std::pair(key, std::string()));
      const bool is_listed = listed != found->end() && listed->first == key;
      EXPECT_EQ(status.ok(), is_listed) << key;
      if (status.ok() && is_listed) { EXPECT_EQ(value, listed->second) << key; }
    }
    return {};
  }

  static void CheckError(const Status& status, const std::string& path) {
    EXPECT_TRUE(status.IsCorruption() || status.IsIOError() || status.IsInvalidArgument() ||
                status.code() == Code::kNotSupported)
        << status.ToString();
    // The database reports data that STAGING has lost as missing from the WAL.
    const std::string name = BaseName(path) == "STAGING" ? SimulatedEnv::kPath : BaseName(path);
    EXPECT_NE(status.ToString().find(name), std::string::npos) << status.ToString();
  }

  const WholeDatabase& whole_;
  VerifyReport found_;
  std::array<uint64_t, 4> counts_{};
};

// All endings of a database's last life.
struct Ending {
  WholeDatabase::Shape shape;
  const char* name;
};
inline const Ending kEndings[] = {
    {{.is_closed = true, .is_mapped = true}, "ClosedMapped"},
    {{.is_closed = false, .is_mapped = true, .compression = Compression::kLz4}, "KilledMapped"},
    {{.is_closed = true, .is_mapped = false, .style = Style::kCascade, .compression = Compression::kZstd},
     "ClosedWritten"},
    {{.is_closed = false, .is_mapped = false, .style = Style::kCascade}, "KilledWritten"},
};

inline const Ending kEndingsWithBlobFiles[] = {
    {{.is_closed = true, .is_mapped = true, .compression = Compression::kSnappy, .separates = true}, "ClosedSeparated"},
    // WHY this seed: the workload ends with several tables, between two compactions.
    {{.is_closed = false, .is_mapped = false, .style = Style::kCascade, .seed = 1, .separates = true},
     "KilledSeparated"},
};

class FlipsTest : public ::testing::TestWithParam<Ending> {
 protected:
  FlipsTest() : whole_(GetParam().shape), judge_(whole_) {}
  ~FlipsTest() override {
    if (judge_.total() > 0) std::printf("             %s\n", judge_.Summary().c_str());
  }
  bool is_closed() const { return whole_.shape().is_closed; }

  const WholeDatabase whole_;
  Judge judge_;
};

#define INSTANTIATE_FOR(Suite, endings)                                  \
  INSTANTIATE_TEST_SUITE_P(endings, Suite, ::testing::ValuesIn(endings), \
                           [](const auto& ending) { return std::string(ending.param.name); })

}  // namespace mergedb::testing
