#include "trace/category.h"

#include <algorithm>
#include <array>
#include <utility>

namespace eroica {
namespace {

// By length, then in the order of what is most frequent.
constexpr auto kNames = std::to_array<std::pair<std::string_view, Category>>({
    {"hip", Category::kRuntime},
    {"cpu_op", Category::kOperator},
    {"kernel", Category::kKernel},
    {"Kernel", Category::kKernel},
    {"Python", Category::kPython},
    {"Memcpy", Category::kMemcpy},
    {"Memset", Category::kMemset},
    {"hpu_op", Category::kKernel},
    {"Trace", Category::kTraceSpan},
    {"Runtime", Category::kRuntime},
    {"Operator", Category::kOperator},
    {"overhead", Category::kOverhead},
    {"cuda_sync", Category::kSync},
    {"gpu_memcpy", Category::kMemcpy},
    {"gpu_memset", Category::kMemset},
    {"cuda_event", Category::kSync},
    {"hip_driver", Category::kDriver},
    {"xpu_driver", Category::kDriver},
    {"cuda_driver", Category::kDriver},
    {"xpu_runtime", Category::kRuntime},
    {"hip_runtime", Category::kRuntime},
    {"hpu_runtime", Category::kRuntime},
    {"cuda_runtime", Category::kRuntime},
    {"mtia_runtime", Category::kRuntime},
    {"glow_runtime", Category::kRuntime},
    {"python_function", Category::kPython},
    {"user_annotation", Category::kAnnotation},
    {"mtia_ccp_events", Category::kKernel},
    {"gpu_user_annotation", Category::kGpuAnnotation},
    {"privateuse1_kernel", Category::kKernel},
    {"privateuse1_driver", Category::kDriver},
    {"privateuse1_runtime", Category::kRuntime},
});

}  // namespace

Category category_of(std::string_view cat) {
  const auto* found = std::find_if(kNames.begin(), kNames.end(), [&](const auto& entry) { return entry.first == cat; });
  return found == kNames.end() ? Category::kOther : found->second;
}

bool on_device(Category category) {
  return category == Category::kKernel || category == Category::kMemcpy || category == Category::kMemset ||
         category == Category::kSync || category == Category::kGpuAnnotation;
}

}  // namespace eroica
