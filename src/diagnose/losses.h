#pragma once

#include <vector>

#include "compare/comparison.h"
#include "diagnose/select.h"

namespace eroica {

/// Part of a step that each rank saves when all of `claims` are gone, or all but one of them; by index in Job::ranks.
/// Claims about time of the same class explain the same time, others add up.
std::vector<double> saved_together(const Job& job, const std::vector<Selected>& claims, const Selected* but = nullptr);

/// What one of `claims` costs beside the others, in ms a step: how much shorter steps are without all of them than
/// without all others.
/// `joint_ms`: what saved_together() of all of them gains.
double lost_ms(const Comparison& now, const std::vector<Selected>& claims, const Selected& claim, double joint_ms);

/// Makes hints of claims that cost nothing once the others are gone: they are effects of those. Of several the least
/// sure goes first, since of two that explain the same time each costs nothing beside the other.
void doubt_costless(const Comparison& now, std::vector<Selected>& claims, std::vector<Selected>& hints);

}  // namespace eroica
