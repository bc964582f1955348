#include "sample/perf_switches.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <set>
#include <string>
#include <utility>

#include "base/descriptor.h"

namespace eroica {
namespace {

// 20,000 switches a second fill a ring of a thread in 0.2 s, one of a CPU in 0.3 s.
constexpr size_t kThreadBytes = size_t{256} << 10;
constexpr size_t kCpuBytes = size_t{512} << 10;
constexpr size_t kLeastBytes = size_t{16} << 10;
constexpr long kMostCpus = 128;

int open_switches(pid_t tid, int cpu) {
  perf_event_attr wanted{};
  wanted.size = sizeof wanted;
  wanted.type = PERF_TYPE_SOFTWARE;
  wanted.config = PERF_COUNT_SW_DUMMY;  // counts nothing
  wanted.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  wanted.sample_id_all = 1;
  wanted.context_switch = 1;
  wanted.exclude_kernel = 1;
  wanted.use_clockid = 1;
  wanted.clockid = CLOCK_MONOTONIC;
  return static_cast<int>(syscall(SYS_perf_event_open, &wanted, tid, cpu, -1, PERF_FLAG_FD_CLOEXEC));
}

/// An event with the memory that the kernel writes its records into.
class Ring {
 public:
  /// Takes less memory where `bytes` (a power of 2) is more than this user may have. `tid` −1: all threads. errno says
  /// why it is not open.
  Ring(pid_t tid, int cpu, size_t bytes) : file_(open_switches(tid, cpu)) {
    for (; file_.number() >= 0 && bytes >= std::max(kLeastBytes, page_bytes_); bytes /= 2) {
      memory_ = mmap(nullptr, bytes + page_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.number(), 0);
      if (memory_ != MAP_FAILED) {
        data_bytes_ = bytes;
        return;
      }
    }
  }
  Ring(Ring&& other) noexcept
      : file_(std::move(other.file_)),
        memory_(std::exchange(other.memory_, MAP_FAILED)),
        data_bytes_(other.data_bytes_) {}
  Ring& operator=(Ring&&) = delete;
  ~Ring() {
    if (memory_ != MAP_FAILED) munmap(memory_, data_bytes_ + page_bytes_);
  }

  [[nodiscard]] bool is_open() const { return memory_ != MAP_FAILED; }

  /// What was written since the last time.
  void take(std::string& records) {
    auto* page = static_cast<perf_event_mmap_page*>(memory_);
    const uint64_t head = std::atomic_ref(page->data_head).load(std::memory_order_acquire);
    const uint64_t tail = page->data_tail;
    const char* data = static_cast<const char*>(memory_) + page_bytes_;
    const auto length = static_cast<size_t>(std::min<uint64_t>(head - tail, data_bytes_));
    const size_t from = tail % data_bytes_;
    const size_t until_end = std::min(length, data_bytes_ - from);
    records.assign(data + from, until_end);
    records.append(data, length - until_end);
    std::atomic_ref(page->data_tail).store(head, std::memory_order_release);
  }

 private:
  size_t page_bytes_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  Descriptor file_;
  void* memory_ = MAP_FAILED;
  size_t data_bytes_ = 0;
};

class PerfSwitches : public SwitchFeed {
 public:
  PerfSwitches(const std::vector<pid_t>& threads, bool may_be_all) {
    if (may_be_all && open_all_cpus()) {
      of_all_ = true;
      told_.insert(threads.begin(), threads.end());
      return;
    }
    for (const pid_t tid : threads) {
      Ring ring(tid, -1, kThreadBytes);
      if (ring.is_open()) {
        rings_.push_back(std::move(ring));
        told_.insert(tid);
      } else if (errno != ESRCH) {
        problem_ = fmt::format("perf_event_open is refused: {}", std::strerror(errno));
      }
    }
    if (problem_.empty()) problem_ = all_problem_;
  }

  bool take(int64_t until_ns, std::vector<Switch>& into) override {
    uint64_t lost = 0;
    for (Ring& ring : rings_) {
      ring.take(records_);
      decoded_.clear();
      lost += decode_switches(records_, decoded_);
      std::ranges::copy_if(decoded_, std::back_inserter(held_),
                           [this](const Switch& one) { return told_.contains(one.tid); });
    }
    // What came later may lack what came before it in another ring, which was read earlier.
    std::ranges::stable_sort(held_, {}, &Switch::at_ns);
    const auto later = std::ranges::upper_bound(held_, until_ns, {}, &Switch::at_ns);
    into.insert(into.end(), held_.begin(), later);
    held_.erase(held_.begin(), later);
    lost_ += lost;
    return lost == 0;
  }

  [[nodiscard]] uint64_t lost() const override { return lost_; }
  [[nodiscard]] bool tells_of(pid_t tid) const override { return told_.contains(tid); }
  [[nodiscard]] bool tells_others() const override { return of_all_; }
  [[nodiscard]] const std::string& problem() const override { return problem_; }

 private:
  bool open_all_cpus() {
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    if (cpus > kMostCpus) {
      all_problem_ = fmt::format("{} CPUs are too many to record all switches", cpus);
      return false;
    }
    for (int cpu = 0; cpu < cpus; ++cpu) {
      Ring ring(-1, cpu, kCpuBytes);
      if (ring.is_open()) {
        rings_.push_back(std::move(ring));
      } else if (errno != ENODEV) {  // a CPU that is switched off
        const bool refused = errno == EACCES || errno == EPERM;
        all_problem_ = refused ? "who ran instead is told with CAP_PERFMON only"
                               : fmt::format("who ran instead is not told: {}", std::strerror(errno));
        rings_.clear();
        return false;
      }
    }
    return !rings_.empty();
  }

  std::vector<Ring> rings_;
  std::set<pid_t> told_;
  bool of_all_ = false;
  std::string problem_;
  std::string all_problem_;
  uint64_t lost_ = 0;
  std::vector<Switch> held_;
  std::vector<Switch> decoded_;
  std::string records_;
};

}  // namespace

std::unique_ptr<SwitchFeed> perf_switches(const std::vector<pid_t>& threads) {
  return std::make_unique<PerfSwitches>(threads, true);
}

std::unique_ptr<SwitchFeed> perf_thread_switches(const std::vector<pid_t>& threads) {
  return std::make_unique<PerfSwitches>(threads, false);
}

}  // namespace eroica
