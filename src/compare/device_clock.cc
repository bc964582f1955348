#include "compare/device_clock.h"

#include <algorithm>
#include <array>
#include <map>

namespace eroica {
namespace {

struct Model {
  std::string_view name;
  double hz;
};

// NVIDIA's and AMD's data sheets: "boost clock", "peak engine clock".
constexpr std::array<Model, 11> kModels{{{"A100", 1.41e9},
                                         {"A800", 1.41e9},
                                         {"H100", 1.98e9},
                                         {"H200", 1.98e9},
                                         {"H800", 1.98e9},
                                         {"B200", 1.965e9},
                                         {"GB200", 1.965e9},
                                         {"V100", 1.53e9},
                                         {"MI300X", 2.1e9},
                                         {"MI250", 1.7e9},
                                         {"MI325X", 2.1e9}}};

}  // namespace

double boost_clock_hz(std::string_view device) {
  for (const Model& model : kModels) {
    if (device.find(model.name) != std::string_view::npos) return model.hz;
  }
  return 0;
}

std::vector<double> clock_deficits(const Job& job) {
  std::vector<double> deficits(job.ranks.size());
  const Signal* clock = job.signal("gpu.sm_clock");
  if (clock == nullptr) return deficits;
  std::map<uint32_t, double> highest;  // by model
  for (const SignalValue& value : clock->values) {
    const Entity& entity = job.entities[value.entity];
    if (entity.ranks.empty()) continue;
    const uint32_t model = job.ranks[entity.ranks.front()].device;
    const auto [found, is_new] = highest.try_emplace(model, 0.0);
    if (is_new) found->second = boost_clock_hz(job.words[model]);
    found->second = std::max<double>(found->second, value.maximum);
  }
  for (const SignalValue& value : clock->values) {
    for (const uint32_t rank : job.entities[value.entity].ranks) {
      const double reach = highest[job.ranks[rank].device];
      if (value.mean > 0 && reach > 0) deficits[rank] = std::max(0.0, 1 - value.mean / reach);
    }
  }
  return deficits;
}

}  // namespace eroica
