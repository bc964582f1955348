#include "steps/anchor.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace eroica {
namespace {

constexpr size_t kMostNames = 16;     // distinct optimizers (and loaders) that are told apart
constexpr double kMostPerCycle = 16;  // the most often that anything happens per anchor
constexpr double kAsOften = 1.5;      // rates within this ratio count as the same
constexpr uint32_t kSlack = 2;        // marks that an edge of the window may add to a cycle

/// What is known of one name after a pass over the marks of its kind.
struct Tally {
  uint64_t name_hash = 0;
  uint32_t count = 0;
  size_t first = 0;  // position among the marks of its kind
  size_t last = 0;
  std::array<uint32_t, kMostNames> before{};   // counts of all names when it first came
  std::array<uint32_t, kMostNames> at_last{};  // … and when it last came
  uint32_t then_fetch = 0;                     // how often the next mark was a fetch
  int64_t pause_after_ns = 0;                  // sum of the time until the next mark
  int64_t pause_before_ns = 0;

  /// Occurrences per mark of its kind, within its own span.
  [[nodiscard]] double rate() const {
    return last == first ? 0 : static_cast<double>(count - 1) / static_cast<double>(last - first);
  }
};

struct Tallies {
  std::vector<Tally> names;
  std::array<uint32_t, kMostNames> counts{};
};

int64_t saturating_pause(int64_t from_ns, int64_t to_ns) {
  constexpr int64_t kLongest = int64_t{1} << 42;  // over an hour: sums stay far from overflow
  if (to_ns <= from_ns) return 0;
  int64_t pause = 0;
  return __builtin_sub_overflow(to_ns, from_ns, &pause) ? kLongest : std::min(pause, kLongest);
}

Tallies tally(std::span<const Mark> marks, MarkKind kind) {
  Tallies result;
  size_t position = 0;
  const Mark* previous = nullptr;
  Tally* open = nullptr;  // the tally whose mark came last
  result.names.reserve(kMostNames);
  for (const Mark& mark : marks) {
    if (mark.kind == MarkKind::kStep) continue;
    if (open != nullptr) {
      open->then_fetch += mark.kind == MarkKind::kFetch ? 1 : 0;
      open->pause_after_ns += saturating_pause(previous->end_ns, mark.start_ns);
      open = nullptr;
    }
    if (mark.kind == kind) {
      auto found = std::ranges::find(result.names, mark.name_hash, &Tally::name_hash);
      if (found == result.names.end() && result.names.size() < kMostNames) {
        result.names.push_back({.name_hash = mark.name_hash, .first = position, .before = result.counts});
        found = std::prev(result.names.end());
      }
      if (found != result.names.end()) {
        const auto index = static_cast<size_t>(found - result.names.begin());
        ++found->count;
        ++result.counts[index];
        found->last = position;
        found->at_last = result.counts;
        if (previous != nullptr) {
          found->pause_before_ns += saturating_pause(previous->end_ns, mark.start_ns);
        }
        open = &*found;
      }
      ++position;
    }
    previous = &mark;
  }
  return result;
}

/// Whether what stands before the first (after the last) occurrence fits into the cycles between them.
bool covers(const Tally& tally, const Tallies& all, bool head) {
  for (size_t other = 0; other < all.names.size(); ++other) {
    const auto inside = static_cast<double>(tally.at_last[other] - tally.before[other]);
    const double per_cycle = inside / static_cast<double>(tally.count - 1);
    const uint32_t outside = head ? tally.before[other] : all.counts[other] - tally.at_last[other];
    if (static_cast<double>(outside) > 2 * per_cycle + kSlack) return false;
  }
  return true;
}

bool longer_pause(int64_t sum_a, uint32_t count_a, int64_t sum_b, uint32_t count_b) {
  return static_cast<double>(sum_a) / count_a > kAsOften * (static_cast<double>(sum_b) / count_b);
}

/// Of two equally rare optimizers, whether `a` is later in the cycle than `b`.
bool later_in_cycle(const Tally& a, const Tally& b) {
  const bool fetch_a = 2 * a.then_fetch > a.count - 1;
  const bool fetch_b = 2 * b.then_fetch > b.count - 1;
  if (fetch_a != fetch_b) return fetch_a;
  if (longer_pause(a.pause_after_ns, a.count, b.pause_after_ns, b.count)) return true;
  if (longer_pause(b.pause_after_ns, b.count, a.pause_after_ns, a.count)) return false;
  return a.name_hash > b.name_hash;
}

/// Of two loaders that fetch equally often, whether `a` is earlier in the cycle than `b`.
bool earlier_in_cycle(const Tally& a, const Tally& b) {
  if (longer_pause(a.pause_before_ns, a.count, b.pause_before_ns, b.count)) return true;
  if (longer_pause(b.pause_before_ns, b.count, a.pause_before_ns, a.count)) return false;
  return a.name_hash > b.name_hash;
}

/// How many of the anchor stand in a row, with no fetch between: the commonest length of whole runs, 1 where none
/// prevails.
uint32_t row_length(std::span<const Mark> marks, uint64_t name_hash) {
  std::vector<uint32_t> rows;
  uint32_t row = 0;
  bool whole = false;  // the row began after a fetch
  bool fetched = false;
  for (const Mark& mark : marks) {
    if (mark.kind == MarkKind::kFetch) {
      if (row > 0 && whole) rows.push_back(row);
      row = 0;
      fetched = true;
    } else if (mark.kind == MarkKind::kOptimizer && mark.name_hash == name_hash) {
      if (row == 0) whole = fetched;
      ++row;
    }
  }
  std::map<uint32_t, size_t> lengths;
  for (const uint32_t length : rows) ++lengths[length];
  for (const auto& [length, times] : lengths) {
    if (times * 5 >= rows.size() * 3) return length <= kMostPerCycle ? length : 1;
  }
  return 1;
}

/// How many cycles look like the commonest one: the same set of names between two anchors.
size_t like_cycles(std::span<const Mark> marks, const Anchor& anchor) {
  std::vector<uint64_t> seen;  // names, in order of appearance; a cycle's content is a set of their bits
  std::map<uint64_t, size_t> contents;
  uint64_t content = 0;
  uint32_t row = 0;
  bool whole = false;
  size_t most = 0;
  for (const Mark& mark : marks) {
    if (mark.kind == MarkKind::kStep) continue;
    auto found = std::ranges::find(seen, mark.name_hash);
    if (found == seen.end() && seen.size() < 64) {
      seen.push_back(mark.name_hash);
      found = std::prev(seen.end());
    }
    const auto bit = std::min<size_t>(63, static_cast<size_t>(found - seen.begin()));
    content |= uint64_t{1} << bit;
    if (mark.kind != anchor.kind || mark.name_hash != anchor.name_hash) continue;
    if (++row < anchor.per_step) continue;
    row = 0;
    if (whole) most = std::max(most, ++contents[content]);
    whole = true;
    content = 0;
  }
  return most;
}

/// Whether an optimizer that came only once may still turn out to be the rarest of the cycle.
bool may_recur(const Tallies& all) {
  const uint32_t most = std::ranges::max(all.counts);
  return std::ranges::any_of(all.names, [&](const Tally& tally) {
    const auto since = [&](size_t other) { return all.counts[other] - tally.at_last[other]; };
    if (tally.count > 1) return false;
    for (size_t other = 0; other < all.names.size(); ++other) {
      if (all.counts[other] == most && since(other) > kMostPerCycle) return false;
    }
    return true;
  });
}

std::optional<Anchor> optimizer_anchor(std::span<const Mark> marks, const Tallies& all, const AnchorSearch& search) {
  if (!search.all_known && may_recur(all)) return std::nullopt;
  std::vector<const Tally*> candidates;
  for (const Tally& tally : all.names) {
    if (tally.count < 2 || !covers(tally, all, true)) continue;
    const bool proven = search.all_known && tally.count > search.min_repeats;
    if (proven || covers(tally, all, false)) candidates.push_back(&tally);
  }
  if (candidates.empty()) return std::nullopt;

  const auto rate = [](const Tally* tally) { return tally->rate(); };
  const double fastest = std::ranges::max(candidates, {}, rate)->rate();
  std::erase_if(candidates, [&](const Tally* t) { return t->rate() * kMostPerCycle < fastest; });
  const double slowest = std::ranges::min(candidates, {}, rate)->rate();
  std::erase_if(candidates, [&](const Tally* t) { return t->rate() > slowest * kAsOften; });

  const Tally* best = candidates.front();
  for (const Tally* tally : candidates) {
    if (search.current && tally->name_hash == search.current->name_hash) return search.current;
    if (later_in_cycle(*tally, *best)) best = tally;
  }
  const Anchor anchor{MarkKind::kOptimizer, best->name_hash, row_length(marks, best->name_hash)};
  const bool believed = search.all_known || like_cycles(marks, anchor) >= search.min_repeats;
  return believed ? std::optional(anchor) : std::nullopt;
}

std::optional<Anchor> fetch_anchor(std::span<const Mark> marks, const AnchorSearch& search) {
  const Tallies all = tally(marks, MarkKind::kFetch);
  const uint32_t needed = search.all_known ? 2 : std::max(search.min_repeats + 1, search.fetch_patience);
  const Tally* best = nullptr;
  for (const Tally& tally : all.names) {
    if (tally.count < needed) continue;
    const bool more = best == nullptr || tally.count > best->count + 1;
    const bool equal = best != nullptr && tally.count + 1 >= best->count;
    if (more || (equal && earlier_in_cycle(tally, *best))) best = &tally;
  }
  if (best == nullptr) return std::nullopt;
  return Anchor{MarkKind::kFetch, best->name_hash};
}

}  // namespace

std::optional<Anchor> find_anchor(std::span<const Mark> marks, const AnchorSearch& search) {
  const Tallies optimizers = tally(marks, MarkKind::kOptimizer);
  if (optimizers.names.empty()) return fetch_anchor(marks, search);
  return optimizer_anchor(marks, optimizers, search);
}

}  // namespace eroica
