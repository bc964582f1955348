#pragma once

#include "simulate/sample_document.h"
#include "simulate/timeline.h"

namespace eroica {

/// What all samplers of a host share.
struct SamplerScene {
  const Plant& plant;
  const JobProgram& program;
  const Timeline& timeline;
  WindowSpan window;
  int64_t fast_ns;   ///< periods: of the GPU's use,
  int64_t usual_ns;  ///< of the host's,
  int64_t slow_ns;   ///< and of what hardly changes
};

/// A number with the noise of a sensor, never below 0.
inline double sensed(Random& random, double value, double sigma) {
  return value * std::max(0.0, 1 + sigma * random.normal());
}
/// A small rate that fluctuates around its mean.
inline double flicker(Random& random, double mean) { return mean * random.uniform(0.35, 1.65); }

void sample_gpu(SampleDocument& document, const SamplerScene& scene, int rank);
void sample_rank(SampleDocument& document, const SamplerScene& scene, int rank);
void sample_host(SampleDocument& document, const SamplerScene& scene, int host);
void sample_nics(SampleDocument& document, const SamplerScene& scene, int host);

}  // namespace eroica
