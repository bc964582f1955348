#pragma once

#include <cstdint>
#include <vector>

#include "compare/job.h"

namespace eroica {

/// The compute that a rank runs and how often: what tells programs and stages apart however long anything takes.
struct Program {
  struct Part {
    uint32_t function = 0;  ///< in Job::functions
    float calls = 0;        ///< a step
    bool telling = false;   ///< takes so much time that on a rank which runs it as often it cannot be overlooked
  };
  std::vector<Part> parts;  ///< by function
};
Program program_of(const Job& job, const RankFacts& rank);

/// How two programs differ: shares of the functions that either runs. 0 = alike; 0 where nothing is known of one.
struct ProgramDifference {
  double functions = 0;  ///< run by one alone
  double calls = 0;      ///< run by one alone, or not as often
};
ProgramDifference difference(const Program& a, const Program& b);

/// Do ranks that differ so run the same part of the same program?
[[nodiscard]] bool is_same_part(const ProgramDifference& difference);
/// … different programs?
[[nodiscard]] bool is_other_program(const ProgramDifference& difference);

/// Groups programs by `belongs`, which is asked of the first of each group; in order of those.
std::vector<std::vector<uint32_t>> cluster(const std::vector<Program>& programs,
                                           bool (*belongs)(const ProgramDifference&));

}  // namespace eroica
