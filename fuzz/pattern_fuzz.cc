// Pattern files, the messages inside them, and raw function names. The first byte says which; a file says so itself.
//   'p' a pattern's message, not compressed     'n' a name table's     'f' raw names, one a line

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pattern/identity.h"
#include "pattern/wire.h"
#include "pattern/zstd_block.h"

namespace eroica {
namespace {

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

/// What is accepted encodes within the limit, and that encoding is its own fixed point.
void check(const RankPattern& pattern) {
  const std::string encoded = encode_pattern(pattern);
  require(encoded.size() <= kMaxPatternBytes);
  const Result<RankPattern> again = decode_pattern(encoded);
  require(again.ok());
  require(encode_pattern(*again) == encoded);
}

/// What is accepted as a whole is accepted for comparison; what is read for that alone is a pattern too.
void try_pattern(std::string_view encoded) {
  PatternDecoder decoder;
  const Result<RankPattern> compared = decoder.decode(encoded, PatternDetail::kComparison);
  const Result<RankPattern> whole = decoder.decode(encoded);
  if (whole.ok()) {
    require(compared.ok());
    check(*whole);
  }
  if (compared.ok()) {
    check(*compared);
  }
}

void check(const NameTable& names) {
  const std::string encoded = encode_names(names);
  const Result<NameTable> again = decode_names(encoded);
  require(again.ok());
  require(encode_names(*again) == encoded);
}

void check_name(const CanonicalName& name) {
  require(name.text.size() <= 128 && name.full.size() <= 1024 && name.file.size() <= 1024);
  require(function_hash(FunctionKind::kPython, name) == function_hash(FunctionKind::kPython, name));
}

void try_file(std::string_view bytes) {
  const Result<PatternFile> file = read_pattern_file(bytes, "fuzz");
  if (file.ok()) {
    for (const RankPattern& pattern : file->patterns) {
      check(pattern);
    }
    check(file->names);
  }
}

void try_names(std::string_view lines) {
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    check_name(canonical_python(line));
    check_name(canonical_kernel(line));
    check_name(canonical_operator(line));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
}

}  // namespace
}  // namespace eroica

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (eroica::is_pattern_file(bytes)) {
    eroica::try_file(bytes);
  } else if (bytes.starts_with('p')) {
    eroica::try_pattern(eroica::zstd_block(bytes.substr(1)));
  } else if (bytes.starts_with('n')) {
    const auto names = eroica::decode_names(eroica::zstd_block(bytes.substr(1)));
    if (names.ok()) {
      eroica::check(*names);
    }
  } else if (bytes.starts_with('f')) {
    eroica::try_names(bytes.substr(1));
  }
  return 0;
}
