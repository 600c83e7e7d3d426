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

std::string StatsJson(std::string_view directory, std::span<const Metric> metrics) {
  std::string text = "{\"database\":\"" + EscapeJson(directory) + "\"";
  for (const Metric& metric : metrics)
    text.append(",\"").append(metric.name).append("\":").append(std::to_string(metric.value));
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

std::string PrometheusText(std::string_view directory, std::span<const Metric> metrics) {
  const std::string label = "{database=\"" + EscapePrometheus(directory, true) + "\"} ";
  std::string text;
  for (const Metric& metric : metrics) {
    const std::string name = PrometheusName(metric);
    text += "# HELP " + name + " " + EscapePrometheus(metric.help, false) + "\n";
    text += "# TYPE " + name + (metric.type == MetricType::kCounter ? " counter\n" : " gauge\n");
    text += name + label;
    AppendValue(metric, &text);
    text += '\n';
  }
  return text;
}

}  // namespace mergedb::db
