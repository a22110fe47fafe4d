// How pods spell the images of a list, for the admission policy of components/policy.
#pragma once

#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "image/reference.h"
#include "list/image_list.h"

namespace prefetch::ctl {

// The entry's own text, and the others that kubelet makes the same of: it adds ":latest" where tag and digest
// are missing, and changes nothing else. "nginx" and "docker.io/library/nginx" are two.
void AddAlike(const image::Reference& reference, std::set<std::string>& spellings);
void AddAlike(const list::SourceContent& content, std::set<std::string>& spellings);

// `prefetchctl list export --for policy`: the ConfigMap for list files. Exit code: 0 printed, 2 bad input.
int ExportPolicy(const std::vector<std::string>& lists, std::ostream& out, std::ostream& err);

}  // namespace prefetch::ctl
