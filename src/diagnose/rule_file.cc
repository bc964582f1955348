#include "diagnose/rule_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>

#include "base/toml.h"
#include "diagnose/function_matcher.h"
#include "diagnose/nearest_word.h"
#include "diagnose/vocabulary.h"

namespace eroica {
namespace {

constexpr size_t kMostEvidence = 40;  ///< of a rule
constexpr size_t kLongestRegex = 200;
constexpr size_t kLongestLine = 300;   ///< titles, what evidence says
constexpr size_t kLongestText = 4000;  ///< say, action, explain

using Words = std::span<const std::string_view>;

/// Line breaks and indentation of a TOML text are layout, not content.
std::string one_paragraph(std::string_view text) {
  if (text.find('\n') == std::string_view::npos) return std::string(text);
  std::string joined;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\r' || c == '\t';
    if (!space) {
      joined += c;
    } else if (!joined.empty() && joined.back() != ' ') {
      joined += ' ';
    }
  }
  if (joined.ends_with(' ')) joined.pop_back();
  return joined;
}

/// The values of one table, by key. What is not as it should be becomes a problem, and a value that changes nothing.
class Fields {
 public:
  Fields(const toml::table& table, std::string_view title, Words keys, FileProblems& problems)
      : table_(table), problems_(problems) {
    for (const auto& [key, value] : table) {
      if (std::ranges::find(keys, key.str()) == keys.end()) {
        problems.add(key.source().begin.line, unknown_word("key", key.str(), keys) + fmt::format(" (in {})", title));
      }
    }
  }

  [[nodiscard]] bool has(std::string_view key) const { return table_.contains(key); }
  void complain(std::string_view key, const std::string& message) const {
    const toml::node* node = table_.get(key);
    problems_.add((node == nullptr ? static_cast<const toml::node&>(table_) : *node).source().begin.line, message);
  }

  /// False where there is none; a problem as well if it must be there.
  bool text(std::string_view key, std::string& value, size_t most, bool needed = false) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) {
      if (needed) complain(key, fmt::format("'{}' is missing", key));
      return false;
    }
    const auto* text = node->as_string();
    if (text == nullptr) {
      complain(key, fmt::format("'{}' must be a text", key));
      return false;
    }
    std::string joined = one_paragraph(text->get());
    if (joined.empty() || joined.size() > most) {
      complain(key, joined.empty() ? fmt::format("'{}' is empty", key)
                                   : fmt::format("'{}' is longer than {} bytes", key, most));
      return false;
    }
    value = std::move(joined);
    return true;
  }

  /// One of some words.
  template <typename Value>
  void word(std::string_view key, Value& value, std::optional<Value> (*by_name)(std::string_view),
            const std::vector<std::string_view>& names) const {
    std::string name;
    if (!text(key, name, kLongestLine)) return;
    if (const std::optional<Value> found = by_name(name)) {
      value = *found;
    } else {
      complain(key, unknown_word(key, name, names));
    }
  }

  void number(std::string_view key, double& value, double least, double most) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    const std::optional<double> number = node->value<double>();
    if (!node->is_number() || !number) {
      complain(key, fmt::format("'{}' must be a number", key));
    } else if (!(*number >= least && *number <= most)) {  // not a number is out of every range
      complain(key, fmt::format("'{}' is {}; it must lie between {} and {}", key, *number, least, most));
    } else {
      value = *number;
    }
  }

  void flag(std::string_view key, bool& value) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    if (const auto* flag = node->as_boolean()) {
      value = flag->get();
    } else {
      complain(key, fmt::format("'{}' must be true or false", key));
    }
  }

  /// Calls visit(text, where) for each text of a list.
  template <typename Visit>
  void list(std::string_view key, Visit visit) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr) {
      complain(key, fmt::format("'{}' must be a list of texts", key));
      return;
    }
    for (const toml::node& element : *array) {
      if (const auto* text = element.as_string()) {
        visit(text->get(), element.source());
      } else {
        problems_.add(element.source().begin.line, fmt::format("'{}' must be a list of texts", key));
      }
    }
  }

 private:
  const toml::table& table_;
  FileProblems& problems_;
};

// -- evidence

constexpr std::array<std::string_view, 15> kEvidenceKeys = {"need",
                                                            "fact",
                                                            "statistic",
                                                            "entity",
                                                            "function",
                                                            "above",
                                                            "below",
                                                            "above_peers",
                                                            "below_peers",
                                                            "above_peers_ratio",
                                                            "below_peers_ratio",
                                                            "above_baseline_ratio",
                                                            "below_baseline_ratio",
                                                            "weight",
                                                            "says"};

struct BoundKey {
  std::string_view key;
  std::optional<double> Bounds::*bound;
  bool ratio;
};
constexpr std::array<BoundKey, 8> kBoundKeys = {{
    {"above", &Bounds::above, false},
    {"below", &Bounds::below, false},
    {"above_peers", &Bounds::above_peers, false},
    {"below_peers", &Bounds::below_peers, false},
    {"above_peers_ratio", &Bounds::above_peers_ratio, true},
    {"below_peers_ratio", &Bounds::below_peers_ratio, true},
    {"above_baseline_ratio", &Bounds::above_baseline_ratio, true},
    {"below_baseline_ratio", &Bounds::below_baseline_ratio, true},
}};

Bounds read_bounds(const Fields& fields) {
  constexpr double kLargest = 1e30;  // as of samples (docs/signals.md)
  Bounds bounds;
  bool any = false;
  for (const auto& [key, bound, ratio] : kBoundKeys) {
    if (!fields.has(key)) continue;
    any = true;
    double value = 0;
    fields.number(key, value, ratio ? 1e-6 : -kLargest, ratio ? 1e6 : kLargest);
    bounds.*bound = value;
  }
  if (!any) fields.complain("fact", "no bound: 'above', 'below', 'above_peers' … say when the evidence holds");
  const auto empty = [](const std::optional<double>& low, const std::optional<double>& high) {
    return low && high && *low >= *high;
  };
  if (empty(bounds.above, bounds.below)) fields.complain("above", "no value is above 'above' and below 'below'");
  if (empty(bounds.above_peers_ratio, bounds.below_peers_ratio)) {
    fields.complain("above_peers_ratio", "no ratio is above 'above_peers_ratio' and below 'below_peers_ratio'");
  }
  if (empty(bounds.above_baseline_ratio, bounds.below_baseline_ratio)) {
    fields.complain("above_baseline_ratio",
                    "no ratio is above 'above_baseline_ratio' and below 'below_baseline_ratio'");
  }
  return bounds;
}

EvidenceRule read_evidence(const toml::table& table, FileProblems& problems) {
  EvidenceRule evidence;
  const Fields fields(table, "[[rule.evidence]]", kEvidenceKeys, problems);
  if (!fields.has("need")) fields.complain("need", "'need' is missing: required, any, supports or contradicts");
  fields.word("need", evidence.need, need_by_name, need_names());
  fields.word("statistic", evidence.statistic, statistic_by_name, statistic_names());
  fields.number("weight", evidence.weight, 0, 3);
  fields.text("says", evidence.says, kLongestLine);
  fields.text("entity", evidence.entity, kLongestLine);
  evidence.bounds = read_bounds(fields);
  if (fields.text("function", evidence.function, kLongestRegex)) {
    const std::string wrong = regex_problem(evidence.function);
    if (!wrong.empty()) fields.complain("function", "'function' is no regular expression: " + wrong);
  }
  if (!fields.text("fact", evidence.fact, kLongestLine, true)) return evidence;

  const KnownFact* fact = find_fact(evidence.fact);
  if (fact == nullptr) {
    fields.complain("fact", unknown_word("fact or signal", evidence.fact, known_facts()));
    return evidence;
  }
  if (is_signal(*fact)) {
    if (!evidence.entity.empty() && !has_entity(*fact, evidence.entity)) {
      fields.complain("entity", fmt::format("{} has no {} as its entity, but: {}", fact->name, quoted(evidence.entity),
                                            fact->entities));
    }
  } else {
    for (const std::string_view key : {"statistic", "entity"}) {
      if (fields.has(key)) fields.complain(key, fmt::format("'{}' is for signals only, not for {}", key, fact->name));
    }
  }
  if (fields.has("function") && !takes_function(fact->name)) {
    fields.complain("function", fmt::format("'function' selects nothing of {}", fact->name));
  } else if (!fields.has("function") && takes_function(fact->name) && !selects_labels(fact->name)) {
    fields.complain("fact", fmt::format("{} needs 'function', a regular expression (\".\" is all)", fact->name));
  }
  return evidence;
}

// -- rules

constexpr std::array<std::string_view, 15> kRuleKeys = {"cause",     "title",        "subject", "also_all", "scope",
                                                        "component", "affects",      "kernels", "prior",    "yields_to",
                                                        "say",       "least_effect", "action",  "explain",  "evidence"};

void check_placeholders(const Fields& fields, const std::string& say) {
  for (size_t at = say.find_first_of("{}"); at != std::string::npos; at = say.find_first_of("{}", at)) {
    const size_t end = say.find('}', at);
    if (say[at] == '}' || end == std::string::npos) {
      fields.complain("say", "a brace in 'say' that belongs to no placeholder");
      return;
    }
    const std::string_view name = std::string_view(say).substr(at + 1, end - at - 1);
    if (std::ranges::find(placeholder_names(), name) == placeholder_names().end()) {
      fields.complain("say", unknown_word("placeholder", name, placeholder_names()));
    }
    at = end + 1;
  }
}

/// What the way in which the ranks are found asks of the evidence.
void check_subject(const Fields& fields, const Rule& rule) {
  if (std::ranges::none_of(rule.evidence, is_needed)) {
    fields.complain("evidence", R"(no evidence with need = "required" or "any": the rule would always hold)");
    return;
  }
  const auto asks = [&](auto of_fact) {
    return std::ranges::any_of(rule.evidence, [&](const EvidenceRule& e) { return is_needed(e) && of_fact(e.fact); });
  };
  const auto of_signal = [](const std::string& name) { return is_signal(name); };
  const auto begins = [](std::string_view prefix) {
    return [prefix](const std::string& name) { return name.starts_with(prefix); };
  };
  const auto complain = [&](std::string_view what) {
    fields.complain("subject", fmt::format("subject \"{}\" wants {} that is required, or one of any",
                                           subject_name(rule.subject), what));
  };
  if (rule.subject == SubjectBy::kSignal && !asks(of_signal)) complain("a signal");
  if (rule.subject == SubjectBy::kFunction && !asks(begins("function."))) complain("a fact of functions");
  if (rule.subject == SubjectBy::kLabel && !asks(begins("label."))) complain("a fact of labels");
  if (rule.subject == SubjectBy::kBlocked && !asks(begins("blocked."))) complain("a fact of hangs");
}

void read_lists(const Fields& fields, Rule& rule, FileProblems& problems) {
  fields.list("affects", [&](const std::string& name, const toml::source_region& where) {
    if (const auto found = time_class_by_name(name)) {
      rule.affects.push_back(*found);
    } else {
      problems.add(where.begin.line, unknown_word("class of time", name, time_class_names()));
    }
  });
  fields.list("kernels", [&](const std::string& name, const toml::source_region& where) {
    if (std::ranges::find(kernel_names(), name) == kernel_names().end()) {
      problems.add(where.begin.line, unknown_word("class of kernels", name, kernel_names()));
    }
    rule.kernels.push_back(name);
  });
  fields.list("yields_to", [&](const std::string& name, const toml::source_region& where) {
    if (!is_cause(name)) problems.add(where.begin.line, unknown_word("cause", name, taxonomy()));
    if (name == rule.cause) problems.add(where.begin.line, "a rule cannot yield to itself");
    rule.yields_to.push_back(name);
  });
}

/// What a rule that does not say it affects: the time that its needed facts are about, else all of a rank's own.
std::vector<TimeClass> affected_by_default(const Rule& rule) {
  std::vector<TimeClass> classes;
  const auto add = [&](TimeClass one) {
    if (std::ranges::find(classes, one) == classes.end()) classes.push_back(one);
  };
  for (const EvidenceRule& evidence : rule.evidence) {
    if (!is_needed(evidence)) continue;
    for (size_t i = 0; i < kTimeClassCount; ++i) {
      const auto one = static_cast<TimeClass>(i);
      if (evidence.fact == fmt::format("time.{}_share", time_class_name(one))) add(one);
    }
    if (evidence.fact.starts_with("kernels.")) add(TimeClass::kCompute);
    if (evidence.fact.starts_with("transfer.")) add(TimeClass::kCommunication);
  }
  if (!classes.empty()) return classes;
  for (size_t i = 0; i < kTimeClassCount; ++i) {
    if (static_cast<TimeClass>(i) != TimeClass::kCommunication) add(static_cast<TimeClass>(i));
  }
  return classes;
}

Rule read_rule(const toml::table& table, const std::string& file, FileProblems& problems) {
  Rule rule;
  rule.file = file;
  rule.line = static_cast<int32_t>(table.source().begin.line);
  const Fields fields(table, "[[rule]]", kRuleKeys, problems);
  if (fields.text("cause", rule.cause, kLongestLine, true) && !is_cause(rule.cause)) {
    fields.complain("cause", rule.cause.starts_with("site.")
                                 ? fmt::format("{}: after 'site.' come a-z, 0-9 and _, at most 64", quoted(rule.cause))
                                 : unknown_word("cause", rule.cause, taxonomy()) + " (your own begin with 'site.')");
  }
  fields.text("title", rule.title, kLongestLine, true);
  fields.word("subject", rule.subject, subject_by_name, subject_names());
  fields.flag("also_all", rule.also_all);
  fields.word("scope", rule.scope, scope_by_name, scope_names());
  if (fields.text("component", rule.component, kLongestLine) &&
      std::ranges::find(component_names(), rule.component) == component_names().end()) {
    fields.complain("component", unknown_word("component", rule.component, component_names()));
  }
  read_lists(fields, rule, problems);
  fields.number("prior", rule.prior, 0, 1);
  fields.number("least_effect", rule.least_effect, 0, 1);
  if (fields.text("say", rule.say, kLongestText, true)) check_placeholders(fields, rule.say);
  fields.text("action", rule.action, kLongestText, true);
  fields.text("explain", rule.explain, kLongestText);

  const toml::node* evidence = table.get("evidence");
  const toml::array* array = evidence == nullptr ? nullptr : evidence->as_array();
  if (evidence != nullptr && (array == nullptr || !array->is_array_of_tables())) {
    fields.complain("evidence", "'evidence' must be a list of tables, or written as [[rule.evidence]]");
    return rule;
  }
  if (array != nullptr && array->size() > kMostEvidence) {
    fields.complain("evidence", fmt::format("more than {} pieces of evidence", kMostEvidence));
    return rule;
  }
  for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
    rule.evidence.push_back(read_evidence(*array->get(i)->as_table(), problems));
  }
  if (const toml::node* affects = table.get("affects")) {
    const toml::array* classes = affects->as_array();
    if (classes != nullptr && classes->empty()) {
      fields.complain("affects", "'affects' names no class of time: the rule would never hold");
    }
  } else if (rule.subject != SubjectBy::kBlocked) {
    rule.affects = affected_by_default(rule);
  }
  check_subject(fields, rule);
  return rule;
}

}  // namespace

RuleSet parse_rules(std::string_view toml, const std::string& file) {
  RuleSet set;
  FileProblems problems(file, set.problems);
  const std::optional<toml::table> parsed = parse_toml(toml, "file of rules", problems);
  if (!parsed) return set;
  const toml::table& root = *parsed;
  constexpr std::array<std::string_view, 1> kTables = {"rule"};
  const Fields fields(root, "the file", kTables, problems);
  const toml::node* rules = root.get("rule");
  const toml::array* array = rules == nullptr ? nullptr : rules->as_array();
  if (array == nullptr || !array->is_array_of_tables()) {
    fields.complain("rule", rules == nullptr ? "no [[rule]] in this file" : "'rule' must be written as [[rule]]");
    return set;
  }
  std::set<std::string> causes;
  for (const toml::node& node : *array) {
    const size_t before = problems.count();
    Rule rule = read_rule(*node.as_table(), file, problems);
    if (!rule.cause.empty() && !causes.insert(rule.cause).second) {
      problems.add(node.source().begin.line, fmt::format("a second rule for {} in one file", rule.cause));
    }
    if (problems.count() == before) set.rules.push_back(std::move(rule));
  }
  std::ranges::sort(set.rules, {}, &Rule::cause);
  return set;
}

std::vector<FileProblem> idle_yields(const RuleSet& rules, const RuleSet& loaded) {
  std::vector<FileProblem> problems;
  for (const Rule& rule : rules.rules) {
    for (const std::string& cause : rule.yields_to) {
      if (std::ranges::find(loaded.rules, cause, &Rule::cause) != loaded.rules.end()) continue;
      problems.push_back(
          {rule.file, rule.line, fmt::format("{} yields to {}, of which there is no rule", rule.cause, cause)});
    }
  }
  return problems;
}

void merge_rules(RuleSet& into, RuleSet more) {
  for (Rule& rule : more.rules) {
    const auto at = std::ranges::lower_bound(into.rules, rule.cause, {}, &Rule::cause);
    if (at != into.rules.end() && at->cause == rule.cause) {
      *at = std::move(rule);
    } else {
      into.rules.insert(at, std::move(rule));
    }
  }
  std::ranges::move(more.problems, std::back_inserter(into.problems));
}

}  // namespace eroica
