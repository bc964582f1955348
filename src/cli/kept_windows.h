#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "steps/policy.h"

namespace eroica {

/// Windows of one job that are kept in a folder, as many as the policy allows. What else lies there is left alone.
class KeptWindows {
 public:
  KeptWindows(std::string folder, const KeepPolicy& policy) : folder_(std::move(folder)), policy_(policy) {}

  /// Moves a bundle in, whole or not at all, and removes the oldest for it. Gives its path; the bundle is then gone
  /// from where it was. Error kWrite: it stays there, and why, for people.
  Result<std::string> keep(const std::string& bundle, const std::string& window, int64_t now_unix_ns);

 private:
  std::string folder_;
  KeepPolicy policy_;
};

}  // namespace eroica
