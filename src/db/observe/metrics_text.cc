#include "db/observe/metrics_text.h"

#include <charconv>
#include <cstdint>

#include "base/json_text.h"

namespace mergedb::db {
namespace {

// Escapes a label value, or a HELP text, in which a quote stays as it is.
std::string EscapePrometheus(std::string_view text, bool is_label) {
  return base::EscapeText(text, [is_label](char c, std::string* out) {
    if (c == '\n') {
      *out += "\\n";
    } else if (c == '\\' || (c == '"' && is_label)) {
      *out += {'\\', c};
    } else {
      *out += c;
    }
  });
}

// Units as the exposition has them: `ours` is a part of our names, `base` ends Prometheus' names, and a value is
// divided by `divisor`.
struct Conversion {
  std::string_view unit;
  std::string_view ours;
  std::string_view base;
  double divisor;
};
constexpr Conversion kConversions[] = {
    {"bytes", "_bytes", "_bytes", 1},
    {"nanoseconds", "_nanos", "_seconds", 1e9},
    {"nanoseconds per KiB", "_nanos_per_kib", "_seconds_per_byte", 1e9 * 1024},
};

const Conversion* ConversionOf(const Metric& metric) {
  for (const Conversion& each : kConversions) {
    if (each.unit == metric.unit) return &each;
  }
  return nullptr;
}

// WHY not printf: its decimal point depends on the locale.
void AppendValue(const Metric& metric, std::string* out) {
  char digits[32];
  const Conversion* const conversion = ConversionOf(metric);
  const std::to_chars_result result = conversion == nullptr || conversion->divisor == 1
                                          ? std::to_chars(std::begin(digits), std::end(digits), metric.value)
                                          : std::to_chars(std::begin(digits), std::end(digits),
                                                          static_cast<double>(metric.value) / conversion->divisor);
  out->append(digits, result.ptr);
}

}  // namespace

std::string CountersText(std::span<const Metric> metrics) {
  std::string text;
  for (const Metric& metric : metrics)
    text.append(metric.name).append(" ").append(std::to_string(metric.value)) += '\n';
  return text;
}

std::string StatsJson(std::string_view directory, std::span<const Metric> metrics,
                      std::span<const ReadHistogram> histograms) {
  std::string text = "{\"database\":\"" + base::EscapeJson(directory) + "\"";
  for (const Metric& metric : metrics)
    text.append(",\"").append(metric.name).append("\":").append(std::to_string(metric.value));
  for (const ReadHistogram& each : histograms) {
    const LatencyHistogram shown = PublicHistogram(each);
    text.append(",\"").append(shown.name).append("\":{");
    const std::pair<const char*, uint64_t> fields[] = {{"count", shown.count},
                                                       {"sum", shown.sum},
                                                       {"p50", shown.p50},
                                                       {"p99", shown.p99},
                                                       {"p99.9", shown.p99_9},
                                                       {"max", shown.max},
                                                       {"sample_interval", shown.sample_interval}};
    for (const auto& [name, value] : fields)
      text.append("\"").append(name).append("\":").append(std::to_string(value)) += ',';
    text.back() = '}';
  }
  return text + "}";
}

std::string PrometheusName(const Metric& metric) {
  std::string name = "mergedb_" + std::string(metric.name);
  if (const Conversion* const conversion = ConversionOf(metric)) {
    const size_t at = name.find(conversion->ours);
    if (at != std::string::npos) name.erase(at, conversion->ours.size());
    name += conversion->base;
  }
  if (metric.type == MetricType::kCounter) name += "_total";
  return name;
}

namespace {

constexpr int kFirstBucketBits = 7;  // 128 ns
constexpr int kLastBucketBits = 36;  // 68.7 s

std::string Seconds(uint64_t nanos) {
  std::string text;
  AppendValue({.name = "_nanos", .unit = "nanoseconds", .type = MetricType::kGauge, .help = "", .value = nanos}, &text);
  return text;
}

void AppendHead(const std::string& name, std::string_view help, const char* type, std::string* text) {
  *text += "# HELP " + name + " " + EscapePrometheus(help, false) + "\n";
  *text += "# TYPE " + name + " " + type + "\n";
}

void AppendMetric(const Metric& metric, const std::string& label, std::string* text) {
  const std::string name = PrometheusName(metric);
  AppendHead(name, metric.help, metric.type == MetricType::kCounter ? "counter" : "gauge", text);
  *text += name + label;
  AppendValue(metric, text);
  *text += '\n';
}

void AppendHistogram(const ReadHistogram& histogram, const std::string& database, std::string* text) {
  const base::HistogramCounts& counts = histogram.counts;
  const std::string_view help = histogram.row->help;
  const auto name_of = [&](std::string name) {
    return PrometheusName({.name = name, .unit = "nanoseconds", .type = MetricType::kGauge, .help = "", .value = 0});
  };
  const std::string name = name_of(std::string(histogram.row->name));
  AppendHead(name, help, "histogram", text);
  const auto append_bucket = [&](const std::string& upper, uint64_t count) {
    *text += name + "_bucket{" + database + ",le=\"" + upper + "\"} " + std::to_string(count) + "\n";
  };
  for (int bits = kFirstBucketBits; bits <= kLastBucketBits; ++bits)
    append_bucket(Seconds(uint64_t{1} << bits), counts.CountUpTo(bits));
  append_bucket("+Inf", counts.count());
  *text += name + "_sum{" + database + "} " + Seconds(counts.sum()) + "\n";
  *text += name + "_count{" + database + "} " + std::to_string(counts.count()) + "\n";
  const std::string longest = name_of(std::string(histogram.row->name) + "_max");
  AppendHead(longest, "Longest measured time since the open: " + std::string(help), "gauge", text);
  *text += longest + "{" + database + "} " + Seconds(counts.max()) + "\n";
}

}  // namespace

std::string PrometheusText(std::string_view directory, std::span<const Metric> metrics,
                           std::span<const ReadHistogram> histograms) {
  const std::string database = "database=\"" + EscapePrometheus(directory, true) + "\"";
  const std::string label = "{" + database + "} ";
  std::string text;
  for (const Metric& metric : metrics) AppendMetric(metric, label, &text);
  for (const ReadHistogram& histogram : histograms) AppendHistogram(histogram, database, &text);
  return text;
}

}  // namespace mergedb::db
