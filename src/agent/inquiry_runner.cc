#include "agent/inquiry_runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>

#include "agent/own_file.h"

namespace eroica {
namespace {

constexpr int64_t kDeadlineNs = 5'000'000'000;
constexpr int64_t kMostRecorderBytes = int64_t{256} << 20;
constexpr int64_t kMostStackBytes = int64_t{4} << 20;

}  // namespace

void InquiryRunner::begin(const RankTable& ranks, const DetectorEvent& cause, int64_t now_ns) {
  if (active_) return;
  active_ = true;
  cause_ = cause;
  deadline_ns_ = now_ns + kDeadlineNs;
  asked_.clear();
  ++count_;
  for (const auto& [number, rank] : ranks.all()) {
    Asked asked;
    asked.found.rank = number;
    asked.found.host = rank.hello.host;
    asked.found.pid = rank.pid;
    asked.found.left = rank.left;
    asked.found.last_step = rank.last_step;
    asked.found.process = read_process_state(rank.pid);
    if (asked.found.process.start_ticks != rank.start_ticks) asked.found.process = {};  // a later process
    if (!asked.found.process.dead() && !asked.found.process.stopped()) {
      const std::string request = fmt::format("recorder-{}-{}", count_, number);
      asked.recorder_path = fmt::format("{}/{}.json", traces_, request);
      const std::string command = encode_flight_recorder(request, asked.recorder_path);
      if (rank.hello.flight_recorder && probes_->send(fmt::format("{}/probe-{}", sockets_, rank.name), command) == 0) {
        asked.request = request;
      }
      const int signal = rank.hello.stack_signal;
      const std::string path = sockets_ + "/" + rank.hello.stack_file;
      if (!rank.hello.stack_file.empty() && signal >= SIGRTMIN && signal <= SIGRTMAX) {
        asked.stack_offset = std::max<int64_t>(0, file_size(path));
        asked.stack_size = asked.stack_offset;
        if (catches_signal(rank.pid, signal) && kill(rank.pid, signal) == 0) asked.stack_path = path;
      }
    }
    asked_.push_back(std::move(asked));
  }
}

void InquiryRunner::reply(int32_t rank, const ReplyMessage& reply) {
  for (Asked& asked : asked_) {
    if (asked.found.rank != rank || asked.request.empty() || asked.request != reply.request) continue;
    asked.request.clear();
    if (!reply.ok) continue;
    asked.found.groups = parse_recorder(read_own_file(asked.recorder_path, 0, kMostRecorderBytes));
    asked.found.recorder_known = true;
    unlink(asked.recorder_path.c_str());
  }
}

/// A listing is whole when nothing comes any more.
void InquiryRunner::look_at_stack(Asked& asked, bool is_last_look) {
  if (asked.stack_path.empty()) return;
  const int64_t size = file_size(asked.stack_path);
  const bool whole = size > asked.stack_offset && size == asked.stack_size;
  asked.stack_size = size;
  if (!whole && !(is_last_look && size > asked.stack_offset)) return;
  asked.found.stack = main_stack(read_own_file(asked.stack_path, asked.stack_offset, kMostStackBytes));
  asked.stack_path.clear();
}

std::optional<JobInquired> InquiryRunner::tick(const RankTable& ranks, int64_t now_ns) {
  if (!active_) return std::nullopt;
  const bool is_last_look = now_ns >= deadline_ns_;
  for (Asked& asked : asked_) look_at_stack(asked, is_last_look);
  const bool waits = std::ranges::any_of(
      asked_, [](const Asked& asked) { return !asked.request.empty() || !asked.stack_path.empty(); });
  if (waits && !is_last_look) return std::nullopt;
  return finish(ranks);
}

JobInquired InquiryRunner::finish(const RankTable& ranks) {
  active_ = false;
  JobInquired result;
  result.cause = std::move(cause_);
  BlockedInquiry& inquiry = result.inquiry;
  inquiry.world_size = ranks.world_size();
  inquiry.silent_s = result.cause.blocked.silent_s;
  inquiry.mean_step_s = result.cause.blocked.mean_step_s;
  inquiry.groups = ranks.process_groups();
  for (Asked& asked : asked_) inquiry.ranks.push_back(std::move(asked.found));
  asked_.clear();
  return result;
}

}  // namespace eroica
