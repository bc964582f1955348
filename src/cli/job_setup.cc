#include "cli/job_setup.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/control_message.h"
#include "agent/job_folder.h"

namespace eroica {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostConfigBytes = 65'536;
constexpr const char* kNcclPlugin = "libnccl-profiler-eroica.so";

std::optional<double> seconds_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc()) return std::nullopt;
  if (unit == "ms") value *= 1e-3;
  if (!(unit.empty() || unit == "s" || unit == "ms")) return std::nullopt;
  if (!(value >= kLeastWindowS && value <= kMostWindowS)) return std::nullopt;
  return value;
}

bool is_probe(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / "site" / "sitecustomize.py", error);
}

}  // namespace

std::string environment_text(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string find_probe(const std::string& named) {
  std::error_code error;
  if (!named.empty()) return is_probe(named) ? fs::absolute(named, error).string() : std::string();
  const fs::path bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& folder : {bin / ".." / "share" / "eroica" / "probe", fs::path(EROICA_PROBE_DIR)}) {
    if (is_probe(folder)) return fs::canonical(folder, error).string();
  }
  return "";
}

std::string find_nccl_plugin() {
  std::error_code error;
  const fs::path bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& path : {bin / ".." / "lib" / "eroica" / kNcclPlugin, bin / "nccl" / kNcclPlugin}) {
    if (fs::is_regular_file(path, error)) return fs::canonical(path, error).string();
  }
  return "";
}

std::string no_probe(const std::string& named) {
  return named.empty() ? "the probe is not found; name its folder with --probe"
                       : named + ": no probe there (site/sitecustomize.py is missing)";
}

std::string kineto_config_for_job() {
  std::string users;
  if (const std::string theirs = environment_text("KINETO_CONFIG"); !theirs.empty()) {
    std::ifstream file(theirs, std::ios::binary);
    users.resize(kMostConfigBytes);
    file.read(users.data(), static_cast<std::streamsize>(users.size()));
    users.resize(static_cast<size_t>(file.gcount()));
  }
  return kineto_config_text(users);
}

std::string job_name(const std::string& given, const std::string& otherwise) {
  if (!given.empty()) return given;
  const std::string slurm = environment_text("SLURM_JOB_ID");
  return is_job_id(slurm) ? slurm : otherwise;
}

Environment process_environment() {
  return [](const char* name) { return std::getenv(name); };
}

void add_probe_option(CLI::App* command, std::string& probe) {
  command->add_option("--probe", probe, "Folder of the probe; default: the one that came with eroica")
      ->type_name("DIR");
}

void add_window_option(CLI::App* command, std::optional<double>& window_s) {
  command
      ->add_option_function<std::string>(
          "--window",
          [&window_s](const std::string& text) {
            window_s = seconds_of(text);
            if (!window_s) throw CLI::ValidationError("--window", "expected 100ms to 600s, as in 5s");
          },
          "Profile for so long; default: about ten steps")
      ->type_name("TIME");
}

void add_job_option(CLI::App* command, std::string& job, const char* what) {
  command
      ->add_option_function<std::string>(
          "--job",
          [&job](const std::string& text) {
            if (!is_job_id(text)) {
              throw CLI::ValidationError("--job", "expected an id without spaces, quotes and slashes");
            }
            job = text;
          },
          what)
      ->type_name("ID");
}

}  // namespace eroica
