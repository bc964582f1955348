#pragma once

#include <string>
#include <string_view>

namespace eroica {

/// How pattern files begin.
inline constexpr std::string_view kPatternMagic = "EROICAP1";

enum class FileKind {
  kTrace,
  kSamples,
  kPattern,    ///< begins with kPatternMagic
  kOtherJson,  ///< JSON, but no trace
  kUnknown,    ///< neither JSON nor a pattern file, also after decompression
  kEmpty,      ///< holds no data
  kUnreadable,
};

struct FileProbe {
  FileKind kind = FileKind::kUnknown;
  std::string why;  ///< for all but the first three, in words: "an empty file"; kUnreadable: with the path
};

/// Looks at the beginning of a regular file (decompressed: usually 64 KiB, at most 1 MiB) and tells what it is.
FileProbe probe_file(const std::string& path);

}  // namespace eroica
