#include "trace/rank_from.h"

#include <fmt/format.h>

#include <charconv>
#include <regex>
#include <utility>

#include "trace/bundle_document.h"

namespace eroica {
namespace {

// The library's compiler is recursive over the pattern, its search at worst quadratic in the path.
constexpr size_t kMaxPatternLength = 256;
constexpr size_t kMaxPathLength = 1024;

Error invalid(std::string message) { return {Error::Kind::kInvalid, std::move(message)}; }

}  // namespace

struct RankFrom::Expression {
  std::string pattern;
  std::regex regex;
};

RankFrom::RankFrom(std::unique_ptr<Expression> expression) : expression_(std::move(expression)) {}
RankFrom::RankFrom(RankFrom&&) noexcept = default;
RankFrom& RankFrom::operator=(RankFrom&&) noexcept = default;
RankFrom::~RankFrom() = default;

Result<RankFrom> RankFrom::compile(const std::string& pattern) {
  const std::string option = fmt::format("--rank-from '{}'", pattern.substr(0, kMaxPatternLength));
  if (pattern.size() > kMaxPatternLength) {
    return invalid(fmt::format("{}…: longer than {} characters", option, kMaxPatternLength));
  }
  try {
    // libstdc++'s breadth-first matcher: no pattern can make it backtrack for ever.
    std::regex regex(pattern, std::regex::ECMAScript | std::regex_constants::__polynomial);
    if (regex.mark_count() != 1) {
      return invalid(
          fmt::format("{}: expected exactly one group (…) that captures the rank, found {}; write (?:…) for "
                      "groups that only hold together",
                      option, regex.mark_count()));
    }
    return RankFrom(std::make_unique<Expression>(Expression{pattern, std::move(regex)}));
  } catch (const std::regex_error& error) {
    return invalid(fmt::format("{}: not a regular expression: {}", option, error.what()));
  }
}

Result<std::optional<int32_t>> RankFrom::rank(const std::string& path) const {
  const std::string option = fmt::format("--rank-from '{}'", expression_->pattern);
  if (path.size() > kMaxPathLength) {
    return invalid(fmt::format("{}: a path of {} characters is too long to be matched (at most {}): {}", option,
                               path.size(), kMaxPathLength, path));
  }
  std::smatch match;
  if (!std::regex_search(path, match, expression_->regex)) return std::optional<int32_t>();

  const std::string captured = match[1].str();
  int32_t rank = -1;
  const auto [end, error] = std::from_chars(captured.data(), captured.data() + captured.size(), rank);
  const bool number = error == std::errc() && end == captured.data() + captured.size();
  if (!number || rank < 0 || rank > kMaxRank) {
    return invalid(
        fmt::format("{}: captures \"{}\" from {}, which is no rank (0 to {})", option, captured, path, kMaxRank));
  }
  return std::optional(rank);
}

}  // namespace eroica
