#include "cli/policy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <span>

#include "base/toml.h"
#include "diagnose/nearest_word.h"

namespace eroica {
namespace {

constexpr size_t kMostListed = 100;
constexpr size_t kLongestText = 300;
constexpr int32_t kMinutesOfDay = 24 * 60;

/// One key of a table: how it is read, written and explained.
struct Number {
  std::string_view table;
  std::string_view key;
  std::function<double(const Policy&)> get;
  std::function<void(Policy&, double)> set;
  double least;
  double most;
  bool whole;
  std::string_view means;
};

template <typename Part, typename Value>
Number number(std::string_view table, std::string_view key, Part Policy::*part, Value Part::*value, double least,
              double most, std::string_view means) {
  return {table,
          key,
          [=](const Policy& policy) { return static_cast<double>(policy.*part.*value); },
          [=](Policy& policy, double to) { policy.*part.*value = static_cast<Value>(to); },
          least,
          most,
          std::is_integral_v<Value>,
          means};
}

struct Switch {
  std::string_view table;
  bool& (*of)(Policy&);
  std::string_view means;
};

const std::vector<Number>& numbers() {
  using P = Policy;
  using S = SlowPolicy;
  using B = BlockedPolicy;
  using W = WindowPolicy;
  using L = BaselinePolicy;
  using K = KeepPolicy;
  static const std::vector<Number> all = {
      number("slow", "warm_up_steps", &P::slow, &S::warm_up_steps, 0, 100'000, "the job's first steps, never judged"),
      number("slow", "learn_steps", &P::slow, &S::learn_steps, 20, 400,
             "healthy steps to see before any is called slow"),
      number("slow", "level_steps", &P::slow, &S::level_steps, 10, 1000, "steps that a level is the median of"),
      number("slow", "level_rise_percent", &P::slow, &S::level_rise_percent, 0.5, 1000,
             "a level so far above the best one is slow, however slowly it came"),
      number("slow", "shift_percent", &P::slow, &S::shift_percent, 0.5, 100, "the least lasting change that is told"),
      number("slow", "lost_time_percent", &P::slow, &S::lost_time_percent, 0.5, 100,
             "time lost to single long steps that is told"),
      number("slow", "periodic_from_start_percent", &P::slow, &S::periodic_from_start_percent, 1, 10'000,
             "the same for stalls that the job had at a regular spacing from its start"),
      number("slow", "least_lasting_s", &P::slow, &S::least_lasting_s, 0, 86'400,
             "a slowdown that is over sooner is not told; one below 8 % has to last up to three times as long"),
      number("slow", "false_alarm_every_steps", &P::slow, &S::false_alarm_every_steps, 1000, 1e12,
             "healthy steps between two false alarms of one kind"),
      number("slow", "worse_percent", &P::slow, &S::worse_percent, 1, 1000, "so much slower once more is told again"),
      number("blocked", "mean_multiple", &P::blocked, &B::mean_multiple, 1, 10'000,
             "nothing for so many mean steps, ..."),
      number("blocked", "least_s", &P::blocked, &B::least_s, 0, 86'400, "... but at least so long, ..."),
      number("blocked", "pause_multiple", &P::blocked, &B::pause_multiple, 0, 100,
             "... and for so many times the longest pause while healthy"),
      number("blocked", "most_s", &P::blocked, &B::most_s, 1, 604'800, "at most, whatever pauses there were"),
      number("blocked", "first_step_s", &P::blocked, &B::first_step_s, 1, 604'800, "until the first step has ended"),
      number("window", "length_s", &P::window, &W::length_s, 0.1, 600, "how long all ranks are profiled"),
      number("window", "most_mb", &P::window, &W::most_mb, 1, 1e6,
             "of a rank's trace: windows become shorter where ranks were seen to write more"),
      number("window", "tail_s", &P::window, &W::tail_s, 0, 3600, "steps so long after a window are not judged"),
      number("window", "cooldown_s", &P::window, &W::cooldown_s, 0, 604'800,
             "between two windows; one for a job that got worse or blocked may come sooner"),
      number("window", "budget_s_per_hour", &P::window, &W::budget_s_per_hour, 0, 3600, "profiled seconds"),
      number("window", "slows_percent", &P::window, &W::slows_percent, 0, 1000,
             "how much longer steps are thought to be inside, for what 'policy replay' counts as lost"),
      number("baseline", "count", &P::baseline, &L::count, 0, 1000, "windows of the healthy job, to compare with"),
      number("baseline", "after_steps", &P::baseline, &L::after_steps, 0, 1e9, "healthy steps before the first"),
      number("baseline", "spacing_s", &P::baseline, &L::spacing_s, 0, 604'800, "between two of them"),
      number("keep", "most_gb", &P::keep, &K::most_gb, 0, 1e6,
             "of a job's windows that --keep keeps; the oldest go first"),
      number("keep", "most_windows", &P::keep, &K::most_windows, 0, 100'000, "kept of a job"),
      number("keep", "most_days", &P::keep, &K::most_days, 0, 36'500, "that one is kept"),
      number("keep", "leave_free_gb", &P::keep, &K::leave_free_gb, 0, 1e6, "of their file system"),
  };
  return all;
}

const std::vector<Switch>& switches() {
  static const std::vector<Switch> all = {
      {"slow", [](Policy& policy) -> bool& { return policy.slow.enabled; }, "whether slow jobs are told"},
      {"blocked", [](Policy& policy) -> bool& { return policy.blocked.enabled; }, "whether blocked jobs are told"},
  };
  return all;
}

/// A key whose value is one of some words.
struct Choice {
  std::string_view table;
  std::string_view key;
  std::vector<std::string_view> words;  ///< in the order of the values
  size_t (*get)(const Policy&);
  void (*set)(Policy&, size_t);
  std::string_view means;
};

const std::vector<Choice>& choices() {
  static const std::vector<Choice> all = {
      {"window",
       "stacks",
       {"trace", "sample", "off"},
       [](const Policy& policy) { return static_cast<size_t>(policy.window.stacks); },
       [](Policy& policy, size_t to) { policy.window.stacks = static_cast<PythonStacks>(to); },
       "every Python call by \"trace\" (costly where Python is hot: see docs/detector.md), \"sample\" by py-spy, or "
       "\"off\""},
      {"window",
       "gpus",
       {"driver", "dcgm", "pm_sampling"},
       [](const Policy& policy) { return static_cast<size_t>(policy.window.gpus); },
       [](Policy& policy, size_t to) { policy.window.gpus = static_cast<GpuCounters>(to); },
       "use of GPUs as the \"driver\" tells it, or also by \"dcgm\" or \"pm_sampling\" (docs/gpus.md)"},
      {"window",
       "shapes",
       {"auto", "on", "off"},
       [](const Policy& policy) { return static_cast<size_t>(policy.window.shapes); },
       [](Policy& policy, size_t to) { policy.window.shapes = static_cast<InputShapes>(to); },
       "shapes of operators' inputs, at twice the cost; \"auto\": where there is no GPU to tell how much work there "
       "was"},
  };
  return all;
}

constexpr std::array<std::string_view, 2> kMethods = {"full", "eroica"};
constexpr std::array<std::string_view, 7> kTables = {"method", "eligible", "slow", "blocked",
                                                     "window", "baseline", "keep"};
constexpr std::string_view kEligible = "eligible";

std::vector<std::string_view> keys_of(std::string_view table) {
  std::vector<std::string_view> keys;
  for (const Switch& one : switches()) {
    if (one.table == table) keys.emplace_back("enabled");
  }
  for (const Choice& one : choices()) {
    if (one.table == table) keys.push_back(one.key);
  }
  for (const Number& one : numbers()) {
    if (one.table == table) keys.push_back(one.key);
  }
  if (table == kEligible) keys = {"jobs", "hours_utc"};
  return keys;
}

std::optional<int32_t> minute_of(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  for (const size_t i : {0, 1, 3, 4}) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
  }
  const int32_t hours = (text[0] - '0') * 10 + (text[1] - '0');
  const int32_t minutes = (text[3] - '0') * 10 + (text[4] - '0');
  if (minutes > 59 || hours * 60 + minutes > kMinutesOfDay) return std::nullopt;
  return hours * 60 + minutes;
}

std::optional<HourRange> range_of(std::string_view text) {
  if (text.size() != 11 || text[5] != '-') return std::nullopt;
  const std::optional<int32_t> from = minute_of(text.substr(0, 5));
  const std::optional<int32_t> to = minute_of(text.substr(6));
  if (!from || !to || *from == kMinutesOfDay) return std::nullopt;
  return HourRange{*from, *to};
}

std::string text_of(const HourRange& range) {
  return fmt::format("{:02}:{:02}-{:02}:{:02}", range.from_minute / 60, range.from_minute % 60, range.to_minute / 60,
                     range.to_minute % 60);
}

class Reader {
 public:
  Reader(FileProblems& problems, Policy& into) : problems_(problems), into_(into) {}

  void read(const toml::table& root) {
    known_keys(root, kTables, "the file");
    if (const toml::node* method = root.get("method")) read_method(*method);
    for (const std::string_view name : {"slow", "blocked", "window", "baseline", "keep"}) {
      if (const toml::table* table = table_of(root, name)) {
        read_choices(*table, name);
        read_numbers(*table, name);
      }
    }
    if (const toml::table* table = table_of(root, kEligible)) read_eligible(*table);
  }

 private:
  void complain(const toml::source_region& where, std::string message) {
    problems_.add(where.begin.line, std::move(message));
  }

  void known_keys(const toml::table& table, std::span<const std::string_view> keys, std::string_view where) {
    for (const auto& [key, value] : table) {
      if (std::ranges::find(keys, key.str()) == keys.end()) {
        complain(key.source(), unknown_word("key", key.str(), keys) + fmt::format(" (in {})", where));
      }
    }
  }

  const toml::table* table_of(const toml::table& root, std::string_view name) {
    const toml::node* node = root.get(name);
    if (node == nullptr) return nullptr;
    const toml::table* table = node->as_table();
    if (table == nullptr) {
      complain(node->source(), fmt::format("'{0}' must be a table, written as [{0}]", name));
      return nullptr;
    }
    const std::vector<std::string_view> keys = keys_of(name);
    known_keys(*table, keys, fmt::format("[{}]", name));
    return table;
  }

  void read_method(const toml::node& node) {
    const auto* text = node.as_string();
    if (text == nullptr) {
      complain(node.source(), "'method' must be a text");
    } else if (text->get() == "eroica") {
      into_.method = DetectorMethod::kEroica;
    } else if (text->get() != "full") {
      complain(node.source(), unknown_word("method", text->get(), kMethods));
    }
  }

  void read_choices(const toml::table& table, std::string_view name) {
    for (const Choice& one : choices()) {
      const toml::node* node = one.table == name ? table.get(one.key) : nullptr;
      if (node == nullptr) continue;
      const auto* text = node->as_string();
      const auto word = text == nullptr ? one.words.end() : std::ranges::find(one.words, text->get());
      if (text == nullptr) {
        complain(node->source(), fmt::format("'{}' must be a text", one.key));
      } else if (word == one.words.end()) {
        complain(node->source(), unknown_word(std::string(one.key), text->get(), one.words));
      } else {
        one.set(into_, static_cast<size_t>(word - one.words.begin()));
      }
    }
  }

  void read_numbers(const toml::table& table, std::string_view name) {
    for (const Switch& one : switches()) {
      const toml::node* node = one.table == name ? table.get("enabled") : nullptr;
      if (node == nullptr) continue;
      if (const auto* flag = node->as_boolean()) {
        one.of(into_) = flag->get();
      } else {
        complain(node->source(), "'enabled' must be true or false");
      }
    }
    for (const Number& one : numbers()) {
      const toml::node* node = one.table == name ? table.get(one.key) : nullptr;
      if (node == nullptr) continue;
      const std::optional<double> value = node->value<double>();
      if (!node->is_number() || !value) {
        complain(node->source(), fmt::format("'{}' must be a number", one.key));
      } else if (!(*value >= one.least && *value <= one.most)) {  // not a number is out of every range
        complain(node->source(),
                 fmt::format("'{}' is {}; it must lie between {} and {}", one.key, *value, one.least, one.most));
      } else if (one.whole && *value != std::floor(*value)) {
        complain(node->source(), fmt::format("'{}' is {}; it must be a whole number", one.key, *value));
      } else {
        one.set(into_, *value);
      }
    }
  }

  /// The texts of a list that is not empty.
  std::vector<std::pair<std::string, toml::source_region>> texts(const toml::table& table, std::string_view key) {
    const toml::node* node = table.get(key);
    if (node == nullptr) return {};
    const toml::array* array = node->as_array();
    if (array == nullptr || array->empty() || array->size() > kMostListed) {
      complain(node->source(), fmt::format("'{}' must be a list of 1 to {} texts", key, kMostListed));
      return {};
    }
    std::vector<std::pair<std::string, toml::source_region>> list;
    for (const toml::node& element : *array) {
      const auto* text = element.as_string();
      if (text == nullptr || text->get().empty() || text->get().size() > kLongestText) {
        complain(element.source(), fmt::format("'{}' must hold texts of 1 to {} bytes", key, kLongestText));
      } else {
        list.emplace_back(text->get(), element.source());
      }
    }
    return list;
  }

  void read_eligible(const toml::table& table) {
    std::vector<std::string> jobs;
    for (auto& [text, where] : texts(table, "jobs")) jobs.push_back(std::move(text));
    if (!jobs.empty()) into_.eligible.jobs = std::move(jobs);
    std::vector<HourRange> hours;
    for (const auto& [text, where] : texts(table, "hours_utc")) {
      if (const std::optional<HourRange> range = range_of(text)) {
        hours.push_back(*range);
      } else {
        complain(where, fmt::format("{} is no range of hours; expected as in '22:00-06:30'", quoted(text)));
      }
    }
    if (!hours.empty()) into_.eligible.hours_utc = std::move(hours);
  }

  FileProblems& problems_;
  Policy& into_;
};

std::string toml_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string line(std::string_view key, std::string_view value, std::string_view means) {
  return fmt::format("{:<42}  # {}\n", fmt::format("{} = {}", key, value), means);
}

}  // namespace

PolicyFile parse_policy(std::string_view toml, const std::string& file) {
  PolicyFile result;
  FileProblems problems(file, result.problems);
  if (const std::optional<toml::table> root = parse_toml(toml, "policy", problems)) {
    Reader(problems, result.policy).read(*root);
  }
  return result;
}

std::string policy_toml(const Policy& policy) {
  Policy copy = policy;
  std::vector<std::string> jobs;
  jobs.reserve(policy.eligible.jobs.size());
  for (const std::string& job : policy.eligible.jobs) jobs.push_back(toml_text(job));
  std::vector<std::string> hours;
  hours.reserve(policy.eligible.hours_utc.size());
  for (const HourRange& range : policy.eligible.hours_utc) hours.push_back(toml_text(text_of(range)));

  std::string text = "# When eroica speaks up about a job, and when it takes a window (docs/detector.md).\n\n";
  text += line("method", policy.method == DetectorMethod::kEroica ? "\"eroica\"" : "\"full\"",
               "or \"eroica\": the rule published for EROICA, to compare with; [slow] is not used then");
  text += "\n[eligible]\n";
  text += line("jobs", fmt::format("[{}]", fmt::join(jobs, ", ")), "ids of jobs to take windows of; * and ? match any");
  text += line("hours_utc", fmt::format("[{}]", fmt::join(hours, ", ")), "when windows may be taken");
  for (const std::string_view table : {"slow", "blocked", "window", "baseline", "keep"}) {
    text += fmt::format("\n[{}]\n", table);
    for (const Switch& one : switches()) {
      if (one.table == table) text += line("enabled", one.of(copy) ? "true" : "false", one.means);
    }
    for (const Choice& one : choices()) {
      if (one.table == table) text += line(one.key, fmt::format("\"{}\"", one.words[one.get(policy)]), one.means);
    }
    for (const Number& one : numbers()) {
      if (one.table != table) continue;
      const double value = one.get(policy);
      const std::string shown =
          one.whole || value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
      text += line(one.key, shown, one.means);
    }
  }
  return text;
}

}  // namespace eroica
