// JSON Schemas of our documents (draft 2020-12), for editors and validators. Pure.
//
// A schema knows the shape of a document: members, types, words, patterns. It does not know rules between
// fields, and not the ranges of durations: `prefetchctl list check` and the agent do.
#pragma once

#include <string>
#include <vector>

#include "doc/node.h"
#include "reference/field.h"
#include "status/documents.h"

namespace prefetch::reference {

enum class Document { kList, kAgent, kStatus, kCheck };  // in the order of deploy::kSchemas

// Returns the JSON Schema of a document.
doc::Node SchemaOf(Document document);

// How a reader or a writer of ours treats members.
enum class Openness {
  kStrict,  // input: unknown members are errors, and null means "not given"
  kOpen,    // output: later versions add members
};

// The schema of an object with these members. The paths of `fields` begin with `prefix`.
doc::Node ObjectSchema(const Fields& fields, const std::string& prefix, Openness openness);

// A document as it is, the tables behind the schemas.
Fields ListFields();
Fields AgentFields();
using status::StatusFields;
Fields CheckRequestFields();
Fields CheckResultFields();

}  // namespace prefetch::reference
