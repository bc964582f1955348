#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "pattern/pattern.h"

namespace eroica {

/// The most bytes that one encoded rank may take: with the frame around it (pattern_file.h), at most 30,000 (contract).
inline constexpr size_t kMaxPatternBytes = 29'900;

/// Encodes one rank within kMaxPatternBytes, whatever is in it, dropping the least telling first (wire_limits.h says
/// what, in which order). What is dropped of the functions is summed into `rest`: the sums of executions and of total,
/// self and exposed time over functions and rest stay the same. Deterministic. Also quantises what the wire quantises,
/// so decode(encode(x)) is a fixed point: encode(decode(encode(x))) has the same bytes.
/// Text is made valid UTF-8, negative times and counts become 0, values that are no numbers 0.
std::string encode_pattern(const RankPattern& pattern);

/// How much of a pattern is read.
enum class PatternDetail : uint8_t {
  kWhole,
  kComparison,  ///< what comparing ranks needs, for jobs of very many: without the series over steps; of functions
                ///< below kLeastTellingShare only compute, and that without sketches and issuers; GPUs' use by the
                ///< first compute functions above it as the only hardware use; of instances only who the peers are
};

/// Decodes patterns one after the other, keeping what it needs for that.
class PatternDecoder {
 public:
  PatternDecoder();
  PatternDecoder(PatternDecoder&&) noexcept;
  PatternDecoder& operator=(PatternDecoder&&) noexcept;
  ~PatternDecoder();

  /// Errors: damaged or no pattern (kInvalid, says what is wrong), a newer major version (kUnsupported).
  Result<RankPattern> decode(std::string_view bytes, PatternDetail detail = PatternDetail::kWhole);
  /// The same into a pattern whose memory is used again; with an error it is left without meaning. For comparison
  /// `most_functions` at least have their sketches and issuers, those with the most exposed or self time.
  Status decode(std::string_view bytes, PatternDetail detail, RankPattern& pattern, size_t most_functions = SIZE_MAX);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

/// The same for a single one.
Result<RankPattern> decode_pattern(std::string_view bytes);

/// The hashes that a pattern refers to, ascending, each once.
std::vector<uint64_t> referenced_names(const RankPattern& pattern);

/// The name table's own form, zstd-compressed, sent once a job. Words beyond 48 MiB are left out (highest hashes
/// first), paths longer than 128 callers keep both ends.
std::string encode_names(const NameTable& names);
/// Errors as decode_pattern.
Result<NameTable> decode_names(std::string_view bytes);

/// Adds `more` to `into`. A hash that stands for different words in both keeps the lexicographically smaller ones, so
/// that the order of merging does not matter. Returns how many such hashes there were.
size_t merge_names(NameTable& into, const NameTable& more);

/// A file of records (pattern_file.h): `rankN.eroica` holds one pattern; packs hold many; names.eroica holds the table.
/// Files may be joined with `cat`.
std::string pattern_file(std::span<const std::string> encoded_patterns, std::span<const std::string> encoded_names);
struct PatternFile {
  std::vector<RankPattern> patterns;
  NameTable names;
  std::vector<std::string> problems;  ///< damaged or unknown records that were passed over
};
/// Error kNotATrace: no pattern file, or nothing in it can be used; names `path`.
Result<PatternFile> read_pattern_file(std::string_view bytes, const std::string& path);
/// Is this the beginning of a pattern file?
bool is_pattern_file(std::string_view head);

}  // namespace eroica
