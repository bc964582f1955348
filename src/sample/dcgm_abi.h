#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace eroica::dcgm {

// What is used of DCGM's binary interface, as NVIDIA documents it, declared here since users' machines have the library
// but no headers.

using Status = int;
using Handle = uintptr_t;
inline constexpr Status kSuccess = 0;
inline constexpr Status kNoFunction = -1;
inline constexpr Handle kAllGpus = 0x7fffffff;

inline constexpr unsigned short kBusId = 57;
inline constexpr unsigned short kSmActive = 1002;
inline constexpr unsigned short kTensorActive = 1004;
inline constexpr unsigned short kDramActive = 1005;
inline constexpr unsigned short kNvlinkSent = 1011;

struct FieldValue {
  unsigned version = 0;
  unsigned short field = 0;
  unsigned short type = 0;  ///< 'd', 'i', 's'
  int status = 0;
  int64_t unix_us = 0;
  union {
    int64_t integer;
    double real;
    std::array<char, 4096> text;
  } value{.integer = 0};
};
static_assert(offsetof(FieldValue, unix_us) == 16 && offsetof(FieldValue, value) == 24 && sizeof(FieldValue) == 4120);

/// Is called for each GPU; anything but 0 ends it.
using TakeValues = int (*)(unsigned gpu, FieldValue* values, int count, void* user);

}  // namespace eroica::dcgm
