#include "cli/policy_load.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "cli/logging.h"
#include "cli/policy_file.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = (size_t{1} << 20) + 1;  // one more than parse_policy() takes

}  // namespace

Result<std::string> read_policy_text(const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return Error{Error::Kind::kNotFound, path + ": no such file"};
  if (!fs::is_regular_file(path, error)) return Error{Error::Kind::kUnreadable, path + ": is no regular file"};
  std::ifstream file(path, std::ios::binary);
  std::string text(kMostBytes, '\0');
  if (file) file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || !file.is_open()) {
    return Error{Error::Kind::kUnreadable, fmt::format("{}: {}", path, std::strerror(errno))};
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

Result<Policy> load_policy(const std::string& name, Log& log) {
  if (name.empty() || name == "default") return Policy{};
  if (name == "eroica") {
    Policy policy;
    policy.method = DetectorMethod::kEroica;
    return policy;
  }
  const Result<std::string> toml = read_policy_text(name);
  if (!toml) return toml.error();
  PolicyFile file = parse_policy(*toml, name);
  for (const PolicyProblem& problem : file.problems) log.error(in_words(problem));
  if (!file.problems.empty()) return Error{Error::Kind::kInvalid, name + ": has problems, so it is not used"};
  return std::move(file.policy);
}

}  // namespace eroica
