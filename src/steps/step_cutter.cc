#include "steps/step_cutter.h"

#include <algorithm>
#include <numeric>

namespace eroica {
namespace {

constexpr size_t kMostFetches = 4096;       // kept one by one in an open step
constexpr uint32_t kMostSkipped = 4;        // steps that one cycle may hold when optimizer steps are skipped
constexpr uint32_t kEvaluationFetches = 4;  // at least, where training itself does not fetch
constexpr uint32_t kEvaluationRatio = 8;    // at least, where the number of fetches varies

uint32_t sum(const FetchCounts& counts) { return std::accumulate(counts.begin(), counts.end(), 0U); }

}  // namespace

StepCutter::StepCutter(const Anchor& anchor, std::span<const Mark> evidence, const StretchStart& start,
                       const CutterLimits& limits)
    : anchor_(anchor),
      limits_(limits),
      start_ns_(start.start_ns),
      cut_(start.cut),
      irregular_(start.irregular),
      optimizers_end_ns_(start.start_ns),
      latest_start_ns_(start.start_ns) {
  usual_.learn(evidence, anchor);
}

void StepCutter::push(const Mark& mark, std::vector<Step>& done) {
  if (mark.kind == MarkKind::kStep) return;
  const int64_t start_ns = std::max(mark.start_ns, latest_start_ns_);
  const int64_t end_ns = std::max(mark.end_ns, start_ns);
  const bool anchors = mark.kind == anchor_.kind && mark.name_hash == anchor_.name_hash;
  latest_start_ns_ = start_ns;

  if (mark.kind == MarkKind::kFetch) {
    // Fewer anchors in a row than usual: the fetch says that the step is over.
    if (anchors_ > 0) {
      irregular_ = irregular_ || !cut_;
      close(optimizers_end_ns_, done);
    }
    const size_t loader = usual_.loader(mark.name_hash);
    if (anchors) {
      close(start_ns, done);
      events_ = 0;
      anchored_ = true;
    } else if (!after_fetch_ || loader != latest_loader_) {
      ++events_;
    }
    after_fetch_ = true;
    latest_loader_ = loader;
    ++cycle_.fetches[loader];
    fetches_.push_back({loader, std::max(start_ns, start_ns_), std::max(end_ns, start_ns_)});
    if (fetches_.size() > kMostFetches) {
      fetches_.pop_front();
      ++older_fetches_;
    }
    ++open_marks_;
    return;
  }

  after_fetch_ = false;
  ++open_marks_;
  // A double of a call that ended the previous step already.
  if (start_ns < start_ns_) return;
  optimizers_end_ns_ = std::max(optimizers_end_ns_, end_ns);
  if (!anchors) {
    ++cycle_.other_optimizers;
    ++events_;
    return;
  }
  events_ = 0;
  anchored_ = true;
  if (++anchors_ == anchor_.per_step) close(optimizers_end_ns_, done);
}

void StepCutter::finish(int64_t end_ns, std::vector<Step>& done) {
  if (end_ns > start_ns_) {
    cut_ = true;
    emit({{end_ns, irregular_ || holds_evaluation()}}, done);
  }
}

bool StepCutter::lost() const {
  if (!anchored_) return false;
  const uint64_t optimizers = uint64_t{3} * usual_.most_other_optimizers() + limits_.min_repeats;
  return events_ > limits_.give_up_events || (usual_.known() && cycle_.other_optimizers > optimizers);
}

void StepCutter::close(int64_t end_ns, std::vector<Step>& done) {
  end_ns = std::max(end_ns, start_ns_);
  if (irregular_) {
    emit({{end_ns, true}}, done);
  } else if (anchor_.kind == MarkKind::kFetch) {
    emit(parts_by_fetch(end_ns), done);
  } else {
    emit(parts_by_optimizer(end_ns), done);
  }
  if (!cut_) {
    cycle_.duration_ns = end_ns - start_ns_;
    usual_.add(cycle_);
  }
  start_ns_ = end_ns;
  cut_ = false;
  irregular_ = false;
  fetches_.clear();
  older_fetches_ = 0;
  cycle_ = {};
  anchors_ = 0;
  optimizers_end_ns_ = end_ns;
  open_marks_ = 0;
}

std::vector<StepCutter::Part> StepCutter::parts_by_optimizer(int64_t end_ns) const {
  if (std::vector<Part> skipped = skipped_steps(end_ns); !skipped.empty()) return skipped;
  if (!holds_evaluation()) {
    const bool unfed =
        !cut_ && usual_.known() && usual_.steady() && usual_.total_fetches() > 0 && sum(cycle_.fetches) == 0;
    return {{end_ns, unfed}};
  }
  const size_t own = first_own_fetch();
  // Where training does not fetch, the evaluation lasts until its last fetch ends.
  const int64_t boundary_ns = own < fetches_.size() ? fetches_[own].start_ns : fetches_.back().end_ns;
  if (boundary_ns <= start_ns_ || boundary_ns >= end_ns) return {{end_ns, true}};
  bool mixed = false;
  for (size_t i = own; i < fetches_.size(); ++i) mixed = mixed || usual_.foreign(fetches_[i].loader);
  return {{boundary_ns, true}, {end_ns, mixed}};
}

std::vector<StepCutter::Part> StepCutter::parts_by_fetch(int64_t end_ns) const {
  if (holds_evaluation()) {
    const auto foreign =
        std::ranges::find_if(fetches_, [&](const Fetch& fetch) { return usual_.foreign(fetch.loader); });
    if (foreign != fetches_.end() && foreign->start_ns > start_ns_ && foreign->start_ns < end_ns) {
      return {{foreign->start_ns, false}, {end_ns, true}};
    }
  }
  return {{end_ns, false}};
}

std::vector<StepCutter::Part> StepCutter::skipped_steps(int64_t end_ns) const {
  const uint32_t usual = usual_.total_fetches();
  if (usual == 0 || !usual_.steady() || usual_.duration_ns() <= 0) return {};
  const uint32_t times = sum(cycle_.fetches) / usual;
  if (times < 2 || times > kMostSkipped || fetches_.size() != size_t{times} * usual) return {};
  for (size_t loader = 0; loader < kMostLoaders; ++loader) {
    if (cycle_.fetches[loader] != times * usual_.fetches()[loader]) return {};
  }
  std::vector<Part> parts;
  int64_t part_start_ns = start_ns_;
  for (uint32_t part = 1; part <= times; ++part) {
    const int64_t part_end_ns = part < times ? fetches_[size_t{part} * usual].start_ns : end_ns;
    const int64_t duration_ns = part_end_ns - part_start_ns;
    const bool short_head = cut_ && part == 1 && duration_ns > 0;
    if (duration_ns > 2 * usual_.duration_ns() || (2 * duration_ns < usual_.duration_ns() && !short_head)) return {};
    parts.push_back({part_end_ns, true});
    part_start_ns = part_end_ns;
  }
  return parts;
}

bool StepCutter::holds_evaluation() const {
  if (!usual_.known() || fetches_.empty()) return false;
  uint32_t foreign = 0;
  uint32_t beyond = 0;
  for (size_t loader = 0; loader < kMostLoaders; ++loader) {
    const uint32_t fetched = cycle_.fetches[loader];
    const uint32_t usual = usual_.fetches()[loader];
    if (usual_.foreign(loader)) {
      foreign += fetched;
    } else {
      beyond += fetched > usual ? fetched - usual : 0;
    }
  }
  const uint32_t usual = usual_.total_fetches();
  if (foreign >= (usual > 0 ? 1 : kEvaluationFetches)) return true;
  if (usual == 0) return false;
  return usual_.steady() ? beyond >= std::max(2U, usual) : beyond >= kEvaluationRatio * usual;
}

/// The first of the latest fetches that make up a usual cycle; the number of fetches where training does not fetch.
size_t StepCutter::first_own_fetch() const {
  FetchCounts wanted = usual_.fetches();
  uint32_t left = usual_.total_fetches();
  size_t own = fetches_.size();
  for (size_t i = fetches_.size(); i > 0 && left > 0; --i) {
    uint32_t& of_loader = wanted[fetches_[i - 1].loader];
    if (of_loader == 0) continue;
    --of_loader;
    --left;
    own = i - 1;
  }
  return own;
}

void StepCutter::emit(const std::vector<Part>& parts, std::vector<Step>& done) const {
  int64_t start_ns = start_ns_;
  size_t next_fetch = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Part& part = parts[i];
    const bool last = i + 1 == parts.size();
    Step step{.number = 0, .start_ns = start_ns, .end_ns = part.end_ns};
    step.complete = !(cut_ && i == 0);
    step.irregular = part.irregular;
    step.fetches = i == 0 ? older_fetches_ : 0;
    for (; next_fetch < fetches_.size() && (last || fetches_[next_fetch].start_ns < part.end_ns); ++next_fetch) {
      ++step.fetches;
    }
    step.optimizer_steps = last ? cycle_.other_optimizers + anchors_ : 0;
    if (step.end_ns > step.start_ns) done.push_back(step);
    start_ns = part.end_ns;
  }
}

}  // namespace eroica
