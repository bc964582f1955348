#include "pattern/pattern.h"

namespace eroica {

// No default: the compiler names the enumerator that is missing.
std::string_view function_kind_name(FunctionKind kind) {
  switch (kind) {
    case FunctionKind::kCompute: return "compute";
    case FunctionKind::kMemory: return "memory";
    case FunctionKind::kCollective: return "collective";
    case FunctionKind::kPython: return "python";
    case FunctionKind::kFetch: return "fetch";
    case FunctionKind::kOperator: return "operator";
    case FunctionKind::kRuntime: return "runtime";
    case FunctionKind::kSync: return "sync";
  }
  return "unknown";
}

std::string_view time_class_name(TimeClass time_class) {
  switch (time_class) {
    case TimeClass::kCompute: return "compute";
    case TimeClass::kMemory: return "memory";
    case TimeClass::kCommunication: return "communication";
    case TimeClass::kDataloader: return "dataloader";
    case TimeClass::kPython: return "python";
    case TimeClass::kLaunch: return "launch";
    case TimeClass::kSync: return "sync";
    case TimeClass::kIdle: return "idle";
  }
  return "unknown";
}

}  // namespace eroica
