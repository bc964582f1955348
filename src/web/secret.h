#pragma once

#include <string>
#include <string_view>

namespace eroica {

/// SHA-256 in hexadecimal digits.
std::string sha256_hex(std::string_view bytes);
/// HMAC-SHA-256 (RFC 2104) in hexadecimal digits.
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);
/// `bytes` random bytes of the system in hexadecimal digits.
std::string random_hex(size_t bytes);

}  // namespace eroica
