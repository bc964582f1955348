#pragma once

#include <string>
#include <vector>

#include "simulate/simulate.h"
#include "simulate/timeline.h"

namespace eroica {

/// bundle.json, traces and samples of one run, their paths below `folder` ("" or "baseline/").
std::vector<SimulatedFile> write_bundle(const Plant& plant, const JobProgram& program, const Timeline& timeline,
                                        const SimulateRequest& request, const std::string& folder);

/// truth.json.
std::string truth_json(const Plant& plant, const SimulateRequest& request, const SimulatedTruth& truth);

}  // namespace eroica
