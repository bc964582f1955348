#include "web/secret.h"

#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <array>
#include <stdexcept>
#include <vector>

namespace eroica {
namespace {

std::string hex(const unsigned char* bytes, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += fmt::format("{:02x}", bytes[i]);
  return text;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("SHA-256 is not available");
  }
  return hex(digest.data(), size);
}

std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, bytes.size(), digest.data(), &size) ==
      nullptr) {
    throw std::runtime_error("SHA-256 is not available");
  }
  return hex(digest.data(), size);
}

std::string random_hex(size_t bytes) {
  std::vector<unsigned char> random(bytes);
  if (getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
    throw std::runtime_error("the system gives no random numbers");
  }
  return hex(random.data(), random.size());
}

}  // namespace eroica
