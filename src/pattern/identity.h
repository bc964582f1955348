#pragma once

#include <string>
#include <string_view>

#include "pattern/pattern.h"

namespace eroica {

/// A raw event name made stable between ranks, runs and machines.
struct CanonicalName {
  std::string text;        ///< short, for people: templates shortened, addresses and ids removed
  std::string full;        ///< whole canonical text where `text` was shortened, else empty
  std::string file;        ///< Python frames: path relative to its package (site-packages, lib/pythonX) or project
  int32_t line = 0;        ///< Python frames: as written; not part of the identity
  std::string function;    ///< Python frames: the function's name
  bool framework = false;  ///< Python frames of torch, the standard library, launchers: not the user's code
};

/// `file(line): func`, `<built-in method run_backward of torch._C._EngineBase object at 0x7f1ff37a7010>`,
/// `nn.Module: Linear_5` … → identity. Memory addresses, object and process ids, temporary and home folders, hash
/// suffixes of generated code and version noise are removed. For frames `text` is the function's name alone and stands
/// beside `file`; built-ins are `Type.method` or `function` without a file and, like nn.Module marks, framework.
/// How files are made stable and which are framework: python_path.h.
CanonicalName canonical_python(std::string_view raw);

/// Kernels: return type and argument list dropped, templates shortened in `text` (one telling argument each, no
/// at::native) and kept whole in `full`, generated numbers (triton_poi_fused_…_12, addresses, lambda numbering) made
/// stable.
CanonicalName canonical_kernel(std::string_view raw);

/// Operators, annotations, runtime calls, copies: step numbers, addresses, thread ids and content hashes removed.
CanonicalName canonical_operator(std::string_view raw);

/// Hash of a function: kind, canonical full text, file, and for Python the hash of its caller's path.
uint64_t function_hash(FunctionKind kind, const CanonicalName& name, uint64_t path_hash = 0);

}  // namespace eroica
