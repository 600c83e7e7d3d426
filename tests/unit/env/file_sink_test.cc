// Goal: a sink writes all bytes front to back in aligned pieces, and a recycled file ends where the new one ends.
// Method: files in memory that stop the program at misaligned direct writes; the writes are counted.
#include "env/file_sink.h"

#include <gtest/gtest.h>

#include "testing/fault_file_system.h"
#include "testing/status_matchers.h"

namespace mergedb::env {
namespace {

using ::testing::ElementsAre;
using namespace mergedb::testing;

constexpr size_t kPieceBytes = size_t{1} << 20;

class FileSinkTest : public ::testing::Test {
 protected:
  FileSink Open(const SinkFile::Options& options) { return FileSink(SinkFile::Open(&files_, "/f", options).value()); }
  std::string Bytes() { return files_.ReadWhole("/f").value(); }
  static std::string Numbered(size_t bytes) {
    std::string text;
    while (text.size() < bytes) text += std::to_string(text.size()) + " ";
    text.resize(bytes);
    return text;
  }

  FaultFileSystem files_;
};

TEST_F(FileSinkTest, BytesArriveInOrderHoweverTheyAreCut) {
  const std::string text = Numbered(2 * kPieceBytes + 3 * kDirectIoAlign);
  for (const size_t part : {size_t{1000}, kPieceBytes - 1, kPieceBytes, text.size()}) {
    SCOPED_TRACE(part);
    FileSink sink = Open({});
    for (size_t at = 0; at < text.size(); at += part) {
      EXPECT_EQ(sink.offset(), at);
      ASSERT_OK(sink.Append(std::string_view(text).substr(at, part)));
    }
    EXPECT_EQ(sink.offset(), text.size());
    ASSERT_OK(sink.Finish());
    EXPECT_TRUE(Bytes() == text);
    ASSERT_OK(files_.Remove("/f"));
  }
}

TEST_F(FileSinkTest, WritesAMebibyteAtATimeAndTheRestAtTheEnd) {
  FileSink sink = Open({});
  std::vector<size_t> sizes;
  files_.SetOpHook([&](uint64_t, const char* what, const std::string&) {
    if (std::string_view(what) == OpName(FileOp::kWrite)) sizes.push_back(Bytes().size());
  });
  ASSERT_OK(sink.Append(std::string(kPieceBytes - 1, 'a')));
  EXPECT_TRUE(sizes.empty());
  ASSERT_OK(sink.Append("b"));
  EXPECT_THAT(sizes, ElementsAre(0u)) << "the file's size before each write";
  ASSERT_OK(sink.PadTo(kPieceBytes + kDirectIoAlign));
  ASSERT_OK(sink.Finish());
  EXPECT_THAT(sizes, ElementsAre(0u, kPieceBytes));
  EXPECT_EQ(Bytes().size(), kPieceBytes + kDirectIoAlign);
}

TEST_F(FileSinkTest, PaddingIsZeros) {
  FileSink sink = Open({});
  ASSERT_OK(sink.Append("abc"));
  ASSERT_OK(sink.PadTo(3));
  EXPECT_EQ(sink.offset(), 3u);
  ASSERT_OK(sink.PadTo(3 * kDirectIoAlign));
  ASSERT_OK(sink.Finish());
  EXPECT_TRUE(Bytes() == "abc" + std::string(3 * kDirectIoAlign - 3, '\0'));
}

// Old bytes behind the end would pass for a part of the new file: readers look for a footer at the end.
TEST_F(FileSinkTest, ARecycledFileEndsWhereTheNewOneEnds) {
  for (const size_t old_bytes : {size_t{0}, kDirectIoAlign, 5 * kDirectIoAlign, 3 * kPieceBytes}) {
    SCOPED_TRACE(old_bytes);
    ASSERT_OK(files_.WriteWhole("/f", std::string(old_bytes, 'o')));
    FileSink sink = Open({.is_reuse = true});
    EXPECT_EQ(sink.recycled_bytes(), old_bytes);
    const std::string text = Numbered(2 * kDirectIoAlign);
    ASSERT_OK(sink.Append(text));
    ASSERT_OK(sink.Finish());
    EXPECT_TRUE(Bytes() == text);
  }
}

TEST_F(FileSinkTest, ANewFileReplacesNoneAndARecycledOneMustExist) {
  EXPECT_THAT(SinkFile::Open(&files_, "/f", {.is_reuse = true}), StatusIs(Code::kNotFound));
  ASSERT_OK(files_.WriteWhole("/f", "old"));
  EXPECT_THAT(SinkFile::Open(&files_, "/f", {}), StatusIs(Code::kInvalidArgument));
  EXPECT_EQ(Bytes(), "old");
}

TEST_F(FileSinkTest, EachErrorIsReturned) {
  ASSERT_OK(files_.WriteWhole("/f", std::string(2 * kPieceBytes, 'o')));
  FileSink sink = Open({.is_reuse = true});
  files_.AddFault({.op = FileOp::kWrite, .status = Status::NoSpace("full")});
  EXPECT_THAT(sink.Append(std::string(kPieceBytes, 'a')), StatusIs(Code::kNoSpace));

  FileSink again = Open({.is_reuse = true});
  ASSERT_OK(again.Append(std::string(kDirectIoAlign, 'a')));
  files_.AddFault({.op = FileOp::kTruncate});
  EXPECT_THAT(again.Finish(), StatusIs(Code::kIOError)) << "old bytes would stay behind the end";
  files_.AddFault({.op = FileOp::kSync});
  EXPECT_THAT(again.Sync(), StatusIs(Code::kIOError));
}

// Without a later sync, Finish must sync: the caller only calls Sync on other file systems.
TEST_F(FileSinkTest, OnAnAppendOnlyFileSystemTheEndIsDurable) {
  for (const bool is_append_only : {true, false}) {
    FaultFileSystem files({.is_append_only = is_append_only});
    FileSink sink(SinkFile::Open(&files, "/f", {.is_direct = !is_append_only}).value());
    ASSERT_OK(sink.Append(std::string(kDirectIoAlign, 'a')));
    ASSERT_OK(sink.Finish());
    ASSERT_OK(files.SyncDirectory("/"));
    const auto image = files.Crash(CrashMode::kMin, CrashModel::kStrict, 1);
    EXPECT_EQ(image->ReadWhole("/f").value().size(), is_append_only ? kDirectIoAlign : 0u);
  }
}

}  // namespace
}  // namespace mergedb::env
