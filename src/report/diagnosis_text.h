#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "diagnose/diagnosis.h"

namespace eroica {

// A conclusion in words, for everything that writes lines: the text report, logs, webhooks. Plain text without colours;
// names are as they came, so whoever prints to a terminal cleans them.

/// The whole conclusion in one line, cleaned and at most 400 bytes: "GPU slowed down by heat (ranks 2-3 on h1): 35 ms
/// of 250 ms a step lost, 96 % sure; 1 more cause". What is blocked comes first. `step_ms`: the median step, 0 =
/// unknown.
std::string headline(const Conclusion& conclusion, double step_ms = 0);

/// "ranks 0-3, 7"; "143 ranks (0, 7, 14, ...)" where there are too many to list.
std::string ranks_text(std::span<const int32_t> ranks);

/// "ranks 2-3 on trn-a167 (host trn-a167/gpu 2)". `hosts`: of the ranks; the diagnosis's own where it has some.
std::string where_text(const Diagnosis& diagnosis, std::span<const std::string> hosts = {});

/// "35 ms of 250 ms a step"; empty where nothing was lost. `step_ms` ≤ 0: unknown.
std::string lost_text(const Diagnosis& diagnosis, double step_ms);

/// "47 GPU-s an hour", "48 GPU-min …", "140 GPU-h …"; empty for nothing.
std::string gpu_time_text(double seconds_per_hour);

/// "all_reduce number 1234 of group dp: ranks 0-6 wait for rank 7"
std::string blocked_text(const Blocked& blocked);

}  // namespace eroica
