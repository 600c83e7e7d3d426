#include "command_line.h"

#include <algorithm>

namespace mergedb::tool {

namespace {

bool IsOption(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

class Splitter {
 public:
  Splitter(Command& command, const std::vector<std::string>& words)
      : scope_(&command.app), command_(command), words_(words) {}

  void Split() {
    while (at_ < words_.size()) {
      const std::string& word = words_[at_++];
      if (word == "--") {
        command_.tail.assign(words_.begin() + static_cast<std::ptrdiff_t>(at_), words_.end());
        at_ = words_.size();
      } else if (word.starts_with("--")) {
        TakeLong(word);
      } else if (IsOption(word)) {
        TakeShort(word);
      } else if (scope_->get_parent() == nullptr) {
        EnterVerb(word);
      } else {
        command_.line.words.push_back(word);
      }
    }
  }

  // For CLI11.
  std::vector<std::string> options;

  // Throws unless CLI11 kept each value as it was given.
  void CheckValues() const {
    for (const Given& each : given_) {
      if (each.values == each.option->results()) continue;
      throw CLI::ValidationError(each.option->get_name(), "the value cannot be passed on unchanged");
    }
  }

 private:
  struct Given {
    CLI::Option* option;
    std::vector<std::string> values;
  };

  void EnterVerb(const std::string& name) {
    const std::vector<CLI::App*> verbs = scope_->get_subcommands([](const CLI::App*) { return true; });
    const auto verb = std::ranges::find_if(verbs, [&](const CLI::App* each) { return each->get_name() == name; });
    if (verb == verbs.end()) throw CLI::ValidationError("unknown verb \"" + name + "\"");
    scope_ = *verb;
    options.push_back(name);
  }

  CLI::Option* Find(const std::string& name) {
    CLI::Option* const option = scope_->get_option_no_throw(name);
    if (option == nullptr) {
      throw CLI::ValidationError(
          name, "unknown option" + (scope_->get_parent() == nullptr ? std::string() : " of " + scope_->get_name()) +
                    "; a word that begins with a dash goes after --");
    }
    return option;
  }

  void TakeLong(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    CLI::Option* const option = Find(name);
    std::vector<std::string> values;
    if (equals != std::string::npos) {
      if (option->get_items_expected_max() == 0) throw CLI::ValidationError(name, "takes no value");
      values.push_back(word.substr(equals + 1));
    }
    Take(option, name, std::move(values));
  }

  void TakeShort(const std::string& word) {
    for (size_t i = 1; i < word.size(); ++i) {
      const std::string name = {'-', word[i]};
      CLI::Option* const option = Find(name);
      const bool has_value = option->get_items_expected_max() > 0 && i + 1 < word.size();
      std::vector<std::string> values;
      if (has_value) values.push_back(word.substr(i + 1));
      Take(option, name, std::move(values));
      if (has_value) return;
    }
  }

  // Takes the values of `option` that are not in `values` from the next words.
  void Take(CLI::Option* option, const std::string& name, std::vector<std::string> values) {
    const auto wanted = static_cast<size_t>(option->get_items_expected_max());
    while (values.size() < wanted) {
      if (at_ == words_.size()) {
        throw CLI::ValidationError(name, wanted == 1 ? "a value is required"
                                                     : std::to_string(wanted) + " values are required, " +
                                                           std::to_string(values.size()) + " given");
      }
      values.push_back(words_[at_++]);
    }
    // WHY: Line has one place for the --db of the command and that of the verb.
    const bool is_again = std::ranges::any_of(given_, [&](const Given& each) {
      return each.option == option || each.option->get_name() == option->get_name();
    });
    if (wanted > 0 && is_again) throw CLI::ValidationError(name, "is given twice");
    option->allow_extra_args(false);  // CLI11 splits "[a,b]" for options that allow them
    // WHY: CLI11 takes the second of several expected values for an option, but all values of one large type for
    // values.
    if (wanted > 1) option->expected(1)->type_size(static_cast<int>(wanted));
    options.push_back(name);
    options.insert(options.end(), values.begin(), values.end());
    if (wanted > 0) given_.push_back({option, std::move(values)});
  }

  CLI::App* scope_;  // the command, then its verb
  Command& command_;
  const std::vector<std::string>& words_;
  size_t at_ = 0;
  std::vector<Given> given_;
};

}  // namespace

void ParseCommandLine(Command& command, const std::vector<std::string>& words) {
  command.line = {.is_alias = command.line.is_alias};
  command.tail.clear();
  Splitter splitter(command, words);
  splitter.Split();
  std::vector<std::string> options = splitter.options;
  std::ranges::reverse(options);  // CLI11 takes the last one first
  command.app.parse(std::move(options));
  splitter.CheckValues();
}

}  // namespace mergedb::tool
