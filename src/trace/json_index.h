#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace eroica {

/// The tokens of a JSON text: where each structural character ({ } [ ] : ,) and each string or other scalar begins.
/// Text between two positions belongs to the first, whitespace included.
struct JsonTokens {
  const char* text = nullptr;
  const uint32_t* position = nullptr;  ///< `count` of them; three more may be read and are harmless
  uint32_t count = 0;

  [[nodiscard]] char at(uint32_t token) const { return text[position[token]]; }
};

/// Finds the tokens of a text in one vectorised pass (simdjson's first stage, by runtime dispatch); walking them
/// is left to the caller, who then pays only for what he looks at. Buffers are reused from call to call.
class JsonIndex {
 public:
  enum class Status {
    kOk,
    kInvalidUtf8,       ///< the tokens are good all the same
    kControlCharacter,  ///< a raw control character inside a string; no tokens
    kUnusable,          ///< a string that never ends, or no token at all; no tokens
  };

  JsonIndex();
  ~JsonIndex();
  JsonIndex(const JsonIndex&) = delete;
  JsonIndex& operator=(const JsonIndex&) = delete;

  /// `text[size]` must be readable (its value does not matter). The tokens live until the next call.
  Status build(const char* text, size_t size);
  [[nodiscard]] const JsonTokens& tokens() const { return tokens_; }

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  JsonTokens tokens_;
};

}  // namespace eroica
