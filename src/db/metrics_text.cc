#include "db/metrics_text.h"

#include <charconv>
#include <cstdint>

namespace mergedb::db {
namespace {

// The length of the UTF-8 character at the beginning of `bytes`; 0 if there is no valid one. Overlong forms, surrogates
// and code points above U+10FFFF are invalid.
size_t Utf8Bytes(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t first = at(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || bytes.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  const uint8_t second = at(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f)) return 0;
  if ((first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f)) return 0;
  return length;
}

// Copies `text`; `append` adds an ASCII character in its escaped form.
template <typename Append>
std::string Escape(std::string_view text, Append append) {
  std::string out;
  while (!text.empty()) {
    size_t length = Utf8Bytes(text);
    if (length == 1) {
      append(text.front(), &out);
    } else if (length == 0) {
      out += "\xef\xbf\xbd";  // U+FFFD
      length = 1;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string EscapeJson(std::string_view text) {
  return Escape(text, [](char c, std::string* out) {
    constexpr char kHex[] = "0123456789abcdef";
    if (c == '"' || c == '\\') {
      *out += {'\\', c};
    } else if (static_cast<uint8_t>(c) < 0x20) {
      *out += {'\\', 'u', '0', '0', kHex[c >> 4], kHex[c & 15]};
    } else {
      *out += c;
    }
  });
}

// Escapes a label value, or a HELP text, in which a quote stays as it is.
std::string EscapePrometheus(std::string_view text, bool is_label) {
  return Escape(text, [is_label](char c, std::string* out) {
    if (c == '\n') {
      *out += "\\n";
    } else if (c == '\\' || (c == '"' && is_label)) {
      *out += {'\\', c};
    } else {
      *out += c;
    }
  });
}

// Units as the exposition has them: `ours` is a part of our names, `base` ends Prometheus' names, and a value is divided
// by `divisor`.
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
  std::string text = "{\"database\":\"" + EscapeJson(directory) + "\"";
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
