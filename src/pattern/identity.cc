#include "pattern/identity.h"

#include <algorithm>

#include "base/hash.h"
#include "pattern/identity_text.h"
#include "pattern/text.h"

namespace eroica {
namespace {

/// Names whose number counts steps, regions or ranks.
constexpr std::string_view kProfilerStep = "ProfilerStep#";
constexpr std::string_view kCompiledRegion = "Torch-Compiled Region: ";

/// Content hashes as compilers append them: 32 or more lower-case letters and digits, digits among them.
bool is_content_hash(std::string_view word) {
  const auto digits = std::count_if(word.begin(), word.end(), is_digit);
  return word.size() >= 32 && digits > 0 &&
         std::all_of(word.begin(), word.end(), [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); });
}

/// Is `before` the text in front of a number that names a thread or a process?
bool names_an_id(std::string_view before) {
  for (std::string_view key : {"_id:", "_id=", "tid:", "tid=", "pid:", "pid=", "torch_package_"}) {
    if (before.ends_with(key)) {
      return true;
    }
  }
  return false;
}

/// Content hashes and the numbers of threads and processes taken out.
std::string without_ids(std::string_view text) {
  std::string kept;
  kept.reserve(text.size());
  while (!text.empty()) {
    if (is_digit(text[0]) && names_an_id(kept)) {
      text.remove_prefix(std::min(text.find_first_not_of("0123456789"), text.size()));
      kept.pop_back();  // the separator in front of it
      continue;
    }
    size_t end = 0;
    while (end < text.size() && is_word_char(text[end]) && text[end] != '_') {
      ++end;
    }
    const std::string_view word = text.substr(0, std::max<size_t>(end, 1));
    if (!is_content_hash(word)) {
      kept += word;
    } else if (kept.ends_with(' ') || kept.ends_with('_')) {
      kept.pop_back();
    }
    text.remove_prefix(word.size());
  }
  return kept;
}

}  // namespace

CanonicalName canonical_operator(std::string_view raw) {
  raw = raw.substr(0, kLongestRawBytes);
  CanonicalName name;
  if (raw.starts_with(kProfilerStep)) {
    name.text = "ProfilerStep";
    return name;
  }
  if (raw.starts_with(kCompiledRegion)) {
    raw = raw.substr(0, raw.find('/', kCompiledRegion.size()));  // behind it: which recompilation
  }
  const std::string whole = without_ids(without_addresses(raw));
  set_text(name, whole, whole);
  return name;
}

uint64_t function_hash(FunctionKind kind, const CanonicalName& name, uint64_t path_hash) {
  const uint64_t words = hash_combine(hash_bytes(name.full.empty() ? name.text : name.full), hash_bytes(name.file));
  return hash_combine(hash_combine(static_cast<uint64_t>(kind), words), path_hash);
}

}  // namespace eroica
