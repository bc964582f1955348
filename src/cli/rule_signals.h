#pragma once

#include <string>
#include <vector>

#include "diagnose/rule.h"
#include "sample/signal_supply.h"

namespace eroica {

/// What windows of this user's jobs would hold on this host. Asks its GPUs, so that it may take some seconds.
SignalSupply host_signal_supply();

/// Whatever its evidence looks at, each once, by name.
std::vector<std::string> facts_of(const Rule& rule);

/// A signal that a rule looks at.
struct RuleSignal {
  std::string metric;
  SignalState state;
  bool is_read = true;  ///< there is something that reads it where it can be had
};
std::vector<RuleSignal> signals_of(const Rule& rule, const SignalSupply& supply);

/// Can it be said at all, going by the signals that it requires?
bool can_speak(const Rule& rule, const SignalSupply& supply);

}  // namespace eroica
