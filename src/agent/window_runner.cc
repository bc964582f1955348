#include "agent/window_runner.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <iterator>
#include <map>
#include <memory>

#include "agent/host_name.h"
#include "agent/live_bundle.h"
#include "agent/nccl_ring.h"
#include "agent/nccl_ring_reader.h"
#include "agent/own_file.h"
#include "base/rank_list.h"

namespace eroica {
namespace {

constexpr size_t kMostGroups = 10'000;  // that an edge of a rank tells of
// Where every function call of busy Python is an event. Ordinary ranks write 3 to 25 MB a second.
constexpr double kHotBytesPerSecond = 40e6;
constexpr double kHotBytes = 100e6;
constexpr double kLeastS = 0.5;
constexpr std::string_view kFront = "rank";
constexpr std::string_view kComplete = ".json";
constexpr std::string_view kSamples = "samples.json";

/// The rank of `rank3.json`, `rank3_1234.json` and their `.tmp`; −1: none.
int32_t rank_of_file(std::string_view name) {
  if (!name.starts_with(kFront)) return -1;
  name.remove_prefix(kFront.size());
  int32_t rank = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
  if (error != std::errc() || end == name.data() + name.size()) return -1;
  return *end == '_' || *end == '.' ? rank : -1;
}

std::string path_of_rank(const std::string& folder, int32_t rank) {
  return fmt::format("{}/{}{}{}", folder, kFront, rank, kComplete);
}

GpuVendor gpus_of(const HelloMessage& hello) {
  if (!hello.hip.empty()) return GpuVendor::kAmd;
  return hello.cuda.empty() ? GpuVendor::kNone : GpuVendor::kNvidia;
}

/// The ranks of this window, for whoever reads this machine's counters.
SampledJob sampled_job(const RankTable& ranks, const std::vector<int32_t>& present) {
  SampledJob job{this_host(), {}, getpid()};
  for (const int32_t number : present) {
    const LiveRank& rank = ranks.all().at(number);
    std::map<std::string, std::string> visible;
    std::ranges::copy_if(rank.hello.env, std::inserter(visible, visible.end()),
                         [](const auto& entry) { return entry.first.ends_with("_VISIBLE_DEVICES"); });
    job.ranks.push_back({.rank = number,
                         .pid = rank.pid,
                         .host = rank.hello.host,
                         .local_rank = rank.hello.local_rank,
                         .gpus = gpus_of(rank.hello),
                         .visible_devices = std::move(visible)});
  }
  return job;
}

/// Those of the window that are still there.
std::vector<NcclRank> nccl_ranks(const RankTable& ranks, const Window& window) {
  std::vector<NcclRank> found;
  for (const auto& [number, rank] : ranks.all()) {
    if (window.ranks().contains(number)) found.push_back({number, rank.name.substr(0, rank.name.find('-'))});
  }
  return found;
}

}  // namespace

void WindowRunner::tell(const LiveRank& rank, const std::string& command) {
  // One that is not there has ended, which shows soon; one whose queue is full misses its edges.
  (void)probes_->send(fmt::format("{}/probe-{}", sockets_, rank.name), command);
}

bool WindowRunner::begin(const RankTable& ranks, double length_s, const DetectorEvent& cause, int64_t now_unix_ns) {
  const std::vector<int32_t> present = ranks.present();
  if (present.empty() || window_) return false;
  std::string id;
  do {  // what an earlier watcher left may still be written to
    id = fmt::format("window-{}", ++count_);
    folder_ = traces_ + "/" + id;
  } while (mkdir(folder_.c_str(), 0700) != 0 && errno == EEXIST);
  if (access(folder_.c_str(), W_OK) != 0) return false;
  edges_.clear();
  notes_.clear();
  for (const int32_t rank : present) {
    const auto rate = bytes_per_second_.find(rank);
    const double most_s = rate == bytes_per_second_.end() ? length_s : policy_.most_mb * 1e6 / rate->second;
    if (most_s >= length_s) continue;
    length_s = std::max(most_s, std::min(kLeastS, length_s));
    notes_.push_back(fmt::format("the window is {:.1f} s long, since rank {} writes {:.0f} MB a second (most_mb)",
                                 length_s, rank, rate->second * 1e-6));
  }
  const WindowPlan plan = plan_window(id, now_unix_ns, length_s);
  cause_ = cause;
  told_rest_ = false;
  step_at_end_ = -1;
  // What may throw comes first: there is no window without its threads.
  if (gpus_.counters.empty()) gpus_ = gpu_feeds(policy_.gpus);
  sampler_ = std::make_unique<WindowSampler>(sampled_job(ranks, present), plan, fmt::format("{}/{}", folder_, kSamples),
                                             gpus_);
  begin_sampling_stacks(plan, ranks, present);
  window_.emplace(plan, present);
  for (const std::string& plugin : nccl_plugins_of(sockets_, nccl_ranks(ranks, *window_))) {
    (void)probes_->send(nccl_socket_in(sockets_, plugin), encode_nccl_request(plan.start_unix_ns, plan.end_unix_ns));
  }
  for (const int32_t number : present) {
    const LiveRank& rank = ranks.all().at(number);
    tell(rank, encode_window(id, plan.start_unix_ns, plan.end_unix_ns));
    if (rank.hello.kineto_daemon) continue;
    if (!rank.hello.profile) window_->failed(number, "its torch cannot be profiled from outside, nor from inside");
  }
  return true;
}

void WindowRunner::begin_sampling_stacks(const WindowPlan& plan, const RankTable& ranks,
                                         const std::vector<int32_t>& present) {
  std::vector<StackSampler::Target> targets;
  std::vector<int32_t> spared;
  std::vector<int32_t> without;
  for (const int32_t number : present) {
    if (policy_.stacks == PythonStacks::kOff || with_stack(number)) continue;
    const pid_t pid = ranks.all().at(number).pid;
    std::string py_spy = find_py_spy(program_of(pid));
    if (hot_.contains(number)) spared.push_back(number);
    if (py_spy.empty()) {
      without.push_back(number);
    } else {
      targets.push_back({number, pid, std::move(py_spy)});
    }
  }
  if (!spared.empty()) {
    notes_.push_back(fmt::format("{}: Python is too busy there for every call to be traced", rank_list(spared)));
  }
  if (!without.empty()) {
    notes_.push_back(
        fmt::format("{}: profiled without Python stacks, since py-spy is not installed", rank_list(without)));
  }
  if (!targets.empty()) stack_sampler_ = std::make_unique<StackSampler>(folder_, plan, std::move(targets));
}

bool WindowRunner::with_shapes(const LiveRank& rank) const {
  return policy_.shapes == InputShapes::kAuto ? !rank.hello.on_gpu() : policy_.shapes == InputShapes::kOn;
}

std::string WindowRunner::configuration_for(const LiveRank& live, int64_t now_unix_ns) const {
  const int32_t rank = live.hello.rank;
  if (!window_ || !window_->is_asked(rank) || !window_->in_time_for_poll(now_unix_ns)) return "";
  const WindowPlan& plan = window_->plan();
  KinetoWindow part;
  part.path = path_of_rank(folder_, rank);
  part.start_unix_ms = plan.start_unix_ns / 1'000'000;
  part.duration_ms = (plan.end_unix_ns - plan.start_unix_ns) / 1'000'000;
  part.with_stack = with_stack(rank);
  part.record_shapes = with_shapes(live);
  return configuration_text(part);
}

/// Ranks that did not poll are asked to start torch.profiler themselves.
void WindowRunner::profile_inside(const RankTable& ranks, int64_t now_unix_ns) {
  if (told_rest_ || !window_->polls_are_over(now_unix_ns)) return;
  told_rest_ = true;
  const WindowPlan& plan = window_->plan();
  for (const auto& [number, rank] : ranks.all()) {
    if (!window_->is_asked(number) || !rank.hello.profile) continue;
    tell(rank, encode_profile(plan.id, path_of_rank(folder_, number), plan.start_unix_ns, plan.end_unix_ns,
                              with_stack(number), with_shapes(rank)));
    window_->armed(number);
    notes_.push_back(fmt::format("rank {} was profiled from inside: it did not ask the agent for work", number));
  }
}

void WindowRunner::reply(int32_t rank, const ReplyMessage& reply) {
  if (!window_ || reply.request != window_->plan().id) return;
  if (!reply.ok) window_->failed(rank, "profiling from inside: " + reply.error);
}

void WindowRunner::edge(int32_t rank, const EdgeMessage& edge) {
  if (!window_ || edge.window != window_->plan().id) return;
  std::optional<WindowEdge>& known = edge.end ? edges_[rank].end : edges_[rank].start;
  if (!known) {
    known = edge.read;
  } else if (known->groups.size() + edge.read.groups.size() <= kMostGroups) {  // the next part
    known->groups.insert(known->groups.end(), edge.read.groups.begin(), edge.read.groups.end());
  }
  if (!edge.end && edge.job_profiles) window_->failed(rank, "the job's own profiler is running");
}

void WindowRunner::gone(int32_t rank) {
  if (window_) window_->gone(rank);
}

void WindowRunner::look_for_files(int64_t now_unix_ns) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(folder_.c_str()), closedir);
  if (!folder) return;
  while (const dirent* entry = readdir(folder.get())) {
    const std::string name = entry->d_name;
    const int32_t rank = rank_of_file(name);
    if (rank < 0) continue;
    const int fd = openat(dirfd(folder.get()), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    struct stat found {};
    const bool ours = fstat(fd, &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid();
    close(fd);
    if (!ours) continue;
    if (name.ends_with(kComplete)) {
      if (found.st_size > 0) window_->written(rank, folder_ + "/" + name, static_cast<uint64_t>(found.st_size));
    } else {
      window_->growing(rank, static_cast<uint64_t>(found.st_size), now_unix_ns);
    }
  }
}

void WindowRunner::look_for_hot_ranks() {
  const double length_s = window_->plan().length_s();
  for (const auto& [rank, state] : window_->ranks()) {
    const auto bytes = static_cast<double>(state.bytes);
    if (!with_stack(rank) || bytes < kHotBytes || bytes < kHotBytesPerSecond * length_s) continue;
    hot_.insert(rank);
    bytes_per_second_.erase(rank);
    notes_.push_back(fmt::format(
        "rank {} wrote {:.0f} MB in a window of {:.1f} s, since its Python is busy: from the next one on its stacks "
        "are sampled, or left out where they cannot be",
        rank, bytes * 1e-6, length_s));
  }
}

/// What ranks wrote tells what they will write, but for those that are profiled in another way from now on.
void WindowRunner::learn_rates() {
  const double length_s = window_->plan().length_s();
  for (const auto& [rank, state] : window_->ranks()) {
    if (state.bytes > 0) bytes_per_second_[rank] = static_cast<double>(state.bytes) / length_s;
  }
}

void WindowRunner::write_bundle(const RankTable& ranks) {
  LiveBundle bundle;
  bundle.job = job_;
  bundle.world_size = ranks.world_size();
  const WindowPlan& plan = window_->plan();
  bundle.start_unix_ns = plan.start_unix_ns;
  bundle.duration_ms = static_cast<double>(plan.end_unix_ns - plan.start_unix_ns) * 1e-6;
  bundle.groups = ranks.process_groups();
  bundle.machine = this_host();
  WindowSamples samples = sampler_->finish();
  sampler_.reset();
  if (samples.written) {
    bundle.samples = kSamples;
    bundle.sampler_cores = samples.cores;
  }
  bundle.not_sampled = std::move(samples.findings.missing);
  notes_.insert(notes_.end(), samples.notes.begin(), samples.notes.end());
  StackSampler::Outcome stacks = stack_sampler_ ? stack_sampler_->finish() : StackSampler::Outcome();
  stack_sampler_.reset();
  notes_.insert(notes_.end(), stacks.notes.begin(), stacks.notes.end());
  const NcclRingReader::Outcome nccl = nccl_reader_->finish();
  nccl_reader_.reset();
  notes_.insert(notes_.end(), nccl.notes.begin(), nccl.notes.end());
  for (const auto& [number, state] : window_->ranks()) {
    LiveBundle::Rank entry;
    entry.rank = number;
    if (const auto found = nccl.files.find(number); found != nccl.files.end()) entry.nccl = found->second;
    if (const auto found = stacks.files.find(number); found != stacks.files.end()) entry.stacks = found->second;
    if (state.phase == RankPhase::kWritten) {
      entry.trace = state.path.substr(folder_.size() + 1);
    } else {
      notes_.push_back(fmt::format("rank {} has no trace: {}", number, state.why));
    }
    if (const auto found = ranks.all().find(number); found != ranks.all().end()) {
      const HelloMessage& hello = found->second.hello;
      entry.host = hello.host;
      entry.pid = found->second.pid;
      if (hello.on_gpu() && samples.findings.gpus.empty()) entry.gpu = hello.local_rank;
      entry.labels = {{"torch", hello.torch}, {"python", hello.python}};
      if (const auto gpu = samples.findings.gpus.find(number); gpu != samples.findings.gpus.end()) {
        entry.gpu = gpu->second.index;
        if (!gpu->second.model.empty()) entry.labels["gpu_model"] = gpu->second.model;
      }
      if (!hello.cuda.empty()) entry.labels["cuda"] = hello.cuda;
      if (!hello.hip.empty()) entry.labels["hip"] = hello.hip;
      entry.env = hello.env;
    }
    entry.edges = std::move(edges_[number]);
    bundle.ranks.push_back(std::move(entry));
  }
  if (!write_own_file(folder_ + "/bundle.json", bundle_json(bundle)))
    notes_.emplace_back("bundle.json cannot be written");
}

std::optional<WindowTaken> WindowRunner::tick(const RankTable& ranks, int64_t now_unix_ns) {
  if (!window_) return std::nullopt;
  profile_inside(ranks, now_unix_ns);
  if (now_unix_ns >= window_->plan().end_unix_ns) {
    if (step_at_end_ < 0) step_at_end_ = ranks.last_step();
    look_for_files(now_unix_ns);
  }
  window_->tick(now_unix_ns);
  if (window_->clock_was_set_back()) stack_sampler_.reset();  // it goes by the same clock
  if (!window_->done()) return std::nullopt;
  if (!nccl_reader_) {
    nccl_reader_ =
        std::make_unique<NcclRingReader>(sockets_, folder_, nccl_ranks(ranks, *window_), window_->plan().start_unix_ns);
  }
  if (!nccl_reader_->done() || (stack_sampler_ && !stack_sampler_->done())) return std::nullopt;
  learn_rates();
  look_for_hot_ranks();
  write_bundle(ranks);
  const bool goes_on = step_at_end_ >= 0 && ranks.last_step() > step_at_end_;
  WindowTaken taken{*std::move(window_), std::move(folder_), std::move(cause_), -1, {}, std::move(notes_), goes_on};
  window_.reset();
  return taken;
}

}  // namespace eroica
