#include <fmt/format.h>
#include <unistd.h>

#include <map>
#include <utility>

#include "sample/fields.h"
#include "sample/one_thread.h"
#include "sample/process_text.h"
#include "sample/sample_source.h"

namespace eroica {
namespace {

constexpr double kPerNs = 1e-9;

std::string rank_entity(int32_t rank) { return fmt::format("rank {}", rank); }

/// Is it a thread that moves data between ranks? Those are looked at one by one.
bool communicates(std::string_view thread) {
  return thread.starts_with("NCCL") || thread.starts_with("pt_nccl") || thread.starts_with("RCCL");
}

void tell(const std::string& entity, const SchedStat& used, SampleLog& log) {
  log.growth(entity, "cpu.run", "cores", used.run_ns, kPerNs);
  log.growth(entity, "cpu.runnable_wait", "cores", used.wait_ns, kPerNs);
}

class Workers : public SampleSource {
 public:
  Workers(const SystemFiles& files, const ProcessTree& tree) : files_(files), tree_(tree) {}

  void sample(SampleLog& log) override {
    for (const LoaderWorker& worker : tree_.workers()) {
      auto found = threads_.find(worker.pid);
      if (found == threads_.end()) {
        if (threads_.size() >= kMostWorkers) continue;
        const std::string entity = fmt::format("rank {}/worker {}", worker.rank, met_[worker.rank]++);
        found = threads_.emplace(worker.pid, OneThread(files_, worker.pid, entity)).first;
      }
      OneThread& thread = found->second;
      if (const std::optional<SchedStat> booked = thread.booked()) tell(thread.entity(), *booked, log);
      if (const std::optional<TaskStat> stat = thread.stat()) thread.tell_blocked(*stat, log);
    }
  }

 private:
  static constexpr size_t kMostWorkers = 128;  // each keeps two files open

  const SystemFiles& files_;
  const ProcessTree& tree_;
  std::map<pid_t, OneThread> threads_;
  std::map<int32_t, int32_t> met_;  // of each rank
};

/// All threads of a rank together, and what the kernel books for the process as a whole.
class RankProcesses : public SampleSource {
 public:
  RankProcesses(const SystemFiles& files, const SampledJob& job) : files_(files) {
    for (const SampledRank& rank : job.ranks) processes_.emplace_back(rank.pid, rank_entity(rank.rank));
  }

  void sample(SampleLog& log) override {
    for (Process& process : processes_) {
      sample_threads(process, log);
      sample_process(process, log);
    }
  }

 private:
  struct Thread {
    SchedStat seen;
    std::string name;
    bool here = false;
  };
  struct Process {
    Process(pid_t of, std::string named) : pid(of), entity(std::move(named)) {}
    pid_t pid;
    std::string entity;
    std::map<std::string, Thread> threads;     // by number
    std::map<std::string, SchedStat> by_name;  // of those that communicate
    SchedStat all;                             // what ended threads used included
    bool looked = false;
  };

  void sample_threads(Process& process, SampleLog& log) {
    const std::string folder = fmt::format("/proc/{}/task/", process.pid);
    const std::vector<std::string> numbers = files_.list(folder);
    if (numbers.empty()) return;
    bool any_told = false;
    for (auto& [number, thread] : process.threads) thread.here = false;
    for (const std::string& number : numbers) {
      if (!files_.read(folder + number + "/schedstat", text_)) continue;
      const std::optional<SchedStat> now = parse_schedstat(text_);
      if (!now) continue;
      any_told = true;
      auto [found, is_new] = process.threads.try_emplace(number);
      Thread& thread = found->second;
      if (is_new) {
        std::string_view name = files_.read(folder + number + "/comm", text_) ? std::string_view(text_) : "";
        thread.name = take_line(name);
        if (!process.looked) thread.seen = *now;
      }
      add_growth(thread.seen, *now, process.all);
      if (communicates(thread.name)) add_growth(thread.seen, *now, process.by_name[thread.name]);
      thread.seen = *now;
      thread.here = true;
    }
    std::erase_if(process.threads, [](const auto& entry) { return !entry.second.here; });
    if (!any_told) return;
    process.looked = true;
    tell(process.entity, process.all, log);
    for (const auto& [name, used] : process.by_name) tell(process.entity + "/thread " + name, used, log);
  }

  static void add_growth(const SchedStat& before, const SchedStat& now, SchedStat& sum) {
    if (now.run_ns > before.run_ns) sum.run_ns += now.run_ns - before.run_ns;
    if (now.wait_ns > before.wait_ns) sum.wait_ns += now.wait_ns - before.wait_ns;
  }

  void sample_process(const Process& process, SampleLog& log) {
    if (files_.read(fmt::format("/proc/{}/stat", process.pid), text_)) {
      if (const std::optional<TaskStat> stat = parse_task_stat(text_)) {
        log.level(process.entity, "process.threads", "count", static_cast<double>(stat->threads));
        log.level(process.entity, "memory.rss", "bytes", static_cast<double>(stat->resident_pages) * page_bytes_);
        log.growth(process.entity, "memory.major_faults", "per_s", stat->major_faults);
      }
    }
    if (files_.read(fmt::format("/proc/{}/io", process.pid), text_)) {
      if (const std::optional<ProcessIo> io = parse_process_io(text_)) {
        log.growth(process.entity, "disk.read", "bytes_per_s", io->read_bytes);
        log.growth(process.entity, "disk.write", "bytes_per_s", io->write_bytes);
      }
    }
  }

  const SystemFiles& files_;
  std::vector<Process> processes_;
  double page_bytes_ = static_cast<double>(sysconf(_SC_PAGESIZE));
  std::string text_;
};

class Affinity : public SampleSource {
 public:
  Affinity(const SystemFiles& files, const SampledJob& job) : files_(files), job_(job) {}

  void sample(SampleLog& log) override {
    for (const SampledRank& rank : job_.ranks) {
      const std::string status = files_.read(fmt::format("/proc/{}/status", rank.pid));
      if (const std::optional<uint64_t> cpus = parse_allowed_cpus(status)) {
        log.level(rank_entity(rank.rank), "cpu.allowed", "count", static_cast<double>(*cpus));
      }
    }
  }

 private:
  const SystemFiles& files_;
  const SampledJob& job_;
};

}  // namespace

std::unique_ptr<SampleSource> rank_process_source(const SystemFiles& files, const SampledJob& job) {
  return std::make_unique<RankProcesses>(files, job);
}

std::unique_ptr<SampleSource> affinity_source(const SystemFiles& files, const SampledJob& job) {
  return std::make_unique<Affinity>(files, job);
}

std::unique_ptr<SampleSource> worker_source(const SystemFiles& files, const ProcessTree& tree) {
  return std::make_unique<Workers>(files, tree);
}

}  // namespace eroica
