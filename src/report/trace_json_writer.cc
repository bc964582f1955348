#include "report/trace_json_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "pattern/text.h"

namespace eroica {
namespace {

constexpr size_t kFlushBytes = size_t{64} << 10;
constexpr size_t kMostTextBytes = 4096;  // of one name or argument

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
  for (const char c : clean_text(text, kMostTextBytes)) {
    if (c == '"' || c == '\\') buffer_ += '\\';
    buffer_ += c;
  }
  buffer_ += '"';
}

void TraceJsonWriter::flush() {
  if (status_.ok()) status_ = sink_(buffer_);
  buffer_.clear();
}

}  // namespace eroica
