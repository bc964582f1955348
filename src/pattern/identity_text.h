#pragma once

#include <string>
#include <string_view>

#include "pattern/identity.h"

namespace eroica {

/// How much of a raw name is looked at, the longest canonical text that is kept, and the longest that is shown.
inline constexpr size_t kLongestRawBytes = size_t{16} << 10;
inline constexpr size_t kLongestIdentityBytes = 1024;
inline constexpr size_t kLongestShownBytes = 96;

/// " at 0x7f1ff37a7010" and " object" before it, and any other 0x… of six digits or more, taken out.
std::string without_addresses(std::string_view text);

/// Clean text (text.h) of at most kLongestIdentityBytes; what is longer ends in a hash of the whole, so that names
/// that differ only behind the cut stay apart.
std::string bounded_identity(std::string_view text);

/// Sets text and full from a whole canonical name and its shortened form.
void set_text(CanonicalName& name, std::string_view shown, std::string_view whole);

}  // namespace eroica
