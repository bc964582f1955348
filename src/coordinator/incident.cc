#include "coordinator/incident.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rank_list.h"

namespace eroica {
namespace {

const ToldClaim* main_claim(const Incident& incident) {
  if (incident.claims.empty()) return nullptr;
  const auto weaker = [](const ToldClaim& a, const ToldClaim& b) { return a.claim.confidence < b.claim.confidence; };
  return &*std::ranges::max_element(incident.claims, weaker);
}

}  // namespace

double lost_share(const Incident& incident) {
  if (incident.kind == TroubleKind::kBlocked) return 1;
  if (incident.baseline_ms <= 0 || incident.level_ms <= incident.baseline_ms) return 0;
  return 1 - incident.baseline_ms / incident.level_ms;
}

std::string_view main_cause(const Incident& incident) {
  const ToldClaim* claim = main_claim(incident);
  return claim == nullptr ? std::string_view() : std::string_view(claim->claim.cause);
}

std::string category(const Incident& incident) {
  const std::string_view cause = main_cause(incident);
  return cause.empty() ? "undiagnosed" : std::string(cause.substr(0, cause.find('.')));
}

std::string headline(const Incident& incident) {
  std::string text = incident.job;
  switch (incident.kind) {
    case TroubleKind::kSlow:
      text += fmt::format(" is slow since step {}", incident.onset_step);
      break;
    case TroubleKind::kBlocked:
      text += fmt::format(" stands still after step {}", incident.onset_step);
      break;
    case TroubleKind::kFound:
      text += " shows something wrong";
      break;
  }
  const ToldClaim* claim = main_claim(incident);
  if (claim == nullptr) return text + "; the cause is not known";
  text += ": " + (claim->claim.title.empty() ? claim->claim.cause : claim->claim.title);
  if (!claim->claim.ranks.empty()) text += fmt::format(" ({})", rank_list(claim->claim.ranks));
  return text;
}

std::string_view trouble_kind_name(TroubleKind kind) {
  switch (kind) {
    case TroubleKind::kSlow:
      return "slow";
    case TroubleKind::kBlocked:
      return "blocked";
    case TroubleKind::kFound:
      return "found";
  }
  return "";
}

std::string_view incident_state_name(IncidentState state) {
  switch (state) {
    case IncidentState::kOpen:
      return "open";
    case IncidentState::kRecovering:
      return "recovering";
    case IncidentState::kClosed:
      return "closed";
  }
  return "";
}

std::string_view resolution_name(Resolution resolution) {
  switch (resolution) {
    case Resolution::kNone:
      return "";
    case Resolution::kRecovered:
      return "recovered";
    case Resolution::kEnded:
      return "ended";
    case Resolution::kLost:
      return "lost";
  }
  return "";
}

}  // namespace eroica
