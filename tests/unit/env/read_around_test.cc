// Goal: each piece of a file is requested once. At first a miss requests one piece; after many misses it
// requests several.
#include "env/read_around.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"

namespace mergedb::env {
namespace {

constexpr uint64_t kPiece = ReadAround::kPieceBytes;

// Records the requests.
class Asked final : public File {
 public:
  struct Request {
    uint64_t offset, bytes;
  };
  Status ReadAt(uint64_t, size_t, char*, size_t*) override { return Unused(); }
  Status WriteAt(uint64_t, std::string_view) override { return Unused(); }
  Status Truncate(uint64_t) override { return Unused(); }
  Status Sync() override { return Unused(); }
  Result<uint64_t> Size() override { return Unused(); }
  Status Close() override { return Unused(); }
  void WillRead(uint64_t offset, uint64_t bytes) override { requests.push_back({offset, bytes}); }
  Result<std::unique_ptr<Mapping>> Map(size_t) override { return Unused(); }

  std::vector<Request> requests;

 private:
  static Status Unused() { return Status::NotSupported("not asked here"); }
};

TEST(ReadAround, AsksForThePieceOfAMissOnce) {
  Asked file;
  const ReadAround around(100 * kPiece);
  around.Before(&file, 10 * kPiece + 5);
  around.Before(&file, 10 * kPiece + 70'000);
  around.Before(&file, 40 * kPiece);
  ASSERT_EQ(file.requests.size(), 2u);
  EXPECT_EQ(file.requests[0].offset, 10 * kPiece);
  EXPECT_EQ(file.requests[0].bytes, kPiece);
  EXPECT_EQ(file.requests[1].offset, 40 * kPiece);
}

TEST(ReadAround, ReadsAWholeFileInFewRequestsAndNoPieceTwice) {
  base::Random random(3);
  Asked file;
  constexpr uint64_t kPieces = 80;
  const ReadAround around(kPieces * kPiece - 1);
  for (int i = 0; i < 5'000; ++i) around.Before(&file, random.Uniform(kPieces * kPiece - 1));
  std::vector<int> times(kPieces);
  for (const auto& request : file.requests) {
    for (uint64_t at = request.offset; at < request.offset + request.bytes; at += kPiece) ++times.at(at / kPiece);
  }
  EXPECT_EQ(times, std::vector<int>(kPieces, 1));
  EXPECT_LE(file.requests.size(), kPieces / 2);
  EXPECT_EQ(file.requests.front().bytes, kPiece);
}

TEST(ReadAround, TakesFilesOfLessThanAPiece) {
  Asked file;
  const ReadAround around(100);
  around.Before(&file, 0);
  around.Before(&file, 99);
  EXPECT_EQ(file.requests.size(), 1u);
}

}  // namespace
}  // namespace mergedb::env
