#pragma once

#include <map>
#include <string>
#include <string_view>

#include "cli/pipeline.h"

namespace eroica {

inline constexpr std::string_view kNamesFile = "names.eroica";

/// File names and contents: rankN.eroica for every rank, and names.eroica.
std::map<std::string, std::string> rank_files(const Collected& collected);

/// Adds the names that stand in the file `path` already, if it can be read, to names.eroica of `files`.
void add_names(const std::string& path, const Collected& collected, std::map<std::string, std::string>& files);

/// One file a host, host-NAME.eroica, with all its ranks and the names that these use. Hosts that are not known share
/// host-unknown.eroica; characters that file systems or shells dislike become '_'.
std::map<std::string, std::string> host_packs(const Collected& collected);

}  // namespace eroica
