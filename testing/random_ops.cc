#include "testing/random_ops.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace mergedb::testing {
namespace {

// ---- text -------------------------------------------------------------------------------------------------

void PrintNumbers(const Op::Numbers& numbers, std::string* text) {
  size_t count = numbers.size();
  // a missing number is 0, so zeros at the end are not printed
  while (count > 0 && numbers[count - 1] == 0) --count;
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) *text += ',';
    *text += std::to_string(numbers[i]);
  }
}

// Removes the text up to and including `end`, or all text if `end` is missing. Returns it without `end`.
std::string_view TakeUpTo(char end, std::string_view* text) {
  const size_t at = std::min(text->find(end), text->size());
  const std::string_view taken = text->substr(0, at);
  text->remove_prefix(std::min(at + 1, text->size()));
  return taken;
}

std::optional<Op::Numbers> ParseNumbers(std::string_view text) {
  Op::Numbers numbers;
  while (!text.empty()) {
    const std::string_view one = TakeUpTo(',', &text);
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), numbers.emplace_back());
    if (error != std::errc() || end != one.data() + one.size()) return std::nullopt;
  }
  return numbers;
}

std::optional<Op> ParseOp(const OpTable& table, std::string_view text) {
  const size_t name_bytes = std::min(text.find_first_of(":/"), text.size());
  const std::string_view name = text.substr(0, name_bytes);
  const auto kind = std::find_if(table.begin(), table.end(), [&](const OpKind& each) { return each.name == name; });
  if (kind == table.end()) return std::nullopt;
  Op op{.kind = static_cast<size_t>(kind - table.begin())};
  text.remove_prefix(name_bytes);
  if (text.starts_with(':')) text.remove_prefix(1);

  auto head = ParseNumbers(TakeUpTo('/', &text));
  if (!head || head->size() > kind->head.size()) return std::nullopt;
  op.head = std::move(*head);
  while (!text.empty()) {
    auto group = ParseNumbers(TakeUpTo('/', &text));
    if (!group || group->size() > kind->each.size()) return std::nullopt;
    op.tail.push_back(std::move(*group));
  }
  return op;
}

// ---- drawing ----------------------------------------------------------------------------------------------

class KindDrawer {
 public:
  KindDrawer(const OpTable& table, const Profile& profile) {
    for (const OpKind& kind : table) {
      const bool is_favourite = std::count(profile.favourites.begin(), profile.favourites.end(), kind.name) > 0;
      sums_.push_back((sums_.empty() ? 0 : sums_.back()) + kind.weight * (is_favourite ? 10 : 1));
    }
  }
  size_t Draw(base::Random& random) const {
    const uint64_t choice = random.Uniform(sums_.back());
    return static_cast<size_t>(std::upper_bound(sums_.begin(), sums_.end(), choice) - sums_.begin());
  }

 private:
  std::vector<uint64_t> sums_;
};

// ---- shrinking --------------------------------------------------------------------------------------------

class Shrinker {
 public:
  Shrinker(OpList list, const std::function<bool(const OpList&)>& fails, size_t trials_max)
      : list_(std::move(list)), fails_(fails), trials_left_(trials_max) {}

  OpList Run() {
    for (bool is_smaller = true; is_smaller && trials_left_ > 0;) {
      is_smaller = DropParts(list_.size(), [](OpList& list, size_t first, size_t last) {
        list.erase(list.begin() + static_cast<ptrdiff_t>(first), list.begin() + static_cast<ptrdiff_t>(last));
      });
      for (size_t i = 0; i < list_.size(); ++i) {
        is_smaller |= DropParts(list_[i].tail.size(), [i](OpList& list, size_t first, size_t last) {
          auto& tail = list[i].tail;
          tail.erase(tail.begin() + static_cast<ptrdiff_t>(first), tail.begin() + static_cast<ptrdiff_t>(last));
        });
        is_smaller |= LowerNumbers(i);
      }
    }
    return std::move(list_);
  }

 private:
  bool Try(OpList candidate) {
    if (trials_left_ == 0) return false;
    --trials_left_;
    if (!fails_(candidate)) return false;
    list_ = std::move(candidate);
    return true;
  }

  // Drops everything, halves, quarters, down to single parts. Starts at the end: the parts after the failure are there.
  template <typename Drop>
  bool DropParts(size_t count, const Drop& drop) {
    bool is_smaller = false;
    for (size_t part = count; part > 0 && trials_left_ > 0; part /= 2) {
      for (size_t last = count; last > 0;) {
        const size_t first = last - std::min(part, last);
        OpList candidate = list_;
        drop(candidate, first, last);
        if (Try(std::move(candidate))) {
          count -= last - first;
          is_smaller = true;
        }
        last = first;
      }
    }
    return is_smaller;
  }

  bool LowerNumbers(size_t op) {
    bool is_smaller = false;
    for (size_t i = 0; i < list_[op].head.size(); ++i) {
      is_smaller |= Lower([op, i](OpList& list) -> uint64_t& { return list[op].head[i]; });
    }
    for (size_t group = 0; group < list_[op].tail.size(); ++group) {
      for (size_t i = 0; i < list_[op].tail[group].size(); ++i) {
        is_smaller |= Lower([op, group, i](OpList& list) -> uint64_t& { return list[op].tail[group][i]; });
      }
    }
    return is_smaller;
  }

  template <typename NumberOf>
  bool Lower(const NumberOf& number_of) {
    bool is_smaller = false;
    while (TryNumber(number_of, 0) || TryNumber(number_of, number_of(list_) / 2)) is_smaller = true;
    while (number_of(list_) <= kSmallNumber && TryNumber(number_of, number_of(list_) - 1)) is_smaller = true;
    return is_smaller;
  }
  template <typename NumberOf>
  bool TryNumber(const NumberOf& number_of, uint64_t number) {
    if (number >= number_of(list_)) return false;  // not smaller; 0 - 1 wraps around and is not smaller either
    OpList candidate = list_;
    number_of(candidate) = number;
    return Try(std::move(candidate));
  }

  // Above this number, a decrement makes nothing simpler.
  static constexpr uint64_t kSmallNumber = 16;

  OpList list_;
  const std::function<bool(const OpList&)>& fails_;
  size_t trials_left_;
};

}  // namespace

Op DrawOp(const OpTable& table, size_t kind, const Profile& profile, base::Random& random) {
  Op op{.kind = kind};
  for (const DrawNumber draw : table[kind].head) op.head.push_back(draw(random, profile));
  if (table[kind].groups_max == 0) return op;
  op.tail.resize(random.Uniform(table[kind].groups_max * (random.OneIn(40) ? 40 : 1)));
  for (Op::Numbers& group : op.tail) {
    for (const DrawNumber draw : table[kind].each) group.push_back(draw(random, profile));
  }
  return op;
}

OpList DrawOps(const OpTable& table, const Profile& profile, base::Random& random, size_t count) {
  const KindDrawer kinds(table, profile);
  OpList list;
  while (list.size() < count) list.push_back(DrawOp(table, kinds.Draw(random), profile, random));
  return list;
}

OpList WithMaintenance(const OpTable& table, const OpList& list, base::Random& random, uint64_t one_in) {
  std::vector<size_t> kinds;
  for (size_t kind = 0; kind < table.size(); ++kind) {
    if (table[kind].is_maintenance) kinds.push_back(kind);
  }
  OpList longer;
  for (const Op& op : list) {
    longer.push_back(op);
    if (random.OneIn(one_in)) longer.push_back(DrawOp(table, kinds[random.Uniform(kinds.size())], {}, random));
  }
  return longer;
}

std::string PrintOps(const OpTable& table, const OpList& list) {
  std::string text;
  for (const Op& op : list) {
    if (!text.empty()) text += ' ';
    text += table[op.kind].name;
    std::string numbers;
    PrintNumbers(op.head, &numbers);
    if (!numbers.empty()) text += ':' + numbers;
    for (const Op::Numbers& group : op.tail) {
      text += '/';
      // WHY a 0: a group of only zeros would print no text, and the parser would not see it at the end of an operation.
      numbers.clear();
      PrintNumbers(group, &numbers);
      text += numbers.empty() ? "0" : numbers;
    }
  }
  return text;
}

std::optional<OpList> ParseOps(const OpTable& table, std::string_view text) {
  OpList list;
  while (!text.empty()) {
    const std::string_view one = TakeUpTo(' ', &text);
    if (one.empty()) continue;
    auto op = ParseOp(table, one);
    if (!op) return std::nullopt;
    list.push_back(std::move(*op));
  }
  return list;
}

OpList Shrink(OpList list, const std::function<bool(const OpList&)>& fails, size_t trials_max) {
  return Shrinker(std::move(list), fails, trials_max).Run();
}

}  // namespace mergedb::testing
