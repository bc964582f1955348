#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/rank_list.h"
#include "base/words.h"
#include "report/diagnosis_text.h"
#include "report/text_sections.h"

namespace eroica {
namespace {

constexpr size_t kMostClaimsInFull = 3;
constexpr size_t kMostClaims = 8;
constexpr size_t kMostHints = 4;
constexpr size_t kMostEvidence = 3;
constexpr size_t kMostAlternatives = 3;
constexpr size_t kMostStacks = 3;
constexpr size_t kMostNames = 4;
constexpr size_t kMostSignals = 3;  // the remarks have all
constexpr size_t kLabelWidth = 9;
constexpr size_t kIndent = 3;

/// What the parts of the answer share.
struct Context {
  const Document& document;
  const TextOptions& options;
  double step_ms;  ///< mean, or median where that is not known; 0 = neither is

  [[nodiscard]] const TextStyle& style() const { return options.style; }
  [[nodiscard]] std::string clean(std::string_view text) const { return options.style.clean(text); }
  [[nodiscard]] std::string_view dash() const { return options.style.utf8 ? " — " : " - "; }
  [[nodiscard]] std::string_view plus_minus() const { return options.style.utf8 ? " ± " : " +- "; }
};

/// A labelled line of a claim's block, wrapped.
std::string labelled(std::string_view label, const std::string& text, const Context& context) {
  if (text.empty()) return "";
  const std::string front = fmt::format("{:{}}{:<{}}", "", kIndent, label, kLabelWidth);
  return wrapped(front, text, kIndent + kLabelWidth, context.options);
}

/// The same in exactly one line.
std::string labelled_cut(std::string_view label, const std::string& text, const Context& context) {
  const size_t taken = kIndent + kLabelWidth;
  const size_t left = context.options.width > taken + 20 ? context.options.width - taken : 20;
  return fmt::format("{:{}}{:<{}}{}\n", "", kIndent, label, kLabelWidth, context.style().cut_end(text, left));
}

/// A diagnosis names hosts only where they are at fault; where its ranks run helps to find them.
std::vector<std::string> hosts_of(const Diagnosis& diagnosis, const Context& context) {
  std::set<std::string> hosts;
  for (const RankTime& rank : context.document.profile.time.ranks) {
    if (!rank.host.empty() && std::ranges::binary_search(diagnosis.ranks, rank.rank)) {
      hosts.insert(rank.host);
    }
  }
  return {hosts.begin(), hosts.end()};
}

std::string title_of(const Diagnosis& diagnosis, const Context& context) {
  return context.clean(diagnosis.title.empty() ? diagnosis.cause : diagnosis.title);
}

/// "(14 %, 47 GPU-s an hour)"
std::string lost_in_brackets(const Diagnosis& diagnosis, double step_ms) {
  std::vector<std::string> parts;
  if (step_ms > 0) {
    const double percent = 100 * diagnosis.lost_ms_per_step / step_ms;
    parts.push_back(fmt::format("{:.{}f} %", percent, percent < 9.95 ? 1 : 0));
  }
  if (std::string gpu = gpu_time_text(diagnosis.lost_gpu_seconds_per_hour); !gpu.empty()) parts.push_back(gpu);
  return parts.empty() ? "" : fmt::format(" ({})", fmt::join(parts, ", "));
}

/// Who, how much and how sure: all that stands behind the title.
std::string claim_text(const Diagnosis& diagnosis, const Context& context) {
  const std::string where = context.clean(where_text(diagnosis, hosts_of(diagnosis, context)));
  const std::string lost = lost_text(diagnosis, context.step_ms);
  std::string text;
  if (!where.empty()) text += std::string(context.dash()) + where;
  const std::string_view dot = context.style().dot();
  if (!lost.empty()) text += fmt::format("{}lost {}{}", dot, lost, lost_in_brackets(diagnosis, context.step_ms));
  return text + fmt::format("{}{:.0f} % sure", dot, diagnosis.confidence * 100);
}

std::string claim_line(size_t number, const Diagnosis& diagnosis, const Context& context) {
  return wrapped(fmt::format("{:<{}}", number, kIndent),
                 context.style().bold(title_of(diagnosis, context)) + claim_text(diagnosis, context), kIndent,
                 context.options);
}

std::string function_text(const FunctionRef& function, const Context& context) {
  std::string text = context.clean(function.name);
  const std::string place = context.clean(place_text(function.file, function.line));
  if (!place.empty()) return text.empty() ? place : fmt::format("{}, {}", text, place);
  if (!function.kind.empty()) text += fmt::format(" ({})", function.kind);
  if (!function.path.empty()) text += ", called by " + context.clean(function.path.back());
  return text;
}

std::string evidence_text(const Evidence& evidence, const Diagnosis& diagnosis, const Context& context) {
  std::string text = fmt::format("{}: {}", evidence.what, amount_text(evidence.value, evidence.unit));
  if (evidence.peers_median) {
    text += ", peers " + amount_text(*evidence.peers_median, evidence.unit);
    if (evidence.peers_mad) {
      text += fmt::format("{}{}", context.plus_minus(), amount_text(*evidence.peers_mad, evidence.unit));
    }
  }
  if (!evidence.ranks.empty() && evidence.ranks != diagnosis.ranks) {
    const std::string list = rank_list(evidence.ranks);
    text += list.ends_with("...") ? fmt::format(" ({} ranks)", evidence.ranks.size()) : fmt::format(" ({})", list);
  }
  return context.clean(text);
}

std::string alternatives_text(const Diagnosis& diagnosis, const Context& context) {
  std::string text;
  const size_t shown = std::min(diagnosis.alternatives.size(), kMostAlternatives);
  for (size_t i = 0; i < shown; ++i) {
    const Alternative& alternative = diagnosis.alternatives[i];
    text += (i == 0 ? "" : "; ") + alternative.cause;
    if (!alternative.ruled_out_by.empty()) text += fmt::format(" ({})", alternative.ruled_out_by);
  }
  const size_t more = diagnosis.alternatives.size() - shown;
  if (more > 0) text += fmt::format("; {} more", more);
  return context.clean(text);
}

std::string claim_block(size_t number, const Diagnosis& diagnosis, const Context& context) {
  std::string text = claim_line(number, diagnosis, context);
  if (diagnosis.function) text += labelled("in", function_text(*diagnosis.function, context), context);
  const size_t shown = std::min(diagnosis.evidence.size(), kMostEvidence);
  for (size_t i = 0; i < shown; ++i) {
    text += labelled(i == 0 ? "because" : "", evidence_text(diagnosis.evidence[i], diagnosis, context), context);
  }
  if (shown == 0) text += labelled("because", context.clean(diagnosis.summary), context);
  if (!diagnosis.alternatives.empty()) text += labelled_cut("not", alternatives_text(diagnosis, context), context);
  return text + labelled("do:", context.clean(diagnosis.action), context);
}

std::string claims(bool brief, const Context& context) {
  const std::vector<Diagnosis>& diagnoses = context.document.conclusion.diagnoses;
  const size_t in_full = brief ? 0 : kMostClaimsInFull;
  std::string text;
  for (size_t i = 0; i < std::min(diagnoses.size(), kMostClaims); ++i) {
    text += i < in_full ? claim_block(i + 1, diagnoses[i], context) : claim_line(i + 1, diagnoses[i], context);
  }
  if (diagnoses.size() > kMostClaims) {
    text += context.style().dim(fmt::format("   and {} more (--format json has all)", diagnoses.size() - kMostClaims)) +
            "\n";
  }
  return text;
}

std::string without_findings(const Context& context) {
  const double without = context.document.conclusion.what_if.step_ms_without_findings;
  if (context.document.conclusion.diagnoses.empty() || without <= 0 || without >= context.step_ms) return "";
  return wrapped("",
                 fmt::format("Without what was found a step would take {} instead of {}.", amount_text(without, "ms"),
                             amount_text(context.step_ms, "ms")),
                 0, context.options);
}

std::string victims(const Context& context) {
  const std::vector<int32_t>& ranks = context.document.conclusion.victims;
  if (ranks.empty()) return "";
  return wrapped("", context.style().dim("Only waiting for others: " + ranks_text(ranks) + "."), 0, context.options);
}

std::string hints(const Context& context) {
  const std::vector<Diagnosis>& all = context.document.conclusion.hints;
  std::string text;
  for (size_t i = 0; i < std::min(all.size(), kMostHints); ++i) {
    const std::string line = "hint  " + title_of(all[i], context) + claim_text(all[i], context);
    text += context.style().dim(context.style().cut_end(line, context.options.width)) + "\n";
  }
  if (all.size() > kMostHints) {
    text +=
        context.style().dim(fmt::format("      and {} more hints (--format json has all)", all.size() - kMostHints)) +
        "\n";
  }
  return text;
}

std::string blocked(const Context& context) {
  if (!context.document.conclusion.blocked) return "";
  const Blocked& blocked = *context.document.conclusion.blocked;
  std::string text = context.style().warning(
      wrapped("", "Blocked in " + context.clean(blocked_text(blocked)), kIndent, context.options));
  const auto lines = [&](std::string_view label, const std::vector<std::string>& rows) {
    for (size_t i = 0; i < std::min(rows.size(), kMostStacks); ++i) {
      text += labelled_cut(i == 0 ? label : "", context.clean(rows[i]), context);
    }
    if (rows.size() > kMostStacks) {
      text += labelled_cut("", fmt::format("and {} more", rows.size() - kMostStacks), context);
    }
  };
  lines("stack", blocked.stacks);
  lines("state", blocked.process_state);
  return text;
}

/// What was compared, and what could not be seen.
std::string nothing_wrong(const Context& context) {
  const Document& document = context.document;
  std::set<int32_t> compared;
  std::vector<std::string> names;
  for (const PeerGroup& group : document.conclusion.peer_groups) {
    compared.insert(group.ranks.begin(), group.ranks.end());
    names.push_back(group.name);
  }
  const std::string_view dot = context.style().dot();
  std::string text{dot};
  if (compared.size() < 2) {
    text += document.coverage.ranks_seen == 1 ? "one rank, with nobody to compare it with"
                                              : "no ranks that could be compared with each other";
  } else if (names.size() == 1 && names[0] == "all ranks") {
    text += fmt::format("all {} ranks compared", compared.size());
  } else {
    text += fmt::format("{} ranks compared: {}", compared.size(), some_of(names, kMostNames));
  }
  const std::vector<std::string>& missing = document.coverage.signals_missing;
  if (missing.size() > kMostSignals) {
    text += fmt::format("{}{} signals not sampled (listed below)", dot, missing.size());
  } else if (!missing.empty()) {
    text += fmt::format("{}not sampled: {}", dot, fmt::join(missing, ", "));
  }
  return wrapped("", context.style().bold("Nothing wrong was found") + context.clean(text), kIndent, context.options);
}

}  // namespace

std::string answer(const Document& document, bool brief, const TextOptions& options) {
  const std::optional<StepTimes>& times = document.profile.steps.times;
  const double mean_ms = document.conclusion.what_if.step_ms;
  const Context context{document, options, !times ? 0 : mean_ms > 0 ? mean_ms : times->median_ms};
  std::string text = blocked(context);
  if (!document.conclusion.diagnoses.empty()) {
    text += claims(brief, context);
  } else if (text.empty() && !brief) {
    text = nothing_wrong(context);
  }
  if (brief) return text;
  return text + without_findings(context) + victims(context) + hints(context);
}

}  // namespace eroica
