#include "agent/watcher.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <utility>

#include "agent/fabric.h"
#include "agent/probe_sockets.h"
#include "agent/this_thread.h"
#include "base/clocks.h"

namespace eroica {
namespace {

constexpr int64_t kSecondNs = 1'000'000'000;
constexpr size_t kMostFabricBytes = 4096;
constexpr size_t kMostInARow = 512;
constexpr size_t kMostRecordBytes = size_t{16} << 20;
constexpr int kTickMs = 100;
constexpr int kNice = 5;
constexpr int64_t kRanksMayComeNs = 5 * kSecondNs;
constexpr int64_t kClearEveryNs = 10 * kSecondNs;
constexpr size_t kMostTriggers = 8;
constexpr size_t kMostSecondsTold = 16;
constexpr uint32_t kMarksChangeOften = 3;
constexpr std::chrono::seconds kTriggerDeadline{3};

WindowStage stage_of(WindowPhase phase) {
  switch (phase) {
    case WindowPhase::kAsked:
      return WindowStage::kAsked;
    case WindowPhase::kArmed:
      return WindowStage::kArmed;
    case WindowPhase::kTracing:
      return WindowStage::kTracing;
    case WindowPhase::kCollecting:
    case WindowPhase::kDone:
      return WindowStage::kCollecting;
  }
  return WindowStage::kNone;
}

Policy with_options(Policy policy, const WatchOptions& options) {
  if (options.watch_only) policy.baseline.count = 0;
  if (options.window_s) policy.window.length_s = *options.window_s;
  return policy;
}

}  // namespace

Result<std::unique_ptr<Watcher>> Watcher::make(JobFolder& folder, WatchOptions options, WatchListener listener) {
  Result<DatagramSocket> probes = DatagramSocket::bind(folder.probe_socket(), kMostProbeBytes);
  if (!probes) return probes.error();
  Result<DatagramSocket> kineto = DatagramSocket::bind(folder.kineto_socket(), kMostFabricBytes);
  if (!kineto) return kineto.error();
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) return Error{Error::Kind::kWrite, fmt::format("eventfd: {}", std::strerror(errno))};
  return std::unique_ptr<Watcher>(new Watcher(folder, std::move(options), std::move(listener),
                                              std::move(probes.value()), std::move(kineto.value()), wake));
}

Watcher::Watcher(JobFolder& folder, WatchOptions options, WatchListener listener, DatagramSocket probes,
                 DatagramSocket kineto, int wake)
    : folder_(&folder),
      sockets_(folder.sockets()),
      options_(std::move(options)),
      listener_(std::move(listener)),
      probes_(std::move(probes)),
      kineto_(std::move(kineto)),
      wake_(wake),
      log_(options_.job, kMostRecordBytes),
      windows_(options_.job, folder.sockets(), folder.traces(), probes_, options_.policy.window),
      inquiries_(folder.sockets(), folder.traces(), probes_) {
  options_.policy = with_options(std::move(options_.policy), options_);
  began_unix_ns_ = unix_ns();
  shown_.job = options_.job;
  shown_.folder = sockets_;
  shown_.watcher_pid = getpid();
  shown_.since_unix_ns = began_unix_ns_;
}

void Watcher::start() {
  thread_ = std::thread([this] {
    try {
      run();
    } catch (const std::exception& failure) {  // the job goes on whatever happens here
      give_up(failure.what());
    }
  });
}

void Watcher::give_up(const char* why) {
  failed_ = true;
  try {
    answer_triggers();
    show_status();
    listener_(Remark{fmt::format("watching has failed, and the job goes on unwatched: {}", why)});
  } catch (const std::exception&) {
    return;  // there is no memory left to tell it
  }
}

void Watcher::stop() {
  {
    const std::lock_guard lock(shared_);
    stopping_ = true;
  }
  if (thread_.joinable()) {
    const uint64_t one = 1;
    (void)!write(wake_, &one, sizeof one);
    thread_.join();
  }
  answer_triggers();
  if (wake_ >= 0) close(std::exchange(wake_, -1));
}

JobStatus Watcher::status() const {
  const std::lock_guard lock(shared_);
  return shown_;
}

TriggerAnswer Watcher::trigger(const ControlRequest& request) {
  std::future<TriggerAnswer> answer;
  uint64_t id = 0;
  {
    const std::lock_guard lock(shared_);
    if (stopping_) return {.refused = "the job is ending"};
    if (failed_) return {.refused = "watching this job has failed"};
    if (triggers_.size() >= kMostTriggers) return {.refused = "too many windows are asked for at once"};
    triggers_.push_back({++last_trigger_, request, {}});
    id = last_trigger_;
    answer = triggers_.back().answer.get_future();
    const uint64_t one = 1;
    (void)!write(wake_, &one, sizeof one);
  }
  if (answer.wait_for(kTriggerDeadline) != std::future_status::ready) {
    // Withdrawn, so that no window is taken that was refused; unless it is being decided right now.
    const std::lock_guard lock(shared_);
    const auto withdrawn = std::erase_if(triggers_, [id](const Trigger& trigger) { return trigger.id == id; });
    if (withdrawn > 0) return {.refused = "the watcher does not answer"};
  }
  return answer.get();
}

void Watcher::answer_triggers() {
  std::vector<Trigger> triggers;
  {
    const std::lock_guard lock(shared_);
    triggers.swap(triggers_);
  }
  for (Trigger& trigger : triggers) {
    TriggerAnswer answer;
    try {
      answer = begin_asked(trigger.request);
    } catch (const std::exception& failure) {
      answer.refused = fmt::format("no window can be taken: {}", failure.what());
    }
    trigger.answer.set_value(std::move(answer));
  }
  if (!triggers.empty() && !stopping_) show_status();
}

TriggerAnswer Watcher::begin_asked(const ControlRequest& request) {
  if (stopping_) return {.refused = "the job is ending"};
  if (failed_) return {.refused = "watching this job has failed"};
  if (options_.watch_only) return {.refused = "this job is only watched (--watch-only)"};
  DetectorEvent event;
  event.kind = DetectorEvent::Kind::kRequested;
  event.now_ns = now_ns_;
  event.unix_ns = unix_ns();
  event.window = true;
  TriggerAnswer answer;
  look_for_ended(true);  // perhaps since the last second
  const double usual_s = window_length_s(detector_->step_seconds(), 0, options_.policy.window.length_s);
  answer.refused = begin_window(event, request.window_s.value_or(options_.window_s.value_or(usual_s)), request.reason);
  if (!answer.refused.empty()) return answer;
  const WindowPlan& plan = windows_.plan();
  answer.window = plan.id;
  answer.begins_in_s = static_cast<double>(plan.start_unix_ns - plan.asked_unix_ns) * 1e-9;
  answer.length_s = plan.length_s();
  answer.ranks = static_cast<int64_t>(ranks_.present().size());
  return answer;
}

WatchSummary Watcher::summary() const {
  WatchSummary summary = summary_;
  summary.ranks = ranks_.all().size();
  summary.last_step = ranks_.last_step();
  for (const auto& [number, rank] : ranks_.all()) summary.dropped += rank.dropped;
  return summary;
}

void Watcher::run() {
  // Else each datagram lets this thread displace the training thread that sent it.
  give_way(getpriority(PRIO_PROCESS, 0) + kNice);
  now_ns_ = monotonic_ns();
  began_ns_ = now_ns_;
  detector_began_ns_ = now_ns_;
  detector_.emplace(options_.policy, options_.job, now_ns_);
  int64_t ticked_ns = 0;
  while (!stopping_) {
    std::array<pollfd, 4> waits = {pollfd{probes_.fd(), POLLIN, 0}, pollfd{kineto_.fd(), POLLIN, 0},
                                   pollfd{wake_, POLLIN, 0}, pollfd{ends_.fd(), POLLIN, 0}};
    poll(waits.data(), waits.size(), kTickMs);
    now_ns_ = monotonic_ns();
    read_probes();
    read_kineto();
    if (waits[3].revents != 0) take_ends();
    if (waits[2].revents != 0) {
      uint64_t drained = 0;
      (void)!read(wake_, &drained, sizeof drained);
      answer_triggers();
    }
    if (now_ns_ - ticked_ns < int64_t{kTickMs} * 1'000'000) continue;
    ticked_ns = now_ns_;
    read_rings();
    each_tick();
    if (now_ns_ - second_ns_ >= kSecondNs) each_second();
  }
  read_probes();  // what the ending job said last
  read_rings();
  take_ends();
  tell_ends(true);
}

void Watcher::read_probes() {
  Datagram from;
  for (size_t i = 0; i < kMostInARow && probes_.receive(from); ++i) {
    std::optional<ProbeMessage> message = from.uid == geteuid() ? decode_probe(from.bytes) : std::nullopt;
    if (message) {
      on_message(*std::move(message), from);
    } else {
      ++summary_.refused;
    }
  }
}

void Watcher::read_rings() {
  std::vector<std::pair<LiveRank*, StepMessage>> steps;
  for (auto& [number, rank] : ranks_.all()) {
    for (const StepMessage& step : rings_.take(rank.pid)) steps.emplace_back(&rank, step);
  }
  // As they came about: else the ranks that are read last would seem to lag behind.
  std::ranges::stable_sort(steps, {}, [](const auto& step) { return step.second.record.monotonic_ns; });
  for (const auto& [rank, step] : steps) on_step(*rank, step);
}

void Watcher::read_kineto() {
  Datagram from;
  for (size_t i = 0; i < kMostInARow && kineto_.receive(from); ++i) {
    const std::optional<FabricRequest> request = from.uid == geteuid() ? decode_fabric(from.bytes) : std::nullopt;
    if (!request || !from.sender.starts_with(sockets_ + "/")) {
      ++summary_.refused;
      continue;
    }
    if (request->kind == FabricRequest::Kind::kContext) {
      (void)kineto_.send(from.sender, encode_instance_count(1));
      continue;
    }
    std::string text;
    // A launcher polls as well, and a client says with 0 types that it is busy.
    const LiveRank* rank = ranks_.by_pid(from.pid);
    if (rank != nullptr && request->types != 0) text = windows_.configuration_for(*rank, unix_ns());
    // A client whose socket was removed asks and hears nothing.
    if (kineto_.send(from.sender, encode_configuration(text)) == 0 && !text.empty()) windows_.armed(rank->hello.rank);
  }
}

/// Those that were there before this watcher, and those whose HELLO was lost.
void Watcher::ask_who() {
  std::set<std::string> introduced;
  for (const std::string& name : probes_in(sockets_)) {
    if (introduced_.contains(name)) {
      introduced.insert(name);
      continue;
    }
    (void)probes_.send(fmt::format("{}/probe-{}", sockets_, name), encode_hello());
    (void)probes_.send(fmt::format("{}/probe-{}", sockets_, name), encode_groups());
  }
  introduced_ = std::move(introduced);
}

void Watcher::on_message(ProbeMessage message, Datagram& from) {
  if (auto* hello = std::get_if<HelloMessage>(&message)) return on_hello(std::move(*hello), from);
  LiveRank* rank = ranks_.by_pid(from.pid);
  if (rank == nullptr) return;  // a launcher's, for example
  if (const auto* step = std::get_if<StepMessage>(&message)) return on_step(*rank, *step);
  if (auto* groups = std::get_if<GroupsMessage>(&message)) {
    ranks_.groups(*rank, std::move(*groups));
  } else if (const auto* edge = std::get_if<EdgeMessage>(&message)) {
    windows_.edge(rank->hello.rank, *edge);
  } else if (const auto* reply = std::get_if<ReplyMessage>(&message)) {
    windows_.reply(rank->hello.rank, *reply);
    inquiries_.reply(rank->hello.rank, *reply);
  } else if (const auto* bye = std::get_if<ByeMessage>(&message)) {
    rank->left = true;
    leave(*rank);
    ends_.said_bye(*rank, *bye, unix_ns());
    if (!bye->exception.empty()) {
      listener_(Remark{fmt::format("rank {} ends after step {} with {} at {}:{}", rank->hello.rank, rank->last_step,
                                   bye->exception, bye->file, bye->line)});
    }
  } else if (const auto* off = std::get_if<OffMessage>(&message)) {
    listener_(Remark{fmt::format("the probe of rank {} has turned itself off: {}", rank->hello.rank, off->reason)});
    rank->left = true;
    leave(*rank);
  }
}

void Watcher::on_hello(HelloMessage hello, Datagram& from) {
  const std::string name = socket_owner(from.sender, "probe-");
  if (name.empty()) return;
  introduced_.insert(name);
  LiveRank* holder = ranks_.by_rank(hello.rank);
  if (holder != nullptr && holder->pid == from.pid) holder = nullptr;
  const bool holder_is_dead = holder != nullptr && !read_process_state(holder->pid).lives(holder->start_ticks);
  if (!ranks_.accepts(hello, from.pid, holder_is_dead)) {
    if (holder != nullptr && !hello.launcher) refuse_second(*holder, from.pid, name);
    return;
  }
  read_rings();          // what came before it
  if (holder_is_dead) {  // it begins again
    take_ends();
    look_for_ended(true);
    tell_ends(true);
    ends_.begin_again();
    rings_.remove(holder->pid);
  }
  const bool hooks = hello.step_hook;
  const bool is_new = ranks_.by_pid(from.pid) == nullptr;
  const LiveRank* rank =
      ranks_.hello(std::move(hello), from.pid, name, holder_is_dead, read_process_state(from.pid).start_ticks);
  rings_.add(from.pid, std::move(from.attached));
  ends_.joined(*rank);
  if (first_rank_ns_ == 0) first_rank_ns_ = now_ns_;
  if (is_new && !hooks) {
    listener_(
        Remark{fmt::format("rank {} uses torch {}, which tells of no steps", rank->hello.rank, rank->hello.torch)});
  }
  tell_ranks(false);
}

/// Of two trainings under one watcher; it is asked again, and watched, when the first has ended.
void Watcher::refuse_second(const LiveRank& holder, pid_t pid, const std::string& name) {
  introduced_.erase(name);
  if (told_seconds_.size() >= kMostSecondsTold || !told_seconds_.insert(name).second) return;
  listener_(
      Remark{fmt::format("process {} says that it is rank {}, as process {} does; it is not watched while that one is",
                         pid, holder.hello.rank, holder.pid)});
}

void Watcher::on_step(LiveRank& rank, const StepMessage& step) {
  if (rank.hello.rank != step.record.rank) {
    ++summary_.refused;
    return;
  }
  // Another optimizer marks the steps, so they are of another kind.
  if (rank.stepped && rank.optimizer_index != step.optimizer_index && now_ns_ - detector_began_ns_ > kSecondNs) {
    detector_began_ns_ = now_ns_;
    detector_->begin_again(now_ns_);
    if (++marks_changed_ == kMarksChangeOften) {
      listener_(
          Remark{"the steps of this job are marked by one optimizer and then by another; after each change what is "
                 "usual has to be learnt again"});
    }
  }
  rank.stepped = true;
  rank.optimizer_index = step.optimizer_index;
  rank.dropped = step.dropped + rings_.lost(rank.pid);
  rank.last_step = step.record.step;
  ++summary_.records;
  probe_cost_ns_ += step.probe_cost_ns;
  log_.append(step.record);
  pace_.push(step.record);
  std::vector<DetectorEvent> events;
  detector_->observe(step.record, now_ns_, events);
  hear(events);
}

/// Reads the last steps of a rank that takes part no longer, whether it said so or has ended.
void Watcher::leave(LiveRank& rank) {
  read_rings();
  rings_.remove(rank.pid);
  detector_->leave(rank.hello.rank);
  pace_.leave(rank.hello.rank);
}

void Watcher::hear(const std::vector<DetectorEvent>& events) {
  for (const DetectorEvent& event : events) {
    listener_(Detected{event});
    if (event.kind == DetectorEvent::Kind::kBlocked) {
      inquiries_.begin(ranks_, event, now_ns_);
    } else if (event.window && !options_.watch_only) {
      const std::string refused = begin_window(event, options_.window_s.value_or(event.window_s), "");
      detector_->window_is(refused.empty() ? windows_.plan().length_s() : 0);
    }
  }
}

/// On the watcher's thread, which does all that is done always.
WatchCost Watcher::cost() const {
  WatchCost cost;
  if (now_ns_ > began_ns_) {
    cost.watcher_percent = 100 * static_cast<double>(thread_cpu_ns()) / static_cast<double>(now_ns_ - began_ns_);
  }
  if (summary_.records == 0) return cost;
  cost.probe_us_per_step = static_cast<double>(probe_cost_ns_) * 1e-3 / static_cast<double>(summary_.records);
  if (const double step_s = detector_->step_seconds(); step_s > 0)
    cost.probe_percent = cost.probe_us_per_step * 1e-4 / step_s;
  return cost;
}

std::string Watcher::begin_window(const DetectorEvent& event, double length_s, const std::string& reason) {
  if (windows_.active()) return fmt::format("{} is being taken", windows_.plan().id);
  const size_t ranks = ranks_.present().size();
  if (ranks == 0) return "no rank is there";
  std::string why;
  try {
    if (!windows_.begin(ranks_, length_s, event, unix_ns())) why = "no folder can be made in " + folder_->traces();
  } catch (const std::exception& failure) {  // there was no thread to be had, for example
    why = failure.what();
  }
  if (!why.empty()) {
    listener_(Remark{"no window can be taken: " + why});
    return why;
  }
  listener_(WindowBegun{windows_.plan(), ranks, event.kind, reason});
  return "";
}

void Watcher::each_tick() {
  if (windows_.active()) {
    // Its disturbance lasts until the last file is written.
    const WindowPlan plan = windows_.plan();
    const int64_t offset_ns = now_ns_ - unix_ns();
    detector_->mask(plan.asked_unix_ns + offset_ns, std::max(plan.end_unix_ns + offset_ns, now_ns_));
    if (std::optional<WindowTaken> taken = windows_.tick(ranks_, unix_ns())) {
      ++summary_.windows;
      summary_.profiled_s += plan.length_s();
      const bool slow =
          taken->cause.kind == DetectorEvent::Kind::kSlow || taken->cause.kind == DetectorEvent::Kind::kStillSlow;
      taken->interference_ms = pace_.cost_ms(plan, slow ? taken->cause.slow.onset_unix_ns : 0, unix_ns()).value_or(-1);
      // Where no step ended after it that may be because steps are long; a hang is told by the time that passes.
      taken->goes_on = taken->goes_on || !detector_->blocked();
      taken->cost = cost();
      interference_ms_ = taken->interference_ms;
      show_status();
      listener_(*std::move(taken));
    }
  }
  if (std::optional<JobInquired> inquired = inquiries_.tick(ranks_, now_ns_)) listener_(*std::move(inquired));
  look_for_ended(false);
  tell_ends(false);
}

/// Somebody may remove what lies in /tmp.
void Watcher::look_after_sockets() {
  if (now_ns_ - cleared_ns_ >= kClearEveryNs) {
    cleared_ns_ = now_ns_;
    remove_left_sockets(sockets_);
    (void)folder_->repair();  // of traces, too, which lie elsewhere; what fails shows when it is needed
  }
  if (probes_.has_its_name() && kineto_.has_its_name()) return;
  const Status whole = folder_->repair();
  Result<DatagramSocket> probes = DatagramSocket::bind(folder_->probe_socket(), kMostProbeBytes);
  Result<DatagramSocket> kineto = DatagramSocket::bind(folder_->kineto_socket(), kMostFabricBytes);
  const bool again = whole && probes && kineto;
  if (again) {
    probes_ = std::move(*probes);
    kineto_ = std::move(*kineto);
    introduced_.clear();  // so that all are asked again
  }
  if (again || !sockets_lost_) {
    listener_(Remark{again ? "the job's sockets had been removed; there are new ones"
                           : fmt::format("the job's sockets have been removed, and there can be no new ones: {}",
                                         !whole    ? whole.error().message
                                         : !probes ? probes.error().message
                                                   : kineto.error().message)});
  }
  sockets_lost_ = !again;
}

JobState Watcher::state() const {
  if (failed_) return JobState::kUnwatched;
  if (ranks_.all().empty()) return JobState::kStarting;
  if (ranks_.present().empty()) return JobState::kEnded;
  if (detector_->blocked()) return JobState::kBlocked;
  switch (detector_->phase()) {
    case SlowDetector::Phase::kWarmUp:
    case SlowDetector::Phase::kLearning:
      return JobState::kLearning;
    case SlowDetector::Phase::kWatching:
      return JobState::kHealthy;
    case SlowDetector::Phase::kSlow:
      return JobState::kSlow;
  }
  return JobState::kStarting;
}

void Watcher::show_status() {
  const WatchSummary summary = this->summary();
  const bool active = windows_.active();
  JobStatus status;
  status.job = options_.job;
  status.folder = sockets_;
  status.watcher_pid = getpid();
  status.since_unix_ns = began_unix_ns_;
  status.state = state();
  status.ranks = static_cast<int64_t>(ranks_.present().size());
  status.world_size = ranks_.world_size();
  status.hosts = static_cast<int64_t>(ranks_.hosts());
  status.step = summary.last_step;
  status.step_ms = detector_->step_seconds() * 1e3;
  status.best_ms = detector_->baseline_seconds() * 1e3;
  if (active) status.window = windows_.plan().id;
  if (active) status.stage = stage_of(windows_.phase(unix_ns()));
  status.windows = summary.windows;
  status.profiled_s = summary.profiled_s;
  status.interference_ms = interference_ms_;
  status.cost = cost();
  status.dropped = static_cast<int64_t>(summary.dropped);
  status.refused = static_cast<int64_t>(summary.refused);
  const std::lock_guard lock(shared_);
  shown_ = std::move(status);
}

/// At all, or only at those whose end is not heard of, for whom the order of ends is as fine as the looks are.
void Watcher::look_for_ended(bool at_all) {
  for (auto& [number, rank] : ranks_.all()) {
    if (!rank.takes_part() || rank.pid <= 0 || (!at_all && ends_.hears(rank))) continue;
    const ProcessState state = read_process_state(rank.pid);
    if (state.lives(rank.start_ticks)) continue;
    note_gone(rank);
    ends_.gone(rank, state, unix_ns());
  }
}

void Watcher::note_gone(LiveRank& rank) {
  rank.gone = true;
  leave(rank);
  windows_.gone(rank.hello.rank);
}

void Watcher::take_ends() {
  for (const EndedProcess& process : ends_.take(ranks_, unix_ns())) {
    LiveRank* rank = ranks_.by_pid(process.pid);
    if (rank != nullptr && rank->takes_part()) note_gone(*rank);
  }
}

void Watcher::tell_ends(bool at_once) {
  std::optional<RankExits> ends = ends_.to_tell(ranks_, at_once, unix_ns());
  if (!ends) return;
  ends->mean_step_s = detector_->step_seconds();
  DetectorEvent cause;
  cause.kind = DetectorEvent::Kind::kBlocked;
  cause.step = ends->ends.front().last_step;
  cause.now_ns = now_ns_;
  cause.unix_ns = ends->ends.front().unix_ns;
  cause.blocked.since_unix_ns = cause.unix_ns;
  listener_(RanksEnded{*std::move(ends), cause});
}

void Watcher::each_second() {
  second_ns_ = now_ns_;
  look_after_sockets();
  take_ends();
  look_for_ended(true);
  ends_.each_second();
  ask_who();
  tell_ranks(first_rank_ns_ != 0 && now_ns_ - first_rank_ns_ > kRanksMayComeNs);
  std::vector<DetectorEvent> events;
  if (!ranks_.present().empty()) detector_->tick(now_ns_, events);
  hear(events);
  show_status();
}

void Watcher::tell_ranks(bool at_once) {
  std::vector<int32_t> present = ranks_.present();
  if (present.empty() || present.size() <= told_ranks_.size()) return;
  if (!at_once && static_cast<int32_t>(present.size()) < ranks_.world_size()) return;
  told_ranks_ = present;
  listener_(RanksKnown{std::move(present), ranks_.world_size(), ranks_.hosts()});
}

}  // namespace eroica
