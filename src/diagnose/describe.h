#pragma once

#include <span>
#include <string>
#include <vector>

#include "diagnose/diagnosis.h"
#include "diagnose/evaluate.h"
#include "diagnose/select.h"

namespace eroica {

/// Puts a kept match into words, apart from what it costs: ranks, hosts, component, function, evidence, alternatives
/// (with those of `rejections` that would explain the same time).
Diagnosis describe(const Selected& selected, std::span<const Rejection> rejections, Facts& facts);

/// "name (file:line)", as far as the function's place is known.
std::string in_words(const FunctionRef& function);

/// Replaces {ranks} {hosts} {component} {value} {peers} {function} {lost} in a rule's sentence.
std::string fill_in(const std::string& sentence, const Diagnosis& diagnosis, const Match& match, double step_ms);

}  // namespace eroica
