#pragma once

#include <cstddef>

#include "base/executor.h"

namespace eroica {

/// Runs bodies on up to `threads` threads, the caller's among them; indices are taken in order. An exception of a body
/// stops the taking of further indices and is thrown again to the caller.
class ThreadExecutor : public Executor {
 public:
  explicit ThreadExecutor(size_t threads) : threads_(threads < 1 ? 1 : threads) {}
  void parallel_for(size_t count, const std::function<void(size_t)>& body) override;

 private:
  size_t threads_;
};

/// As many threads as this process may run on.
size_t available_cores();

}  // namespace eroica
