#pragma once

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "steps/step_finder.h"

namespace eroica::testing {

inline constexpr int64_t kMs = 1'000'000;

/// A training loop as text, for tests that people can read. Capital letters are optimizer steps (3 ms), small ones
/// fetches (1 ms): f, g, h are followed by 10 ms of work, others (e, v, w: an evaluation's) by 3 ms; e fetches from f's
/// loader. '.' is 10 ms of work, '_' a second, '!' the mark of an explicit step of 20 ms (that the next marks are in).
struct Script {
  std::vector<Mark> marks;
  std::string tokens;  ///< one per mark
  int64_t end_ns = 0;
};

inline uint64_t name_of_token(char token) { return static_cast<uint64_t>(token == 'e' ? 'f' : token); }

inline Script script(std::string_view text, int64_t start_ns = 0) {
  Script result;
  int64_t now = start_ns;
  for (const char token : text) {
    if (token == '.') now += 10 * kMs;
    if (token == '_') now += 1000 * kMs;
    if (!std::isalpha(static_cast<unsigned char>(token))) continue;
    const bool optimizer = std::isupper(static_cast<unsigned char>(token)) != 0;
    const int64_t duration = optimizer ? 3 * kMs : kMs;
    result.marks.push_back({.kind = optimizer ? MarkKind::kOptimizer : MarkKind::kFetch,
                            .name_hash = name_of_token(token),
                            .start_ns = now,
                            .end_ns = now + duration});
    result.tokens += token;
    now += duration;
    if (!optimizer) now += (token >= 'f' && token <= 'h' ? 10 : 3) * kMs;
  }
  result.end_ns = now;
  return result;
}

/// The steps as text: the marks that start in each, '-' behind those cut by the window, '~' behind irregular ones.
inline std::string text_of(const std::vector<Step>& steps, const Script& script) {
  std::string text;
  for (const Step& step : steps) {
    if (!text.empty()) text += ' ';
    for (size_t i = 0; i < script.marks.size(); ++i) {
      const int64_t start_ns = script.marks[i].start_ns;
      if (start_ns >= step.start_ns && start_ns < step.end_ns) text += script.tokens[i];
    }
    if (!step.complete) text += '-';
    if (step.irregular) text += '~';
  }
  return text;
}

inline Steps steps_of(const Script& script) {
  return find_steps(script.marks, false, {.window_start_ns = 0, .window_end_ns = script.end_ns});
}

inline std::string repeated(std::string_view text, int times) {
  std::string result;
  for (int i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace eroica::testing
