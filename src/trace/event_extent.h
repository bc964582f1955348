#pragma once

#include <cstddef>

#include "trace/input_window.h"

namespace eroica {

/// An element of traceEvents larger than this is not an event.
inline constexpr size_t kMaxEventBytes = size_t{16} << 20;

/// How far an array element reaches, judged by its own text only, so that damage inside one event cannot swallow
/// the ones after it.
struct Extent {
  enum class Kind {
    kWhole,    ///< its brackets close at `bytes`
    kDamaged,  ///< not JSON: `bytes` is where the text shows that another event, or the end of the events, follows
    kTooLong,  ///< no end within kMaxEventBytes
    kCutOff,   ///< the stream ends inside it
  };
  Kind kind;
  size_t bytes;  ///< kTooLong, kCutOff: all that was looked at
};

/// Measures the object or array that the window begins with; the window then holds all of it.
Extent measure_element(InputWindow& window);

/// Where an event that turned out to be damaged at `from` ends, at the next sure sign of another event or of the
/// end of the events.
Extent measure_damaged(InputWindow& window, size_t from);

/// Drops everything up to the next such sign; false when the stream ends before one.
bool skip_to_next_event(InputWindow& window);

/// The first character at or after `from` that is not whitespace, '\0' when there is none within reach.
char next_visible(InputWindow& window, size_t from);

}  // namespace eroica
