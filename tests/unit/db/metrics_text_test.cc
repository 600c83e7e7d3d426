// Goal: metrics as text are valid for any program that reads the format: "mergedb.prometheus" is Prometheus' text
// exposition format 0.0.4 and follows its conventions for names, "mergedb.stats.json" is JSON. Method: a strict parser
// in this test; a database in memory; made-up metrics with difficult texts and values.
#include "db/observe/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <regex>
#include <set>
#include <sstream>

#include "testing/simulated_env.h"
#include "testing/status_matchers.h"

namespace mergedb::db {
namespace {

// ---- a strict parser of the exposition

struct Family {
  std::string type, help;                 // unescaped
  std::map<std::string, double> samples;  // by the unescaped value of the label `database`
  // Of a histogram with one database: the samples by what follows the name, such as "_sum" and "_bucket 0.001".
  std::map<std::string, double> parts;
  std::vector<std::pair<double, double>> buckets;  // (le, count), in the order of the text
};
using Exposition = std::map<std::string, Family>;

// nullopt: an escape that the format does not have, or a character that must be escaped.
std::optional<std::string> Unescape(std::string_view text, bool is_label) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' || (is_label && text[i] == '"')) return std::nullopt;
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    if (text[i] == 'n') {
      out += '\n';
    } else if (text[i] == '\\' || (is_label && text[i] == '"')) {
      out += text[i];
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// Refuses names that Prometheus' conventions do not allow.
void CheckName(const std::string& name, const std::string& type) {
  EXPECT_TRUE(std::regex_match(name, std::regex("mergedb_[a-z][a-z0-9]*(_[a-z0-9]+)*"))) << name;
  EXPECT_EQ(name.ends_with("_total"), type == "counter") << name;
  std::string base = name;
  if (name.ends_with("_total")) base.resize(base.size() - 6);
  for (const char* end : {"_total", "_count", "_sum", "_bucket", "_info", "_counter", "_gauge"})
    EXPECT_FALSE(base.ends_with(end)) << name << " ends in " << end;
  std::istringstream words(std::regex_replace(base, std::regex("_"), " "));
  bool is_last = false;
  for (std::string word; words >> word;) {
    EXPECT_FALSE(is_last) << name << " goes on after its unit";
    for (const char* unit :
         {"nanos", "nanoseconds", "ns", "micros", "millis", "ms", "kib", "kb", "mib", "mb", "percent"})
      EXPECT_NE(word, unit) << name << " has a unit that is not a base unit";
    is_last = word == "bytes" || (word == "seconds" && !name.ends_with("_seconds_per_byte"));
  }
}

// Throws std::runtime_error at the first line that is not in the format.
Exposition Parse(const std::string& text) {
  static const std::regex kHelp("# HELP ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)");
  static const std::regex kType("# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram)");
  static const std::regex kSample(
      "([a-zA-Z_:][a-zA-Z0-9_:]*)\\{database=\"((?:[^\"\\\\]|\\\\.)*)\"(?:,le=\"([0-9.e+-]+|\\+Inf)\")?\\} "
      "([0-9][0-9.e+-]*)");
  if (text.empty() || text.back() != '\n') throw std::runtime_error("the last line has no end");
  Exposition families;
  std::string helped, current;  // the names of the last HELP and of the last TYPE line
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const auto fail = [&](const std::string& what) { throw std::runtime_error(what + ": " + line); };
    std::smatch match;
    if (std::regex_match(line, match, kHelp)) {
      if (helped != current) fail("HELP without TYPE before");
      helped = match[1];
      const auto help = Unescape(match[2].str(), false);
      if (!help) fail("a wrong escape");
      if (!families.emplace(helped, Family{"", *help, {}, {}, {}}).second) fail("a second HELP");
    } else if (std::regex_match(line, match, kType)) {
      if (match[1] != helped || helped == current) fail("TYPE does not follow its HELP");
      current = helped;
      families[current].type = match[2];
      CheckName(current, match[2]);
    } else if (std::regex_match(line, match, kSample)) {
      Family& family = families[current];
      const std::string sample = match[1];
      const bool is_histogram = family.type == "histogram" && sample.starts_with(current);
      const std::string part = is_histogram ? sample.substr(current.size()) : "";
      const bool is_known = is_histogram ? part == "_bucket" || part == "_sum" || part == "_count" : sample == current;
      if (!is_known || helped != current) fail("a sample of another metric");
      if (match[3].matched != (part == "_bucket")) fail("le belongs to buckets");
      const auto label = Unescape(match[2].str(), true);
      if (!label) fail("a wrong escape");
      size_t used = 0;
      const std::string number = match[4];
      const double value = std::stod(number, &used);
      if (used != number.size() || !std::isfinite(value)) fail("a wrong number");
      const bool is_new = is_histogram ? family.parts.emplace(part + " " + match[3].str(), value).second
                                       : family.samples.emplace(*label, value).second;
      if (!is_new) fail("a second sample with the same labels");
      if (part == "_bucket") family.buckets.emplace_back(std::stod(match[3].str()), value);
    } else {
      fail("neither HELP, TYPE nor a sample");
    }
  }
  for (const auto& [name, family] : families) {
    if (family.samples.empty() && family.type != "histogram") throw std::runtime_error("no sample of " + name);
    if (family.type == "histogram" && (family.parts.count("_sum ") == 0 || family.parts.count("_count ") == 0 ||
                                       family.parts.count("_bucket +Inf") == 0))
      throw std::runtime_error("a histogram without a part: " + name);
  }
  return families;
}

TEST(ExpositionParser, RefusesWrongTexts) {
  const std::string help = "# HELP mergedb_a_total A.\n", type = "# TYPE mergedb_a_total counter\n";
  const std::string sample = "mergedb_a_total{database=\"/db\"} 1\n";
  EXPECT_EQ(Parse(help + type + sample).size(), 1u);
  for (const std::string& text :
       {std::string(), sample, help + sample, type + sample, help + type, type + help + sample,
        help + type + sample + sample, help + type + sample + help + type + sample,
        help + type + "mergedb_b_total{database=\"/db\"} 1\n", help + type + "mergedb_a_total{database=\"/\\d\"} 1\n",
        help + type + "mergedb_a_total{database=\"a\"\"} 1\n", help + type + "mergedb_a_total{database=\"/db\"} 0,5\n",
        help + type + "mergedb_a_total{database=\"/db\"} 1", help + type + "mergedb_a_total{database=\"/db\"} 1.2.3\n",
        "# HELP mergedb_a_total \\d\n" + type + sample}) {
    EXPECT_THROW(Parse(text), std::runtime_error) << text;
  }
}

// ---- a database

TEST(PrometheusText, HasEveryMetricOfTheTable) {
  testing::SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
  for (int i = 0; i < 500; ++i) ASSERT_OK(db->Put({}, "key" + std::to_string(i), std::string(200, 'v')));
  ASSERT_OK(db->Flush());
  std::string text;
  ASSERT_TRUE(db->GetProperty("mergedb.prometheus", &text));
  const Exposition families = Parse(text);
  ASSERT_OK_AND_ASSIGN(const auto metrics, db->Metrics());
  ASSERT_EQ(metrics.size(), MetricRows().size());
  EXPECT_EQ(families.size(), metrics.size() + 2 * HistogramRows().size());
  for (const Metric& metric : metrics) {
    SCOPED_TRACE(metric.name);
    std::string name = PrometheusName(metric);
    const auto found = families.find(name);
    ASSERT_NE(found, families.end());
    const Family& family = found->second;
    EXPECT_EQ(family.type, metric.type == MetricType::kCounter ? "counter" : "gauge");
    EXPECT_EQ(family.help, metric.help);
    if (metric.type == MetricType::kCounter) name.resize(name.size() - std::string_view("_total").size());
    const double factor = metric.unit == "nanoseconds" ? 1e9 : metric.unit == "nanoseconds per KiB" ? 1e9 * 1024 : 1;
    const std::string end = metric.unit == "bytes"                 ? "_bytes"
                            : metric.unit == "nanoseconds"         ? "_seconds"
                            : metric.unit == "nanoseconds per KiB" ? "_seconds_per_byte"
                                                                   : "";
    EXPECT_TRUE(name.ends_with(end)) << name;
    ASSERT_EQ(family.samples.size(), 1u);
    EXPECT_EQ(family.samples.begin()->first, testing::SimulatedEnv::kPath);
    EXPECT_NEAR(family.samples.begin()->second * factor, static_cast<double>(metric.value), 0.01);
  }
}

TEST(StatsJson, IsAnObjectOfThePathAndAllMetrics) {
  testing::SimulatedEnv sim;
  ASSERT_OK_AND_ASSIGN(const auto db, sim.Open());
  ASSERT_OK(db->Put({}, "k", "v"));
  std::string text;
  ASSERT_TRUE(db->GetProperty("mergedb.stats.json", &text));
  const auto json = nlohmann::json::parse(text);
  ASSERT_OK_AND_ASSIGN(const auto metrics, db->Metrics());
  ASSERT_OK_AND_ASSIGN(const auto histograms, db->Histograms());
  EXPECT_EQ(json.size(), metrics.size() + histograms.size() + 1);
  for (const LatencyHistogram& each : histograms) {
    const auto& shown = json[std::string(each.name)];
    EXPECT_EQ(shown.size(), 7u) << each.name;
    EXPECT_EQ(shown["sample_interval"], each.sample_interval);
    EXPECT_EQ(shown["count"], each.count);
    EXPECT_EQ(shown["sum"], each.sum);
    EXPECT_EQ(shown["p50"], each.p50);
    EXPECT_EQ(shown["p99"], each.p99);
    EXPECT_EQ(shown["p99.9"], each.p99_9);
    EXPECT_EQ(shown["max"], each.max);
  }
  EXPECT_EQ(json["database"], testing::SimulatedEnv::kPath);
  for (const Metric& metric : metrics) EXPECT_EQ(json[std::string(metric.name)], metric.value) << metric.name;
}

// ---- histograms

TEST(PrometheusText, HasHistogramsWithCumulativeBuckets) {
  base::Histogram recorded(1);
  recorded.Record(128, 64, 0);  // le is inclusive
  recorded.Record(129, 64, 0);
  recorded.Record(1'000'000, 1, 0);
  recorded.Record(uint64_t{1} << 39, 1, 0);  // above the last bucket
  const ReadHistogram histogram{&HistogramRows()[1], recorded.Read()};
  const Exposition families = Parse(PrometheusText("/db", {}, {&histogram, 1}));
  ASSERT_EQ(families.size(), 2u);
  const Family& family = families.at("mergedb_get_latency_seconds");
  EXPECT_EQ(family.type, "histogram");
  EXPECT_EQ(family.help, HistogramRows()[1].help);
  EXPECT_EQ(family.buckets.front(), (std::pair<double, double>(128e-9, 64)));
  double before = 0, upper = 0;
  for (const auto& [le, count] : family.buckets) {
    EXPECT_GT(le, upper);
    EXPECT_GE(count, before);
    upper = le;
    before = count;
  }
  EXPECT_EQ(family.parts.at("_bucket 2.56e-07"), 128);
  EXPECT_EQ(family.buckets[family.buckets.size() - 2].second, 129);
  EXPECT_EQ(family.parts.at("_bucket +Inf"), 130);
  EXPECT_EQ(family.parts.at("_count "), 130);
  EXPECT_NEAR(family.parts.at("_sum "), static_cast<double>(recorded.Read().sum()) / 1e9, 1e-6);
  EXPECT_NEAR(families.at("mergedb_get_latency_max_seconds").samples.at("/db"), 549.755813888, 1e-6);
}

// ---- made-up metrics

// The exposition of one metric.
std::pair<std::string, Family> Expose(const Metric& metric, std::string_view directory = "/db") {
  const Exposition families = Parse(PrometheusText(directory, {&metric, 1}));
  EXPECT_EQ(families.size(), 1u);
  return *families.begin();
}

TEST(PrometheusText, UsesBaseUnits) {
  using enum MetricType;
  const struct {
    Metric metric;
    std::string name;
    double value;
  } kCases[] = {
      {{"writes", "count", kCounter, "", 7}, "mergedb_writes_total", 7},
      {{"tables", "count", kGauge, "", 7}, "mergedb_tables", 7},
      {{"wal_is_mapped", "0 or 1", kGauge, "", 1}, "mergedb_wal_is_mapped", 1},
      {{"wal_bytes_appended", "bytes", kCounter, "", 5}, "mergedb_wal_appended_bytes_total", 5},
      {{"flush_bytes", "bytes", kCounter, "", 5}, "mergedb_flush_bytes_total", 5},
      {{"table_bytes_live", "bytes", kGauge, "", 5}, "mergedb_table_live_bytes", 5},
      {{"flush_nanos", "nanoseconds", kCounter, "", 1'500'000'000}, "mergedb_flush_seconds_total", 1.5},
      {{"wait_nanos_max", "nanoseconds", kGauge, "", 1}, "mergedb_wait_max_seconds", 1e-9},
      {{"delay_nanos_per_kib", "nanoseconds per KiB", kGauge, "", 1024}, "mergedb_delay_seconds_per_byte", 1e-9},
      {{"most", "count", kGauge, "", UINT64_MAX}, "mergedb_most", 18446744073709551615.0},
  };
  for (const auto& each : kCases) {
    const auto [name, family] = Expose(each.metric);
    EXPECT_EQ(name, each.name);
    EXPECT_DOUBLE_EQ(family.samples.at("/db"), each.value) << name;
  }
}

TEST(PrometheusText, EscapesHelpAndPath) {
  const Metric metric{"a", "count", MetricType::kGauge, "A \"quote\", a \\ and a\nline.", 1};
  const std::string path = "/a \"b\"\\c\nd\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80";
  const auto [name, family] = Expose(metric, path);
  EXPECT_EQ(family.help, metric.help);
  EXPECT_EQ(family.samples.begin()->first, path);
}

constexpr std::string_view kReplaced = "\xef\xbf\xbd";

TEST(PrometheusText, ReplacesBytesThatAreNotUtf8) {
  const Metric metric{"a", "count", MetricType::kGauge, "A.", 1};
  for (const char* invalid : {"\xff", "\x80", "\xc1", "\xc3", "\xf5", "\xe2\x82"}) {
    const std::string label = Expose(metric, std::string(invalid) + "/x").second.samples.begin()->first;
    std::string expected;
    for (size_t i = 0; i < std::string_view(invalid).size(); ++i) expected += kReplaced;
    EXPECT_EQ(label, expected + "/x");
  }
  // Overlong forms, a surrogate, and a code point above the last one.
  for (const char* invalid : {"\xc0\xaf", "\xe0\x80\xaf", "\xf0\x80\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"})
    EXPECT_TRUE(Expose(metric, invalid).second.samples.begin()->first.starts_with(kReplaced));
}

TEST(StatsJson, EscapesThePath) {
  const std::string path = "/a \"b\"\\c\nd\x01\x1f\x7f\xc3\xa4";
  const Metric metric{"most", "count", MetricType::kGauge, "", UINT64_MAX};
  const auto json = nlohmann::json::parse(StatsJson(path, {&metric, 1}));
  EXPECT_EQ(json["database"], path);
  EXPECT_EQ(json["most"], UINT64_MAX);
  EXPECT_EQ(nlohmann::json::parse(StatsJson("/\xff", {}))["database"], "/" + std::string(kReplaced));
}

}  // namespace
}  // namespace mergedb::db
