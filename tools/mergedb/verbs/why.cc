// The verb why: what limits an open database now. It reads the file LIVE and nothing else.
#include <algorithm>

#include "command.h"
#include "db/observe/diagnosis.h"
#include "live_view.h"
#include "text.h"

namespace mergedb::tool::why_verb {
namespace {

struct Arguments : Line {
  bool is_json = false;
};

// Breaks the text into lines of at most 78 characters after `first` and, from the second line on, `indent`.
void PrintWrapped(std::string_view first, size_t indent, const std::string& text) {
  constexpr size_t kWidth = 78;
  std::string line(first);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (line.size() + 1 + word.size() > kWidth && line.size() > indent) {
      Print(line + "\n");
      line.assign(indent, ' ');
    }
    if (line.size() > indent && line.back() != ' ') line += ' ';
    line += word;
    begin = end + 1;
  }
  Print(line + "\n");
}

void PrintFinding(const db::Finding& finding) {
  PrintWrapped("- ", 2, ToLine(finding.text));
  for (const db::Figure& figure : finding.figures) Print("    " + figure.name + ": " + ToLine(figure.value) + "\n");
  PrintWrapped("  To change it: ", 4, finding.advice);
}

// Figures of a database that nothing limits.
std::string Activity(const LiveView& view) {
  char text[200];
  std::snprintf(text, sizeof text,
                "%.0f writes and %.0f block reads a second; writers wait for less than 5 %% of the time",
                view.Rate("writes"), view.Rate("block_cache_hits") + view.Rate("block_cache_misses"));
  return text;
}

// Figures for programs: a metric by its name as a number, what it grew by if the text says "in the last 10.0 s"
// (window_seconds has that time); other figures are texts.
nlohmann::ordered_json FiguresOf(const db::Finding& finding, const format::LiveState& state) {
  nlohmann::ordered_json figures = nlohmann::ordered_json::object();
  for (const db::Figure& figure : finding.figures) {
    const size_t window = figure.name.find(" in ");
    std::string name = figure.name.substr(0, window);
    const bool is_metric = state.Find(name) != nullptr;
    std::ranges::replace(name, ' ', '_');
    if (!is_metric) {
      figures[name] = ToLine(figure.value);
    } else {
      figures[name] = window == std::string::npos ? state.Value(name) : state.Growth(name);
    }
  }
  return figures;
}

nlohmann::ordered_json ToJson(const Arguments& arguments, const LiveView& view,
                              const std::vector<db::Finding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const db::Finding& finding : findings) {
    list.push_back({{"cause", std::string(db::CauseName(finding.cause))},
                    {"urgency", finding.rank},
                    {"text", ToLine(finding.text)},
                    {"advice", finding.advice},
                    {"figures", FiguresOf(finding, view.state())}});
  }
  return {{"directory", arguments.directory},
          {"pid", view.state().process.pid},
          {"has_ended", view.has_ended()},
          {"is_late", view.is_late()},
          {"is_stopped", view.is_stopped()},
          {"did_not_answer", view.is_silent()},
          {"age_seconds", static_cast<double>(view.age_nanos()) / 1e9},
          {"window_seconds", static_cast<double>(view.state().times.window_nanos) / 1e9},
          {"limits", list}};
}

int Run(Arguments& arguments) {
  const Result<LiveView> view = LiveView::Read(arguments.directory);
  if (!view) return Fail(view.status());
  const std::vector<db::Finding> findings = db::Diagnose(view->state());
  if (arguments.is_json) {
    PrintJson(ToJson(arguments, *view, findings), 2);
    return kOk;
  }
  Print(ToText(arguments.directory) + ": " + view->Describe() + "\n");
  const bool is_old = view->is_late() || view->is_stopped() || view->is_silent();
  const std::string when = view->has_ended() ? "when its process ended" : is_old ? "at the last update" : "now";
  if (findings.empty()) {
    Print("Nothing limits the database " + when + ": " + Activity(*view) + ".\n");
    return kOk;
  }
  Print(findings.size() == 1
            ? "One thing limits it " + when + ":\n"
            : std::to_string(findings.size()) + " things limit it " + when + ", the most urgent one first:\n");
  for (const db::Finding& finding : findings) PrintFinding(finding);
  return kOk;
}

}  // namespace

void Add(Command& command) {
  const auto [verb, arguments] =
      AddVerb(command,
              {.usage = "why DIR [--json]",
               .description = "Say what limits an open database now, and what would change it",
               .footer = "The process that has the database open publishes its state in the file LIVE once a second,\n"
                         "or, under a light load, when `why` asks for it by a lock on CURRENT. `why` reads LIVE and\n"
                         "nothing else. The figures are those of the last ten seconds. After a kill, they are those\n"
                         "before it. If nothing limits the database, `why` says so.",
               .examples = {"mergedb why /srv/data", "mergedb why /srv/data --json | jq -r '.limits[0].cause'"}},
              Run);
  verb->add_flag("--json", arguments.is_json, "Print one JSON object");
}

}  // namespace mergedb::tool::why_verb
