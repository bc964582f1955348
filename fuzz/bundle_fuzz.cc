// bundle.json and the first look at files come from anybody: whatever the bytes, they are read or refused in words.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>

#include "trace/bundle_document.h"
#include "trace/document_kind.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

bool stays_inside(const std::string& path) {
  const std::filesystem::path normal = std::filesystem::path(path).lexically_normal();
  return path.empty() || (normal.is_relative() && *normal.begin() != "..");
}

void check(const eroica::BundleDocument& bundle) {
  std::set<int32_t> ranks;
  for (const eroica::BundleRank& rank : bundle.ranks) {
    require(rank.rank.rank >= 0 && rank.rank.rank <= eroica::kMaxRank);
    require(ranks.insert(rank.rank.rank).second);
    require(bundle.world_size < 0 || rank.rank.rank < bundle.world_size);
    require(stays_inside(rank.trace.path));
  }
  for (const eroica::BundleFile& file : bundle.samples) {
    require(!file.path.empty() && stays_inside(file.path));
  }
  if (bundle.window) require(bundle.window->duration_ns > 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const eroica::Result<eroica::BundleDocument> bundle = eroica::parse_bundle(text, "bundle.json");
  if (bundle.ok()) {
    check(*bundle);
  } else {
    require(bundle.error().message.starts_with("bundle.json: "));
  }
  require(eroica::document_kind(text, true).has_value());
  const int32_t rank = eroica::rank_from_file_name(text.substr(0, 4096));
  require(rank >= -1 && rank <= eroica::kMaxRank);
  return 0;
}
