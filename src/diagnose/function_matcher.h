#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compare/job.h"
#include "pattern/pattern.h"

namespace eroica {

/// Which functions of a job a rule's regular expression (RE2) selects: by name, file, or any caller
/// ("file: function"). Every distinct text is tried once.
class FunctionMatcher {
 public:
  FunctionMatcher(const Job& job, const NameTable& names);
  /// By index in Job::functions. An expression that does not compile selects nothing.
  const std::vector<bool>& matching(const std::string& expression);

 private:
  struct Texts {
    std::vector<uint32_t> ids;  // of one function
  };
  std::vector<std::string> texts_;
  std::vector<Texts> of_function_;
  std::unordered_map<std::string, std::vector<bool>> known_;
};

/// Does `text` match somewhere? False for an expression that does not compile.
bool matches_text(const std::string& text, const std::string& expression);
/// What is wrong with an expression, empty = nothing.
std::string regex_problem(const std::string& expression);

}  // namespace eroica
