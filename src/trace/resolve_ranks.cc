#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trace/bundle.h"
#include "trace/bundle_document.h"

namespace eroica {
namespace {

constexpr size_t kMaxLines = 40;

std::string_view source_words(RankSource source) {
  switch (source) {
    case RankSource::kBundle:
      return "bundle.json";
    case RankSource::kRankFrom:
      return "--rank-from";
    case RankSource::kMetadata:
      return "the trace's distributedInfo";
    case RankSource::kFileName:
      return "file name";
    case RankSource::kOnlyTrace:
      return "the only trace";
    case RankSource::kUnknown:
      break;
  }
  return "says no rank";
}

std::string claim_line(const RankInput& input) {
  const std::string path = input.trace_path.empty() ? "(no trace)" : input.trace_path;
  if (input.rank < 0) return fmt::format("\n  {}: {}", path, source_words(input.rank_source));
  return fmt::format("\n  {}: rank {} ({})", path, input.rank, source_words(input.rank_source));
}

void settle(RankInput& input, int32_t metadata_rank, std::vector<std::string>& problems) {
  const bool told = metadata_rank >= 0 && metadata_rank <= kMaxRank;
  if (input.rank >= 0) {
    if (told && metadata_rank != input.rank) {
      problems.push_back(
          fmt::format("{}: rank {} by {}, but the trace itself says rank {}; taken as "
                      "rank {}",
                      input.trace_path, input.rank, source_words(input.rank_source), metadata_rank, input.rank));
    }
    return;
  }
  input.rank = told ? metadata_rank : rank_from_file_name(input.trace_path);
  if (input.rank < 0) return;
  input.rank_source = told ? RankSource::kMetadata : RankSource::kFileName;
}

/// Orders what needs help first: ranks claimed twice, then traces that say nothing, then the rest.
std::string listing(std::vector<const RankInput*> inputs, const std::map<int32_t, size_t>& claimants) {
  const auto urgency = [&](const RankInput* input) {
    if (input->rank < 0) return 1;
    return claimants.at(input->rank) > 1 ? 0 : 2;
  };
  std::stable_sort(inputs.begin(), inputs.end(), [&](const RankInput* a, const RankInput* b) {
    if (urgency(a) != urgency(b)) return urgency(a) < urgency(b);
    return a->rank < b->rank;
  });
  std::string lines;
  for (size_t i = 0; i < std::min(inputs.size(), kMaxLines); ++i) lines += claim_line(*inputs[i]);
  if (inputs.size() > kMaxLines) lines += fmt::format("\n  and {} more", inputs.size() - kMaxLines);
  return lines;
}

}  // namespace

Status resolve_ranks(InputSet& inputs, const std::vector<RankClaim>& claims) {
  std::vector<bool> counts(inputs.ranks.size());
  for (size_t i = 0; i < counts.size(); ++i) counts[i] = inputs.ranks[i].rank >= 0;
  for (const RankClaim& claim : claims) {
    RankInput& input = inputs.ranks.at(claim.input);
    settle(input, claim.metadata_rank, inputs.problems);
    counts[claim.input] = true;
    if (input.rank < 0 && claims.size() == 1) {
      input.rank = 0;
      input.rank_source = RankSource::kOnlyTrace;
    }
  }

  std::vector<const RankInput*> counted;
  std::map<int32_t, size_t> claimants;
  size_t silent = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (!counts[i]) continue;
    counted.push_back(&inputs.ranks[i]);
    if (inputs.ranks[i].rank < 0) {
      ++silent;
    } else {
      ++claimants[inputs.ranks[i].rank];
    }
  }
  const auto twice =
      std::count_if(claimants.begin(), claimants.end(), [](const auto& claimant) { return claimant.second > 1; });
  if (twice == 0 && silent == 0) return ok_status();

  std::string what;
  if (twice > 0) {
    what += fmt::format("{} rank{} claimed by more than one trace", twice, twice == 1 ? " is" : "s are");
  }
  if (silent > 0) {
    what += fmt::format("{}{} trace{} no rank", twice > 0 ? ", and " : "", silent, silent == 1 ? " says" : "s say");
  }
  return Error{Error::Kind::kAmbiguous,
               fmt::format("which trace is which rank? {}:{}\nName only the traces of one window, or "
                           "tell the ranks: --rank-from 'rank(\\d+)' (a regular expression whose "
                           "group captures the rank from the path), or a bundle.json.",
                           what, listing(counted, claimants))};
}

}  // namespace eroica
