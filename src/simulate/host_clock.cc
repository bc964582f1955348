#include "simulate/host_clock.h"

#include <array>

#include "simulate/random.h"

namespace eroica {

HostClock host_clock(const Plant& plant, int host) {
  Random job(plant.job.seed, "epoch");
  HostClock clock;
  const int64_t epoch_s = 1'772'000'000 + job.integer(0, 20'000'000);
  clock.base_unix_ns = (epoch_s - job.integer(3600, 90'000)) * 1'000'000'000;
  // Within one job clocks are wrong by about as much: some ms with PTP, seconds or an hour without anything.
  const double scale_ns = job.pick(std::array{2e6, 15e6, 60e6, 900e6, 3600e9});
  Random own(plant.job.seed, "clock", host);
  const double error_ns = host == 0 ? 0 : own.uniform(-1, 1) * scale_ns;
  clock.offset_ns =
      epoch_s * 1'000'000'000 + job.integer(0, 999'999'999) - clock.base_unix_ns + static_cast<int64_t>(error_ns);
  clock.rate = 1 + own.uniform(-1, 1) * (60e-6 + plant.clock_ppm_extra * 1e-6);
  if (plant.clock_ppm_extra > 0) clock.rate = 1 + (host % 2 == 0 ? -1 : 1) * plant.clock_ppm_extra * 1e-6;
  return clock;
}

}  // namespace eroica
