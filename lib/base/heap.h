// The heap as the system sees it.
#pragma once

namespace prefetch::base {

// Gives back what the heap holds and nobody uses: free() by itself does so only at the heap's end, and what a
// burst of work leaves behind counts against the pod's memory for as long as it lives. Costs about a
// millisecond and, later, a page fault for each page that is used again: for the calm after work, not for a
// loop. Any thread.
void ReturnFreeMemory();

}  // namespace prefetch::base
