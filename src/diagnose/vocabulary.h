#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/rule.h"

namespace eroica {

/// A signal of docs/signals.md or a fact of docs/rules.md, as a rule may name it.
struct KnownFact {
  std::string_view name;      ///< "gpu.sm_clock", "time.excess_ms"
  std::string_view unit;      ///< "hz", "ms", "share", "ratio" …
  std::string_view entities;  ///< signals: kinds of entity that have it, the usual one first: "rank worker thread";
                              ///< empty = computed from patterns
  std::string_view meaning;   ///< in words
};

/// All of them: signals in the order of docs/signals.md, then computed facts.
const std::vector<KnownFact>& all_facts();

/// nullptr: there is none of this name.
const KnownFact* find_fact(std::string_view name);
inline bool is_signal(const KnownFact& fact) { return !fact.entities.empty(); }
bool is_signal(std::string_view name);  ///< false also for what is not known
bool has_entity(const KnownFact& signal, std::string_view kind);
bool selects_labels(std::string_view fact);  ///< by EvidenceRule::function, which may be absent
bool takes_function(std::string_view fact);  ///< is there something for EvidenceRule::function to select?

/// Ids of the taxonomy that a rule may claim, in the order of docs/rules.md.
const std::vector<std::string_view>& taxonomy();
bool is_cause(std::string_view id);  ///< of the taxonomy, or "site." and a name

// Words of rule files. An empty optional: no such word.
std::optional<Need> need_by_name(std::string_view name);
std::optional<Statistic> statistic_by_name(std::string_view name);
std::optional<SubjectBy> subject_by_name(std::string_view name);
std::optional<Scope> scope_by_name(std::string_view name);
std::optional<TimeClass> time_class_by_name(std::string_view name);
std::string_view need_name(Need need);
std::string_view statistic_name(Statistic statistic);
std::string_view subject_name(SubjectBy subject);
std::vector<std::string_view> need_names();
std::vector<std::string_view> statistic_names();
std::vector<std::string_view> subject_names();
std::vector<std::string_view> scope_names();
std::vector<std::string_view> time_class_names();
const std::vector<std::string_view>& component_names();
const std::vector<std::string_view>& kernel_names();
const std::vector<std::string_view>& placeholder_names();  ///< of Rule::say, without braces

}  // namespace eroica
