#include "compare/workload.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>

#include "pattern/python_path.h"

namespace eroica {
namespace {

bool contains_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return text.find(part) != std::string_view::npos; });
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// cuBLAS, CUTLASS, cuDNN, rocBLAS/Tensile (Cijk_…), Triton and torch names of matrix work.
bool is_matrix(std::string_view name) {
  return contains_any(name, {"gemm",      "cutlass",  "cijk_",     "xmma",     "wgmma",      "matmul", "::mm",
                             "::addmm",   "::bmm",    "::baddbmm", "::linear", "conv",       "flash",  "fmha",
                             "attention", "winograd", "cudnn",     "nvjet",    "grouped_mm", "einsum"}) &&
         !contains_any(name, {"convert", "to_copy"});
}

// Single-precision kernels on the ordinary cores: cuBLAS *sgemm*, CUTLASS simt, Tensile with _SB_.
bool is_simt(std::string_view name) {
  return contains_any(name, {"sgemm", "simt", "_sb_mt", "_sb_"}) &&
         !contains_any(name, {"tf32", "s1688", "s16816", "tensorop", "bf16", "f16"});
}

// What Python code that walks over the elements of a tensor makes of it.
bool is_scalar_access(std::string_view name) {
  return contains_any(name, {"::item", "_local_scalar_dense", "::select", "::unbind", "::is_nonzero", "::as_strided"});
}

// Python frames whose own time passes in waiting for a device, another thread or another process.
bool is_wait(std::string_view name) {
  return contains_any(name, {"run_backward", "synchronize", "item", "wait", "acquire", "select", "poll", "recv",
                             "is_completed", "barrier", "tolist", "nonzero", "cpu"});
}

}  // namespace

void classify(const FunctionName& name, JobFunction& function) {
  const std::string text = lower(name.full.empty() ? name.text : name.full);
  if (function.kind == FunctionKind::kCompute) {
    function.workload = is_matrix(text) ? Workload::kMatrix : Workload::kMemoryBound;
    function.scalar = is_scalar_access(text);
    function.simt = function.workload == Workload::kMatrix && is_simt(text);
  }
  if (function.kind == FunctionKind::kPython) {
    function.user_code = !name.file.empty() && !canonical_python_path(name.file).framework;
    function.waits = name.file.empty() && is_wait(text);
  }
}

}  // namespace eroica
