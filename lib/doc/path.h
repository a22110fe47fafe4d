// Values at a path of keys, in trees of a known form, such as the API server's objects. Absent values, and
// those of another kind, count as nothing. To report mistakes, use doc/reader.h. Pure.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "doc/node.h"

namespace prefetch::doc {

using Path = std::initializer_list<std::string_view>;  // {"metadata", "name"}; empty: the root itself

// nullptr if any of the keys is not there.
const Node* ValueAt(const Node& root, Path path);
Node* ValueAt(Node& root, Path path);
// The string there; empty if there is none.
std::string TextAt(const Node& root, Path path);
// The items of the sequence there; none if there is no such.
const std::vector<Node>& ItemsAt(const Node& root, Path path);

}  // namespace prefetch::doc
