#include "base/file_problem.h"

#include <fmt/format.h>

#include <utility>

namespace eroica {

std::string in_words(const FileProblem& problem) {
  return fmt::format("{}:{}: {}", problem.file, problem.line, problem.message);
}

void FileProblems::add(uint32_t line, std::string message) {
  constexpr size_t kMostProblems = 200;
  ++count_;
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  if (list_.size() < kMostProblems) list_.push_back({file_, static_cast<int32_t>(line), std::move(message)});
}

}  // namespace eroica
