#include "sample/one_thread.h"

#include <fmt/format.h>

#include <utility>

namespace eroica {

OneThread::OneThread(const SystemFiles& files, pid_t pid, std::string entity)
    : entity_(std::move(entity)),
      schedule_(files, fmt::format("/proc/{0}/task/{0}/schedstat", pid)),
      stat_(files, fmt::format("/proc/{0}/task/{0}/stat", pid)) {}

std::optional<SchedStat> OneThread::booked() { return schedule_.read(text_) ? parse_schedstat(text_) : std::nullopt; }

std::optional<TaskStat> OneThread::stat() { return stat_.read(text_) ? parse_task_stat(text_) : std::nullopt; }

void OneThread::tell_blocked(const TaskStat& stat, SampleLog& log) const {
  log.level(entity_, "io.blocked", "fraction", stat.state == 'D' ? 1 : 0);
}

}  // namespace eroica
