#include "cli/executor.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace eroica {

void ThreadExecutor::parallel_for(size_t count, const std::function<void(size_t)>& body) {
  std::atomic<size_t> next{0};
  std::mutex failure_guard;
  std::exception_ptr failure;
  const auto work = [&] {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) {
      try {
        body(i);
      } catch (...) {
        const std::lock_guard lock(failure_guard);
        if (!failure) failure = std::current_exception();
        next.store(count);
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (size_t i = 1; i < std::min(threads_, count); ++i) helpers.emplace_back(work);
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

size_t available_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    return std::max<size_t>(static_cast<size_t>(CPU_COUNT(&set)), 1);
  }
  return std::max<size_t>(std::thread::hardware_concurrency(), 1);
}

}  // namespace eroica
