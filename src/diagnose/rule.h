#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "diagnose/diagnosis.h"
#include "pattern/pattern.h"

namespace eroica {

/// What a piece of evidence does to a rule.
enum class Need : uint8_t {
  kRequired,     ///< without it the rule says nothing
  kAny,          ///< of these at least one is required
  kSupports,     ///< makes it surer
  kContradicts,  ///< makes it less sure
};

/// Which of a signal's figures over the window is meant.
enum class Statistic : uint8_t { kMean, kMaximum, kMinimum, kDeviation, kVariation /**< deviation over mean */ };

/// A bound; every one that is set must hold.
struct Bounds {
  std::optional<double> above;  ///< the value itself
  std::optional<double> below;
  std::optional<double> above_peers;        ///< value less the peers' median
  std::optional<double> below_peers;        ///< peers' median less value
  std::optional<double> above_peers_ratio;  ///< value over the peers' median (a median of 0 counts as infinitely less)
  std::optional<double> below_peers_ratio;  ///< … at most this
  std::optional<double> above_baseline_ratio;
  std::optional<double> below_baseline_ratio;
};

struct EvidenceRule {
  Need need = Need::kSupports;
  std::string fact;  ///< a metric of docs/signals.md, or a fact of docs/rules.md ("time.excess_ms" …)
  Statistic statistic = Statistic::kMean;
  std::string entity;    ///< signals: which kind of entity: "gpu", "rank", "host", "nic", "disk", "cpu", "worker",
                         ///< "thread"; empty = the metric's usual one
  std::string function;  ///< facts about functions: regular expression for name, file or path
  Bounds bounds;
  double weight = 1;  ///< 0 … 3
  std::string says;   ///< in words, for the report
};

/// Must it, or one of its kind, hold for the rule to say anything?
inline bool is_needed(const EvidenceRule& evidence) {
  return evidence.need == Need::kRequired || evidence.need == Need::kAny;
}

/// Of whom a rule may speak, and how the ranks are found.
enum class SubjectBy : uint8_t {
  kSignal,    ///< entities for which the first required evidence holds
  kTime,      ///< ranks whose own time stands out from their peers'
  kFunction,  ///< ranks on which the functions of the first required evidence stand out
  kStage,     ///< the longest pipeline stage
  kMoving,    ///< no rank stands out over the window, but some do in each step
  kLabel,     ///< ranks or hosts whose labels differ from most
  kAll,       ///< the whole job
  kBlocked,   ///< a window that ends in a hang
};

struct Rule {
  std::string cause;  ///< "gpu.thermal_throttle"
  std::string title;
  SubjectBy subject = SubjectBy::kTime;
  bool also_all = false;  ///< may be said of all ranks together when none differs
  Scope scope = Scope::kRanks;
  std::string component;  ///< kind of entity that is named: "gpu", "nic", "host", "rank", "cgroup", …; or empty
  std::vector<TimeClass> affects;    ///< whose excess it explains
  std::vector<std::string> kernels;  ///< of compute: which kernels must be slower: "gemm", "memory_bound", "any"
  std::vector<EvidenceRule> evidence;
  std::vector<std::string> yields_to;  ///< causes that win where both hold
  double prior = 0.7;                  ///< confidence when what is required holds and nothing else is known
  double least_effect = 0.02;          ///< of a step; less is not worth a word
  std::string say;      ///< one sentence; {ranks} {hosts} {component} {value} {peers} {function} {lost} are filled in
  std::string action;   ///< what an operator does next
  std::string explain;  ///< for `rules explain`: what happens, and what tells it apart
  std::string file;     ///< where it was read, for messages
  int32_t line = 0;
};

}  // namespace eroica
