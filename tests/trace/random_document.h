#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace eroica::testkit {

/// Documents of every shape that traces have, made at random from a seed.
class RandomDocument {
 public:
  explicit RandomDocument(uint32_t seed) : random_(seed) {}

  /// The elements of traceEvents, valid JSON each, with strings and nesting that invite mistakes.
  std::vector<std::string> events(size_t count);
  /// Timed, counter and name events only, whose order in the file must not matter.
  std::vector<std::string> unordered_events(size_t count);
  /// A document around the events, with metadata before, behind or absent, in one of several layouts.
  std::string document(const std::vector<std::string>& events);
  /// The document with a few bytes changed, lost, doubled or inserted, or cut.
  std::string damage(std::string document);

  size_t below(size_t limit) { return random_() % limit; }

 private:
  std::string event(bool ordered_only_if_timed);
  std::string string();
  std::string number();
  std::string id();
  std::string space();
  std::string value(size_t depth);
  std::string args(const std::string& category);
  bool chance(double probability) { return static_cast<double>(random_() % 1000) < probability * 1000; }
  template <typename T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

  std::mt19937 random_;
  bool pretty_ = false;
};

}  // namespace eroica::testkit
