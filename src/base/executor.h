#pragma once

#include <cstddef>
#include <functional>

namespace eroica {

/// Runs work on the caller's threads; the pure stages take one instead of starting threads themselves.
class Executor {
 public:
  virtual ~Executor() = default;
  /// Calls body(0) … body(count − 1), in any order and possibly at once; returns when all are done.
  virtual void parallel_for(size_t count, const std::function<void(size_t)>& body) = 0;
};

}  // namespace eroica
