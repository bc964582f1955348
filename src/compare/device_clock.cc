#include "compare/device_clock.h"

#include <array>

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

}  // namespace eroica
