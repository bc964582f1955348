#include <algorithm>

#include "steps/step_finder.h"

namespace eroica {
namespace {

constexpr size_t kKept = size_t{1} << 14;        // marks remembered in a live stream
constexpr size_t kReviewed = kKept;              // marks that a review of the anchor looks at
constexpr size_t kEagerMarks = size_t{1} << 10;  // below, every mark may be followed by a search
constexpr uint32_t kMostSearches = 64;           // for anchors, in one go

size_t count_of(std::span<const Mark> marks, const Anchor& anchor) {
  return static_cast<size_t>(std::ranges::count_if(
      marks, [&](const Mark& mark) { return mark.kind == anchor.kind && mark.name_hash == anchor.name_hash; }));
}

}  // namespace

SequenceFinder::SequenceFinder(SequenceOptions options) : options_(options) {}

std::vector<Step> SequenceFinder::push(const Mark& mark) {
  std::vector<Step> done;
  if (mark.kind == MarkKind::kStep) return done;
  history_.push_back(within_range(mark));
  if (!stretch_) stretch_ = StretchStart{.start_ns = history_.back().start_ns};
  if (!options_.lookahead) {
    advance(false, done);
    trim();
    number(done);
  }
  return done;
}

std::vector<Step> SequenceFinder::finish(int64_t window_end_ns) {
  std::vector<Step> done;
  const int64_t end_ns = std::clamp(window_end_ns, kEarliestNs, kLatestNs);
  advance(true, done);
  if (cutter_) {
    cutter_->finish(end_ns, done);
  } else if (last_name_ && end_ns > stretch_->start_ns) {
    done.push_back(
        {.number = 0, .start_ns = stretch_->start_ns, .end_ns = end_ns, .complete = false, .irregular = true});
  }
  number(done);
  return done;
}

std::optional<Anchor> SequenceFinder::anchor() const {
  return cutter_ ? std::optional(cutter_->anchor()) : std::nullopt;
}

void SequenceFinder::advance(bool all_known, std::vector<Step>& done) {
  for (uint32_t searches = 0; cutter_ || searches < kMostSearches; ++searches) {
    if (!cutter_ && !lock(all_known)) return;
    while (next_ < history_.size() && !cutter_->lost()) {
      const Mark& mark = history_[next_++];
      const Anchor& anchor = cutter_->anchor();
      const bool other =
          mark.kind == MarkKind::kOptimizer && (anchor.kind != mark.kind || anchor.name_hash != mark.name_hash);
      cutter_->push(mark, done);
      if (other) note_other();
    }
    if (!cutter_->lost()) return;
    give_up();
  }
}

bool SequenceFinder::lock(bool all_known) {
  const std::span<const Mark> marks = std::span(history_).subspan(unsearched_);
  if (!all_known && marks.size() < try_at_) return false;
  const AnchorSearch search{.min_repeats = options_.min_repeats,
                            .fetch_patience = options_.give_up_events,
                            .all_known = all_known,
                            .current = std::nullopt};
  const std::optional<Anchor> anchor = find_anchor(marks, search);
  if (!anchor) {
    try_at_ = marks.size() < kEagerMarks ? 0 : marks.size() + marks.size() / 8;
    return false;
  }
  take_anchor(*anchor, marks, *stretch_);
  return true;
}

void SequenceFinder::take_anchor(const Anchor& anchor, std::span<const Mark> evidence, const StretchStart& start) {
  cutter_.emplace(anchor, evidence, start, CutterLimits{options_.min_repeats, options_.give_up_events});
  forget_others();
  if (last_name_ && *last_name_ != anchor.name_hash) ++changes_;
  last_name_ = anchor.name_hash;
}

/// Takes the open step's marks back from the cutter.
void SequenceFinder::reopen() {
  stretch_ = StretchStart{.start_ns = cutter_->open_start_ns(), .cut = cutter_->open_is_cut(), .irregular = true};
  next_ -= static_cast<size_t>(std::min<uint64_t>(cutter_->open_marks(), next_));
  cutter_.reset();
}

void SequenceFinder::give_up() {
  reopen();
  unsearched_ = next_;
  try_at_ = 0;
}

/// Another optimizer than the anchor has come: when such have come often enough, one may be the better anchor.
void SequenceFinder::note_other() {
  if (others_ == 0) others_from_ = next_ - 1;
  if (++others_ < review_at_) return;
  review_at_ *= 2;
  const std::span<const Mark> marks = std::span(history_).subspan(others_from_, next_ - others_from_);
  if (marks.size() > kReviewed) forget_others();
  review(marks);
}

void SequenceFinder::forget_others() {
  others_ = 0;
  review_at_ = options_.min_repeats + 1;
}

/// Turns to an optimizer that is rarer than the anchor (any, where the anchor is a fetch), if there is one.
void SequenceFinder::review(std::span<const Mark> marks) {
  const Anchor current = cutter_->anchor();
  const AnchorSearch search{.min_repeats = options_.min_repeats,
                            .fetch_patience = options_.give_up_events,
                            .all_known = false,
                            .current = current};
  const std::optional<Anchor> better = find_anchor(marks, search);
  if (!better || better->kind == MarkKind::kFetch) return;
  if (current.kind == better->kind && count_of(marks, *better) >= count_of(marks, current)) return;
  reopen();
  take_anchor(*better, marks, *stretch_);
}

/// Forgets the oldest marks of a live stream.
void SequenceFinder::trim() {
  if (history_.size() < 2 * kKept) return;
  const size_t forgotten = history_.size() - kKept;
  history_.erase(history_.begin(), history_.begin() + static_cast<std::ptrdiff_t>(forgotten));
  next_ -= std::min(next_, forgotten);
  unsearched_ -= std::min(unsearched_, forgotten);
  if (others_from_ < forgotten) forget_others();
  others_from_ -= std::min(others_from_, forgotten);
  if (!cutter_) {
    stretch_ = StretchStart{.start_ns = history_.front().start_ns};
    try_at_ = 0;
  }
}

void SequenceFinder::number(std::vector<Step>& done) {
  for (Step& step : done) step.number = next_number_++;
}

}  // namespace eroica
