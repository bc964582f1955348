#include "trace/raw_event.h"

#include "trace/json_text.h"

namespace eroica {
namespace {

/// Stands for the keys that mean nothing to us.
constexpr auto kNoArg = static_cast<Arg>(kArgCount);

Arg arg_of(std::string_view key) {
  const auto match = [&](const auto& text, Arg arg) { return is(key, text) ? arg : kNoArg; };
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
      return kNoArg;
  }
}

/// What can follow a scalar.
bool is_delimiter(char c) { return c == ',' || c == ']' || c == '}' || c == ':'; }

bool begins_number(char c) { return (c >= '0' && c <= '9') || c == '-'; }

/// Instants, flows and asynchronous events, nearly half of a GPU trace, tell nothing that is kept: the members behind
/// their phase need no look.
bool says_nothing(std::string_view phase) {
  if (phase.size() != 3 || phase[0] != '"') return false;
  switch (phase[1]) {
    case 'i':
    case 's':
    case 't':
    case 'f':
    case 'b':
    case 'n':
    case 'e':
    case 'O':
    case 'N':
    case 'D':
      return true;
    default:
      return false;
  }
}

/// A walk over the tokens of one event.
class Walker {
 public:
  Walker(const JsonTokens& tokens, Nesting nesting, uint32_t at, RawEvent& event)
      : text_(tokens.text),
        token_(tokens.position + at),
        end_(tokens.position + tokens.count),
        nesting_(nesting),
        event_(event) {}

  [[nodiscard]] const uint32_t* token() const { return token_; }

  bool event() {
    return object([this](std::string_view key) {
      if (is(key, "args") && first_of(0) == '{') return args();
      std::string_view value;
      if (!read_value(value)) return false;
      event_.set_field(key, value);
      if (is(key, "ph") && says_nothing(value)) skip_members();
      return true;
    });
  }

 private:
  bool args() {
    const char* begin = at(0);
    event_.args_present = 0;
    const bool whole = object([this](std::string_view key) {
      const Arg arg = arg_of(key);
      if (arg == kNoArg) return pass_value();
      std::string_view value;
      if (!read_value(value)) return false;
      event_.set_arg(arg, value);
      return true;
    });
    if (whole) event_.args_object = through(begin, at(-1));
    return whole;
  }

  /// Where a token ahead of the one at hand begins. There are harmless ones behind the last.
  [[nodiscard]] const char* at(ptrdiff_t ahead) const { return text_ + token_[ahead]; }
  [[nodiscard]] char first_of(ptrdiff_t ahead) const { return *at(ahead); }
  static std::string_view through(const char* begin, const char* last) {
    return {begin, static_cast<size_t>(last + 1 - begin)};
  }
  /// The text of a string or word without the whitespace behind it.
  [[nodiscard]] std::string_view scalar() const {
    const char* last = at(1) - 1;
    while (is_space(*last)) --last;
    return through(at(0), last);
  }

  /// Walks the members of the object at hand; `member(key)` must move behind the value.
  template <typename Member>
  bool object(Member&& member) {
    ++token_;
    if (token_ < end_ && first_of(0) == '}') {
      ++token_;
      return true;
    }
    while (end_ - token_ > 3) {  // a key, its colon, a value and what follows
      if (first_of(0) != '"' || first_of(1) != ':') return false;
      const std::string_view key = scalar();
      token_ += 2;
      if (!is_string(key) || !member(key.substr(1, key.size() - 2)) || token_ >= end_) return false;
      const char next = first_of(0);
      ++token_;
      if (next == '}') return true;
      if (next != ',') return false;
    }
    return false;
  }

  bool read_value(std::string_view& value) {
    const char first = first_of(0);
    if (first != '"' && !begins_number(first)) return read_rare_value(value);
    value = scalar();
    if (first == '"' && !is_string(value)) event_.repaired = true;
    ++token_;
    return true;  // whether a comma or brace follows is for object() to see
  }

  bool read_rare_value(std::string_view& value) {
    const char first = first_of(0);
    if (first == '[' || first == '{') return skip_nested(value);
    if (is_delimiter(first)) return false;
    value = scalar();
    if (value != "null" && value != "true" && value != "false") event_.repaired = true;
    ++token_;
    return true;
  }

  bool pass_value() {
    std::string_view value;
    if (!begins_number(first_of(0))) return read_value(value);
    ++token_;
    return true;
  }

  /// Moves to the brace that ends the object at hand, if all before it are whole tokens; else stays.
  void skip_members() {
    const uint32_t* stay = token_;
    size_t depth = 1;
    while (token_ < end_) {
      if (skip_plain_member()) continue;
      switch (first_of(0)) {
        case '{':
          if (nesting_ == Nesting::kFlatArgs && depth > 1) break;
          ++depth;
          ++token_;
          continue;
        case '[':
          ++depth;
          ++token_;
          continue;
        case '}':
        case ']':
          if (--depth == 0) return;
          ++token_;
          continue;
        case ',':
        case ':':
          ++token_;
          continue;
        default:
          if (token_ + 1 < end_ && is_delimiter(first_of(1))) {
            ++token_;
            continue;
          }
      }
      break;
    }
    token_ = stay;
  }

  /// Passes over `, "key" : scalar` where another comma follows.
  bool skip_plain_member() {
    if (end_ - token_ < 5) return false;
    const char value = first_of(3);
    if (first_of(0) != ',' || first_of(1) != '"' || first_of(2) != ':' || first_of(4) != ',') return false;
    if (value != '"' && !begins_number(value)) return false;
    token_ += 4;
    return true;
  }

  bool skip_nested(std::string_view& value) {
    const char* begin = at(0);
    size_t depth = 0;
    do {
      if (token_ >= end_) return false;
      const char c = first_of(0);
      ++token_;
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
          if (token_ >= end_ || !is_delimiter(first_of(0))) return false;
      }
    } while (depth > 0);
    value = through(begin, at(-1));
    return true;
  }

  const char* text_;
  const uint32_t* token_;  // the one at hand
  const uint32_t* end_;
  Nesting nesting_;
  RawEvent& event_;
};

}  // namespace

void RawEvent::clear() {
  for (std::string_view* field : {&ph, &cat, &name, &pid, &tid, &ts, &dur, &args_object}) *field = {};
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
  if (const Arg arg = arg_of(key); arg != kNoArg) set_arg(arg, value);
}

bool read_event(const JsonTokens& tokens, Nesting nesting, uint32_t& at, RawEvent& event) {
  event.clear();
  Walker walker(tokens, nesting, at, event);
  const bool whole = walker.event();
  at = static_cast<uint32_t>(walker.token() - tokens.position);
  return whole;
}

}  // namespace eroica
