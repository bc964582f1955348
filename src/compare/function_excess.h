#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/job.h"
#include "compare/kernel_speed.h"
#include "compare/peers.h"
#include "compare/subject.h"

namespace eroica {

/// A function's critical time on a subject, shares of the window.
struct FunctionExcess {
  uint32_t function = 0;  ///< in Job::functions
  double share = 0;       ///< mean over the subject
  double excess = 0;      ///< above the median of peers outside the subject; = share where there are none
  double calls = 0;       ///< a step
  double peers_calls = 0;
  int32_t line = 0;
  uint32_t issuer = 0;  ///< in Job::functions + 1
  int32_t issuer_line = 0;
};

/// Every function of the subject, largest excess first.
std::vector<FunctionExcess> function_excess(const Job& job, const FunctionIndex& index, const Peers& peers,
                                            const Subject& subject);

/// Is a use part of the user's own Python: frames of the user's code, and the access to single elements that they
/// issue? What waits is left out.
bool is_user_python(const Job& job, uint32_t function, uint32_t issuer);
inline bool is_user_python(const Job& job, const FunctionUse& use) {
  return is_user_python(job, use.function, use.issuer);
}
/// The share of the window that all user Python of the rank explains; Python functions not more than Python explains of
/// the rank's whole steps, as what lies at the window's edges is no part of a step.
double user_python_share(const Job& job, const RankFacts& rank);

/// A Python function by file and name, with what it and everything that it calls takes.
struct UserFunction {
  std::string file;
  std::string name;
  int32_t line = 0;  ///< of its definition, 0 = unknown
  std::vector<std::string> path;
  double excess = 0;
  double share = 0;
};

/// The user's own function that explains most of the excess of Python code and of operators that Python code issued:
/// the innermost that holds at least 70 % of what any user function holds. With `by_share` the time itself counts, not
/// the excess. Functions that only wait are left out. None: no user code is involved.
std::optional<UserFunction> blame_user_function(const Job& job, const NameTable& names,
                                                const std::vector<FunctionExcess>& functions, bool by_share);

}  // namespace eroica
