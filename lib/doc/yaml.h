// Reads the YAML of our own documents strictly, without the parts of YAML that surprise people. Files of
// other programs are for doc/kubernetes_yaml.h and doc/kubernetes_stream.h.
//
// Plain scalars follow YAML 1.2's core schema: true/false, null and ~, integers, floats; all else is a
// string. Kubernetes reads YAML 1.1, where yes, no, on, off, y and n are booleans, and where 010 is 8: such
// words stay strings here, marked as plain, and doc/reader.h refuses them for strings and booleans alike,
// with a sentence. Refused as problems: duplicate keys, `<<` merge keys, keys that are not scalars, tags (but
// !!str). Aliases are expanded within all the Limits; one inside its own anchor is refused.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "doc/problems.h"

namespace prefetch::doc {

// The one document of `text`; a null node if there is none in it (empty, or only comments). JSON is YAML,
// too. nullopt, with the problem added, if the text cannot be read. A tree that comes with problems
// (duplicate keys) is good for finding further ones, not for use. Pure.
std::optional<Node> ParseYaml(std::string_view text, Problems& problems, const Limits& limits = {});

// Returns all documents of `text`, which `---` lines separate; empty ones are left out.
std::optional<std::vector<Node>> ParseYamlDocuments(std::string_view text, Problems& problems,
                                                    const Limits& limits = {});

// A word that is a boolean for YAML 1.1 and so for Kubernetes, but a string for YAML 1.2: yes, No, ON, y …
bool IsYaml11Boolean(std::string_view word);

}  // namespace prefetch::doc
