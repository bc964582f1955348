#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"

namespace eroica {

/// The user's own way to read a rank off a path: `--rank-from REGEX`.
class RankFrom {
 public:
  /// `pattern` is an ECMAScript regular expression with exactly one group. Back-references and look-ahead are not
  /// supported, so matching never takes more than (length of path) × (length of pattern). Error kInvalid.
  static Result<RankFrom> compile(const std::string& pattern);

  RankFrom(RankFrom&&) noexcept;
  RankFrom& operator=(RankFrom&&) noexcept;
  RankFrom(const RankFrom&) = delete;
  RankFrom& operator=(const RankFrom&) = delete;
  ~RankFrom();

  /// The rank that the group captures; nullopt when the expression is not found in the path. Error kInvalid when it
  /// captures no number of sane size, or the path is longer than is matched.
  [[nodiscard]] Result<std::optional<int32_t>> rank(const std::string& path) const;

 private:
  struct Expression;
  explicit RankFrom(std::unique_ptr<Expression> expression);
  std::unique_ptr<Expression> expression_;
};

}  // namespace eroica
