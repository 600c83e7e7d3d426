// Goal: the registry of metrics is complete and sound, every way to read a metric gives the same value, and
// docs/METRICS.md is the registry. Method: the rules of the table; a database in memory; the page beside the text that
// the table gives. After a change of the table, MERGEDB_WRITE_PAGE=1 writes the page.
#include "db/observe/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "db/observe/metrics_text.h"
#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::db {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

Metric MetricOf(const MetricRow& row) { return {row.name, UnitName(row.unit), row.type, row.help, 0}; }

// ---- the table

TEST(MetricRows, AreNamedOnceAndExplained) {
  std::set<std::string_view> names;
  std::set<std::string> exposed;
  for (const MetricRow& row : MetricRows()) {
    SCOPED_TRACE(row.name);
    EXPECT_TRUE(names.insert(row.name).second) << "the name is taken";
    EXPECT_TRUE(exposed.insert(PrometheusName(MetricOf(row))).second) << "the name for Prometheus is taken";
    EXPECT_THAT(std::string(row.name), MatchesRegex("[a-z][a-z0-9_]*"));
    EXPECT_NE(row.name, "database") << "StatsJson has the path under this name";
    EXPECT_THAT(std::string(row.help), MatchesRegex("[A-Z01][ -~]+\\.")) << "a sentence in one line";
    EXPECT_THAT(std::string(row.help), Not(HasSubstr("|"))) << "docs/METRICS.md has it in a table";
    EXPECT_FALSE(UnitName(row.unit).empty());
    for (const std::string_view text : {row.name, row.help, UnitName(row.unit)})
      EXPECT_EQ(text.data()[text.size()], '\0') << "include/mergedb/c.h gives it to C";
    EXPECT_NE(row.read, nullptr);
  }
}

TEST(MetricRows, NamesSayTheUnit) {
  for (const MetricRow& row : MetricRows()) {
    SCOPED_TRACE(row.name);
    const std::string name(row.name);
    EXPECT_EQ(std::regex_search(name, std::regex("_bytes(_|$)")), row.unit == MetricUnit::kBytes);
    EXPECT_EQ(std::regex_search(name, std::regex("_nanos(_max)?$")), row.unit == MetricUnit::kNanoseconds);
    EXPECT_EQ(std::regex_search(name, std::regex("_nanos_per_kib$")), row.unit == MetricUnit::kNanosecondsPerKib);
    EXPECT_EQ(std::regex_search(name, std::regex("_is_")), row.unit == MetricUnit::kBool);
    if (name.ends_with("_max")) { EXPECT_EQ(row.type, MetricType::kGauge) << "a maximum"; }
  }
}

TEST(MetricRows, HaveEachReasonForWhichCompactionsWrite) {
  std::set<std::string> names;
  for (const MetricRow& row : MetricRows()) names.insert(std::string(row.name));
  for (size_t i = 0; i < picker::kCompactionReasons; ++i) {
    const auto reason = static_cast<picker::CompactionReason>(i);
    const bool writes = reason != picker::CompactionReason::kDisjoint;
    EXPECT_EQ(names.contains("compaction_bytes_written_" + std::string(CompactionReasonName(reason))), writes) << i;
  }
}

TEST(HistogramRows, AreNamedOnceAndExplained) {
  std::set<std::string_view> names;
  for (const MetricRow& row : MetricRows()) names.insert(row.name);
  size_t operation = 0;
  for (const HistogramRow& row : HistogramRows()) {
    SCOPED_TRACE(row.name);
    EXPECT_TRUE(names.insert(row.name).second) << "the name is taken";
    EXPECT_TRUE(row.name.ends_with("_latency_nanos"));
    EXPECT_THAT(std::string(row.help), MatchesRegex("[A-Z][ -~]+\\."));
    EXPECT_THAT(std::string(row.help), Not(HasSubstr("|")));
    EXPECT_EQ(static_cast<size_t>(row.operation), operation++);
    for (const std::string_view text : {row.name, row.help}) EXPECT_EQ(text.data()[text.size()], '\0');
  }
  EXPECT_EQ(operation, env::kOperations);
}

// ---- a database

class MetricsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(db_, sim_.Open());
    for (int i = 0; i < 500; ++i) ASSERT_OK(db_->Put({}, "key" + std::to_string(i), std::string(200, 'v')));
    ASSERT_OK(db_->Flush());
    ASSERT_OK(db_->DeleteRange({}, "a", "b"));
  }
  std::string Property(DB& db, const std::string& name) const {
    std::string text;
    EXPECT_TRUE(db.GetProperty("mergedb." + name, &text)) << name;
    return text;
  }

  testing::SimulatedEnv sim_;
  std::unique_ptr<DB> db_;
};

TEST_F(MetricsTest, HaveTheValuesOfTheProperties) {
  ASSERT_OK_AND_ASSIGN(const auto metrics, db_->Metrics());
  ASSERT_EQ(metrics.size(), MetricRows().size());
  std::string lines;
  for (size_t i = 0; i < metrics.size(); ++i) {
    SCOPED_TRACE(metrics[i].name);
    const MetricRow& row = MetricRows()[i];
    EXPECT_EQ(metrics[i].name, row.name);
    EXPECT_EQ(metrics[i].unit, UnitName(row.unit));
    EXPECT_EQ(metrics[i].type, row.type);
    EXPECT_EQ(metrics[i].help, row.help);
    const std::string value = std::to_string(metrics[i].value);
    lines += std::string(row.name) + " " + value + "\n";
    // The properties mergedb.runs and mergedb.errors are texts.
    if (row.name != "runs" && row.name != "errors") { EXPECT_EQ(Property(*db_, std::string(row.name)), value); }
  }
  EXPECT_EQ(Property(*db_, "counters"), lines);
}

TEST_F(MetricsTest, CountWhatHappened) {
  ASSERT_OK_AND_ASSIGN(const auto metrics, db_->Metrics());
  const auto value = [&, &list = metrics](std::string_view name) {
    for (const Metric& each : list) {
      if (each.name == name) return each.value;
    }
    ADD_FAILURE() << name;
    return uint64_t{0};
  };
  EXPECT_EQ(value("writes"), 501u);
  EXPECT_EQ(value("sequence"), 501u);
  EXPECT_EQ(value("range_deletes_in_memory"), 1u);
  EXPECT_GE(value("flushes"), 1u);
  EXPECT_EQ(value("errors"), 0u);
}

TEST_F(MetricsTest, HistogramsCountEachOperation) {
  std::string value;
  for (int i = 0; i < 2000; ++i) ASSERT_OK(db_->Put({}, "more" + std::to_string(i), "v"));
  for (int i = 0; i < 2000; ++i) ASSERT_OK(db_->Get({}, "key" + std::to_string(i % 500), &value));
  for (int i = 0; i < 500; ++i) {
    std::vector<std::string> values;
    ASSERT_OK(db_->MultiGet({}, {"key1"}, &values)[0]);
  }
  for (int i = 0; i < 3000; ++i) {
    const auto it = db_->NewIterator();
    it->Seek("key");
    for (int moves = 0; moves < 8 && it->Valid(); ++moves) it->Next();
  }
  ASSERT_OK(db_->Put({.durability = Durability::kSynced}, "k", "v"));
  ASSERT_OK(db_->CompactRange(nullptr, nullptr));
  ASSERT_OK_AND_ASSIGN(const auto histograms, db_->Histograms());
  ASSERT_EQ(histograms.size(), HistogramRows().size());
  for (size_t i = 0; i < histograms.size(); ++i) {
    const LatencyHistogram& each = histograms[i];
    SCOPED_TRACE(each.name);
    EXPECT_EQ(each.name, HistogramRows()[i].name);
    EXPECT_GT(each.count, 0u);
    EXPECT_LE(each.p50, each.p99);
    EXPECT_LE(each.p99, each.p99_9);
    EXPECT_LE(each.p99_9, each.max);
    uint64_t count = 0, upper = 0;
    for (const LatencyHistogram::Bucket& bucket : each.buckets) {
      EXPECT_GT(bucket.upper, upper);
      EXPECT_GT(bucket.count, 0u);
      upper = bucket.upper;
      count += bucket.count;
    }
    EXPECT_EQ(count, each.count);
  }
}

TEST_F(MetricsTest, OfAReadOnlyOpenAreTheFirstTable) {
  ASSERT_OK(db_->Close());
  db_ = nullptr;
  Options options = sim_.SmallOptions();
  options.mode = OpenMode::kReadOnly;
  ASSERT_OK_AND_ASSIGN(const auto reader, DB::Open(options, sim_.kPath));
  ASSERT_OK_AND_ASSIGN(const auto metrics, reader->Metrics());
  ASSERT_GT(metrics.size(), 10u);
  for (size_t i = 0; i < MetricRows().size(); ++i) {
    const bool is_known = MetricRows()[i].scope == MetricScope::kEveryOpen;
    ASSERT_EQ(is_known, i < metrics.size());
    if (is_known) { EXPECT_EQ(metrics[i].name, MetricRows()[i].name); }
  }
  std::string text;
  EXPECT_FALSE(reader->GetProperty("mergedb.writes", &text));
  ASSERT_OK_AND_ASSIGN(const auto histograms, reader->Histograms());
  for (const LatencyHistogram& each : histograms) EXPECT_NE(each.name, "write_latency_nanos");
  EXPECT_EQ(histograms.size(), 4u);
  EXPECT_THAT(Property(*reader, "prometheus"), Not(HasSubstr("mergedb_writes_total")));
}

TEST_F(MetricsTest, EndWithTheDatabase) {
  ASSERT_OK(db_->Close());
  EXPECT_TRUE(db_->Metrics().status().IsShuttingDown());
  EXPECT_TRUE(db_->Histograms().status().IsShuttingDown());
}

// ---- the page

std::string TableOf(MetricScope scope) {
  std::string text =
      "| metric | unit | type | name for Prometheus | how to read it |\n| --- | --- | --- | --- | --- |\n";
  for (const MetricRow& row : MetricRows()) {
    if (row.scope != scope) continue;
    text += "| `" + std::string(row.name) + "` | " + std::string(UnitName(row.unit)) + " | " +
            (row.type == MetricType::kCounter ? "counter" : "gauge") + " | `" + PrometheusName(MetricOf(row)) + "` | " +
            std::string(row.help) + " |\n";
  }
  for (const HistogramRow& row : HistogramRows()) {
    if (row.scope != scope) continue;
    text += "| `" + std::string(row.name) + "` | nanoseconds | histogram | `" +
            PrometheusName({row.name, "nanoseconds", MetricType::kGauge, "", 0}) + "` | " + std::string(row.help) +
            " |\n";
  }
  return text;
}

TEST(MetricsPage, HasTheTablesOfTheRegistry) {
  constexpr std::string_view kBegin = "<!-- From src/db/observe/metrics.cc: MERGEDB_WRITE_PAGE=1 unit_db_test -->\n";
  const std::string path = MERGEDB_SOURCE_DIR "/docs/METRICS.md";
  std::stringstream read;
  read << std::ifstream(path).rdbuf();
  const std::string page = read.str();
  const size_t at = page.find(kBegin);
  ASSERT_NE(at, std::string::npos) << path;
  const std::string expected = page.substr(0, at + kBegin.size()) + "\n## Every open database\n\n" +
                               TableOf(MetricScope::kEveryOpen) + "\n## A database that is open for writes\n\n" +
                               TableOf(MetricScope::kOpenForWrites);
  if (std::getenv("MERGEDB_WRITE_PAGE") != nullptr) std::ofstream(path) << expected;
  EXPECT_EQ(page, expected) << "write the page: MERGEDB_WRITE_PAGE=1 build/dev/tests/unit_db_test";
}

}  // namespace
}  // namespace mergedb::db
