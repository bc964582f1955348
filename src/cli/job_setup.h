#pragma once

#include <optional>
#include <string>

#include "agent/job_folder.h"

namespace CLI {
class App;
}

namespace eroica {

// What a job needs before it starts.

/// A variable's value; empty: it is not set.
std::string environment_text(const char* name);
/// The probe's folder: the one that is named, else installed beside this program, or in the source tree that it was
/// built from. Empty: there is none.
std::string find_probe(const std::string& named);
/// NCCL's profiler plugin: installed beside this program, or in the tree that it was built in. Empty: there is none.
std::string find_nccl_plugin();
/// Why find_probe() gave nothing.
std::string no_probe(const std::string& named);
/// Text of a configuration file of Kineto that keeps the user's own one in force.
std::string kineto_config_for_job();
/// The id that is given, else SLURM's, else `otherwise`.
std::string job_name(const std::string& given, const std::string& otherwise);
/// This process's variables.
Environment process_environment();

/// Adds `--probe DIR`.
void add_probe_option(CLI::App* command, std::string& probe);
/// Adds `--window TIME`.
void add_window_option(CLI::App* command, std::optional<double>& window_s);
/// Adds `--job ID`.
void add_job_option(CLI::App* command, std::string& job, const char* what);

}  // namespace eroica
