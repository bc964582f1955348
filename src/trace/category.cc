#include "trace/category.h"

#include "trace/json_text.h"

namespace eroica {

Category category_of(std::string_view cat) {
  const auto among = [cat](const auto&... names) { return (is(cat, names) || ...); };
  switch (cat.size()) {
    case 3:
      return is(cat, "hip") ? Category::kRuntime : Category::kOther;
    case 5:
      return is(cat, "Trace") ? Category::kTraceSpan : Category::kOther;
    case 6:
      if (is(cat, "cpu_op")) return Category::kOperator;
      if (among("kernel", "Kernel", "hpu_op")) return Category::kKernel;
      if (is(cat, "Python")) return Category::kPython;
      if (is(cat, "Memcpy")) return Category::kMemcpy;
      return is(cat, "Memset") ? Category::kMemset : Category::kOther;
    case 7:
      return is(cat, "Runtime") ? Category::kRuntime : Category::kOther;
    case 8:
      if (is(cat, "Operator")) return Category::kOperator;
      return is(cat, "overhead") ? Category::kOverhead : Category::kOther;
    case 9:
      return is(cat, "cuda_sync") ? Category::kSync : Category::kOther;
    case 10:
      if (is(cat, "gpu_memcpy")) return Category::kMemcpy;
      if (is(cat, "gpu_memset")) return Category::kMemset;
      if (is(cat, "cuda_event")) return Category::kSync;
      return among("hip_driver", "xpu_driver") ? Category::kDriver : Category::kOther;
    case 11:
      if (is(cat, "cuda_driver")) return Category::kDriver;
      return among("xpu_runtime", "hip_runtime", "hpu_runtime") ? Category::kRuntime : Category::kOther;
    case 12:
      return among("cuda_runtime", "mtia_runtime", "glow_runtime") ? Category::kRuntime : Category::kOther;
    case 15:
      if (is(cat, "python_function")) return Category::kPython;
      if (is(cat, "user_annotation")) return Category::kAnnotation;
      return is(cat, "mtia_ccp_events") ? Category::kKernel : Category::kOther;
    case 18:
      if (is(cat, "privateuse1_kernel")) return Category::kKernel;
      return is(cat, "privateuse1_driver") ? Category::kDriver : Category::kOther;
    case 19:
      if (is(cat, "gpu_user_annotation")) return Category::kGpuAnnotation;
      return is(cat, "privateuse1_runtime") ? Category::kRuntime : Category::kOther;
    default:
      return Category::kOther;
  }
}

bool on_device(Category category) {
  return category == Category::kKernel || category == Category::kMemcpy || category == Category::kMemset ||
         category == Category::kSync || category == Category::kGpuAnnotation;
}

}  // namespace eroica
