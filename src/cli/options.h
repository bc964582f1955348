#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/agent.h"
#include "cli/doctor.h"
#include "cli/env.h"
#include "cli/policy.h"
#include "cli/rules.h"
#include "cli/run.h"
#include "cli/serve.h"
#include "cli/server_client.h"
#include "cli/simulate.h"
#include "cli/status.h"
#include "cli/trigger.h"

namespace eroica {

/// Exit statuses; a public contract.
inline constexpr int kExitHealthy = 0;
inline constexpr int kExitClaims = 1;
inline constexpr int kExitNoInput = 2;
inline constexpr int kExitUsage = 64;
inline constexpr int kExitNoOutput = 74;

enum class Format { kText, kJson, kHtml };
enum class ColorMode { kAuto, kAlways, kNever };

/// How `analyze` concludes what is wrong.
enum class Method {
  kFull,               ///< the comparison and the rules
  kEroica,             ///< as published for EROICA; this and the next two are there to compare with
  kLargestTotal,       ///< the rank with the largest total time of any function
  kLongestCollective,  ///< the rank whose collectives take longest
};

/// What all commands that read traces share.
struct InputOptions {
  std::vector<std::string> paths;
  std::string rank_from;
  std::string step_marker;
  size_t jobs = 0;  ///< 0: as many as there are cores
  bool quiet = false;
  bool verbose = false;
};

struct AnalyzeOptions {
  InputOptions input;
  Format format = Format::kText;
  std::string output;  ///< empty or "-": standard output
  ColorMode color = ColorMode::kAuto;
  std::vector<int32_t> ranks;
  std::string function;
  std::optional<size_t> top;       ///< 0: all
  std::vector<std::string> rules;  ///< folders with rules of the operator
  Method method = Method::kFull;
  std::string baseline;  ///< an earlier, healthy window of the job; empty: none
};

struct SummarizeOptions {
  InputOptions input;
  std::string folder;
  bool pack = false;
};

struct ExportOptions {
  InputOptions input;
  std::string output;
  std::vector<int32_t> ranks;
  std::optional<double> from_ms;
  std::optional<double> to_ms;
};

/// Nothing to run: help, version or wrong usage.
struct Leave {
  int status = 0;
  std::string out;
  std::string err;
};

using Command = std::variant<Leave, AnalyzeOptions, SummarizeOptions, ExportOptions, SimulateOptions, RulesOptions,
                             PolicyOptions, RunOptions, AgentOptions, DoctorOptions, EnvOptions, StatusOptions,
                             TriggerOptions, ServeOptions, TokenOptions, ServerQuery>;

/// Understands the command line. Never writes and never exits.
Command parse_command_line(int argc, const char* const* argv);

}  // namespace eroica
