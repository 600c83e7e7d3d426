// A small database in which every kind of file is there in every shape that matters, for tests that damage it: tables of the
// bottom run, whose sequences are zero, and of upper runs above them; tables shown in part; range tombstones, operands and what
// became of them; a MANIFEST of many edits; a log with frames that no table holds, in segments and in staging.
//
//     const WholeDatabase whole({.is_closed = false, .is_mapped = true});
//     auto world = whole.Copy();               // shares its bytes: a copy costs microseconds
//     ASSERT_OK(world->files->FlipBit(...));
//     ... open, read, compare with whole.expected(); after a kill with the prefixes of whole.model() ...
//
// Whoever adds a kind of file or of record makes it here too, in Write(): verify, repair, flips and fuzzing then meet it.
// THREADS: constant once made.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "testing/model_db.h"
#include "testing/world.h"

namespace mergedb::testing {

class WholeDatabase {
 public:
  struct Shape {
    bool is_closed = true;  // false: the process was killed
    bool is_mapped = true;  // false: one write a commit group, no STAGING
    Style style = Style::kLazy;
    Compression compression = Compression::kNone;
    uint64_t seed = 5;
    bool separates = false;  // true: values of 64 bytes and more stand in value files
  };
  explicit WholeDatabase(const Shape& shape);

  const Shape& shape() const { return shape_; }
  const FaultFileSystem& image() const { return *image_; }
  // The same database some commits ago: the files that somebody may have kept a copy of.
  const FaultFileSystem& earlier() const { return *earlier_; }
  // Each other content that this file had while the database was written, oldest first; not the one that it has.
  std::vector<std::string> EarlierContents(const std::string& path) const;

  std::unique_ptr<World> Copy() const;
  Options OptionsFor(World& world) const;
  Result<std::unique_ptr<DB>> Open(World& world) const { return DB::Open(OptionsFor(world), World::kPath); }

  std::vector<std::string> Files() const { return image_->Files(); }  // full paths
  std::vector<std::string> Files(std::string_view ending) const;
  bool IsLiveTable(const std::string& path) const;  // one that the MANIFEST names
  std::string Bytes(const std::string& path) const { return *image_->ReadWhole(path); }

  const ModelDb& model() const { return model_; }
  uint64_t durable() const { return durable_; }                 // commits that a power cut leaves
  const ModelDb::Pairs& expected() const { return expected_; }  // after all commits

 private:
  void Write();
  void Commit(DB& db, World& world, int count, base::Random& random);
  void Merge(WriteBatch* batch, std::vector<ModelDb::Change>* changes, base::Random& random);
  void Note(Status status);
  void NoteMoment(World& world) { moments_.push_back(world.files->Crash(CrashMode::kKill, CrashModel::kStrict, 1)); }

  const Shape shape_;
  ModelDb model_;
  uint64_t durable_ = 0;
  ModelDb::Pairs expected_;
  std::string runs_;  // what the property says of the tables
  std::unique_ptr<FaultFileSystem> image_;
  std::unique_ptr<FaultFileSystem> earlier_;
  std::vector<std::unique_ptr<FaultFileSystem>> moments_;  // every few commits
};

std::string BaseName(const std::string& path);
bool EndsWith(std::string_view text, std::string_view end);

}  // namespace mergedb::testing
