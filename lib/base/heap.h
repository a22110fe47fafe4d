// The heap as the system sees it.
#pragma once

namespace prefetch::base {

// Returns unused heap memory to the system. free() does so only at the heap's end; the rest of a burst of
// work would count against the pod's memory for as long as it lives. Costs about a millisecond and,
// later, a page fault for each page that is used again: for the calm after work, not for a loop. Any
// thread.
void ReturnFreeMemory();

}  // namespace prefetch::base
