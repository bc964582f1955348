#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/document.h"
#include "report/text.h"

namespace eroica {

// The parts of the text report; each ends with a line end, or is empty.

/// What is wrong, first of all what is blocked; in `brief` one line for each claim.
std::string answer(const Document& document, bool brief, const TextOptions& options);
std::string headline(const Document& document, const TextOptions& options);
/// What only a timeline tells, in one paragraph.
std::string timeline_lines(const TimelineSection& timeline, const TextOptions& options);
std::string time_table(const TimeSection& time, const TextOptions& options);
std::string step_table(const RankSteps& rank, const TextOptions& options);
std::string function_table(const Profile& profile, const TextOptions& options);
std::string function_details(const Profile& profile, const TextOptions& options);
std::string collective_table(const std::vector<CollectiveRow>& rows, const TextOptions& options);
std::string remarks(const Document& document, const TextOptions& options);

/// Decimals that keep about three digits of `typical`.
int decimals_for(double typical_ms);
/// Fixed decimals; "-" for what would show as zero.
std::string fixed(double value, int decimals);
/// About three digits with a unit: "812 us", "51.2 ms", "1.95 s".
std::string duration_text(double us);
std::string bytes_text(double bytes);
std::string count_text(double count);
/// "train.py:88", empty when unknown.
std::string place_text(const std::string& file, int32_t line);

/// `text` behind `front`, its words wrapped at the width; further lines indented by `indent` columns.
std::string wrapped(std::string_view front, const std::string& text, size_t indent, const TextOptions& options);

/// Columns of a table of classes: those that are not zero everywhere.
std::vector<size_t> used_classes(std::span<const PerClass> rows);
std::string class_title(size_t c, const TextOptions& options);

}  // namespace eroica
