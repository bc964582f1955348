#include "trace/raw_event.h"

#include <optional>

#include "trace/json_text.h"

namespace eroica {
namespace {

std::optional<Arg> arg_of(std::string_view key) {
  const auto match = [&](const auto& text, Arg arg) { return is(key, text) ? std::optional<Arg>(arg) : std::nullopt; };
  switch (key.size()) {
    case 3:
      return match("Seq", Arg::kSeq);
    case 4:
      return is(key, "grid") ? Arg::kGrid : match("name", Arg::kName);
    case 5:
      if (is(key, "block")) return Arg::kBlock;
      return is(key, "bytes") ? Arg::kBytes : match("dtype", Arg::kDtype);
    case 6:
      return match("stream", Arg::kStream);
    case 8:
      if (is(key, "graph id")) return Arg::kGraphId;
      if (is(key, "finished")) return Arg::kFinished;
      return is(key, "Src Rank") ? Arg::kSrcRank : match("Dst Rank", Arg::kDstRank);
    case 9:
      return match("Python id", Arg::kPythonId);
    case 10:
      if (is(key, "Input Dims") || is(key, "Input dims")) return Arg::kInputDims;
      if (is(key, "Input type")) return Arg::kInputTypes;
      return is(key, "Call stack") ? Arg::kCallStack : match("Group size", Arg::kGroupSize);
    case 11:
      if (is(key, "External id") || is(key, "external id")) return Arg::kExternalId;
      return match("correlation", Arg::kCorrelation);
    case 13:
      return is(key, "graph node id") ? Arg::kGraphNodeId : match("In msg nelems", Arg::kInElements);
    case 14:
      return match("Out msg nelems", Arg::kOutElements);
    case 15:
      if (is(key, "Sequence number")) return Arg::kSequenceNumber;
      return is(key, "Concrete Inputs") ? Arg::kConcreteInputs : match("Collective name", Arg::kCollectiveName);
    case 16:
      return match("Python parent id", Arg::kPythonParentId);
    case 18:
      return match("Process Group Name", Arg::kGroupName);
    case 19:
      return match("Process Group Ranks", Arg::kGroupRanks);
    case 25:
      return match("Process Group Description", Arg::kGroupDesc);
    default:
      return std::nullopt;
  }
}

/// What can follow a scalar.
bool is_delimiter(char c) { return c == ',' || c == ']' || c == '}' || c == ':'; }

bool is_json_word(std::string_view token) {
  const char first = token.front();
  return (first >= '0' && first <= '9') || first == '-' || token == "null" || token == "true" || token == "false";
}

/// A walk over the tokens of one event.
class Walker {
 public:
  Walker(const JsonTokens& tokens, Nesting nesting, uint32_t at, RawEvent& event)
      : tokens_(tokens), at_(at), nesting_(nesting), event_(event) {}

  [[nodiscard]] uint32_t at() const { return at_; }

  /// Instants, flows and asynchronous events, nearly half of a GPU trace, tell nothing that is kept: the members behind
  /// their phase need no look.
  static bool says_nothing(std::string_view phase) {
    constexpr std::string_view kPhases = "istfbneOND";
    return phase.size() == 3 && phase[0] == '"' && kPhases.find(phase[1]) != std::string_view::npos;
  }

  bool event() {
    return object([this](std::string_view key) {
      if (is(key, "args") && tokens_.at(at_) == '{') return args();
      std::string_view value;
      if (!read_value(value)) return false;
      event_.set_field(key, value);
      if (is(key, "ph") && says_nothing(value)) skip_members();
      return true;
    });
  }

 private:
  bool args() {
    const uint32_t begin = tokens_.position[at_];
    event_.args_present = 0;
    const bool whole = object([this](std::string_view key) {
      std::string_view value;
      if (!read_value(value)) return false;
      event_.set_arg(key, value);
      return true;
    });
    if (whole) event_.args_object = {tokens_.text + begin, tokens_.position[at_ - 1] + 1 - begin};
    return whole;
  }

  /// Walks the members of the object at `at_`; `member(key)` must move behind the value.
  template <typename Member>
  bool object(Member&& member) {
    ++at_;
    if (at_ < tokens_.count && tokens_.at(at_) == '}') {
      ++at_;
      return true;
    }
    while (at_ + 2 < tokens_.count) {
      if (tokens_.at(at_) != '"' || tokens_.at(at_ + 1) != ':') return false;
      const std::string_view token = scalar(at_);
      at_ += 2;
      if (!is_string(token) || !member(token.substr(1, token.size() - 2)) || at_ >= tokens_.count) return false;
      const char next = tokens_.at(at_);
      ++at_;
      if (next == '}') return true;
      if (next != ',') return false;
    }
    return false;
  }

  /// The text of a string or word without the whitespace behind it.
  [[nodiscard]] std::string_view scalar(uint32_t token) const {
    const char* begin = tokens_.text + tokens_.position[token];
    const char* end = tokens_.text + tokens_.position[token + 1];
    while (is_space(end[-1])) --end;
    return {begin, static_cast<size_t>(end - begin)};
  }

  bool read_value(std::string_view& value) {
    const char first = tokens_.at(at_);
    if (first == '[' || first == '{') return skip_nested(value);
    if (is_delimiter(first)) return false;
    value = scalar(at_);
    if (first == '"' ? !is_string(value) : !is_json_word(value)) event_.repaired = true;
    ++at_;
    return true;  // whether a comma or brace follows is for object() to see
  }

  /// Moves to the brace that ends the object at hand, if all before it are whole tokens; else stays.
  void skip_members() {
    const uint32_t stay = at_;
    size_t depth = 1;
    for (; at_ < tokens_.count; ++at_) {
      switch (tokens_.at(at_)) {
        case '{':
          if (nesting_ == Nesting::kFlatArgs && depth > 1) break;
          ++depth;
          continue;
        case '[':
          ++depth;
          continue;
        case '}':
        case ']':
          if (--depth == 0) return;
          continue;
        case ',':
        case ':':
          continue;
        default:
          if (at_ + 1 < tokens_.count && is_delimiter(tokens_.at(at_ + 1))) continue;
      }
      break;
    }
    at_ = stay;
  }

  bool skip_nested(std::string_view& value) {
    const uint32_t begin = tokens_.position[at_];
    size_t depth = 0;
    do {
      if (at_ >= tokens_.count) return false;
      const char c = tokens_.at(at_);
      ++at_;
      switch (c) {
        case '{':
          if (nesting_ == Nesting::kFlatArgs) return false;
          ++depth;
          break;
        case '[':
          ++depth;
          break;
        case '}':
        case ']':
          --depth;
          break;
        case ',':
        case ':':
          break;
        default:
          // Two scalars in a row show a string that was cut in two by a stray quote.
          if (at_ >= tokens_.count || !is_delimiter(tokens_.at(at_))) return false;
      }
    } while (depth > 0);
    value = {tokens_.text + begin, tokens_.position[at_ - 1] + 1 - begin};
    return true;
  }

  const JsonTokens& tokens_;
  uint32_t at_;
  Nesting nesting_;
  RawEvent& event_;
};

}  // namespace

void RawEvent::clear() {
  ph = cat = name = pid = tid = ts = dur = args_object = {};
  args_present = 0;
  repaired = false;
  invalid_utf8 = false;
}

void RawEvent::set_field(std::string_view key, std::string_view value) {
  if (key.size() == 2) {
    if (is(key, "ph")) ph = value;
    if (is(key, "ts")) ts = value;
  } else if (key.size() == 3) {
    if (is(key, "cat")) cat = value;
    if (is(key, "pid")) pid = value;
    if (is(key, "tid")) tid = value;
    if (is(key, "dur")) dur = value;
  } else if (is(key, "name")) {
    name = value;
  }
}

void RawEvent::set_arg(std::string_view key, std::string_view value) {
  if (const std::optional<Arg> arg = arg_of(key)) {
    args[static_cast<size_t>(*arg)] = value;
    args_present |= 1U << static_cast<unsigned>(*arg);
  }
}

bool read_event(const JsonTokens& tokens, Nesting nesting, uint32_t& at, RawEvent& event) {
  event.clear();
  Walker walker(tokens, nesting, at, event);
  const bool whole = walker.event();
  at = walker.at();
  return whole;
}

}  // namespace eroica
