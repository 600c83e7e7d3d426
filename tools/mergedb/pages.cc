// mergedb_pages DIRECTORY: writes a man page for the command and for each verb, and completions for bash, zsh and fish.
// All texts come from the command line itself (verbs.cc), as --help does.
//
//   DIRECTORY/man/man1/mergedb.1, mergedb-VERB.1
//   DIRECTORY/bash-completion/completions/mergedb
//   DIRECTORY/zsh/vendor-completions/_mergedb
//   DIRECTORY/fish/vendor_completions.d/mergedb.fish
//
// Test: tests/package/pages_test.py.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "command.h"
#include "mergedb/c.h"
#include "text.h"

namespace mergedb::tool {

namespace {

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string Usage(const CLI::App& verb) {
  const auto formatter = std::dynamic_pointer_cast<CLI::Formatter>(verb.get_formatter());
  std::string usage = formatter->make_usage(&verb, "");
  return usage.substr(usage.find("mergedb"), usage.find('\n') - usage.find("mergedb"));
}

// An option with a name; words without a name are in the usage.
struct Flag {
  std::vector<std::string> short_names, long_names;  // without dashes
  std::string value;                                 // "": takes no value
  std::vector<std::string> choices;                  // of the value, if they are few
  std::string description;
};

std::vector<Flag> FlagsOf(const CLI::App& verb) {
  std::vector<Flag> flags;
  for (const CLI::Option* option : verb.get_options()) {
    if (option->get_snames().empty() && option->get_lnames().empty()) continue;
    Flag flag{option->get_snames(), option->get_lnames(), "", {}, option->get_description()};
    if (option->get_items_expected_max() > 0) {
      flag.value = option->get_type_name();
      // CLI11 appends the checks to the name: "TEXT:{lmdb,bdb}", "SECONDS:INT in [1 - 3600]", "PID:POSITIVE".
      if (const size_t brace = flag.value.find(":{"); brace != std::string::npos) {
        std::istringstream in(flag.value.substr(brace + 2, flag.value.size() - brace - 3));
        for (std::string choice; std::getline(in, choice, ',');) flag.choices.push_back(choice);
        flag.value = Replaced(flag.value.substr(brace + 2, flag.value.size() - brace - 3), ",", "|");
      }
      for (const char* check : {":INT in", ":UINT in", ":POSITIVE"})
        flag.value = flag.value.substr(0, flag.value.find(check));
    }
    flags.push_back(std::move(flag));
  }
  return flags;
}

std::vector<std::string> DashedNames(const Flag& flag) {
  std::vector<std::string> names;
  for (const std::string& name : flag.short_names) names.push_back("-" + name);
  for (const std::string& name : flag.long_names) names.push_back("--" + name);
  return names;
}

// ---- Man pages

// Text for roff: its special characters are escaped.
std::string Roff(const std::string& text) {
  std::string escaped = Replaced(Replaced(text, "\\", "\\e"), "-", "\\-");
  if (!escaped.empty() && (escaped[0] == '.' || escaped[0] == '\'')) escaped = "\\&" + escaped;
  return escaped;
}

std::string FirstLines(const std::string& name, const std::string& description) {
  return ".\\\" Written by mergedb_pages from the text of --help.\n.TH " + Replaced(name, "-", "\\-") +
         " 1 \"\" \"mergedb " + mergedb_version() + "\" mergedb\n.SH NAME\n" + Roff(name) + " \\- " +
         Roff(description) + "\n";
}

// A footer: lines that begin with a space are examples, and an empty line ends a paragraph. A short line, and one that
// ends a sentence, stays a line; the others are filled.
std::string Paragraphs(const std::string& text) {
  constexpr size_t kFullLine = 90;
  std::string page;
  bool is_example = false, is_joined = true;
  for (const std::string& line : Lines(text)) {
    const bool is_indented = line.compare(0, 2, "  ") == 0;
    if (is_indented != is_example) page += is_indented ? ".PP\n.nf\n.RS\n" : ".RE\n.fi\n.PP\n";
    const size_t start = line.find_first_not_of(' ');
    if (start == std::string::npos) {
      page += ".PP\n";
    } else {
      if (!is_joined && !is_indented && !is_example) page += ".br\n";
      page += Roff(line.substr(start)) + "\n";
    }
    is_example = is_indented;
    is_joined = start == std::string::npos || (line.size() >= kFullLine && line.back() != '.');
  }
  if (is_example) page += ".RE\n.fi\n";
  return page;
}

std::string OptionsSection(const std::vector<Flag>& flags) {
  std::string page = ".SH OPTIONS\n";
  for (const Flag& flag : flags) {
    std::string names;
    for (const std::string& name : DashedNames(flag))
      names += (names.empty() ? "" : ", ") + ("\\fB" + Roff(name) + "\\fR");
    page += ".TP\n" + names + (flag.value.empty() ? "" : " \\fI" + Roff(flag.value) + "\\fR") + "\n" +
            Roff(flag.description) + "\n";
  }
  return page;
}

std::string CommandPage(const CLI::App& app) {
  std::string page = FirstLines("mergedb", "read and change a mergedb database");
  page +=
      ".SH SYNOPSIS\n\\fBmergedb\\fR [\\fB\\-\\-db\\fR \\fIDIR\\fR] \\fIVERB\\fR [\\fIARGUMENT\\fR...]\n.SH VERBS\n";
  for (const CLI::App* verb : app.get_subcommands({})) {
    page += ".TP\n\\fB" + Roff(verb->get_name()) + "\\fR\n" + Roff(verb->get_description()) + ". See \\fBmergedb\\-" +
            Roff(verb->get_name()) + "\\fR(1).\n";
  }
  return page + OptionsSection(FlagsOf(app)) + ".SH NOTES\n" + Paragraphs(app.get_footer());
}

std::string VerbPage(const CLI::App& verb) {
  std::string page = FirstLines("mergedb-" + verb.get_name(), verb.get_description());
  page += ".SH SYNOPSIS\n" + Roff(Usage(verb)) + "\n";
  if (!verb.get_footer().empty()) page += ".SH DESCRIPTION\n" + Paragraphs(verb.get_footer());
  return page + OptionsSection(FlagsOf(verb)) +
         ".SH EXIT STATUS\n0 ok, 1 not found or failed check, 2 usage, 3 error, 4 \\-\\-skip\\-errors left keys out.\n"
         ".SH SEE ALSO\n\\fBmergedb\\fR(1)\n";
}

// ---- Completions

std::string BashCompletion(const std::vector<const CLI::App*>& verbs) {
  std::string names, cases, values;
  for (const CLI::App* verb : verbs) {
    names += (names.empty() ? "" : " ") + verb->get_name();
    std::string options;
    for (const Flag& flag : FlagsOf(*verb)) {
      for (const std::string& name : DashedNames(flag)) {
        options += (options.empty() ? "" : " ") + name;
        if (flag.choices.empty()) continue;
        std::string choices;
        for (const std::string& choice : flag.choices) choices += (choices.empty() ? "" : " ") + choice;
        values += "    '" + verb->get_name() + " " + name + "') words='" + choices + "' ;;\n";
      }
    }
    cases += "      " + verb->get_name() + ") words='" + options + "' ;;\n";
  }
  return "# bash completion for mergedb. Written by mergedb_pages.\n"
         "_mergedb() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb= words= i\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    case ${COMP_WORDS[i]} in\n"
         "      --db) ((i++)) ;;\n"
         "      -*) ;;\n"
         "      *) verb=${COMP_WORDS[i]}; break ;;\n"
         "    esac\n"
         "  done\n"
         "  COMPREPLY=()\n"
         "  if [[ $verb == '' && $previous != --db ]]; then\n"
         "    [[ $current == -* ]] && words='--help --version --db' || words='" +
         names +
         "'\n"
         "  elif [[ $current == -* ]]; then\n"
         "    case $verb in\n" +
         cases +
         "    esac\n"
         "  else\n"
         "  case \"$verb $previous\" in\n" +
         values +
         "  esac\n"
         "  fi\n"
         "  [[ $words == '' ]] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -o default -F _mergedb mergedb\n";
}

// Text within single quotes of zsh's _arguments and _describe, where brackets and colons are special.
std::string ZshText(const std::string& text) {
  std::string escaped = Replaced(text, "\\", "\\\\");
  for (const char* special : {"[", "]", ":"}) escaped = Replaced(escaped, special, std::string("\\") + special);
  return Replaced(escaped, "'", "'\\''");
}

std::string ZshCompletion(const std::vector<const CLI::App*>& verbs) {
  std::string names, cases;
  for (const CLI::App* verb : verbs) {
    names += "    '" + verb->get_name() + ":" + ZshText(verb->get_description()) + "'\n";
    cases += "        " + verb->get_name() + ")\n          _arguments \\\n";
    for (const Flag& flag : FlagsOf(*verb)) {
      std::string value;
      if (!flag.value.empty()) {
        std::string choices;
        for (const std::string& choice : flag.choices) choices += (choices.empty() ? "(" : " ") + choice;
        value = ":" + ZshText(flag.value) + ":" + (choices.empty() ? "_files" : choices + ")");
      }
      for (const std::string& name : DashedNames(flag))
        cases += "            '" + name + "[" + ZshText(flag.description) + "]" + value + "' \\\n";
    }
    cases += "            '*:file:_files'\n          ;;\n";
  }
  return "#compdef mergedb\n"
         "# zsh completion for mergedb. Written by mergedb_pages.\n"
         "_mergedb() {\n"
         "  local state line\n"
         "  local -a verbs=(\n" +
         names +
         "  )\n"
         "  _arguments -C '(- *)--help[Print this help message and exit]' '(- *)--version[Print the version]' \\\n"
         "    '--db[The database directory]:directory:_files -/' '1:verb:->verb' '*::argument:->argument'\n"
         "  case $state in\n"
         "    verb) _describe verb verbs ;;\n"
         "    argument)\n"
         "      case $words[1] in\n" +
         cases +
         "      esac\n"
         "      ;;\n"
         "  esac\n"
         "}\n"
         "_mergedb \"$@\"\n";
}

std::string FishText(const std::string& text) { return "'" + Replaced(Replaced(text, "\\", "\\\\"), "'", "\\'") + "'"; }

std::string FishCompletion(const std::vector<const CLI::App*>& verbs) {
  std::string page =
      "# fish completion for mergedb. Written by mergedb_pages.\n"
      "complete -c mergedb -n __fish_use_subcommand -l help -d 'Print this help message and exit'\n"
      "complete -c mergedb -n __fish_use_subcommand -l version -d 'Print the version'\n"
      "complete -c mergedb -n __fish_use_subcommand -l db -r -d 'The database directory'\n";
  for (const CLI::App* verb : verbs) {
    const std::string name = verb->get_name();
    page += "complete -c mergedb -n __fish_use_subcommand -f -a " + name + " -d " + FishText(verb->get_description()) +
            "\n";
    for (const Flag& flag : FlagsOf(*verb)) {
      page += "complete -c mergedb -n '__fish_seen_subcommand_from " + name + "'";
      for (const std::string& each : flag.short_names) page += " -s " + each;
      for (const std::string& each : flag.long_names) page += " -l " + each;
      if (!flag.value.empty()) page += " -r";
      if (!flag.choices.empty()) {
        std::string choices;
        for (const std::string& choice : flag.choices) choices += (choices.empty() ? "" : " ") + choice;
        page += " -f -a '" + choices + "'";
      }
      page += " -d " + FishText(flag.description) + "\n";
    }
  }
  return page;
}

bool WriteFile(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) std::fprintf(stderr, "mergedb_pages: %s: cannot be written\n", path.c_str());
  return static_cast<bool>(out);
}

int Run(const std::filesystem::path& directory) {
  const Command command;
  const std::vector<const CLI::App*> verbs = command.app.get_subcommands({});
  const std::filesystem::path man = directory / "man" / "man1";
  bool is_written = true;
  for (const CLI::App* verb : verbs)
    is_written = WriteFile(man / ("mergedb-" + verb->get_name() + ".1"), VerbPage(*verb)) && is_written;
  is_written = WriteFile(directory / "bash-completion/completions/mergedb", BashCompletion(verbs)) && is_written;
  is_written = WriteFile(directory / "zsh/vendor-completions/_mergedb", ZshCompletion(verbs)) && is_written;
  is_written = WriteFile(directory / "fish/vendor_completions.d/mergedb.fish", FishCompletion(verbs)) && is_written;
  is_written = WriteFile(man / "mergedb.1", CommandPage(command.app)) && is_written;
  return is_written ? 0 : 1;
}

}  // namespace

}  // namespace mergedb::tool

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: mergedb_pages DIRECTORY\n");
    return 2;
  }
  return mergedb::tool::Run(argv[1]);
}
