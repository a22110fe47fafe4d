// What there is to touch of an entry, by what kubelet's files say of it.
#pragma once

#include <string>

#include "agent/entries.h"
#include "image/reference.h"
#include "plan/touch.h"

namespace prefetch::agent {

// What is under the entry's name, and judged; empty: nothing to touch.
std::string TouchableId(const Entry& entry);

// What kubelet's files say now, of the judged pod that needs most; what is shown may be held a little
// (plan/verdict_hold.h).
plan::TouchNeed NeedNow(const Entry& entry);
plan::TouchNeed NeedShown(const Entry& entry);
// The same for the pods of one spelling; none for one that the list has no more.
plan::TouchNeed NeedNow(const Entry& entry, const image::Reference& spelling);

}  // namespace prefetch::agent
