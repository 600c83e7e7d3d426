// A small database for tests that damage files. It has every kind of file (blob files only with `separates`) in every
// form that matters: tables of the oldest run, whose sequences are zero, and tables of upper runs; virtual tables with
// bounds; range tombstones, merge operands and merged values; a MANIFEST of many VersionEdits; WAL frames that are in
// no table, in WAL segments and in the WAL buffer.
//
//     const WholeDatabase whole({.is_closed = false, .is_mapped = true});
//     auto sim =   whole.Copy();               // shares its bytes: a copy costs microseconds
//     ASSERT_OK(sim->files->FlipBit(...));
//     ... open, read, compare with whole.expected(); after a kill with the prefixes of whole.model() ...
//
// A new kind of file or record must be added to Write(), so that the tests of verify, repair and bit flips and the
// fuzz tests use it.
// THREADS: any; the object is immutable after construction.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "testing/model_db.h"
#include "testing/simulated_env.h"

namespace mergedb::testing {

class WholeDatabase {
 public:
  struct Shape {
    bool is_closed = true;  // false: the process was killed
    bool is_mapped = true;  // false: one write for each commit group, no STAGING
    Style style = Style::kLazy;
    Compression compression = Compression::kNone;
    uint64_t seed = 5;
    bool separates = false;  // true: values of 64 bytes or more are in blob files
  };
  explicit WholeDatabase(const Shape& shape);

  const Shape& shape() const { return shape_; }
  const FaultFileSystem& image() const { return *image_; }
  // The same database some commits earlier, for tests with old copies of files.
  const FaultFileSystem& earlier() const { return *earlier_; }
  // All earlier contents of this file that differ from its final content, oldest first.
  std::vector<std::string> EarlierContents(const std::string& path) const;

  std::unique_ptr<SimulatedEnv> Copy() const;
  Options OptionsFor(SimulatedEnv& sim) const;
  Result<std::unique_ptr<DB>> Open(SimulatedEnv& sim) const { return DB::Open(OptionsFor(sim), SimulatedEnv::kPath); }

  std::vector<std::string> Files() const { return image_->Files(); }  // full paths
  std::vector<std::string> Files(std::string_view ending) const;
  bool IsLiveTable(const std::string& path) const;  // whether the MANIFEST names the table
  std::string Bytes(const std::string& path) const { return *image_->ReadWhole(path); }

  const ModelDb& model() const { return model_; }
  uint64_t durable() const { return durable_; }                 // the number of commits that survive a power cut
  const ModelDb::Pairs& expected() const { return expected_; }  // after all commits

 private:
  void Write();
  void Commit(DB& db, SimulatedEnv& sim, int count, base::Random& random);
  void Merge(WriteBatch* batch, std::vector<ModelDb::Change>* changes, base::Random& random);
  void Note(Status status);
  void NoteMoment(SimulatedEnv& sim) { moments_.push_back(sim.files->Crash(CrashMode::kKill, CrashModel::kStrict, 1)); }

  const Shape shape_;
  ModelDb model_;
  uint64_t durable_ = 0;
  ModelDb::Pairs expected_;
  std::string runs_;  // the property "mergedb.runs"
  std::unique_ptr<FaultFileSystem> image_;
  std::unique_ptr<FaultFileSystem> earlier_;
  std::vector<std::unique_ptr<FaultFileSystem>> moments_;  // one image every few commits
};

std::string BaseName(const std::string& path);
bool EndsWith(std::string_view text, std::string_view end);

}  // namespace mergedb::testing
