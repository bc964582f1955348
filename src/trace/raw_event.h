#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "trace/json_index.h"

namespace eroica {

/// The arguments that mean something to us.
enum class Arg : uint8_t {
  kExternalId,
  kCorrelation,
  kPythonId,
  kPythonParentId,
  kSequenceNumber,
  kStream,
  kBytes,
  kGrid,
  kBlock,
  kGraphId,
  kGraphNodeId,
  kInputDims,
  kInputTypes,
  kConcreteInputs,
  kCallStack,
  kFinished,
  kCollectiveName,
  kDtype,
  kGroupName,
  kGroupDesc,
  kGroupRanks,
  kInElements,
  kOutElements,
  kGroupSize,
  kSrcRank,
  kDstRank,
  kSeq,
  kName,
};
inline constexpr size_t kArgCount = static_cast<size_t>(Arg::kName) + 1;

/// One element of traceEvents as written: pieces of its text, not yet interpreted. Tokens are whole (strings with
/// their quotes) and empty where the event has none; of a key that stands twice the last counts.
struct RawEvent {
  std::string_view ph, cat, name, pid, tid, ts, dur;
  std::string_view args_object;  ///< the text of args, from its brace on
  uint32_t args_present = 0;     ///< a bit for each Arg
  bool repaired = false;         ///< something in it was not JSON
  bool invalid_utf8 = false;
  std::array<std::string_view, kArgCount> args;  ///< valid where present

  [[nodiscard]] bool has(Arg arg) const { return (args_present >> static_cast<unsigned>(arg) & 1U) != 0; }
  [[nodiscard]] std::string_view arg(Arg arg) const {
    return has(arg) ? args[static_cast<size_t>(arg)] : std::string_view();
  }
  void clear();
  /// Files the value under its key; unknown keys are passed over.
  void set_field(std::string_view key, std::string_view value);
  void set_arg(std::string_view key, std::string_view value);
  /// Where a key's value is filed; null for an unknown key.
  [[nodiscard]] std::string_view* field(std::string_view key);
  /// Where an argument is filed, which is then present.
  std::string_view& set_arg(Arg arg) {
    args_present |= 1U << static_cast<unsigned>(arg);
    return args[static_cast<size_t>(arg)];
  }
};

/// Whether objects are accepted below args. The block reader does not: events that hold such rarities go the
/// careful way, which alone can tell them from damage.
enum class Nesting { kFlatArgs, kAny };

/// Reads the event whose brace is token `at`, and moves `at` behind its end. False when the text is not a valid
/// event of that nesting or ends inside it; `at` and `event` are then unspecified.
bool read_event(const JsonTokens& tokens, Nesting nesting, uint32_t& at, RawEvent& event);

}  // namespace eroica
