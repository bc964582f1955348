#include "cli/rule_signals.h"

#include <set>

#include "diagnose/vocabulary.h"

namespace eroica {
namespace {

constexpr int64_t kMostNs = 5'000'000'000;

}  // namespace

SignalSupply host_signal_supply() { return signal_supply(SystemFiles(), gpu_feeds(GpuCounters::kDriver), kMostNs); }

std::vector<std::string> facts_of(const Rule& rule) {
  std::set<std::string> facts;
  for (const EvidenceRule& evidence : rule.evidence) facts.insert(evidence.fact);
  return {facts.begin(), facts.end()};
}

std::vector<RuleSignal> signals_of(const Rule& rule, const SignalSupply& supply) {
  std::vector<RuleSignal> signals;
  for (std::string& fact : facts_of(rule)) {
    if (!is_signal(fact)) continue;
    const auto found = supply.find(fact);
    const bool is_read = found != supply.end();
    const SignalState unread{SignalState::Kind::kNotTold, "nothing reads it yet"};
    signals.push_back({std::move(fact), is_read ? found->second : unread, is_read});
  }
  return signals;
}

bool can_speak(const Rule& rule, const SignalSupply& supply) {
  const auto lacks = [&](const EvidenceRule& evidence) {
    const auto found = supply.find(evidence.fact);
    return is_signal(evidence.fact) && (found == supply.end() || !found->second.why.empty());
  };
  bool has_any = false;
  bool any_speaks = false;
  for (const EvidenceRule& evidence : rule.evidence) {
    if (evidence.need == Need::kRequired && lacks(evidence)) return false;
    if (evidence.need != Need::kAny) continue;
    has_any = true;
    any_speaks = any_speaks || !lacks(evidence);
  }
  return !has_any || any_speaks;
}

}  // namespace eroica
