#include "trace/raw_event.h"

#include "trace/json_text.h"

namespace eroica {
namespace {

/// Stands for the keys that mean nothing to us.
constexpr auto kNoArg = static_cast<Arg>(kArgCount);

[[gnu::always_inline]] inline Arg arg_of(std::string_view key) {
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

using Token = const uint32_t*;

/// Walks over the tokens of events. What reads something takes the token that it begins with and returns the one
/// behind its end: null when the text is not a valid event.
class Walker {
 public:
  Walker(const JsonTokens& tokens, Nesting nesting, RawEvent& event)
      : text_(tokens.text), end_(tokens.position + tokens.count), nesting_(nesting), event_(event) {}

  Token event(Token token) {
    return object(token, [this](std::string_view key, Token value) {
      std::string_view* field = event_.field(key);
      if (field == nullptr) return is(key, "args") && *at(value) == '{' ? args(value) : pass_value(value);
      const Token behind = read_value(value, *field);
      const bool rest_is_idle = behind != nullptr && field == &event_.ph && says_nothing(*field);
      return rest_is_idle ? skip_plain_members(behind) : behind;
    });
  }

 private:
  Token args(Token token) {
    event_.args_present = 0;
    const Token behind = object(token, [this](std::string_view key, Token value) {
      const Arg arg = arg_of(key);
      return arg == kNoArg ? pass_value(value) : read_value(value, event_.set_arg(arg));
    });
    if (behind != nullptr) event_.args_object = through(at(token), at(behind - 1));
    return behind;
  }

  /// Where a token begins. There are harmless ones behind the last.
  [[nodiscard]] const char* at(Token token) const { return text_ + *token; }
  static std::string_view through(const char* begin, const char* last) {
    return {begin, static_cast<size_t>(last + 1 - begin)};
  }
  /// The text of a string or word without the whitespace behind it.
  [[nodiscard]] std::string_view scalar(Token token) const {
    const char* last = at(token + 1) - 1;
    while (is_space(*last)) --last;
    return through(at(token), last);
  }

  /// Walks the members of an object; `member(key, value)` is to return what is behind the value.
  template <typename Member>
  Token object(Token token, Member&& member) {
    ++token;
    if (token < end_ && *at(token) == '}') return token + 1;
    while (end_ - token > 3) {  // a key, its colon, a value and what follows
      const std::string_view key = scalar(token);
      if (!is_string(key) || *at(token + 1) != ':') return nullptr;
      token = member(std::string_view(key.data() + 1, key.size() - 2), token + 2);
      if (token == nullptr || token >= end_) return nullptr;
      const char next = *at(token);
      ++token;
      if (next == '}') return token;
      if (next != ',') return nullptr;
    }
    return nullptr;
  }

  // Whether a comma or brace follows a value is for object() to see.

  Token read_value(Token token, std::string_view& value) {
    const char first = *at(token);
    if (first != '"' && !begins_number(first)) return read_rare_value(token, value);
    value = scalar(token);
    if (first == '"' && !is_string(value)) event_.repaired = true;
    return token + 1;
  }

  Token pass_value(Token token) {
    std::string_view value;
    return begins_number(*at(token)) ? token + 1 : read_value(token, value);
  }

  [[gnu::noinline]] Token read_rare_value(Token token, std::string_view& value) {
    const char first = *at(token);
    if (first == '[' || first == '{') return skip_nested(token, value);
    if (is_delimiter(first)) return nullptr;
    value = scalar(token);
    if (value != "null" && value != "true" && value != "false") event_.repaired = true;
    return token + 1;
  }

  /// Passes over all `, "key" : scalar` behind which another comma follows.
  [[nodiscard]] Token skip_plain_members(Token token) const {
    if (token == nullptr || *at(token) != ',') return token;
    while (end_ - token > 4) {
      const char value = *at(token + 3);
      if (*at(token + 1) != '"' || *at(token + 2) != ':' || *at(token + 4) != ',') break;
      if (value != '"' && !begins_number(value)) break;
      token += 4;
    }
    return token;
  }

  Token skip_nested(const Token token, std::string_view& value) const {
    size_t depth = 0;
    Token behind = token;
    do {
      if (behind >= end_) return nullptr;
      const char c = *at(behind);
      ++behind;
      switch (c) {
        case '{':
          if (nesting_ == Nesting::kFlatArgs) return nullptr;
          ++depth;
          break;
        case '[':
          ++depth;
          break;
        case '}':
          if (nesting_ == Nesting::kFlatArgs) return nullptr;  // it has no partner in here
          --depth;
          break;
        case ']':
          --depth;
          break;
        case ',':
        case ':':
          break;
        default:
          // Two scalars in a row show a string that was cut in two by a stray quote.
          if (behind >= end_ || !is_delimiter(*at(behind))) return nullptr;
      }
    } while (depth > 0);
    value = through(at(token), at(behind - 1));
    return behind;
  }

  const char* text_;
  Token end_;
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

std::string_view* RawEvent::field(std::string_view key) {
  switch (key.size()) {
    case 2:
      if (is(key, "ph")) return &ph;
      return is(key, "ts") ? &ts : nullptr;
    case 3:
      if (is(key, "cat")) return &cat;
      if (is(key, "pid")) return &pid;
      if (is(key, "tid")) return &tid;
      return is(key, "dur") ? &dur : nullptr;
    case 4:
      return is(key, "name") ? &name : nullptr;
    default:
      return nullptr;
  }
}

void RawEvent::set_field(std::string_view key, std::string_view value) {
  if (std::string_view* found = field(key)) *found = value;
}

void RawEvent::set_arg(std::string_view key, std::string_view value) {
  if (const Arg arg = arg_of(key); arg != kNoArg) set_arg(arg) = value;
}

bool read_event(const JsonTokens& tokens, Nesting nesting, uint32_t& at, RawEvent& event) {
  event.clear();
  const Token behind = Walker(tokens, nesting, event).event(tokens.position + at);
  if (behind != nullptr) at = static_cast<uint32_t>(behind - tokens.position);
  return behind != nullptr;
}

}  // namespace eroica
