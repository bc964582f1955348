#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "report/byte_sink.h"

namespace eroica {

/// Writes a Chrome JSON trace to a sink, event by event; what is held back is bounded. After the sink's first error
/// nothing more is written and status() tells it. Members of an event are written in the order of the calls:
/// begin_event, text / number …, perhaps begin_args … end_args, end_event.
class TraceJsonWriter {
 public:
  TraceJsonWriter(ByteSink sink, int64_t base_unix_ns);

  void begin_event(char phase, int64_t pid, int64_t tid);
  void text(std::string_view key, std::string_view value);
  void number(std::string_view key, int64_t value);
  void real(std::string_view key, double value);  ///< finite
  void micros(std::string_view key, int64_t ns);  ///< exact to the nanosecond; negative = 0
  void begin_args();
  void end_args();
  void end_event();

  /// A "process_name", "thread_name" … of Chrome's metadata events.
  void metadata(std::string_view what, int64_t pid, int64_t tid, std::string_view name);
  void sort_index(std::string_view what, int64_t pid, int64_t tid, int64_t index);

  /// Ends the events and begins the object "otherData"; then text() …, then finish().
  void begin_other_data();
  Status finish();

  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] uint64_t events() const { return events_; }  ///< metadata left out

 private:
  void key(std::string_view key);
  void append_escaped(std::string_view text);
  void flush();

  ByteSink sink_;
  Status status_ = ok_status();
  std::string buffer_;
  bool first_event_ = true;
  bool first_member_ = true;
  uint64_t events_ = 0;
};

}  // namespace eroica
