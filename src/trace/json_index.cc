#include "trace/json_index.h"

#include <simdjson.h>

#include <algorithm>
#include <new>

namespace eroica {

struct JsonIndex::Parser {
  simdjson::dom::parser parser;
  size_t capacity = 0;
};

JsonIndex::JsonIndex() : parser_(std::make_unique<Parser>()) {}
JsonIndex::~JsonIndex() = default;

JsonIndex::Status JsonIndex::build(const char* text, size_t size) {
  tokens_ = {};
  if (size > parser_->capacity) {
    const size_t capacity = std::max<size_t>(size, 64 << 10);
    if (parser_->parser.allocate(capacity) != simdjson::SUCCESS) {
      throw std::bad_alloc();
    }
    parser_->capacity = capacity;
  }
  auto& stage = *parser_->parser.implementation;
  const auto error = stage.stage1(reinterpret_cast<const uint8_t*>(text), size, simdjson::stage1_mode::regular);
  if (error == simdjson::UNESCAPED_CHARS) {
    return Status::kControlCharacter;
  }
  if (error != simdjson::SUCCESS && error != simdjson::UTF8_ERROR) {
    return Status::kUnusable;
  }
  tokens_ = {text, stage.structural_indexes.get(), stage.n_structural_indexes};
  return error == simdjson::SUCCESS ? Status::kOk : Status::kInvalidUtf8;
}

}  // namespace eroica
