#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "diagnose/diagnosis.h"

namespace eroica {

/// Which ranks' ends were told of, so that each is told once: how a process ended is heard from the kernel, and again
/// from those that wait for it.
class ToldEnds {
 public:
  using Pids = std::map<int32_t, pid_t>;  ///< of ranks

  /// Whether all that the conclusion claims is that ranks stand still or are dead whose ends were told before.
  [[nodiscard]] bool holds(const Conclusion& conclusion, const Pids& pids) const;
  /// The conclusion is told.
  void add(const Conclusion& conclusion, const Pids& pids);

 private:
  Pids told_;
};

}  // namespace eroica
