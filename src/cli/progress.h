#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace eroica {

/// Is told how far a run is; may be called from several threads at once.
class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  virtual void begin(uint64_t total_bytes, size_t files) = 0;
  virtual void advance(uint64_t bytes) = 0;
  virtual void file_done() = 0;
  virtual void end() = 0;
};

/// Can the terminal do nothing but print? By TERM.
bool is_dumb_terminal();

/// A line on stderr that keeps itself up to date, ten times a second at most, and is wiped in the end; nothing at all
/// where stderr is no terminal, or a dumb one, or `quiet`.
std::unique_ptr<ProgressSink> terminal_progress(bool quiet);

}  // namespace eroica
