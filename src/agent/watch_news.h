#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "agent/blocked_inquiry.h"
#include "agent/rank_exits.h"
#include "agent/watch_cost.h"
#include "agent/window.h"
#include "steps/detector.h"

namespace eroica {

// What a watcher has to say, in the order in which it happens.

/// The job's ranks are known, or became others.
struct RanksKnown {
  std::vector<int32_t> ranks;
  int32_t world_size = -1;
  size_t hosts = 0;
};

struct Detected {
  DetectorEvent event;
};

struct WindowBegun {
  WindowPlan plan;
  size_t ranks = 0;
  DetectorEvent::Kind cause = DetectorEvent::Kind::kBaseline;
  std::string reason;  ///< of one that was asked for
};

/// A window is over; `folder` is a bundle, and the listener's to remove.
struct WindowTaken {
  Window window;
  std::string folder;
  DetectorEvent cause;
  double interference_ms = -1;  ///< −1: not known
  WatchCost cost;
  std::vector<std::string> notes;
  bool goes_on = false;  ///< a step ended after it: the window does not end in a hang
};

struct JobInquired {
  BlockedInquiry inquiry;
  DetectorEvent cause;
};

/// Processes of ranks ended otherwise than in order; `cause.blocked` says since when.
struct RanksEnded {
  RankExits ends;
  DetectorEvent cause;
};

struct Remark {
  std::string text;
};

using WatchNews = std::variant<RanksKnown, Detected, WindowBegun, WindowTaken, JobInquired, RanksEnded, Remark>;

/// Is called on the watcher's thread, and must not wait.
using WatchListener = std::function<void(WatchNews)>;

}  // namespace eroica
