#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sample/gpu_reading.h"
#include "sample/sampled_job.h"
#include "sample/system_files.h"

namespace eroica {

/// A GPU with the processes that compute on it.
struct OccupiedGpu {
  GpuIdentity identity;
  std::optional<std::vector<GpuProcess>> processes;  ///< absent: not told
};

/// Which GPU each rank uses, as a place in `gpus`; ranks of which that is not known are left out. Told by the
/// processes on the GPUs, where `same_pids` says that the driver's numbers are those of the job's ranks; where they
/// show no rank, by what the ranks were told to see (CUDA_VISIBLE_DEVICES and its like) and their place on the host.
/// `vendor`: of these GPUs; ranks that compute on another's have none of them.
std::map<int32_t, size_t> assign_gpus(const std::vector<OccupiedGpu>& gpus, GpuVendor vendor, const SampledJob& job,
                                      bool same_pids);

/// The bus on which a GPU is, however it is written: "00000000:17:00.0" and "0000:17:00.0" are the same.
std::string bus_key(std::string_view bus_id);

/// Here processes have the numbers that drivers know them by.
bool in_host_pid_namespace(const SystemFiles& files);

}  // namespace eroica
