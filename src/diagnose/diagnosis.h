#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compare/collective_join.h"

namespace eroica {

/// What a diagnosis is said of.
enum class Scope : uint8_t { kRanks, kHost, kLink, kAll };
[[nodiscard]] std::string_view scope_name(Scope scope);  ///< "ranks", "host", "link", "all"

/// One observed fact, beside what the peers show.
struct Evidence {
  std::string what;  ///< in words: "time with the clock held down for heat"
  double value = 0;
  std::string unit;                    ///< "share", "ms", "ratio", a signal's unit …
  std::optional<double> peers_median;  ///< absent: nobody to compare with
  std::optional<double> peers_mad;
  std::vector<int32_t> ranks;  ///< of whom `value` is told
};

/// Another cause that was considered.
struct Alternative {
  std::string cause;
  double confidence = 0;
  std::string ruled_out_by;  ///< in words; where a signal was missing: which one would decide
};

struct FunctionRef {
  std::string name;
  std::string kind;  ///< function_kind_name()
  std::string file;
  int32_t line = 0;               ///< 0 = unknown
  std::vector<std::string> path;  ///< callers, outermost first
};

/// A cause with everything that an operator needs to believe it and to act.
struct Diagnosis {
  std::string cause;    ///< id of the taxonomy, or site.*
  std::string title;    ///< a few words
  std::string summary;  ///< one or two sentences with the figures
  Scope scope = Scope::kRanks;
  std::vector<int32_t> ranks;      ///< ascending; empty for scope kAll where no rank stands out
  std::vector<std::string> hosts;  ///< of the ranks, where the cause is a host's, a NIC's or a link's
  std::string component;           ///< entity of docs/signals.md, or "rank 2/cgroup"; empty = none beyond the function
  std::optional<FunctionRef> function;
  double confidence = 0;  ///< 0 … 1
  std::vector<std::string> confidence_why;
  double lost_ms_per_step = 0;  ///< the step would be so much shorter without this cause
  double lost_gpu_seconds_per_hour = 0;
  double marginal_ms_per_step = 0;  ///< … with all other causes of the report staying
  std::vector<Evidence> evidence;   ///< the strongest first
  std::vector<Alternative> alternatives;
  std::string action;
};

/// Ranks that were compared with each other.
struct PeerGroup {
  std::string name;  ///< "all ranks", "stage 1", "stage 1 on NVIDIA A100"
  std::string why;   ///< what made them peers, in words
  std::vector<int32_t> ranks;
};

struct WhatIf {
  double slowdown = 1;       ///< step time over that with every rank at its peers' median
  double slowdown_even = 1;  ///< … with all compute even over stages, ranks and steps
  double step_ms_without_findings = 0;
  double step_ms = 0;  ///< mean now, of which losses are a part; 0 = unknown
};

/// Members of a group wait in a collective that others did not enter.
struct Blocked {
  std::string group;
  int64_t sequence = -1;
  std::string operation;
  std::vector<int32_t> waiting;
  std::vector<int32_t> missing;
  std::vector<std::string> stacks;         ///< of the missing ranks, where known
  std::vector<std::string> process_state;  ///< of the missing ranks, in words
};

/// All that is concluded about one window.
struct Conclusion {
  std::vector<Diagnosis> diagnoses;  ///< claims (confidence ≥ kClaimConfidence), most costly first
  std::vector<Diagnosis> hints;      ///< less sure, the surest first
  std::vector<PeerGroup> peer_groups;
  std::vector<int32_t> victims;  ///< ranks that only waited for others; empty without a claim
  WhatIf what_if;
  std::optional<Blocked> blocked;
  std::vector<std::string> signals_missing;  ///< metrics that a rule needed and nobody sampled
  std::vector<JoinedCollective> joined;      ///< instance by instance; empty where not all patterns were kept
  std::vector<std::string> notes;            ///< why an answer is less sure: no valid group, nothing aligned …
};

inline constexpr double kClaimConfidence = 0.5;

}  // namespace eroica
