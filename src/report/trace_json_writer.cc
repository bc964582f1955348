#include "report/trace_json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "pattern/text.h"

namespace eroica {
namespace {

constexpr size_t kFlushBytes = size_t{64} << 10;
constexpr size_t kMostTextBytes = 4096;  // of one name or argument

/// Takes the first code point off valid UTF-8.
uint32_t take_code_point(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  uint32_t code = length == 1 ? lead : lead & (0x7fU >> length);
  for (const char c : text.substr(1, length - 1)) code = code << 6 | (static_cast<unsigned char>(c) & 0x3fU);
  text.remove_prefix(length);
  return code;
}

}  // namespace

TraceJsonWriter::TraceJsonWriter(ByteSink sink, int64_t base_unix_ns) : sink_(std::move(sink)) {
  buffer_ = fmt::format(R"({{"schemaVersion":1,"displayTimeUnit":"ms","baseTimeNanoseconds":{},"traceEvents":[)",
                        base_unix_ns);
}

void TraceJsonWriter::begin_event(char phase, int64_t pid, int64_t tid) {
  fmt::format_to(std::back_inserter(buffer_), R"({}{{"ph":"{}","pid":{},"tid":{})", first_event_ ? "\n" : ",\n", phase,
                 pid, tid);
  first_event_ = false;
  first_member_ = false;
  ++events_;
}

void TraceJsonWriter::key(std::string_view key) {
  if (!first_member_) buffer_ += ',';
  first_member_ = false;
  append_escaped(key);
  buffer_ += ':';
}

void TraceJsonWriter::text(std::string_view name, std::string_view value) {
  key(name);
  append_escaped(value);
}

void TraceJsonWriter::number(std::string_view name, int64_t value) {
  key(name);
  fmt::format_to(std::back_inserter(buffer_), "{}", value);
}

void TraceJsonWriter::real(std::string_view name, double value) {
  key(name);
  fmt::format_to(std::back_inserter(buffer_), "{}", value);
}

void TraceJsonWriter::micros(std::string_view name, int64_t ns) {
  key(name);
  ns = std::max<int64_t>(ns, 0);
  fmt::format_to(std::back_inserter(buffer_), "{}.{:03}", ns / 1000, ns % 1000);
}

void TraceJsonWriter::begin_args() {
  key("args");
  buffer_ += '{';
  first_member_ = true;
}

void TraceJsonWriter::end_args() {
  buffer_ += '}';
  first_member_ = false;
}

void TraceJsonWriter::end_event() {
  buffer_ += '}';
  if (buffer_.size() >= kFlushBytes) flush();
}

void TraceJsonWriter::metadata(std::string_view what, int64_t pid, int64_t tid, std::string_view name) {
  begin_event('M', pid, tid);
  text("name", what);
  begin_args();
  text("name", name);
  end_args();
  end_event();
  --events_;
}

void TraceJsonWriter::sort_index(std::string_view what, int64_t pid, int64_t tid, int64_t index) {
  begin_event('M', pid, tid);
  text("name", what);
  begin_args();
  number("sort_index", index);
  end_args();
  end_event();
  --events_;
}

void TraceJsonWriter::begin_other_data() {
  buffer_ += "\n],\"otherData\":{";
  first_member_ = true;
}

Status TraceJsonWriter::finish() {
  buffer_ += "}}\n";
  flush();
  return status_;
}

void TraceJsonWriter::append_escaped(std::string_view text) {
  buffer_ += '"';
  const std::string clean = clean_text(text, kMostTextBytes);
  std::string_view left = clean;
  while (!left.empty()) {
    const uint32_t code = take_code_point(left);
    if (code >= 0x10000) {
      fmt::format_to(std::back_inserter(buffer_), "\\u{:04x}\\u{:04x}", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
    } else if (code >= 0x7f) {
      fmt::format_to(std::back_inserter(buffer_), "\\u{:04x}", code);
    } else {
      if (code == '"' || code == '\\') buffer_ += '\\';
      buffer_ += static_cast<char>(code);
    }
  }
  buffer_ += '"';
}

void TraceJsonWriter::flush() {
  if (status_.ok()) status_ = sink_(buffer_);
  buffer_.clear();
}

}  // namespace eroica
