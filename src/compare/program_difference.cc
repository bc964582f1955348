#include "compare/program_difference.h"

#include <algorithm>
#include <cmath>

namespace eroica {
namespace {

// Ranks differ in speed, and what takes less than kLeastTellingShare is not kept of one of them.
constexpr double kTelling = 4 * kLeastTellingShare;
// A window holds a part of a step more or less on one rank than on another.
constexpr double kCallsApart = 0.75;
constexpr double kPartOfCallsApart = 0.06;
constexpr double kSamePart = 0.03;
constexpr double kOtherProgram = 0.5;
constexpr size_t kMostLeaders = 64;

bool as_often(float a, float b) { return std::abs(a - b) <= std::max(kCallsApart, kPartOfCallsApart * std::max(a, b)); }

}  // namespace

Program program_of(const Job& job, const RankFacts& rank) {
  Program program;
  for (const FunctionUse& use : job.uses_of(rank)) {
    if (job.functions[use.function].kind != FunctionKind::kCompute) continue;
    program.parts.push_back({use.function, use.calls, std::max(use.exposed, use.self) >= kTelling});
  }
  std::sort(program.parts.begin(), program.parts.end(),
            [](const Program::Part& a, const Program::Part& b) { return a.function < b.function; });
  return program;
}

ProgramDifference difference(const Program& a, const Program& b) {
  if (a.parts.empty() || b.parts.empty()) return {};
  size_t all = 0;
  size_t alone = 0;
  size_t less_often = 0;
  auto left = a.parts.begin();
  auto right = b.parts.begin();
  while (left != a.parts.end() || right != b.parts.end()) {
    const bool only_left = right == b.parts.end() || (left != a.parts.end() && left->function < right->function);
    const bool only_right = left == a.parts.end() || (right != b.parts.end() && right->function < left->function);
    if (only_left || only_right) {
      const bool telling = (only_left ? left : right)->telling;
      all += telling ? 1 : 0;
      alone += telling ? 1 : 0;
    } else {
      ++all;
      less_often += as_often(left->calls, right->calls) ? 0 : 1;
    }
    if (!only_right) ++left;
    if (!only_left) ++right;
  }
  if (all == 0) return {};
  const auto of_all = static_cast<double>(all);
  return {static_cast<double>(alone) / of_all, static_cast<double>(alone + less_often) / of_all};
}

bool is_same_part(const ProgramDifference& difference) { return difference.calls <= kSamePart; }

bool is_other_program(const ProgramDifference& difference) { return difference.functions > kOtherProgram; }

std::vector<std::vector<uint32_t>> cluster(const std::vector<Program>& programs,
                                           bool (*belongs)(const ProgramDifference&)) {
  std::vector<std::vector<uint32_t>> clusters;
  size_t asked = 0;  // the clusters that later programs may join
  for (uint32_t i = 0; i < programs.size(); ++i) {
    size_t found = 0;
    while (found < asked && !belongs(difference(programs[clusters[found].front()], programs[i]))) ++found;
    if (found < asked) {
      clusters[found].push_back(i);
      continue;
    }
    clusters.push_back({i});
    if (asked < kMostLeaders && asked + 1 == clusters.size()) ++asked;
  }
  return clusters;
}

}  // namespace eroica
