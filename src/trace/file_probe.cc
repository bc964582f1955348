#include "trace/file_probe.h"

#include <memory>
#include <span>
#include <utility>

#include "trace/byte_source.h"
#include "trace/document_kind.h"

namespace eroica {
namespace {

constexpr size_t kFirstLook = size_t{64} << 10;
constexpr size_t kLastLook = size_t{1} << 20;

/// Reads until `head` has `wanted` bytes; true at the end of data.
Result<bool> fill(ByteSource& source, std::string& head, size_t wanted) {
  size_t filled = head.size();
  head.resize(wanted);
  bool ended = false;
  while (filled < wanted && !ended) {
    const Result<size_t> got = source.read(std::span(head).subspan(filled));
    if (!got.ok()) return got.error();
    filled += *got;
    ended = *got == 0;
  }
  head.resize(filled);
  return ended;
}

FileProbe as_probe(DocumentKind kind, const StreamEnd& end) {
  const std::string damage = end.damaged || end.truncated ? " (" + end.what + ")" : "";
  switch (kind) {
    case DocumentKind::kTrace:
      return {FileKind::kTrace, ""};
    case DocumentKind::kSamples:
      return {FileKind::kSamples, ""};
    case DocumentKind::kOther:
      return {FileKind::kOtherJson, "JSON, but without traceEvents"};
    case DocumentKind::kCut:
      return {FileKind::kEmpty, "it ends before its first event" + damage};
    case DocumentKind::kEmpty:
      return {FileKind::kEmpty, damage.empty() ? "an empty file" : "no data" + damage};
    case DocumentKind::kNotJson:
      break;
  }
  return {FileKind::kUnknown, "no JSON, neither plain nor in gzip or zstd" + damage};
}

}  // namespace

FileProbe probe_file(const std::string& path) {
  Result<std::unique_ptr<ByteSource>> file = open_file(path);
  if (!file.ok()) return {FileKind::kUnreadable, file.error().message};
  const std::unique_ptr<DecompressedSource> source = decompress(std::move(*file));

  std::string head;
  for (size_t wanted = kFirstLook; wanted <= kLastLook; wanted *= 2) {
    const Result<bool> ended = fill(*source, head, wanted);
    if (!ended.ok()) return {FileKind::kUnreadable, ended.error().message};
    if (head.starts_with(kPatternMagic)) return {FileKind::kPattern, ""};
    if (const auto kind = document_kind(head, *ended)) return as_probe(*kind, source->end());
  }
  return {FileKind::kOtherJson, "JSON, but without traceEvents near its beginning"};
}

}  // namespace eroica
