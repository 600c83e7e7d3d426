// Goal: `mergedb trace` as a shell sees it: analysis, dump and scrub of a trace; a cut trace; wrong words. Method: a
// trace of known operations; the built program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "mergedb/db.h"
#include "mergedb/transaction.h"
#include "testing/status_matchers.h"
#include "testing/temp_directory.h"
#include "trace/reader.h"

namespace mergedb::trace_command_test {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int exit = -1;
  std::string out, err;
};

class TraceCommandTest : public ::testing::Test {
 protected:
  // `line` is a shell command line; $M is the program, $T a trace, $H a directory.
  Outcome Run(const std::string& line) const {
    const std::string script = "M='" MERGEDB_COMMAND "'; T='" + trace_ + "'; H='" + home_ + "'; " + line;
    const int status = std::system(("cd " + home_ + "; (" + script + ") > out 2> err").c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, Slurp("out"), Slurp("err")};
  }
  nlohmann::json Json(const std::string& line) const { return nlohmann::json::parse(Run(line).out); }
  std::string Slurp(const std::string& name) const {
    std::ifstream in(home_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  void Record(const TraceOptions& options = {}) {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, home_ + "/db"));
    ASSERT_OK(db->StartTrace(trace_, options));
    std::string value;
    for (int i = 0; i < 10; ++i) ASSERT_OK(db->Put({}, "key" + std::to_string(i), std::string(100, 'v')));
    for (int i = 0; i < 30; ++i) ASSERT_OK(db->Get({}, "key" + std::to_string(i % 3), &value));
    for (int i = 0; i < 5; ++i) (void)db->Get({}, "absent", &value);
    WriteBatch batch;
    batch.Put("key0", "secret value");
    batch.Delete("key9");
    ASSERT_OK(db->Write({}, batch));
    std::vector<std::string> values;
    (void)db->MultiGet({}, {"key0", "absent"}, &values);
    ASSERT_OK(db->DeleteRange({}, "key7", "key9"));
    const auto it = db->NewIterator({.lower = "key1", .upper = "key8"});
    it->Seek("key5");
    it->Next();
    it->Next();
  }

  const testing::TempDirectory directory_;
  const std::string home_ = directory_.path();
  const std::string trace_ = home_ + "/trace";
};

TEST_F(TraceCommandTest, AnalysesATrace) {
  Record();
  const auto json = Json("$M trace analyse $T --json --top 2");
  EXPECT_EQ(json.at("is_complete"), true);
  EXPECT_EQ(json.at("end"), "the database was closed");
  EXPECT_EQ(json.at("sampling"), 1);
  EXPECT_EQ(json.at("threads"), 1);
  EXPECT_EQ(json.at("calls"), 10 + 35 + 1 + 1 + 1 + 4)
      << "puts, gets, batch, multi_get, range, and four of the iterator";
  EXPECT_EQ(json.at("reads"), 35 + 2 + 1);
  EXPECT_EQ(json.at("writes"), 10 + 2 + 1);
  EXPECT_EQ(json.at("operations").at("get").at("calls"), 35);
  EXPECT_EQ(json.at("operations").at("get").at("in_groups"), 2);
  EXPECT_EQ(json.at("operations").at("get").at("missed"), 6);
  EXPECT_EQ(json.at("operations").at("get").at("failed"), 0);
  EXPECT_EQ(json.at("operations").at("put").at("calls"), 10);
  EXPECT_EQ(json.at("operations").at("put").at("in_groups"), 1);
  EXPECT_EQ(json.at("operations").at("next").at("steps"), 2);
  EXPECT_EQ(json.at("distinct_keys"), 11);
  EXPECT_EQ(json.at("point_accesses"), 10 + 35 + 2 + 2);
  ASSERT_EQ(json.at("hot_keys").size(), 2u);
  EXPECT_EQ(json.at("hot_keys")[0].at("key"), "key0");
  EXPECT_EQ(json.at("hot_keys")[0].at("reads"), 11);
  EXPECT_EQ(json.at("hot_keys")[0].at("writes"), 2);
  EXPECT_EQ(json.at("hot_keys")[1].at("key"), "key1");
  EXPECT_EQ(json.at("key_sizes").at("count"), 11);
  EXPECT_EQ(json.at("written_value_sizes").at("count"), 11);
  EXPECT_EQ(json.at("read_value_sizes").at("largest_bytes"), 100);
  // 11 first accesses. The second access of key0, key1 and key2 comes after 9 other keys; the next 27 come after 2; 4
  // gets of `absent` repeat it at once. Then key0 (distance 3), key9 (4), key0 (1), absent (2).
  EXPECT_DOUBLE_EQ(json.at("lru_caches")[0].at("hit_share").get<double>(), 4.0 / 49);
  EXPECT_DOUBLE_EQ(json.at("lru_caches")[1].at("hit_share").get<double>(), 5.0 / 49);
  EXPECT_DOUBLE_EQ(json.at("lru_caches")[2].at("hit_share").get<double>(), 34.0 / 49);
  EXPECT_DOUBLE_EQ(json.at("lru_caches")[4].at("hit_share").get<double>(), 38.0 / 49);
  EXPECT_EQ(json.at("lru_caches").size(), 5u) << "1, 2, 4, 8 and 16 keys";

  const Outcome text = Run("$M trace analyse $T");
  EXPECT_EQ(text.exit, 0) << text.err;
  for (const char* part : {"calls of 1 threads", "end: the database was closed; 0 operations were lost", "reads 74.5 %",
                           "49 point accesses of 11 distinct keys", "          11           2  key0\n",
                           "sizes of keys: mean", "          16 keys   77.55 %\n"}) {
    EXPECT_THAT(text.out, HasSubstr(part));
  }
}

TEST_F(TraceCommandTest, TellsTheCallsOfTransactions) {
  {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, home_ + "/db"));
    ASSERT_OK(db->StartTrace(trace_));
    ASSERT_OK(db->Put({}, "key", "value"));
    ASSERT_OK_AND_ASSIGN(const auto transaction, Transaction::Begin(*db, {}));
    std::string value;
    ASSERT_OK(transaction->Get("key", &value));
    ASSERT_OK(transaction->OpenCursor()->First());
    ASSERT_OK(transaction->Delete("key"));
    ASSERT_OK(transaction->Commit());
  }
  const auto json = Json("$M trace analyse $T --json").at("operations");
  EXPECT_EQ(json.at("get").at("in_transactions"), 1);
  EXPECT_EQ(json.at("batch").at("in_transactions"), 1);
  EXPECT_FALSE(json.at("put").contains("in_transactions"));
  EXPECT_THAT(Run("$M trace analyse $T").out, HasSubstr("of transactions: 1 gets, 1 iterators, 1 commits (batches)\n"));
  const Outcome dump = Run("$M trace dump $T");
  for (const char* part : {"\tget in_transaction key=key value_bytes=5\n", "\titerator in_transaction iterator=1\n",
                           "\tbatch in_transaction count=1\n"}) {
    EXPECT_THAT(dump.out, HasSubstr(part));
  }
  EXPECT_EQ(Json("$M trace dump $T --json | grep batch").at("in_transaction"), true);
  ASSERT_EQ(Run("$M trace scrub $T $H/scrubbed").exit, 0);
  EXPECT_THAT(Run("$M trace dump $H/scrubbed").out, HasSubstr("\tbatch in_transaction count=1\n"));
}

TEST_F(TraceCommandTest, AnalysesManyKeysInTheOrderOfTheirReuse) {
  {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, home_ + "/db"));
    ASSERT_OK(db->StartTrace(trace_));
    std::string value;
    for (int round = 0; round < 3; ++round)
      for (int i = 0; i < 40'000; ++i) (void)db->Get({}, std::to_string(i), &value);
  }
  const auto caches = Json("$M trace analyse $T --json").at("lru_caches");
  ASSERT_EQ(caches.size(), 17u);
  EXPECT_EQ(caches[15].at("hit_share"), 0.0) << "a cache of 32768 keys forgets each key before it is read again";
  EXPECT_DOUBLE_EQ(caches[16].at("hit_share").get<double>(), 2.0 / 3);
}

TEST_F(TraceCommandTest, DumpsATrace) {
  Record({.record_values = true});
  const Outcome all = Run("$M trace dump $T");
  EXPECT_EQ(all.exit, 0) << all.err;
  EXPECT_EQ(all.out.find("start us\tthread\ttook us\toperation\n"), 0u);
  for (const char* part :
       {"\tput key=key0 value_bytes=100 value=vvv", "\tget key=key2 value_bytes=100\n", "\tget NotFound key=absent\n",
        "\tbatch count=2\n", "\t  put key=key0 value_bytes=12 value=secret value\n", "\t  delete key=key9\n",
        "\tmulti_get count=2\n", "\tdelete_range key=key7 end=key9\n", "\titerator iterator=1 lower=key1 upper=key8\n",
        "\tseek iterator=1 key=key5\n", "\tnext iterator=1 count=2\n", "\trelease iterator=1\n"}) {
    EXPECT_THAT(all.out, HasSubstr(part));
  }
  EXPECT_THAT(Run("$M trace dump $T --limit 1 --hex").out, HasSubstr("\tput key=6b657930 value_bytes=100 value=7676"));
  const auto json = Json("$M trace dump $T --limit 1 --json");
  EXPECT_EQ(json.at("operation"), "put");
  EXPECT_EQ(json.at("key"), "key0");
  EXPECT_EQ(json.at("value_bytes"), 100);
  EXPECT_EQ(Run("$M trace dump $T --json | wc -l").out, "56\n");
}

// The copy has the same operations, with other keys of the same lengths in the same order.
TEST_F(TraceCommandTest, ScrubsKeysAndValues) {
  Record({.record_values = true});
  ASSERT_EQ(Run("$M trace scrub $T $H/scrubbed").exit, 0) << Slurp("err");
  const std::string bytes = Slurp("scrubbed");
  for (const char* part : {"key", "absent", "secret", "vvv"}) EXPECT_EQ(bytes.find(part), std::string::npos) << part;

  FileSystem* const files = DefaultEnv().file_system;
  ASSERT_OK_AND_ASSIGN(const auto source, trace::Reader::Open(files, trace_));
  ASSERT_OK_AND_ASSIGN(const auto target, trace::Reader::Open(files, home_ + "/scrubbed"));
  EXPECT_TRUE(target->head().is_scrubbed);
  EXPECT_FALSE(target->head().has_values);
  std::map<std::string, std::string> keys;
  const auto match = [&keys](std::string_view before, std::string_view after) {
    EXPECT_EQ(before.size(), after.size());
    EXPECT_EQ(keys.emplace(before, after).first->second, after) << before;
  };
  trace::Operation a, b;
  while (source->Next(&a)) {
    ASSERT_TRUE(target->Next(&b));
    if (!a.key.empty()) match(a.key, b.key);
    if (!a.end.empty()) match(a.end, b.end);
    a.key = a.end = b.key = b.end = {};
    a.value = std::nullopt;
    EXPECT_EQ(a, b);
  }
  EXPECT_FALSE(target->Next(&b));
  ASSERT_OK(target->status());
  EXPECT_EQ(target->end(), source->end());
  ASSERT_EQ(keys.size(), 11u);
  std::string before;
  for (const auto& [key, scrubbed] : keys) {
    EXPECT_GT(scrubbed, before) << key;
    before = scrubbed;
  }
  EXPECT_EQ(Run("$M trace scrub $T $H/scrubbed").exit, 3) << "the file exists";
  ASSERT_EQ(Run("$M trace scrub $T $H/again").exit, 0);
  EXPECT_NE(Slurp("again"), bytes) << "other random bytes";
  EXPECT_EQ(Json("$M trace analyse $H/scrubbed --json").at("lru_caches"),
            Json("$M trace analyse $T --json").at("lru_caches"));
}

TEST_F(TraceCommandTest, UsesWhatIsBeforeTheDamage) {
  {
    ASSERT_OK_AND_ASSIGN(const auto db, DB::Open({}, home_ + "/db"));
    ASSERT_OK(db->StartTrace(trace_));
    for (int i = 0; i < 20'000; ++i) ASSERT_OK(db->Put({}, "key" + std::to_string(i), "v"));
  }
  std::filesystem::resize_file(trace_, std::filesystem::file_size(trace_) - 10);
  const Outcome cut = Run("$M trace analyse $T --json");
  EXPECT_EQ(cut.exit, 1);
  EXPECT_THAT(cut.err, HasSubstr("is cut"));
  EXPECT_THAT(cut.err, HasSubstr(": at offset "));
  const auto json = nlohmann::json::parse(cut.out);
  EXPECT_EQ(json.at("is_complete"), false);
  EXPECT_EQ(json.at("end"), "missing");
  const auto calls = json.at("calls").get<uint64_t>();
  EXPECT_GT(calls, 10'000u);
  EXPECT_LT(calls, 20'000u);
  EXPECT_EQ(Run("$M trace dump $T > lines; code=$?; wc -l < lines; exit $code").out, std::to_string(calls + 1) + "\n");
  const Outcome scrub = Run("$M trace scrub $T $H/scrubbed");
  EXPECT_EQ(scrub.exit, 1);
  const auto scrubbed = Json("$M trace analyse $H/scrubbed --json");
  EXPECT_EQ(scrubbed.at("is_complete"), true);
  EXPECT_EQ(scrubbed.at("end"), "scrubbed; the source had no end");
  EXPECT_EQ(scrubbed.at("calls"), calls);
}

TEST_F(TraceCommandTest, RefusesWrongWordsAndOtherFiles) {
  EXPECT_EQ(Run("$M trace").exit, 2);
  EXPECT_THAT(Run("$M trace show $T").err, HasSubstr("unknown act \"show\"; one of: analyse, dump, scrub"));
  EXPECT_THAT(Run("$M trace scrub $T").err, HasSubstr("usage: mergedb trace scrub IN OUT"));
  EXPECT_THAT(Run("$M trace dump $T more").err, HasSubstr("usage: mergedb trace dump FILE"));
  EXPECT_EQ(Run("$M trace dump $T").exit, 3) << "no such file";
  EXPECT_THAT(Run("echo text > other; $M trace analyse $H/other").err, HasSubstr("expected the head of a trace"));
  for (const char* act : {"analyse other", "dump other", "scrub other target"})
    EXPECT_EQ(Run(std::string("$M trace ") + act).exit, 1) << act;
}

}  // namespace
}  // namespace mergedb::trace_command_test
