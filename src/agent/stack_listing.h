#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace eroica {

// Python's listing of stacks (faulthandler), as a probe writes it on a signal. What comes in is not trusted.

struct StackFrame {
  std::string file;  ///< as written
  int32_t line = 0;
  std::string function;
};

/// The frames of the thread that runs the program, innermost first: the one whose outermost frame is a module's, else
/// the last that is listed. Empty: there is none.
std::vector<StackFrame> main_stack(std::string_view listing);

/// Index of the innermost frame of the user's code: neither torch's nor the standard library's. frames.size(): none.
size_t innermost_user_frame(const std::vector<StackFrame>& frames);

/// "train.py:33 in augment < train.py:60 in main"; the innermost first, at most `most` frames.
std::string in_words(const std::vector<StackFrame>& frames, size_t most);

}  // namespace eroica
