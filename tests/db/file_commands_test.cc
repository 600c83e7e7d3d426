// Goal: the verbs that read one file (sst, blob, wal, manifest) as a shell sees them: output, messages, exit codes.
// Method: run the built program on the files of a database in a temporary directory. tests/unit/repair/one_file_test.cc
// tests what they find.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "mergedb/db.h"
#include "testing/temp_directory.h"

namespace mergedb::file_commands_test {
namespace {

struct Outcome {
  int exit = -1;
  std::string out, err;
};

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class FileCommandsTest : public ::testing::Test {
 protected:
  FileCommandsTest() {
    auto db = DB::Open({.compression = {Compression::kNone, Compression::kNone}, .blob_value_bytes_min = 64}, open_);
    EXPECT_TRUE(db) << db.error().ToString();
    EXPECT_TRUE((*db)->Put({}, "apple", "green").ok());
    EXPECT_TRUE((*db)->Put({}, "pear", "yellow").ok());
    const auto before = (*db)->GetSnapshot();  // both versions of apple are kept
    WriteBatch batch;
    batch.Put("large", std::string(20000, 'x'));
    batch.Delete("apple");
    batch.DeleteRange("m", "q");
    batch.Put("tab", "a\tb");
    EXPECT_TRUE((*db)->Write({}, batch).ok());
    EXPECT_TRUE((*db)->Flush().ok());
    EXPECT_TRUE((*db)->Put({.durability = Durability::kSynced}, "last", "in the WAL").ok());
    db_ = std::move(*db);
    // WHY a copy: the open database soon compacts the versions that the snapshot kept.
    std::filesystem::copy(open_, database_, std::filesystem::copy_options::recursive);
  }

  // `line` is a shell command line; $M is the program, $D the database, $O the open one, $F the file with this ending.
  Outcome Run(const std::string& line, const std::string& ending) const {
    const std::string script =
        "M='" MERGEDB_COMMAND "'; D='" + database_ + "'; O='" + open_ + "'; F='" + File(ending) + "'; " + line;
    const std::string command = "cd " + home_ + "; (" + script + ") > out 2> err";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Slurp(home_ + "/out"), Slurp(home_ + "/err")};
  }
  static std::string Slurp(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  std::string File(const std::string& ending) const {
    std::string found;
    for (const auto& entry : std::filesystem::directory_iterator(database_)) {
      const std::string path = entry.path().string();
      if (Has(path.substr(path.rfind('/')), ending) && (found.empty() || path < found)) found = path;
    }
    return found;
  }
  void Damage(const std::string& ending, uint64_t offset) const {
    std::fstream file(File(ending), std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(offset));
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(byte);
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
  const std::string database_ = home_ + "/db";
  const std::string open_ = home_ + "/open";
  std::unique_ptr<DB> db_;
};

TEST_F(FileCommandsTest, SummarizesATable) {
  const Outcome summary = Run("$M sst $F", ".tbl");
  EXPECT_EQ(summary.exit, 0) << summary.err;
  for (const char* line : {"kind                   table\n", "entries                5\n", "range tombstones       1\n",
                           "smallest key           apple\n", "largest key            tab\n", "comparator",
                           "blob references        blob file ", "ok: all checksums match\n"}) {
    EXPECT_TRUE(Has(summary.out, line)) << line << summary.out;
  }
  const auto json = nlohmann::json::parse(Run("$M sst $F --json", ".tbl").out);
  EXPECT_EQ(json.at("entries"), 5);
  EXPECT_EQ(json.at("kinds").at("DELETE"), 1);
  EXPECT_EQ(json.at("kinds").at("PUT"), 3);
  EXPECT_EQ(json.at("kinds").at("PUT_REF"), 1);
  EXPECT_EQ(json.at("ok"), true);
  EXPECT_EQ(Run("$M sst --db $D $(basename $F) --check", ".tbl").out, "ok: all checksums match\n");
}

TEST_F(FileCommandsTest, ScansATable) {
  const Outcome all = Run("$M sst $F --scan --keys-only | sed 's/#.*,/ /'", ".tbl");
  EXPECT_EQ(all.out, "apple DELETE\napple PUT\nlarge PUT_REF\npear PUT\ntab PUT\nm RANGE_DELETE\tq\n") << all.err;
  EXPECT_EQ(Run("$M sst $F --scan --from p --to t | sed 's/#.*,/ /'", ".tbl").out,
            "pear PUT\tyellow\nm RANGE_DELETE\tq\n");
  EXPECT_EQ(Run("$M sst $F --scan --from tab --hex", ".tbl").exit, 2);
  EXPECT_EQ(Run("$M sst $F --scan --from 746162 --hex | sed 's/#.*,/ /'", ".tbl").out, "746162 PUT\t610962\n");
  EXPECT_EQ(Run("$M sst $F --scan --from tab | sed 's/#.*,/ /'", ".tbl").out, "tab PUT\ta\\tb\n");
  const auto json = nlohmann::json::parse(Run("$M sst $F --scan --limit 1 --json", ".tbl").out);
  EXPECT_EQ(json.at("key"), "apple");
  EXPECT_EQ(json.at("kind"), "DELETE");
  EXPECT_TRUE(Has(Run("$M sst $F --blocks", ".tbl").out, "offset\tbytes\traw bytes\tcodec\tkeys up to\n0\t"));
}

TEST_F(FileCommandsTest, ReadsABlobFile) {
  const Outcome summary = Run("$M blob $F", ".val");
  EXPECT_EQ(summary.exit, 0) << summary.err;
  EXPECT_TRUE(Has(summary.out, "records          1\n")) << summary.out;
  EXPECT_TRUE(Has(summary.out, "smallest key     large\n")) << summary.out;
  EXPECT_EQ(Run("$M blob $F --scan", ".val").out, "0\tlarge\t" + std::string(20000, 'x') + "\n");
  EXPECT_EQ(Run("$M blob $F --scan --keys-only", ".val").out, "0\tlarge\n");
  EXPECT_EQ(nlohmann::json::parse(Run("$M blob $F --json", ".val").out).at("value_bytes"), 20000);
}

TEST_F(FileCommandsTest, ReadsTheWal) {
  const Outcome summary = Run("$M wal $F", ".seg");
  EXPECT_EQ(summary.exit, 0) << summary.out << summary.err;
  EXPECT_TRUE(Has(summary.out, "WAL segment\n")) << summary.out;
  const std::string line = "last#7,PUT\tin the WAL\n";
  EXPECT_TRUE(Has(Run("for f in $D/*.seg; do $M wal $f --scan; done", "").out, line));
  EXPECT_EQ(Run("$M wal $D/STAGING --scan", "").out, line) << "the other records are in a table";
  EXPECT_EQ(Run("$M wal $D/STAGING --scan --keys-only --hex", "").out, "6c617374#7,PUT\n");
  const auto json = nlohmann::json::parse(Run("$M wal $D/STAGING --json", "").out);
  EXPECT_EQ(json.at("kind"), "WAL buffer");
  EXPECT_EQ(json.at("records"), 1);
  EXPECT_EQ(json.at("first_sequence"), 7);
  EXPECT_TRUE(Has(Run("$M wal $D/STAGING --frames", "").out, "position\toffset\tbytes\tsequence\n"));
  for (const char* unreadable : {"$M wal $D/absent.seg --frames", "cp $D/STAGING .; $M wal STAGING --frames"}) {
    EXPECT_EQ(Run(unreadable, "").exit, 3) << unreadable;
    EXPECT_EQ(Run(unreadable, "").out, "") << unreadable;
  }
  const Outcome alone = Run("cp $D/STAGING .; $M wal STAGING", "");
  EXPECT_EQ(alone.exit, 3);
  EXPECT_TRUE(Has(alone.err, "STAGING does not say where it begins; expected CURRENT")) << alone.err;
}

TEST_F(FileCommandsTest, TakesNoLock) { EXPECT_EQ(Run("$M manifest $(ls $O/MANIFEST-* | head -n 1)", "").exit, 0); }

TEST_F(FileCommandsTest, ReadsTheManifest) {
  const Outcome summary = Run("$M manifest $F", "MANIFEST");
  EXPECT_EQ(summary.exit, 0) << summary.err;
  for (const char* line : {"kind              MANIFEST\n", "comparator        mergedb.bytewise\n",
                           "tables            1\n", "entries           5\n", "blob files        1\n", "runs "}) {
    EXPECT_TRUE(Has(summary.out, line)) << line << summary.out;
  }
  EXPECT_TRUE(Has(Run("$M manifest $F --scan", "MANIFEST").out, "edit bytes"));
  const Outcome edits = Run("$M manifest $F --scan --json", "MANIFEST");
  EXPECT_TRUE(Has(edits.out, "\"smallest_key\":\"apple\"")) << edits.out;
  const auto json = nlohmann::json::parse(Run("$M manifest $F --scan --json --limit 1", "MANIFEST").out);
  EXPECT_EQ(json.at("edit"), 1);
}

TEST_F(FileCommandsTest, DamageIsExitCodeOneWithPlaceAndNextStep) {
  for (const auto& [verb, ending] : {std::pair("sst", ".tbl"), std::pair("blob", ".val")}) {
    SCOPED_TRACE(verb);
    const std::string run = std::string("$M ") + verb + " $F";
    Damage(ending, 9);
    const Outcome summary = Run(run, ending);
    EXPECT_EQ(summary.exit, 1);
    EXPECT_TRUE(Has(summary.out, "damage: ")) << summary.out;
    EXPECT_TRUE(Has(summary.out, "offset 0, ")) << summary.out;
    EXPECT_TRUE(Has(summary.out, "checksum: expected ")) << summary.out;
    EXPECT_TRUE(Has(summary.out, "next: `mergedb verify " + database_ + "`")) << summary.out;
    EXPECT_FALSE(Has(summary.out, "ok: ")) << summary.out;
    const Outcome scan = Run(run + " --scan", ending);
    EXPECT_EQ(scan.exit, 1);
    EXPECT_TRUE(Has(scan.err, "damage: ")) << scan.err;
    const auto json = nlohmann::json::parse(Run(run + " --check --json", ending).out);
    EXPECT_EQ(json.at("ok"), false);
    EXPECT_EQ(json.at("damages").at(0).at("offset"), 0);
    EXPECT_TRUE(Has(Run("cp $F copy; " + run.substr(0, run.size() - 2) + "copy", ending).out, "next: get this file"));
  }
}

TEST_F(FileCommandsTest, DamageOfOneCopyOfTheManifestLosesNothing) {
  Damage("MANIFEST", 60);
  const Outcome summary = Run("$M manifest $F", "MANIFEST");
  EXPECT_EQ(summary.exit, 1);
  EXPECT_TRUE(Has(summary.out, "this copy is damaged, the other one is whole; no entry is lost")) << summary.out;
  Damage("MANIFEST", 60 + 32768);
  const Outcome both = Run("$M manifest $F --check", "MANIFEST");
  EXPECT_EQ(both.exit, 1);
  EXPECT_TRUE(Has(both.out, "both copies")) << both.out;
}

TEST_F(FileCommandsTest, RefusesOtherFiles) {
  const Outcome other = Run("$M sst $F", ".val");
  EXPECT_EQ(other.exit, 3);
  EXPECT_TRUE(Has(other.err, "is a blob file, expected a table; `mergedb blob FILE` reads it")) << other.err;
  EXPECT_EQ(Run("$M blob $D", "").exit, 3);
  EXPECT_TRUE(Has(Run("$M blob $D", "").err, "is a directory; expected a blob file; `mergedb verify DIR`"));
  EXPECT_EQ(Run("$M sst absent", "").exit, 3);
  EXPECT_EQ(Run(": > 000012.tbl; $M sst 000012.tbl", "").exit, 1) << "empty: by its name a table";
  EXPECT_EQ(Run(": > empty; $M sst empty", "").exit, 3);
  EXPECT_EQ(Run("$M sst", "").exit, 2);
  EXPECT_EQ(Run("$M sst $F $F", ".tbl").exit, 2);
  EXPECT_EQ(Run("$M sst $F --limit x", ".tbl").exit, 2);
}

TEST_F(FileCommandsTest, HelpEndsWithTwoExamples) {
  for (const std::string verb : {"sst", "blob", "wal", "manifest"}) {
    const std::string help = Run("$M " + verb + " --help", "").out;
    const size_t examples = help.find("Examples:\n  mergedb " + verb + " ");
    ASSERT_NE(examples, std::string::npos) << help;
    EXPECT_TRUE(Has(help.substr(examples + 20), "\n  mergedb " + verb + " ")) << help;
  }
}

}  // namespace
}  // namespace mergedb::file_commands_test
