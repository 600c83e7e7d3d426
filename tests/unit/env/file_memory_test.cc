// Goal: budgets bound the bytes that are mapped at one time and those that are read around; what cannot be mapped is
// read. Method: files in memory.
#include "env/file_memory.h"

#include <gtest/gtest.h>

#include "tests/unit/table/memory_files.h"

namespace mergedb::env {
namespace {

using testing::MemoryFiles;

class FileMemoryTest : public ::testing::Test {
 protected:
  // An open file of as many bytes.
  std::unique_ptr<File> Make(const std::string& path, size_t bytes) {
    auto file = files_.Open(path, {.access = Access::kCreate});
    EXPECT_TRUE(file.has_value());
    EXPECT_TRUE((*file)->WriteAt(0, std::string(bytes, 'x')).ok());
    return std::move(*file);
  }

  MemoryFiles files_;
};

TEST_F(FileMemoryTest, MapsWhatFitsAndTakesTheBytesBack) {
  FileMemory memory(100, UINT64_MAX);
  const auto a = Make("a", 60), b = Make("b", 60);
  auto first = memory.Map(a.get(), "a", 60);
  ASSERT_TRUE(first.has_value());
  ASSERT_NE(*first, nullptr);
  EXPECT_EQ((*first)->size(), 60u);
  EXPECT_EQ((*first)->data()[59], 'x');
  EXPECT_EQ(memory.mapped().bytes_left(), 40u);
  auto second = memory.Map(b.get(), "b", 60);
  ASSERT_TRUE(second.has_value());
  EXPECT_EQ(*second, nullptr) << "beyond the bound";
  EXPECT_EQ(memory.mapped().bytes_left(), 40u);
  *first = nullptr;
  EXPECT_EQ(memory.mapped().bytes_left(), 100u);
  second = memory.Map(b.get(), "b", 60);
  ASSERT_TRUE(second.has_value());
  EXPECT_NE(*second, nullptr);
}

// For an interface that gives out pointers: a file beyond the bound costs no memory of the process.
TEST_F(FileMemoryTest, MapsBeyondTheBoundIfAskedTo) {
  FileMemory memory(100, UINT64_MAX, true);
  const auto a = Make("a", 60), b = Make("b", 60);
  const auto first = memory.Map(a.get(), "a", 60), second = memory.Map(b.get(), "b", 60);
  ASSERT_NE(*first, nullptr);
  ASSERT_NE(*second, nullptr);
  EXPECT_EQ((*second)->data()[59], 'x');
  EXPECT_EQ(memory.mapped().bytes_left(), 40u);
  EXPECT_EQ(*memory.Map(b.get(), "b", 0), nullptr);
}

TEST_F(FileMemoryTest, MapsExactlyTheBoundAndNothingOfNoBytes) {
  FileMemory memory(60, UINT64_MAX);
  const auto file = Make("a", 60);
  EXPECT_NE(*memory.Map(file.get(), "file", 60), nullptr);
  EXPECT_EQ(*memory.Map(file.get(), "file", 0), nullptr);
}

TEST_F(FileMemoryTest, AFileSystemThatRefusesTakesNoBytes) {
  files_.can_map = false;
  FileMemory memory(100, UINT64_MAX);
  const auto file = Make("a", 60);
  const auto mapping = memory.Map(file.get(), "file", 60);
  ASSERT_TRUE(mapping.has_value());
  EXPECT_EQ(*mapping, nullptr);
  EXPECT_EQ(memory.mapped().bytes_left(), 100u);
}

TEST_F(FileMemoryTest, AShortFileIsCorruptionAndTakesNoBytes) {
  FileMemory memory(100, UINT64_MAX);
  const auto file = Make("a", 60);
  EXPECT_TRUE(memory.Map(file.get(), "file", 61).status().IsCorruption());
  EXPECT_EQ(memory.mapped().bytes_left(), 100u);
}

TEST_F(FileMemoryTest, AMappingOutlivesItsOwner) {
  auto memory = std::make_unique<FileMemory>(100, UINT64_MAX);
  const auto file = Make("a", 60);
  auto mapping = memory->Map(file.get(), "file", 60);
  memory = nullptr;
  ASSERT_NE(*mapping, nullptr);
  EXPECT_EQ((*mapping)->data()[0], 'x');
}

TEST_F(FileMemoryTest, TheMemoryOfTheMachineBoundsBoth) {
  FileMemory memory(UINT64_MAX, 100);
  const auto file = Make("a", 200);
  EXPECT_EQ(*memory.Map(file.get(), "file", 101), nullptr);
  EXPECT_NE(*memory.Map(file.get(), "file", 100), nullptr);
  EXPECT_TRUE(memory.Around(100).reads_around());
  EXPECT_FALSE(memory.Around(101).reads_around());
}

TEST_F(FileMemoryTest, AReaderThatEndsGivesItsBytesBack) {
  FileMemory memory(0, 100);
  auto first = memory.Around(60);
  EXPECT_TRUE(first.reads_around());
  EXPECT_FALSE(memory.Around(60).reads_around());
  first = ReadAround();
  EXPECT_TRUE(memory.Around(60).reads_around());
}

}  // namespace
}  // namespace mergedb::env
